"""The tables and figures of the paper on structural diversity, out of timed runs and decompositions."""

from collections.abc import Iterator
from statistics import mean
from typing import Any

from gpukit.report.observations import Item, Observation, Tables
from gpukit.report.records import DEVICE, Kind, Row, device_columns, device_name, record_of

NAMES = {"cpu-div": "CPU-Div", "mcpu-div": "MCPU-Div", "bc-div": "BC-Div", "pgl-div": "PGL-Div", "gpu-div": "GPU-Div"}
NAMES |= {"mgpu-div": "MGPU-Div", "mgpu-div-e": "MGPU-Div-E", "mgpu-div-d": "MGPU-Div-D"}
NAMES |= {"full": "gpukit on the CPU, full decomposition", "search": "gpukit search"}
NAMES |= {"no-gpu-ego": "NoGPUEgo", "no-multiple-gpu": "NoMultipleGPU", "no-work-balance": "NoWorkBalance"}
NAMES |= {"no-threads": "one CPU thread", "no-pruning": "no pruning"}

SIZES = {"degree": "largest degree", "trussness": "largest trussness", "ego_trussness": "largest trussness in egos"}
"""What table 1 shows of the largest things."""

STEALING = {"none": "mgpu-div", "exhausted": "mgpu-div-e", "dynamic": "mgpu-div-d"}
"""The paper's names of full decomposition on several GPUs, by the balance of work."""


def _measures(path: str) -> list[Row]:
    with record_of(path, "bench diversity` or `gpukit diversity decompose --egos") as record:
        if "largest" in record:
            rows = [{"quantity": name, "unit": "1", "value": record["largest"][key]} for key, name in SIZES.items()]
            rows.append({"quantity": "triangles", "unit": "1", "value": record["triangles"]})
            return [_row(record, "decompose") | row for row in rows]
        return [row for run in record["runs"] for row in _timed(record, run)]


def _timed(record: dict[str, Any], run: dict[str, Any]) -> Iterator[Row]:
    asked = {"model": run["model"], "k": run["k"], "fraction": run["fraction"]}
    asked |= {"t": run.get("t", record["params"]["t"]), "balance": run.get("balance", "")}
    row = _row(record, run["method"]) | asked | {"n_vertices": run["graph"]["n"]}
    if run["method"] == "steal":
        yield row | {"quantity": "time over that of an even share", "unit": "1", "value": run["makespan"]}
        return
    scaled = run["of"] / run["vertices"] if "of" in run else 1.0
    row["sampled"] = run.get("vertices", 0)
    for spent in run["ms"]["each"]:
        yield row | {"quantity": "time", "unit": "s", "value": spent * scaled / 1e3}


def _row(record: dict[str, Any], method: str) -> Row:
    blank = {"model": "", "k": 0, "t": 0, "balance": "", "fraction": 0.0, "n_vertices": 0, "sampled": 0}
    return {"method": method, **blank, **device_columns(record)}


KINDS = {
    "diversity-measures": Kind(
        {"graph": str, "measure": str, "method": str, "model": str, "k": int, "t": int, "balance": str}
        | {"fraction": float, "n_vertices": int, "sampled": int, **DEVICE}
        | {"quantity": str, "unit": str, "value": float},
        ("graph", "measure"),
        _measures,
    )
}
"""A row a timed run, or a quantity of a graph. ``sampled``: vertices timed, scaled to all; 0 if all were."""


def _method(row: Row) -> str:
    """Return the paper's name for what was run, or ours where the paper has none."""
    if row["method"] == "extract" and row["device"] == "cpu":
        return "cpu-div" if row["threads"] == 1 else "mcpu-div"
    if row["method"] in ("full", "extract") and row["device"] == "cuda":
        return _stolen(row) if row["gpus"] > 1 else "gpu-div"
    return str(row["method"])


def _stolen(row: Row) -> str:
    return STEALING.get(row["balance"]) or f"balance {row['balance']}"


def _setting(row: Row) -> str:
    asked = f"{row['model']}, k {row['k']}, t {row['t']}"
    if row["sampled"]:
        asked += f", scaled up from {row['sampled']} vertices"
    where = row | {"threads": 1} if row["method"] == "cpu-div" else row
    return f"{asked}; {device_name(where)}"


def _timed_rows(tables: Tables) -> list[Row]:
    return [row for row in tables["diversity-measures"] if row["quantity"] == "time"]


def _sizes(tables: Tables) -> Iterator[Observation]:
    for row in tables["graphs"]:
        yield Observation(row["graph"], "", "", "vertices", "1", row["n_vertices"])
        yield Observation(row["graph"], "", "", "edges", "1", row["m_edges"])
    for row in tables["diversity-measures"]:
        yield Observation(row["graph"], "", "", row["quantity"], "1", row["value"])


def _times(tables: Tables) -> Iterator[Observation]:
    for row in _timed_rows(tables):
        yield Observation(row["graph"], _method(row), "", f"time, {row['model']}", "s", row["value"], _setting(row))


def _speeds(tables: Tables) -> Iterator[Observation]:
    """Yield times, and how many times as fast as one CPU thread the paper's last method is, or ours on this device."""
    yield from _times(tables)
    means = _means(tables)
    for (graph, model), methods in means.items():
        for method in ("mgpu-div-d", "gpu-div", "full"):
            if method in methods and "cpu-div" in methods:
                ratio = methods["cpu-div"] / methods[method]
                yield Observation(graph, method, "", f"speed-up over cpu-div, {model}", "1", ratio)
                break


def _extraction(tables: Tables) -> Iterator[Observation]:
    for row in _timed_rows(tables):
        yield Observation(row["graph"], _method(row), "", "time of extraction", "s", row["value"], _setting(row))
    for (graph, _), methods in _means(tables).items():
        for method in ("mgpu-div", "gpu-div", "mcpu-div"):
            if method in methods and "cpu-div" in methods:
                ratio = methods["cpu-div"] / methods[method]
                yield Observation(graph, method, "", "speed-up over cpu-div", "1", ratio)
                break


WITHOUT = {
    "no-gpu-ego": ("no-gpu-ego", ("mgpu-div-d", "gpu-div")),
    "no-multiple-gpu": ("gpu-div", ("mgpu-div",)),
    "no-work-balance": ("mgpu-div", ("mgpu-div-e",)),
    "no-threads": ("cpu-div", ("mcpu-div",)),
    "no-pruning": ("full", ("search",)),
}
"""The ablations: the method without something, and with it. The last two are ours, and run on a CPU too."""


def _ablations(tables: Tables) -> Iterator[Observation]:
    for (graph, model), methods in _means(tables).items():
        for name, (without, with_it) in WITHOUT.items():
            there = [method for method in with_it if method in methods]
            if without in methods and there:
                ratio = methods[without] / methods[there[0]]
                setting = f"{model}, {NAMES[without]} over {NAMES[there[0]]}"
                yield Observation(graph, name, "", "slowdown without", "1", ratio, setting)


def _means(tables: Tables) -> dict[tuple[str, str], dict[str, float]]:
    """Return mean times by graph and model, and by method."""
    spent: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in _timed_rows(tables):
        spent.setdefault((row["graph"], row["model"]), {}).setdefault(_method(row), []).append(row["value"])
    return {key: {name: mean(values) for name, values in methods.items()} for key, methods in spent.items()}


def _stealing(tables: Tables) -> Iterator[Observation]:
    for row in tables["diversity-measures"]:
        if row["method"] == "steal":
            asked = "simulated: four devices, cost estimated by the degree, true by the edges to the power 1.5"
            yield Observation(row["graph"], _stolen(row), "", row["quantity"], "1", row["value"], asked)


def _against(tables: Tables, name: str) -> Iterator[Observation]:
    for row in _timed_rows(tables):
        x, asked = row[name], _setting(row)
        if name == "fraction":
            x, asked = 100 * x, asked if row["gpus"] > 1 else f"one device samples nothing: {asked}"
        yield Observation(row["graph"], _method(row), x, f"time, {row['model']}", "s", row["value"], asked)


def _throughput(tables: Tables) -> Iterator[Observation]:
    for row in _timed_rows(tables):
        rate = row["n_vertices"] / row["value"]
        yield Observation(row["graph"], _method(row), "", "throughput", "vertices/s", rate, _setting(row))


_RUNS = ("diversity-measures",)

ITEMS = {
    "table-1": Item("Graphs", "", _RUNS, _sizes),
    "table-2": Item("Run time, k = 4, t = 100", "", _RUNS, _speeds),
    "table-3": Item("Run time beside other decompositions", "", _RUNS, _times),
    "table-4": Item("Extraction of the ego-networks", "", _RUNS, _extraction),
    "table-5": Item("Ablations, truss", "", _RUNS, _ablations),
    "figure-6": Item("Stealing strategies where the estimate is wrong", "", _RUNS, _stealing),
    "figure-7": Item("Run time against the sample of the cost model", "sampled vertices, %", _RUNS,
                     lambda t: _against(t, "fraction")),
    "figure-8": Item("Throughput, truss", "", _RUNS, _throughput),
    "figure-9": Item("Run time against k, truss, t = 100", "k", _RUNS, lambda t: _against(t, "k")),
    "figure-10": Item("Run time against t, truss, k = 3", "t", _RUNS, lambda t: _against(t, "t")),
}  # fmt: skip
"""The items of the paper."""
