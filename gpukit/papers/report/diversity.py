"""The tables and figures of the paper on structural diversity, from timed runs and decompositions."""

from collections.abc import Iterator
from typing import Any

from gpukit.papers.report.observations import Item, Observation, Tables, means, measure, measures, seen, setting, sizes
from gpukit.report.records import WHERE, Row, of, record_of, values

NAMES = {"cpu-div": "CPU-Div", "mcpu-div": "MCPU-Div", "bc-div": "BC-Div", "pgl-div": "PGL-Div", "gpu-div": "GPU-Div"}
NAMES |= {"mgpu-div": "MGPU-Div", "mgpu-div-e": "MGPU-Div-E", "mgpu-div-d": "MGPU-Div-D"}
NAMES |= {
    "full": "all full decompositions",
    "whole": "gpukit on the CPU, full decomposition",
    "search": "gpukit search",
}
NAMES |= {"no-gpu-ego": "NoGPUEgo", "no-multiple-gpu": "NoMultipleGPU", "no-work-balance": "NoWorkBalance"}
NAMES |= {"no-threads": "one CPU thread", "no-pruning": "no pruning"}

SIZES = {"degree": "largest degree", "trussness": "largest trussness", "ego_trussness": "largest trussness in egos"}
"""The maxima that table 1 shows."""

STEALING = {"none": "mgpu-div", "exhausted": "mgpu-div-e", "dynamic": "mgpu-div-d"}
"""The paper's names of full decomposition on several GPUs, by the balance of work."""


def _measures(path: str) -> list[Row]:
    with record_of(path, "papers bench diversity` or `gpukit diversity decompose --egos") as record:
        if "largest" in record:
            rows = [measure(name, "1", record["largest"][key]) for key, name in SIZES.items()]
            rows.append(measure("triangles", "1", record["triangles"]))
            return [_row(record, "decompose") | row for row in rows]
        return [row for run in record["runs"] for row in _timed(record, run)]


def _timed(record: dict[str, Any], run: dict[str, Any]) -> Iterator[Row]:
    asked = {"model": run["model"], "k": run["k"], "fraction": run["fraction"]}
    asked |= {"t": run.get("t", record["params"]["t"]), "balance": run.get("balance", "")}
    row = _row(record, run["method"]) | asked | {"n_vertices": run["graph"]["n"]}
    if run["method"] == "steal":
        yield row | measure("time over that of an even share", "1", run["makespan"])
        return
    scaled = run["of"] / run["vertices"] if "of" in run else 1.0
    row["sampled"] = run["vertices"] if scaled > 1 else 0
    for spent in run["ms"]["each"]:
        yield row | measure("time", "s", spent * scaled / 1e3)


def _row(record: dict[str, Any], method: str) -> Row:
    blank = {"model": "", "k": 0, "t": 0, "balance": "", "fraction": 0.0, "n_vertices": 0, "sampled": 0}
    return {"method": method, **blank, **values(record, WHERE)}


KINDS = {
    "diversity-measures": measures(
        {"method": str, "model": str, "k": int, "t": int, "balance": str}
        | {"fraction": float, "n_vertices": int, "sampled": int},
        _measures,
    )
}
"""One row per timed run, or per quantity of a graph. ``sampled``: number of timed vertices, from which the time of all
is scaled up; 0 if all were timed."""


def _method(row: Row) -> str:
    """Return the paper's name of a method, or ours if the paper has none."""
    if row["method"] == "extract" and row["device"] == "cpu":
        return "cpu-div" if row["threads"] == 1 else "mcpu-div"
    if row["method"] in ("whole", "extract") and row["device"] == "cuda":
        return _stolen(row) if row["gpus"] > 1 else "gpu-div"
    return str(row["method"])


def _stolen(row: Row) -> str:
    return STEALING.get(row["balance"]) or f"balance {row['balance']}"


def _setting(row: Row) -> str:
    asked = f"{row['model']}, k {row['k']}, t {row['t']}"
    asked += ", from host memory" * (row["method"] in ("whole", "cpu-div", "mcpu-div"))
    if row["sampled"]:
        asked += f", scaled up from {row['sampled']} vertices"
    return setting(asked, row | {"threads": 1} if row["method"] == "cpu-div" else row)


def _timed_rows(tables: Tables) -> list[Row]:
    return of(tables["diversity-measures"], quantity="time")


def _sizes(tables: Tables) -> Iterator[Observation]:
    yield from sizes(tables["graphs"])
    yield from seen(tables["diversity-measures"], lambda row: "", method=lambda row: "")


def _time_of(row: Row) -> str:
    return f"time, {row['model']}"


def _times(tables: Tables) -> Iterator[Observation]:
    return seen(_timed_rows(tables), _setting, method=_method, quantity=_time_of)


def _speed_ups(tables: Tables, methods: tuple[str, ...], quantity: str) -> Iterator[Observation]:
    """Yield the speed-up over one CPU thread, for the first of some methods that was timed on a graph."""
    for (graph, model), spent in _means(tables).items():
        fast = [method for method in methods if method in spent]
        if fast and "cpu-div" in spent:
            ratio = spent["cpu-div"] / spent[fast[0]]
            yield Observation(graph, fast[0], "", quantity.format(model=model), "1", ratio)


def _speeds(tables: Tables) -> Iterator[Observation]:
    """Yield times, and the speed-up over one CPU thread of the paper's final method, or of ours on this device."""
    yield from _times(tables)
    yield from _speed_ups(tables, ("mgpu-div-d", "gpu-div", "whole"), "speed-up over cpu-div, {model}")


def _extraction(tables: Tables) -> Iterator[Observation]:
    yield from seen(_timed_rows(tables), _setting, method=_method, quantity=lambda row: "time of extraction")
    yield from _speed_ups(tables, ("mgpu-div", "gpu-div", "mcpu-div"), "speed-up over cpu-div")


WITHOUT = {
    "no-gpu-ego": ("no-gpu-ego", ("mgpu-div-d", "gpu-div")),
    "no-multiple-gpu": ("gpu-div", ("mgpu-div",)),
    "no-work-balance": ("mgpu-div", ("mgpu-div-e",)),
    "no-threads": ("cpu-div", ("mcpu-div",)),
    "no-pruning": ("full", ("search",)),
}
"""The ablations: the method without a part, and with it. The last two are ours, and also run on a CPU."""


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
    return means(((row["graph"], row["model"]), _method(row), row["value"]) for row in _timed_rows(tables))


def _stealing(tables: Tables) -> Iterator[Observation]:
    asked = "simulated: four devices, cost estimated by the degree, true by the edges to the power 1.5"
    return seen(of(tables["diversity-measures"], method="steal"), lambda row: asked, method=_stolen)


def _against(tables: Tables, name: str) -> Iterator[Observation]:
    return seen(_timed_rows(tables), _setting, method=_method, quantity=_time_of, x=name)


def _sampling(tables: Tables) -> Iterator[Observation]:
    """Yield times against the fraction of vertices sampled for the cost model; a single device needs no model."""

    def said(row: Row) -> str:
        return _setting(row) if row["gpus"] > 1 else f"one device samples nothing: {_setting(row)}"

    def percent(row: Row) -> float:
        return 100 * row["fraction"]

    return seen(_timed_rows(tables), said, method=_method, quantity=_time_of, x=percent)


def _throughput(tables: Tables) -> Iterator[Observation]:
    rows = [row | measure("throughput", "vertices/s", row["n_vertices"] / row["value"]) for row in _timed_rows(tables)]
    return seen(rows, _setting, method=_method)


_RUNS = ("diversity-measures",)

ITEMS = {
    "table-1": Item("Graphs", "", _RUNS, _sizes),
    "table-2": Item("Run time, k = 4, t = 100", "", _RUNS, _speeds),
    "table-3": Item("Run time beside other decompositions", "", _RUNS, _times),
    "table-4": Item("Extraction of the ego-networks", "", _RUNS, _extraction),
    "table-5": Item("Ablations, truss", "", _RUNS, _ablations),
    "figure-6": Item("Stealing strategies where the estimate is wrong", "", _RUNS, _stealing),
    "figure-7": Item("Run time against the sample of the cost model", "sampled vertices, %", _RUNS, _sampling),
    "figure-8": Item("Throughput, truss", "", _RUNS, _throughput),
    "figure-9": Item("Run time against k, truss, t = 100", "k", _RUNS, lambda t: _against(t, "k")),
    "figure-10": Item("Run time against t, truss, k = 3", "t", _RUNS, lambda t: _against(t, "t")),
}
"""The items of the paper."""
