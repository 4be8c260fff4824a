"""Conditions on the records of benchmarks, whatever their figures."""

# ruff: noqa: E501

import pytest
import tables
from records import one, record

from gpukit.nx.info import FUNCTIONS


def test_two_threads_gain_from_eight_queries_on():
    found = [run["speed_up"]["median"] for run in record("kpar-cpu-threads")["runs"]]
    assert len(found) == 8 and min(found) >= 1.7


def precision(graph, k, depth):
    """Return the mean precision on sources with out-edges."""
    (found,) = [
        run["precision"]
        for run in record("kpar-quality")["runs"]
        if (run["graph"]["name"], run["k"], run["depth"], run["sources"]) == (graph, k, depth, "out-edges")
    ]
    return found


@pytest.mark.parametrize("k", [10, 100, 1000])
@pytest.mark.parametrize("graph", ["web-NotreDame", "copying-a-fifth", "copying-a-half"])
def test_refined_answers_of_web_like_graphs_are_the_true_ones(graph, k):
    assert precision(graph, k, "refined") >= 0.99


def test_no_place_violates_the_definition():
    assert all(run["violations"] == 0 for run in record("kpar-quality")["runs"])


def test_last_scores_on_real_graphs():
    """docs/diversity.md: the last score of the answer is 1 to 3."""
    found = [run for run in record("diversity-h200")["runs"] if run["method"] == "search"]
    last = {run["t_th_score"] for run in found if run["graph"]["name"] != "livejournal-size"}
    assert last == {1, 2, 3}


def test_both_versions_decomposed_the_same():
    """The records of full decompositions in global and in shared memory: same graphs, scores and triangles."""
    before, since = (record(f"diversity-h100-full{suffix}")["runs"] for suffix in ("-before", ""))
    for one_run, other in zip(before, since, strict=True):
        assert one_run["graph"]["digest"] == other["graph"]["digest"]
        assert [one_run[key] for key in ("scores_sum", "ego_triangles")] == [
            other[key] for key in ("scores_sum", "ego_triangles")
        ]


def test_the_backends_of_networkx_give_equal_results():
    """docs/networkx.md: which backend is faster in which cell."""
    found = record("networkx-rivals")
    assert found["rivals"] == ["franken_networkx"] and {run["name"] for run in found["runs"]} == set(FUNCTIONS)
    again, slower = set(), set()
    for run in found["runs"]:
        theirs, ours = run["backends"]["networkx"]["alone"], run["backends"]["gpukit"]
        for backend in run["backends"].keys() - {"networkx"}:
            answer = run["backends"][backend]
            assert answer["same_order"] and answer["largest_difference"] <= (1e-15 if run["name"] == "pagerank" else 0)
        assert all(4 * ours[part]["median"] <= theirs["median"] for part in tables.PARTS)
        if rival := run["backends"].get("franken_networkx"):
            again |= {(run["name"], part) for part in tables.PARTS if rival[part]["median"] <= ours[part]["median"]}
            if rival["with_conversion"]["median"] > theirs["median"]:
                slower.add((run["name"], run["kind"]))
    assert again == {("triangles", "asked_again")}
    assert slower == {("pagerank", "directed"), ("pagerank", "undirected"), ("core_number", "directed")}


def test_edges_in_parts_change_no_byte():
    assert one("spread-over-gpus-h100x2", system="gim sets")["same_bytes"]
    assert all(run["same_bytes"] and run["limited_over_whole"] < 4 for run in record("beyond-memory-h100")["runs"])


def test_a_limit_of_memory_is_kept_and_changes_nothing():
    limited, large = record("large-graph-limited-h100"), record("large-graph-h100")
    for name, found in limited["commands"].items():
        assert found["gpu_peak_bytes"] <= 1.5 * limited["csr_bytes"]
        assert found["exit_code"] == 0 and ("--gpu-memory 9300000000" in found["command"]) == (name != "import")
    for name, part in (
        ("gim run", "rr_sets"), ("gim run", "spread_estimate"), ("kpar rank", "top"), ("kpar index", "walks"), ("kpar index", "entries"),
    ):  # fmt: skip
        assert limited["commands"][name]["printed"][part] == large["commands"][name]["printed"][part]
