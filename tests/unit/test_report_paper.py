"""Papers rebuilt: measured values next to printed ones; the typed printed values are consistent."""

import json
import math
from pathlib import Path

import pytest
import yaml

from gpukit.errors import InputError, UsageError
from gpukit.papers.report.items import ITEMS
from gpukit.papers.report.rebuild import COLUMNS, NA, _geometric, plot_item, rebuild
from gpukit.papers.report.tables import make_table

ROOT = Path(__file__).resolve().parents[2]
HEADER = "item\tgraph\tmethod\tx\tquantity\tunit\tpaper\n"
GRAPHS = [
    {"graph": "toy", "data": "real", "n_vertices": 30, "m_edges": 46, "edge_lines": 0},
    {"graph": "big", "data": "stand-in: rmat, vertices 9", "n_vertices": 9, "m_edges": 20, "edge_lines": 0},
    {"graph": "ba-2", "data": "stand-in: ba, attach 2", "n_vertices": 10, "m_edges": 17, "edge_lines": 0},
]


def printed(paper):
    lines = (ROOT / f"workflow/paper/{paper}.tsv").read_text().splitlines()
    return [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]


def cell(graph, method, seconds, **changes):
    row = {"graph": graph, "method": method, "model": "ic", "k": 50, "epsilon": 0.05, "rounds": 1, "sampler": "skip"}
    row |= {"sets_are": "skip, grid"}
    row |= {
        "block": 32,
        "grid": 0,
        "repeat": 0,
        "rr_sets": 9,
        "device": "cpu",
        "device_name": "c",
        "gpus": 0,
        "threads": 1,
    }
    row |= {"time_sampling_s": 0.5 * seconds, "time_selection_s": 0.25 * seconds, "time_work_s": seconds}
    row |= {"time_other_s": 3.0 + 0.25 * seconds, "time_total_s": 3.0 + seconds}
    return row | changes


def found(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


@pytest.mark.parametrize("item", ["table-2", "table-3"])
def test_typed_speed_ups_are_the_ratios_of_the_typed_times(item):
    rows = found(printed("gim"), item=item)
    times = {(row["graph"], row["method"]): float(row["paper"]) for row in rows if row["quantity"] == "time"}
    ratios = [row for row in rows if row["quantity"] == "speed-up over imm"]
    assert len(ratios) == (24 if item == "table-2" else 6)
    for row in ratios:
        graph = row["graph"]
        ratio = times[graph, "imm"] / times[graph, row["method"]]
        if (item, graph, row["method"]) == ("table-2", "com-Orkut", "skim"):
            assert (row["paper"], round(ratio, 2)) == ("7.82", 22.26), "a slip of the paper"
        else:
            assert float(row["paper"]) == pytest.approx(ratio, rel=0.004, abs=0.006), row


def test_typed_speed_ups_of_diversity_are_the_ratios_of_the_typed_times():
    for item, fast, times, speed in (
        ("table-2", "mgpu-div-d", "time, {}", "speed-up over cpu-div, {}"),
        ("table-4", "mgpu-div", "time of extraction", "speed-up over cpu-div"),
    ):
        rows = {
            (r["graph"], r["method"], r["quantity"]): float(r["paper"])
            for r in printed("diversity")
            if r["item"] == item
        }
        for model in ("comp", "core", "truss"):
            for graph in {key[0] for key in rows}:
                ratio = rows[graph, "cpu-div", times.format(model)] / rows[graph, fast, times.format(model)]
                if (item, graph) == ("table-4", "Gowalla"):
                    assert round(ratio, 2) == 3.82, "a slip of the paper, which has the ratio over MCPU-Div"
                    continue
                assert rows[graph, fast, speed.format(model)] == pytest.approx(ratio, abs=0.06), (graph, model)


def measure(method, value, **changes):
    row = {"graph": "toy", "measure": "x", "method": method, "model": "truss", "k": 4, "t": 100, "balance": ""}
    row |= {"fraction": 0.01, "n_vertices": 30, "sampled": 0, "device": "cpu", "device_name": "c", "gpus": 0}
    return row | {"threads": 2, "quantity": "time", "unit": "s", "value": value} | changes


def test_diversity_rows_are_named_by_what_ran(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER + "table-2\ttoy\tmgpu-div-d\t\ttime, truss\ts\t5\n")
    gpu = {"device": "cuda", "device_name": "G", "threads": 0}
    runs = [measure("cpu-div", 8.0), measure("whole", 3.0), measure("whole", 2.0, gpus=1, **gpu)]
    runs += [measure("whole", value, gpus=4, balance="dynamic", **gpu) for value in (0.5, 1.5)]
    tables = {"graphs": GRAPHS, "diversity-measures": runs}
    rows = rebuild("diversity", "table-2", tables, str(tmp_path / "p.tsv"))
    times = {row["method"]: (row["ours"], row["paper"]) for row in found(rows, quantity="time, truss")}
    assert times == {"cpu-div": ("8", NA), "whole": ("3", NA), "gpu-div": ("2", NA), "mgpu-div-d": ("1", "5")}
    (speed,) = found(rows, quantity="speed-up over cpu-div, truss")
    assert (speed["method"], speed["ours"]) == ("mgpu-div-d", "8")
    tables["diversity-measures"] += [measure("whole", 4.0, gpus=4, balance="none", **gpu), measure("search", 0.5)]
    tables["diversity-measures"].append(measure("full", 3.0))
    rows = rebuild("diversity", "table-5", tables, str(tmp_path / "p.tsv"))
    assert {row["method"]: row["ours"] for row in rows} == {"no-multiple-gpu": "0.5", "no-pruning": "6"}
    rows = rebuild("diversity", "figure-8", tables, str(tmp_path / "p.tsv"))
    assert found(rows, method="cpu-div")[0]["ours"] == "3.75"
    rows = rebuild("diversity", "figure-7", tables, str(tmp_path / "p.tsv"))
    assert found(rows, method="whole")[0]["setting"].startswith("one device samples nothing")
    assert found(rows, method="mgpu-div-d")[0]["x"] == "1"


def campaign(method, value, **changes):
    row = {"graph": "toy", "measure": "x", "method": method, "model": "ic", "eta": 20, "batch": 4, "groups": 1}
    row |= {"device": "cpu", "device_name": "c", "gpus": 0, "threads": 2, "quantity": "time", "unit": "s"}
    return row | {"value": value} | changes


def test_merit_beside_its_competitors(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER + "figure-6\ttoy\tmerit\t20\tspeed-up over pasti\t1\t9\n")
    runs = [campaign("merit", 1.0), campaign("merit", 3.0), campaign("segmented", 1.0), campaign("pasti", 8.0)]
    runs += [campaign("merit", 1.0, eta=40), campaign("pasti", 10.0, eta=40), campaign("asti", 6.0, eta=40)]
    runs += [
        campaign(name, 0.5, quantity=f"time of {part}") for name in ("merit", "pasti") for part in ("update", "other")
    ]
    tables = {"graphs": GRAPHS, "merit-measures": runs}
    rows = rebuild("merit", "figure-6", tables, str(tmp_path / "p.tsv"))
    (speed,) = found(rows, quantity="speed-up over pasti", x="20")
    assert (speed["ours"], speed["paper"]) == ("4", "9")
    assert found(rows, quantity="largest speed-up over pasti")[0]["ours"] == "10"
    assert found(rows, quantity="largest speed-up over the fastest other")[0]["ours"] == "6"
    assert found(rows, quantity="time", method="merit", x="20")[0]["repeats"] == 2
    rows = rebuild("merit", "figure-14", tables, str(tmp_path / "p.tsv"))
    assert {row["method"] for row in found(rows, quantity="time")} == {
        f"{name}, {part}" for name in ("merit", "pasti") for part in ("update", "other")
    }
    tables["merit-measures"] = [campaign("merit", value, groups=beta) for beta, value in ((1, 3.0), (2, 1.5), (8, 2.0))]
    rows = rebuild("merit", "figure-16", tables, str(tmp_path / "p.tsv"))
    assert [row["ours"] for row in found(rows, method="merit, η 20")] == ["1", "2", "1.5"]
    assert found(rows, quantity="largest speed-up over β 1")[-1]["ours"] == "2"
    rows = rebuild("merit", "figure-9", tables, str(tmp_path / "p.tsv"))
    assert all(row["setting"].startswith("without a GPU β changes nothing") for row in found(rows, quantity="time"))


def counted(method, **changes):
    run = {"graph": {"name": "toy"}, "method": method, "params": {"model": "ic", "eta": 1000, "batch": 4}, "groups": 1}
    run |= {"device": {"kind": "cuda", "name": "G", "gpus": [0], "threads": 2}, "cut": False, "launches": 100}
    run |= {"kernel_s": 0.5, "global_atomics": 60.0, "shared_atomics": 0.0, "atomic_sectors": 9.0}
    run |= {"occupancy_pct": 90.0, "instructions_per_cycle": 2.0, "sm_throughput_pct": 40.0}
    return run | changes


def test_merit_under_a_profiler(tmp_path):
    def rows(*runs):
        (tmp_path / "c.json").write_text(json.dumps({"benchmark": "counters", "runs": runs}))
        table = make_table("merit-measures", [("toy/x", str(tmp_path / "c.json"))])
        return rebuild("merit", "figure-13", {"graphs": GRAPHS, "merit-measures": table}, str(tmp_path / "p.tsv"))

    (tmp_path / "p.tsv").write_text(HEADER + "figure-13\ttoy\toccupancy\t1000\tmerit over gamcss\t1\t1.8\n")
    other = counted("gamcss", occupancy_pct=60.0, global_atomics=240.0, sm_throughput_pct=None)
    found_rows = rows(counted("merit"), other)
    values = {(row["method"], row["quantity"]): (row["ours"], row["paper"], row["unit"]) for row in found_rows}
    assert found_rows[0]["quantity"] == "merit over gamcss", "what the figure draws"
    assert values["occupancy", "merit over gamcss"] == ("1.5", "1.8", "1")
    assert values["atomic instructions", "merit over gamcss"] == ("0.25", NA, "1")
    assert values["gamcss", "occupancy"] == ("60", NA, "%") and values["merit", "kernel time"] == ("0.5", NA, "s")
    assert values["merit", "SM throughput"][0] == "40"
    missing = [("gamcss", "SM throughput"), ("SM throughput", "merit over gamcss")]
    missing += [("atomic instructions in shared memory", "merit over gamcss")]
    assert not values.keys() & set(missing), "no value, and nothing over 0"
    assert {row["setting"] for row in found_rows} == {"ic, η 1000, batches of 4; 1 × G"}
    plot_item("merit", "figure-13", found_rows, str(tmp_path / "x.svg"))
    assert "occupancy in the paper" in (tmp_path / "x.svg").read_text()

    found_rows = rows(counted("merit"), counted("gamcss", cut=True, occupancy_pct=50.0))
    rates = {"occupancy", "instructions per cycle", "SM throughput"}
    assert {row["method"] for row in found_rows if row["quantity"] == "merit over gamcss"} == rates
    settings = {(row["method"], row["quantity"]): row["setting"] for row in found_rows}
    assert settings["occupancy", "merit over gamcss"].startswith("the first 100 launches: ic, ")
    assert settings["gamcss", "kernel launches"].startswith("the first 100 launches: ic, ")
    assert settings["merit", "kernel launches"].startswith("ic, ")
    with pytest.raises(InputError, match="'cut' is missing or wrong"):
        run = counted("merit")
        del run["cut"]
        rows(run)


def test_merit_reads_campaigns_and_single_choices(tmp_path):
    device = {"kind": "cpu", "name": "c", "gpus": [], "threads": 2}
    run = {"method": "pasti", "params": {"model": "lt", "eta": 5, "batch": 4}, "groups": 1, "device": device}
    run |= {"time_s": {"each": [1.0, 2.0]}, "cost": {"each": [0.1, 0.2]}}
    run |= {"phases_s": {"total": 9.0, "generate": 2.0, "judge": 1.0, "update": 3.0, "diffuse": 0.5, "select": 2.5}}
    (tmp_path / "b.json").write_text(json.dumps({"runs": [run]}))
    rows = make_table("merit-measures", [("toy/x", str(tmp_path / "b.json"))])
    assert [row["value"] for row in rows] == [1.0, 0.1, 2.0, 0.2, 3.0, 3.0, 2.5]
    # Newer records have the parts of each campaign.
    run["phases_each_s"] = [{"total": 4.0, "generate": 1.0}, {"total": 8.0, "update": 5.0}]
    (tmp_path / "b.json").write_text(json.dumps({"runs": [run]}))
    rows = make_table("merit-measures", [("toy/x", str(tmp_path / "b.json"))])
    assert [row["value"] for row in rows][4:] == [1.0, 0.0, 3.0, 0.0, 5.0, 3.0]
    record = {
        "params": {"model": "ic", "eta": 5},
        "device": device,
        "time_s": {"total": 3.0, "read": 0.5, "select": 2.0},
        "cost": 7.0,
    }
    (tmp_path / "o.json").write_text(json.dumps(record))
    rows = make_table("merit-measures", [("toy/y", str(tmp_path / "o.json"))])
    assert [(row["method"], row["quantity"], row["value"]) for row in rows] == [
        ("once", "cost", 7.0),
        ("once", "time", 2.0),
    ]
    (tmp_path / "o.json").write_text("{}")
    with pytest.raises(InputError, match="gpukit papers bench merit"):
        make_table("merit-measures", [("toy/y", str(tmp_path / "o.json"))])


def test_kpar_without_its_techniques(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER + "figure-9\ttoy\tkpar\t5\ttime of a query\tms\t42.4\n")
    cpu = {"device": "cpu", "device_name": "c", "gpus": 0, "threads": 2, "time_index_s": 0.5, "time_total_s": 9.0}
    rows = [
        {"graph": "toy", "method": method, "k": 5, "queries": 4, "time_answer_s": seconds, "index_bytes": 0} | cpu
        for method, seconds in (("kpar-i", 0.4), ("kpar-ip1", 0.3), ("kpar-ip", 0.2), ("kpar", 0.1))
    ]
    rows.insert(3, rows[3] | {"time_answer_s": 0.16})
    tables = {"graphs": GRAPHS, "kpar-repeats": rows, "kpar-queries": rows}
    shown = rebuild("kpar", "figure-9", tables, str(tmp_path / "p.tsv"))
    kpar = found(shown, method="kpar")[0]
    assert (kpar["ours"], kpar["ours_sd"], kpar["repeats"]) == ("32.5", "10.6", 2)
    del rows[3]
    shown = rebuild("kpar", "figure-9", tables, str(tmp_path / "p.tsv"))
    assert {row["method"]: row["ours"] for row in shown} == {
        "kpar-i": "100", "kpar-ip1": "75", "kpar-ip": "50", "kpar": "25"
    }  # fmt: skip
    assert [row["setting"].startswith("without a GPU") for row in shown] == [True, True, False, False]
    assert found(shown, method="kpar")[0]["paper"] == "42.4"
    rows[0] |= {"gpus": 1}
    assert not rebuild("kpar", "figure-9", tables, str(tmp_path / "p.tsv"))[0]["setting"].startswith("without")
    tables |= {"kpar-times": [], "kpar-index": []}
    rows.append({**rows[0], "method": "fora", "index_bytes": 3_000_000})
    sizes = rebuild("kpar", "table-3", tables, str(tmp_path / "p.tsv"))
    assert {row["quantity"]: row["ours"] for row in sizes} == {"preprocessing": "0.5", "index": "3"}


def run_of(measure, value, **changes):
    row = {"graph": "toy", "measure": measure, "k": 2, "worlds": 9, "device": "cpu", "device_name": "c", "gpus": 0}
    row |= {"threads": 2, "x": math.nan, "quantity": "time", "unit": "s", "value": value}
    return row | changes


def test_imgpu_beside_its_competitors(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER + "figure-9\ttoy\timgpu\t\tspeed-up over mixgreedy\t1\t9.69\n")
    rows = [run_of("imgpu", 2.0), run_of("mixgreedy", 8.0), run_of("esmce", 16.0)]
    choices = {"imgpu": (3.0, 5.0), "imgpu-k": (2.0, 2.0), "imgpu-u-16": (1.0, 1.0), "imgpu-u-4": (4.0, 2.0)}
    rows += [
        run_of(name, value, quantity="time of a choice", graph=graph)
        for name, values in choices.items()
        for graph, times in (("toy", 1), ("Twitter", 2))
        for value in (times * values[0], values[1])
    ]
    rows += [
        run_of(name, value, x=k, quantity="spread", unit="vertices")
        for name, values in {"imgpu": (2.0, 4.0), "random": (1.0, 1.0)}.items()
        for k, value in zip((1.0, 5.0), values, strict=True)
    ]
    tables = {"graphs": GRAPHS, "imgpu-measures": rows}
    found_of = {item: rebuild("imgpu", item, tables, str(tmp_path / "p.tsv")) for item in ITEMS["imgpu"]}
    (speed,) = found(found_of["figure-9"], method="imgpu", quantity="speed-up over mixgreedy")
    assert (speed["ours"], speed["paper"]) == ("4", "9.69")
    assert found(found_of["figure-9"], method="esmce", quantity="speed-up over mixgreedy")[0]["ours"] == "0.5"
    faster = found_of["figure-10"]
    assert found(faster, graph="toy", method="imgpu-k")[0]["ours"] == "2"
    assert found(faster, graph="toy", method="imgpu-u")[0]["ours"] == "4"
    assert found(faster, graph="Twitter", method="imgpu-k")[0]["ours"] == f"{5.5 / 3:.6g}"
    assert found(faster, graph="all but Twitter", method="imgpu-k")[0]["ours"] == "2"
    unrolled = found_of["unroll-lengths"]
    assert {row["x"] for row in found(unrolled, quantity="time of a choice")} == {"4", "16"}
    assert found(unrolled, graph="all graphs", quantity="fastest length")[0]["ours"] == "16"
    shares = [row for row in found_of["figure-8"] if row["quantity"].endswith("of IMGPU's spread")]
    assert {(row["quantity"].partition("share")[0], row["x"]): row["ours"] for row in shares} == {
        ("", "5"): "0.25",
        ("mean ", ""): "0.375",
        ("smallest ", ""): "0.25",
    }
    assert {row["ours"] for row in found(found_of["table-1"], quantity="average degree")} >= {"3.4"}


def test_imgpu_reads_choices_spreads_and_shapes(tmp_path):
    device = {"kind": "cpu", "name": "c", "gpus": [], "threads": 1}
    common = {"device": device, "graph": {"n": 20, "m": 9}}
    records = {
        "run": {"params": {"k": 2, "worlds": 9}, "choice_s": [1.0, 3.0]},
        "random": {"params": {"k": 2}, "time_s": {"selection": 0.5}},
        "spread": {
            "params": {"model": "ic"},
            "seeds_params": {"k": 2, "worlds": 9},
            "curve": [{"k": 1, "spread": 2.5}],
        },
        "shape": {"params": {"worlds": 9}, "levels": [200, 10], "degrees": [3, 0, 2], "below_10": 15}
        | {"above_10000": 1, "bins": 2, "hubs": [{"vertex": 4, "children": [3, 1], "near": 0.5}]}
        | {"same_degree": 0.9, "same_level": 0.8, "dag_share": 0.1},
    }
    rows = {}
    for name, record in records.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(common | record))
        rows[name] = make_table("imgpu-measures", [(f"toy/{name}", str(tmp_path / f"{name}.json"))])
    values = {name: [(row["quantity"], row["value"]) for row in several] for name, several in rows.items()}
    assert values["run"] == [("time", 3.0), ("time of a choice", 1.0), ("time of a choice", 2.0)]
    assert values["random"][0] == ("time", 0.5) and rows["random"][0]["worlds"] == 0
    assert [(row["x"], row["value"], row["worlds"]) for row in rows["spread"]] == [(1, 2.5, 9)]
    shape = dict(values["shape"])
    assert shape["levels with fewer than 100 nodes"] == 50 and shape["vertices of degree below 10"] == 75
    assert [row["x"] for row in rows["shape"] if row["quantity"] == "vertices of degree x to 2x - 1"] == [2]
    assert [(row["x"], row["value"]) for row in rows["shape"] if row["quantity"] == "children of hub 1"] == [
        (0, 75),
        (50, 25),
    ]
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match="papers imgpu"):
        make_table("imgpu-measures", [("toy/run", str(tmp_path / "run.json"))])


def test_typed_shares_of_imgpu_are_the_percentages_of_the_text():
    """By how much IMGPU is above, or what share of MixGreedy's time is taken, as the text has it."""
    typed = {(r["graph"], r["method"], r["quantity"]): float(r["paper"]) for r in printed("imgpu")}
    above = {("NetPHY", "mixgreedy"): 1.5, ("Amazon", "esmce"): 4.18, ("Amazon", "pmia"): 20.82}
    above |= {("Amazon", "random"): 256.38}
    for key, percent in above.items():
        assert typed[(*key, "mean share of IMGPU's spread")] == pytest.approx(1 / (1 + percent / 100), abs=5e-5)
    for method, percent in (("pmia", 42.25), ("random", 368.21)):
        share = typed["Twitter", method, "share of IMGPU's spread"]
        assert share == pytest.approx(1 / (1 + percent / 100), abs=5e-5)
    for graph, percent in (("NetHEPT", 10.21), ("Amazon", 3.73)):
        assert typed[graph, "esmce", "speed-up over mixgreedy"] == pytest.approx(100 / percent, rel=1e-3)


@pytest.mark.parametrize("paper", ["gim", "kpar"])
def test_typed_sizes_are_those_of_the_catalogue(paper):
    catalogue = yaml.safe_load((ROOT / "config/datasets.yaml").read_text())["datasets"]
    known = {"DBLP": "dblp-613k", "LiveJournal": "soc-LiveJournal1", "Orkut": "com-Orkut", "Twitter": "twitter-2010"}
    others = (("kpar", "LiveJournal"), ("gim", "higgs-twitter"))  # their notes say how the papers differ
    for row in found(printed(paper), item="table-1" if paper == "gim" else "table-2", unit="1"):
        if row["quantity"] in ("vertices", "edges") and (paper, row["graph"]) not in others:
            entry = catalogue[known.get(row["graph"], row["graph"])]
            assert int(row["paper"]) == entry["n" if row["quantity"] == "vertices" else "m"], row


@pytest.mark.parametrize("paper", ITEMS)
def test_typed_values_belong_to_items(paper):
    rows = printed(paper)
    assert {row["item"] for row in rows} <= set(ITEMS[paper])
    keys = [tuple(row[name] for name in ("item", "graph", "method", "x", "quantity", "unit")) for row in rows]
    assert len(set(keys)) == len(keys)


def test_repeats_are_one_row_beside_the_printed_value(tmp_path):
    (tmp_path / "p.tsv").write_text(
        HEADER
        + "table-2\ttoy\tgim\t\ttime\ts\t0.5\ntable-2\tfar\tskim\t\ttime\ts\t9\ntable-3\ttoy\tgim\t\ttime\ts\t7\n"
    )
    cells = [
        cell("toy", "imm", 8.0),
        cell("toy", "gim", 1.0),
        cell("toy", "gim", 3.0, repeat=1),
        cell("big", "gim", 4.0),
    ]
    rows = rebuild("gim", "table-2", {"graphs": GRAPHS, "gim-cells": cells}, str(tmp_path / "p.tsv"))
    assert all(set(row) == set(COLUMNS) for row in rows)
    (ours,) = found(rows, graph="toy", method="gim", quantity="time")
    assert (ours["ours"], ours["ours_sd"], ours["repeats"], ours["paper"]) == ("2", "1.41", 2, "0.5")
    assert ours["data"] == "real" and "c, 1 thread" in ours["setting"]
    (speed,) = found(rows, graph="toy", quantity="speed-up over imm")
    assert (speed["ours"], speed["paper"]) == ("4", NA)
    (alone,) = found(rows, graph="far")
    assert (alone["ours"], alone["paper"], alone["repeats"]) == (NA, "9", 0)
    (stand_in,) = found(rows, graph="big")
    assert stand_in["data"].startswith("stand-in") and stand_in["ours_sd"] == NA
    plot_item("gim", "table-2", rows, str(tmp_path / "x.svg"))
    text = (tmp_path / "x.svg").read_text()
    assert "synthetic stand-ins: 1 of 3 graphs" in text and "gIM in the paper" in text and "SKIM in the paper" in text


@pytest.mark.parametrize(("quantity", "zero"), [("time", True), ("precision", False)])
def test_axes_begin_at_zero_but_for_quality(tmp_path, quantity, zero):
    row = dict.fromkeys(COLUMNS, "") | {"item": "table-2", "graph": "toy", "method": "gim", "data": "real", "unit": "1"}
    rows = [row | {"quantity": quantity, "ours": ours, "paper": NA} for ours in ("0.981", "0.983")]
    plot_item("gim", "table-2", rows, str(tmp_path / "x.svg"))
    assert (">0.0<" in (tmp_path / "x.svg").read_text()) == zero


def test_seeds_of_gims_table_stand_with_what_they_reach(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER)
    record = {"k": 50, "spread": 97.5, "seeds_params": {"k": 50, "epsilon": 0.05}}
    record |= {"device": {"kind": "cpu", "name": "c", "gpus": [], "threads": 1}}
    for method, chosen in (("gim", record), ("skim", record | {"spread": 95.0, "seeds_params": {"k": 50}})):
        (tmp_path / f"{method}.json").write_text(json.dumps(chosen))
    labels = [(f"toy/{method}", str(tmp_path / f"{method}.json")) for method in ("gim", "skim")]
    tables = {"graphs": GRAPHS, "gim-cells": [cell("toy", "gim", 2.0)], "gim-spread": make_table("gim-spread", labels)}
    rows = found(rebuild("gim", "table-2", tables, str(tmp_path / "p.tsv")), quantity="spread")
    assert [(row["method"], row["ours"], row["setting"]) for row in rows] == [
        ("gim", "97.5", "k 50, epsilon 0.05; c, 1 thread"),
        ("skim", "95", "k 50; c, 1 thread"),
    ]


def test_figures_have_an_axis(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER)
    tables = {"graphs": GRAPHS, "gim-cells": [cell("toy", "gim", k / 10, k=k) for k in (10, 100)]}
    rows = rebuild("gim", "figure-4", tables, str(tmp_path / "p.tsv"))
    assert [(row["x"], row["ours"], row["paper"]) for row in rows] == [("10", "1", NA), ("100", "10", NA)]
    tables["gim-cells"] = [cell("toy", "gim", 2.0 * block / 32, block=block) for block in (64, 32, 96)]
    rows = rebuild("gim", "figure-8a", tables, str(tmp_path / "p.tsv"))
    assert [(row["x"], row["ours"]) for row in rows] == [("32", "1"), ("64", "2"), ("96", "3")]
    tables["gim-cells"] = [cell("toy", "gim", 5120 / grid, grid=grid) for grid in (1280, 2560, 5120)]
    rows = rebuild("gim", "figure-8b", tables, str(tmp_path / "p.tsv"))
    assert [(row["x"], row["ours"]) for row in rows] == [("1280", "2"), ("2560", "1"), ("5120", "0.5")]
    assert {row["quantity"] for row in rows} == {"time relative to grid 2560"}
    tables["gim-cells"] = [cell("toy", "gim", 5120 / grid, grid=grid) for grid in (1280, 5120)]
    rows = rebuild("gim", "figure-8b", tables, str(tmp_path / "p.tsv"))
    assert {row["quantity"] for row in rows} == {"time relative to grid 1280"}
    tables["gim-cells"] = [
        cell(f"ba-{r}", method, r * times) for r in (2, 32) for method, times in (("imm", 3), ("gim", 1))
    ]
    rows = rebuild("gim", "figure-7", tables, str(tmp_path / "p.tsv"))
    assert [row["ours"] for row in found(rows, quantity="speed-up over imm")] == ["3", "3"]
    assert {row["x"] for row in rows} == {"2", "32"}
    plot_item("gim", "figure-7", rows, str(tmp_path / "x.svg"))
    assert "edges a vertex r" in (tmp_path / "x.svg").read_text()
    sizes = rebuild("gim", "table-1", tables, str(tmp_path / "p.tsv"))
    assert {row["graph"] for row in sizes} == {"toy", "big"}


def test_graphs_have_a_panel_each(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER)
    cells = [
        cell(graph, method, k / 10, k=k) for graph in ("toy", "big") for method in ("imm", "gim") for k in (10, 100)
    ]
    rows = rebuild("gim", "figure-4", {"graphs": GRAPHS, "gim-cells": cells}, str(tmp_path / "p.tsv"))
    plot_item("gim", "figure-4", rows, str(tmp_path / "x.svg"))
    text = (tmp_path / "x.svg").read_text()
    assert text.count(">toy</text>") == text.count(">big, a stand-in</text>") == 1
    assert text.count(">IMM</text>") == text.count(">gIM</text>") == 1, "one legend for both"
    plot_item("gim", "figure-4", found(rows, method="gim"), str(tmp_path / "x.svg"))
    text = (tmp_path / "x.svg").read_text()
    assert text.count(">toy gIM</text>") == text.count(">big gIM</text>") == 1


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [([1, 5, 10, 20, 30, 40, 50], False), ([4, 8, 16, 32, 64, 128], True), ([10, 100, 1000], True), ([1, 8], False)]
    + [([0, 1, 1000], False), ([2], False), ([0.01, 0.02, 3.0, 40.0], True)],
)
def test_axes_are_logarithmic_where_values_lie_by_their_ratios(values, logarithmic):
    assert _geometric(values) == logarithmic


def test_graphs_say_whether_they_are_stand_ins(tmp_path):
    record = {
        "n": 10,
        "m": 34,
        "undirected": True,
        "generator": {"model": "ba", "attach": 2, "vertices": 10, "seed": 1},
    }
    (tmp_path / "ba.json").write_text(json.dumps(record))
    (tmp_path / "real.json").write_text(json.dumps({"n": 3, "m": 2, "undirected": False}))
    rows = make_table("graphs", [("x", str(tmp_path / "ba.json")), ("y", str(tmp_path / "real.json"))])
    assert [(row["data"], row["m_edges"]) for row in rows] == [("stand-in: ba, attach 2, vertices 10", 17), ("real", 2)]


def test_what_is_missing_is_said(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER)
    with pytest.raises(UsageError, match="gim has no table-9; choose from table-1"):
        rebuild("gim", "table-9", {"graphs": GRAPHS}, str(tmp_path / "p.tsv"))
    with pytest.raises(UsageError, match="add --table gim-cells=FILE"):
        rebuild("gim", "table-2", {"graphs": GRAPHS}, str(tmp_path / "p.tsv"))
    (tmp_path / "p.tsv").write_text(HEADER + "table-1\ttoy\t\t\tvertices\t1\tmany\n")
    with pytest.raises(InputError, match="line 2"):
        rebuild("gim", "table-1", {"graphs": GRAPHS}, str(tmp_path / "p.tsv"))
    (tmp_path / "p.tsv").write_text("a\tb\n")
    with pytest.raises(InputError, match="is not a file of printed values"):
        rebuild("gim", "table-1", {"graphs": GRAPHS}, str(tmp_path / "p.tsv"))
