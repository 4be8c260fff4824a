"""Comparison of benchmark records, on records written by hand."""

import copy

import pytest

from gpukit.papers.bench.compare import NOISE, compare, figures


def gim(*runs):
    return {
        "benchmark": "gim",
        "runs": [
            {
                "graph": {"name": "G", "digest": "d"},
                "params": {"k": 5, "model": model},
                "algorithm_ms": {"median": middle, "min": low, "max": high},
            }
            for model, low, middle, high in runs
        ],
    }


@pytest.mark.parametrize(
    ("old", "new", "noise", "verdict"),
    [
        ((9, 10, 11), (11, 12.2, 13), 11 / 9, "as before"),
        ((9, 10, 11), (12, 12.3, 13), 11 / 9, "slower"),
        ((10, 10, 10.1), (10, 13, 16), 1.6, "as before"),  # the spread of the new record counts too
        ((10, 10, 10.1), (15, 17, 20), 4 / 3, "slower"),
        ((10, 10, 10.1), (10.4, 10.49, 10.5), NOISE, "as before"),
        ((10, 10, 10.1), (10.4, 10.51, 10.6), NOISE, "slower"),
        ((9, 10, 11), (8, 8.19, 8.2), 11 / 9, "as before"),
        ((9, 10, 11), (8, 8.1, 8.2), 11 / 9, "faster"),
        ((10, 10, 10), (20, 30, 40), 2, "no spread"),  # taken once
        ((9, 10, 11), (30, 30, 30), 11 / 9, "no spread"),
    ],
)
def test_verdicts_of_times(old, new, noise, verdict):
    found = compare(gim(("ic", *old)), gim(("ic", *new)))
    (row,) = found.rows
    assert (row["old"], row["new"], row["ratio"]) == (old[1], new[1], new[1] / old[1])
    assert row["noise"] == pytest.approx(noise) and row["verdict"] == verdict
    assert found.regressions == (verdict == "slower")
    assert found.only_old == found.only_new == []


def test_runs_meet_by_graph_and_settings_alone():
    old = gim(("ic", 9, 10, 11), ("lt", 1, 2, 3))
    new = gim(("tr", 9, 10, 11), ("ic", 9, 10, 11))
    new["runs"][1]["rr_sets"] = 7
    found = compare(old, new)
    assert [row["settings"]["model"] for row in found.rows] == ["ic"]
    assert [row["settings"]["model"] for row in found.only_old] == ["lt"]
    assert [row["settings"]["model"] for row in found.only_new] == ["tr"]
    other = copy.deepcopy(old)
    for run in other["runs"]:
        run["graph"]["digest"] = "e"
    assert compare(old, other).rows == [] and len(compare(old, other).only_new) == 2


def test_repetitions_one_by_one():
    run = {
        "graph": {"name": "G", "digest": "d"}, "method": "merit", "device": {"kind": "cpu", "threads": 2},
        "params": {"eta": 9}, "groups": 1, "worlds": 3, "time_s": {"mean": 4, "min": 1, "max": 9, "each": [9, 2, 1]},
    }  # fmt: skip
    ((_, found),) = figures({"benchmark": "merit", "runs": [run]}).items()
    assert (found.low, found.value, found.high) == (1, 2, 9)


def test_quality_has_no_noise_and_a_direction():
    def record(precision, violations):
        run = {"graph": {"name": "G", "digest": "d"}, "sources": "all", "depth": "end", "k": 5, "queries": 3}
        run |= {"precision": precision, "ndcg": 1.0, "violations": violations}
        return {"benchmark": "kpar-quality", "params": {"epsilon": 0.5}, "runs": [run]}

    found = compare(record(0.9, 1), record(0.9001, 2))
    assert [row["verdict"] for row in found.rows] == ["better", "as before", "worse"] and found.regressions == 1
    found = compare(record(0.9, 0), record(0.8999, 0))
    assert [row["verdict"] for row in found.rows] == ["worse", "as before", "as before"]
    assert found.rows[2]["ratio"] is None
    changed = record(0.9, 0) | {"params": {"epsilon": 0.1}}
    assert compare(record(0.9, 0), changed).rows == []


@pytest.mark.parametrize(
    "wrong", [{"graph": {}}, {"algorithm_ms": {"median": 1}}, {"algorithm_ms": "fast"}, {"params": 3}, {"graph": "G"}]
)
def test_broken_records_raise(wrong):
    record = gim(("ic", 1, 2, 3))
    record["runs"][0] |= wrong
    with pytest.raises((KeyError, TypeError, ValueError)):
        figures(record)
