"""``gpukit gim``: records, artifacts that do not depend on the machine, shards, and one line for each error."""

from decimal import Decimal

import numpy as np
import pytest

import gpukit as gk
from gpukit.api.session import Session
from gpukit.artifacts import read_header, read_rrsets, read_seeds, write_graph
from gpukit.artifacts.store import read as artifact_of
from gpukit.cli.app import explain, main
from gpukit.gim import Params, baselines, maximise
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights
from gpukit.papers.gim.skim import draw_instances, skim
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import prepare
from gpukit.worlds.tables import build_tables

GROUP = ("gim",)


@pytest.fixture(scope="module")
def graph():
    """A graph whose original ids are not its internal ones."""
    generator = np.random.default_rng(1)
    u, v = 10 * generator.integers(1, 60, (2, 250))
    return build_graph(u, v, weights=Weights())


@pytest.fixture
def folder(tmp_path, graph, monkeypatch):
    write_graph(tmp_path / "G.h5", graph, build_tables(graph))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_long_lists_are_cut_where_people_read_them(record, good, folder):
    for k, shown in ((20, 20), (21, 10)):
        words = ("run", "G.h5", "--out", "S.h5", "-k", k)
        seeds = [str(one) for one in record(*words)["seeds"]]
        told = ", ".join(seeds[:shown]) + (f", … and {k - shown} more (--json has all)" if shown < k else "")
        assert f"{told}\n" in good(*words) and len(seeds) == k


def test_epsilon_states_what_optimism_has_proven_already(record, folder):
    """As docs/howto-seeds.md says: more sets change the seeds or their worth, and another ε alone does not."""
    words = ("run", "G.h5", "--out", "S.h5", "-k", 5)
    loose, close = (record(*words, "--epsilon", epsilon) for epsilon in (0.3, 0.02))
    assert loose["seeds"] == close["seeds"] and loose["rr_sets"] == close["rr_sets"]
    assert record(*words, "--optimism", 0.004)["rr_sets"] > loose["rr_sets"]
    alone = [record(*words, "--optimism", "off", "--epsilon", epsilon)["rr_sets"] for epsilon in (0.3, 0.02)]
    assert alone[0] < alone[1]


def test_seeds_under_several_probabilities(record, good, run, folder, graph):
    words = ["run", "G.h5", "-k", 3, "--seed", 2, "--out"]
    schemes = ["wc", "const:0.05", "const:0.9"]
    found = record(*words, "T.h5", "--weights", ",".join(schemes))["sweep"]
    assert [one["weights"] for one in found] == schemes
    for one, scheme in zip(found, schemes, strict=True):
        name = f"G-{scheme.replace(':', '-')}.h5"
        write_graph(name, gk.Graph(graph).with_weights(scheme).csr)
        alone = record("run", name, *words[2:], "A.h5")
        assert alone["seeds"] == one["seeds"] and alone["guarantee"] == one["guarantee"]
        assert (folder / "A.h5").read_bytes() == (folder / one["written"]).read_bytes(), "as of a graph imported so"
        good(*words, "B.h5", "--weights", scheme)
        assert (folder / "A.h5").read_bytes() == (folder / "B.h5").read_bytes()
        for other, reached, stderr, common in zip(
            found, *(one[key] for key in ("reached", "stderr", "common")), strict=True
        ):
            under = gk.Graph(graph).with_weights(other["weights"])
            spread = gk.estimate_spread(under, one["seeds"], seed=9)
            assert abs(spread.mean - reached) <= 5 * (spread.stderr**2 + stderr**2) ** 0.5 + 1e-9
            assert common == len(set(one["seeds"]) & set(other["seeds"]))
    assert found[0]["reached"][0] < found[0]["reached"][2]
    told = good(*words, "T.h5", "--weights", ",".join(schemes))
    assert "spread under" in told and "shared with seeds" in told and "guarantee, each under its own" in told
    assert " of the best possible under ic with wc, certified, except with probability 1 in" in good(*words, "A.h5")
    for text, code, message in (
        ("wc,wc", 2, "--weights wc,wc names one twice"),
        ("wc,no", 2, "--weights no: choose wc"),
        ("wc,file", 2, "the graph has weights wc and cannot be given weights file"),
    ):
        got, out, err = run(*words, "T.h5", "--weights", text)
        assert (got, out) == (code, "") and message in err.splitlines()[-1]
    (folder / "T-wc.h5").write_text("mine")
    assert run(*words, "T.h5", "--weights", "wc,const:0.1")[0] == 2 and (folder / "T-wc.h5").read_text() == "mine"


def test_record_and_artifact(record, folder, graph):
    found = record("run", "G.h5", "--out", "S.h5", "-k", 4, "--epsilon", 0.2, "--min-sets", 500, "--seed", 3)
    expected = maximise(graph, Params(k=4, epsilon=0.2, min_sets=500, seed=3))
    assert found["seeds"] == graph.original(expected.seeds).tolist()
    assert found["gains"] == expected.gains.tolist()
    assert {name: found[name] for name in expected.facts()} == expected.facts()
    assert found["rr_sets"] >= 500 and 0.43 < found["guarantee"] <= 1
    assert {"params", "graph", "device", "seed", "time_s"} <= found.keys()
    assert found["graph"] == {"n": graph.n, "m": graph.m}
    assert {"total", "sampling", "selection", "transfer"} <= found["time_s"].keys()
    stored = read_seeds(folder / "S.h5")
    assert stored.seeds.tolist() == found["seeds"] and stored.internal.tolist() == expected.seeds.tolist()
    assert stored.gains.tolist() == expected.gains.tolist()
    assert stored.guarantee == {"value": found["guarantee"], "kind": "certified"}
    assert (stored.spread_estimate, stored.rr_sets, stored.seed) == (found["spread_estimate"], found["rr_sets"], 3)
    assert stored.graph == read_header(folder / "G.h5").payload
    assert {"k", "epsilon", "model", "bound", "sampler"} <= stored.params.keys()


@pytest.mark.parametrize(
    "words",
    [
        ["--bound", "imm", "--samples", "fresh"],
        ["--model", "lt", "--rounds", "2"],
        ["--sampler", "scan", "--exclude", "10,20"],
    ],
)
def test_bytes_do_not_depend_on_the_machine(good, record, folder, words):
    base = ["papers", "run", "G.h5", "-k", 3, "--epsilon", 0.3, "--min-sets", 300, *words]
    one = record(*base, "--out", "A.h5", "--threads", 1)
    for other in (["--threads", 2], ["--selection", "scan"], ["--block", 64, "--grid", 7, "--device", "cpu"]):
        two = record(*base, "--out", "B.h5", *other)
        assert two["seeds"] == one["seeds"]
        assert (folder / "A.h5").read_bytes() == (folder / "B.h5").read_bytes()
    good(*base, "--out", "C.h5", "--seed", 1)
    assert (folder / "A.h5").read_bytes() != (folder / "C.h5").read_bytes()


def test_rounds_in_record_and_artifact(record, folder):
    found = record("run", "G.h5", "--out", "S.h5", "-k", 2, "--rounds", 3, "--min-sets", 500)
    assert sorted(found["rounds"]) == [0, 0, 1, 1, 2, 2]
    assert read_seeds(folder / "S.h5").rounds.tolist() == found["rounds"]


def test_summary_for_people(good, folder, graph):
    lines = good("run", "G.h5", "--out", "S.h5", "-k", 2, "--rounds", 2, "--min-sets", 500).splitlines()
    titles = {line.split("  ")[0] for line in lines}
    assert {"seeds", "rounds", "spread", "optimism", "RR sets", "guarantee", "graph", "time", "written"} == titles
    kept = f"of the best possible under ic with {graph.weights}, certified, except with probability 1 in {graph.n}"
    assert any(line.endswith(kept) for line in lines)
    assert "none" in good("papers", *RUN, "-k", 2, "--bound", "imm", "--samples", "original")


def test_include_exclude_targets(record, folder, graph):
    ids = graph.original(np.arange(graph.n))
    (folder / "in.txt").write_text(f"# two\n{ids[5]}\n\n{ids[2]}  # later\n")
    (folder / "t.txt").write_text(f"{ids[1]} 3\n{ids[7]},4\n")
    words = ("--include", "in.txt", "--exclude", f"{ids[0]}, {ids[3]}", "--targets", "t.txt")
    found = record("run", "G.h5", "--out", "S.h5", "-k", 4, *words, "--min-sets", 500)
    weights = np.zeros(graph.n, np.int64)
    weights[[1, 7]] = 3, 4
    expected = maximise(graph, Params(k=4, include=[5, 2], exclude=[0, 3], root_weights=weights, min_sets=500))
    assert found["seeds"] == ids[expected.seeds].tolist()
    assert found["seeds"][:2] == [ids[5], ids[2]]
    assert found["spread_estimate"] == expected.spread_estimate <= 7
    assert (found["params"]["include"], found["params"]["exclude"]) == ([ids[5], ids[2]], [ids[0], ids[3]])


@pytest.mark.parametrize("bound", ["opim", "imm"])
def test_targets_with_decimals_are_exact(record, folder, graph, bound):
    ids = graph.original(np.arange(graph.n)).tolist()
    amounts = np.random.default_rng(3).integers(0, 5000, graph.n)
    for name, unit in (("whole.txt", 1), ("parts.txt", 1000)):
        (folder / name).write_text(
            "".join(f"{v} {Decimal(int(a)) / unit}\n" for v, a in zip(ids, amounts, strict=True))
        )
    words = ("run", "G.h5", "-k", 3, "--min-sets", 500, "--bound", bound)
    whole = record(*words, "--out", "A.h5", "--targets", "whole.txt")
    parts = record(*words, "--out", "B.h5", "--targets", "parts.txt")
    for name in ("seeds", "gains", "rr_sets", "guarantee"):
        assert parts[name] == whole[name]
    found, expected = parts["history"], whole["history"]
    for name in ("spread_estimate", "selection_estimate", "lower", "upper"):
        pairs = [(parts[name], whole[name]), *((found[i].get(name), one.get(name)) for i, one in enumerate(expected))]
        for mine, other in pairs:
            assert mine == (None if other is None else pytest.approx(other / 1000, rel=1e-15))
    assert (parts["spread_estimate"] or parts["selection_estimate"]) <= amounts.sum() / 1000
    stored = read_seeds(folder / "B.h5")
    assert (stored.spread_estimate, stored.selection_estimate) == (
        parts["spread_estimate"],
        parts["selection_estimate"],
    )


def test_zeros_behind_the_point_change_nothing(record, folder, graph):
    ids = graph.original(np.arange(graph.n))
    (folder / "a.txt").write_text(f"{ids[1]} 3\n{ids[7]} 4\n")
    (folder / "b.txt").write_text(f"{ids[1]} 3.000\n{ids[7]} 4.0\n")
    one, two = (
        record("run", "G.h5", "--out", "S.h5", "-k", 2, "--targets", f"{name}.txt", "--min-sets", 500) for name in "ab"
    )
    assert one["history"] == two["history"] and one["seeds"] == two["seeds"]


def test_budget_and_costs(record, folder, graph):
    ids = graph.original(np.arange(graph.n))
    (folder / "c.txt").write_text(f"{ids[0]} 0.5\n{ids[4]} 2.000001\n")
    found = record("run", "G.h5", "--out", "S.h5", "--budget", 3.5, "--costs", "c.txt", "--min-sets", 500)
    costs = np.full(graph.n, 10**6)
    costs[[0, 4]] = 500_000, 2_000_001
    expected = maximise(graph, Params(budget=3_500_000, costs=costs, min_sets=500))
    assert found["seeds"] == ids[expected.seeds].tolist()
    assert costs[expected.seeds].sum() <= 3_500_000


SHARDS = (("whole", 0, 400), ("a", 0, 150), ("b", 150, 1), ("c", 151, 249), ("j", 500, 90), ("i", 590, 110))


@pytest.mark.parametrize(
    ("more", "kept"),
    [([], True), (["--sets", "plain"], False), (["--sampler", "scan"], False), (["--rounds", 2], False)],
)
@pytest.mark.parametrize("targets", [False, True])
def test_shards_are_the_whole(record, folder, graph, more, kept, targets):
    ids = graph.original(np.arange(graph.n))
    (folder / "t.txt").write_text("".join(f"{v} {1 + v % 7}.25\n" for v in ids[::2]))
    words = ("--seed", 9, "--model", "lt", *more, *(["--targets", "t.txt"] if targets else []))
    sample = [*["papers"] * (more[:1] in (["--sets"], ["--sampler"])), "sample", "G.h5"]
    for name, first, count in SHARDS:
        made = record(*sample, "--out", f"{name}.h5", "--first", first, "--count", count, *words)
        assert (made["drawn"], made["graph"]) == (count, {"n": graph.n, "m": graph.m})
        assert made["rr_sets"] <= count if kept else made["rr_sets"] == count
    assert read_header(folder / "whole.h5").version == (2 if kept or targets else 1)
    assert not kept or targets or read_rrsets(folder / "whole.h5").count < 400
    judge = ["--judge", "i.h5", "--judge", "j.h5"]
    whole = record("select", "whole.h5", "--out", "W.h5", "-k", 3, *judge)
    parts = record("select", "c.h5", "a.h5", "b.h5", "--out", "P.h5", "-k", 3, *judge[2:], *judge[:2])
    assert (folder / "W.h5").read_bytes() == (folder / "P.h5").read_bytes()
    assert {**whole, "time_s": 0} == {**parts, "time_s": 0}
    assert (whole["params"]["count"], whole["params"]["judge_count"]) == (400, 200)
    assert (whole["guarantee"], whole["seed"]) == (None, 9)
    assert set(whole["seeds"]) <= set(ids.tolist())
    again = record(*sample, "--out", "d.h5", "--count", 400, *words, "--threads", 2)
    assert again["members"] == len(read_rrsets(folder / "whole.h5").members)
    assert (folder / "d.h5").read_bytes() == (folder / "whole.h5").read_bytes()
    assert read_seeds(folder / "W.h5").seeds.tolist() == whole["seeds"]
    assert main(["verify", "whole.h5", "a.h5", "W.h5"]) == 0


def test_kept_sets_and_targets_estimate_what_plain_ones_do(record, folder, graph):
    """Four kinds of sets judge the same seeds alike, within four standard errors, and kept ones err no more."""
    ids = graph.original(np.arange(graph.n))
    (folder / "t.txt").write_text("".join(f"{v} 2.5\n" for v in ids))
    found = {}
    for sets in ("kept", "plain"):
        for words in ((), ("--targets", "t.txt")):
            for name, first in (("r", 0), ("j", 20_000)):
                more = ("--sets", sets, *words)
                record("papers", "sample", "G.h5", "--out", f"{name}.h5", "--first", first, "--count", 20_000, *more)
            found[sets, len(words)] = record("select", "r.h5", "--judge", "j.h5", "--out", "S.h5", "-k", 3)
            stored = read_seeds(folder / "S.h5")
            assert stored.spread_gains.sum() == pytest.approx(found[sets, len(words)]["spread_estimate"], rel=0.05)
    assert found["kept", 0]["stderr"] < found["plain", 0]["stderr"]
    assert len({tuple(sorted(one["seeds"])) for one in found.values()}) == 1
    for (_, words), one in found.items():
        scale, other = 2.5 if words else 1, found["plain", 0]
        assert abs(one["spread_estimate"] / scale - other["spread_estimate"]) < 4 * np.hypot(
            one["stderr"] / scale, other["stderr"]
        )


def test_seeds_can_be_exported_alone(record, folder, graph):
    found = record("run", "G.h5", "--out", "S.h5", "-k", 3)
    degrees = dict(zip(graph.original(np.arange(graph.n)).tolist(), np.diff(graph.indptr).tolist(), strict=True))
    stored = read_seeds(folder / "S.h5")
    assert stored.degrees.tolist() == [degrees[seed] for seed in found["seeds"]]
    assert stored.spread_gains.tolist() == found["spread_gains"]
    assert sum(found["spread_gains"]) == pytest.approx(found["spread_estimate"], rel=0.1)
    assert main(["export", "S.h5", "--out", "S.csv"]) == 0
    assert (folder / "S.csv").read_text().startswith("order,vertex,gain,spread_gain,degree\n")


def test_what_seeds_cover_of_their_own_sets_is_not_called_their_spread(good, record, folder):
    for name, first, count in (("a", 0, 200), ("j1", 300, 50), ("j2", 350, 70)):
        good("papers", *SAMPLE[:2], "--out", f"{name}.h5", "--first", first, "--count", count, "--sets", "plain")
    alone = record("select", "a.h5", "--out", "A.h5", "-k", 3)
    judged = record("select", "a.h5", "--out", "J.h5", "-k", 3, "--judge", "j2.h5", "--judge", "j1.h5")
    imm = record("run", "G.h5", "--out", "I.h5", "-k", 3, "--bound", "imm", "--min-sets", 500)
    assert judged["seeds"] == alone["seeds"] and judged["rr_sets"] == alone["rr_sets"] + 120
    for found, path in ((alone, "A.h5"), (imm, "I.h5")):
        stored = read_seeds(folder / path)
        assert found["spread_estimate"] is None and stored.spread_estimate is None
        assert found["selection_estimate"] == stored.selection_estimate > 3
    stored = read_seeds(folder / "J.h5")
    assert judged["selection_estimate"] is None and stored.selection_estimate is None
    assert judged["spread_estimate"] == stored.spread_estimate > 3
    good("papers", *SAMPLE[:2], "--out", "j.h5", "--first", 300, "--count", 120, "--sets", "plain")
    digests = {what: read_header(folder / f"{name}.h5").payload for what, name in (("rrsets", "a"), ("judge", "j"))}
    assert artifact_of(folder / "J.h5", "seeds").inputs == digests | {"graph": read_header(folder / "G.h5").payload}
    assert alone["params"] == {name: judged["params"][name] for name in alone["params"]}
    assert (judged["params"]["judge_first"], judged["params"]["judge_count"]) == (300, 120)
    said = good("select", "a.h5", "--out", "B.h5", "-k", 3)
    assert "on the sets it was chosen from, too high" in said and "two standard errors" not in said
    assert "two standard errors" in good("select", "a.h5", "--out", "B.h5", "-k", 3, "--judge", "j1.h5")
    assert main(["verify", "A.h5", "J.h5", "I.h5"]) == 0 and main(["diff", "A.h5", "J.h5"]) == 1


def test_commands_of_the_cpu_say_that_nobody_chose_it(good, record, folder):
    good("sample", "G.h5", "--out", "r.h5", "--count", 9)
    alone = "this command runs on the CPU"
    for words, reason in (
        (["select", "r.h5"], alone),
        (["select", "r.h5", "--device", "cpu"], "asked for"),
        (["baseline", "G.h5", "--method", "degree"], alone),
    ):
        assert record(*words, "--out", "S.h5", "-k", 2)["device"]["reason"] == reason


def test_select_over_rounds(good, record, folder):
    good("sample", "G.h5", "--out", "r.h5", "--count", 300, "--rounds", 2)
    assert sorted(record("select", "r.h5", "--out", "S.h5", "-k", 2)["rounds"]) == [0, 0, 1, 1]


@pytest.mark.parametrize("method", ["degree", "degree-discount", "random"])
def test_baselines(record, folder, graph, method):
    found = record("baseline", "G.h5", "--method", method, "-k", 5, "--out", "B.h5", "--seed", 4)
    function = {"degree": baselines.degree, "degree-discount": baselines.degree_discount}.get(method)
    expected = baselines.random(graph, 5, 4) if function is None else function(graph, 5)
    assert found["seeds"] == graph.original(expected).tolist()
    stored = read_seeds(folder / "B.h5")
    assert (stored.method, stored.seeds.tolist()) == (method, found["seeds"])


def test_skim(record, folder, graph):
    found = record("papers", "skim", "G.h5", "-k", 5, "--out", "B.h5", "--seed", 4)
    seeds, gains = skim(draw_instances(graph, 4), 5, seed=4)
    assert found["seeds"] == graph.original(seeds).tolist()
    assert found["selection_estimate"] == gains.sum() / 64 and found["device"]["threads"] == 1
    assert {"sampling", "selection"} <= set(found["time_s"])
    assert read_seeds(folder / "B.h5").method == "skim"


def _is_trivial(graph, first):
    collection = CpuCollection(prepare(graph, "ic"), 0, first)
    collection.extend(1)
    return first > 9 and collection.members() == 1


RUN = ["run", "G.h5", "--out", "S.h5"]
SAMPLE = ["sample", "G.h5", "--out", "R.h5"]


@pytest.mark.parametrize(
    ("code", "words", "line"),
    [
        (2, [*RUN, "-k", 0], "k is 0; 1 to"),
        (2, [*RUN, "-k", 10_000], "k is 10000"),
        (2, [*RUN, "-k", "x"], "'-k'"),
        (2, [*RUN], "-k"),
        (2, [*RUN, "-k", 2, "--budget", 3], "either -k"),
        (2, [*RUN, "-k", 2, "--epsilon", 0], "epsilon"),
        (2, [*RUN, "-k", 2, "--epsilon", 1], "epsilon"),
        (2, [*RUN, "-k", 2, "--epsilon", "nan"], "epsilon"),
        (2, [*RUN, "-k", 2, "--epsilon", 1e-200], "--epsilon is 1e-200; it must lie in [1e-6, 1)"),
        (2, [*RUN, "-k", 2, "--epsilon", 1e-200, "--bound", "imm"], "10^12 RR sets"),
        (2, [*RUN, "-k", 2, "--model", "sir"], "sir"),
        (2, [*RUN, "-k", 2, "--rounds", 0], "rounds"),
        (2, [*RUN, "-k", 2, "--min-sets", -1], "--min-sets is -1"),
        (2, [*RUN, "-k", 2, "--seed", -1], "seed"),
        (2, [*RUN, "-k", 2, "--include", "none.txt"], "neither"),
        (3, [*RUN, "-k", 2, "--include", "7"], "vertex 7 is not in the graph"),
        (2, [*RUN, "-k", 2, "--include", "10,10"], "twice"),
        (2, [*RUN, "-k", 2, "--include", "10,20,30"], "k is 2"),
        (2, [*RUN, "-k", 2, "--include", "10", "--exclude", "10"], "both"),
        (2, [*RUN, "-k", 2, "--include", str(2**63)], "2^63"),
        (3, [*RUN, "-k", 2, "--include", "letters.txt"], "line 2"),
        (3, [*RUN, "-k", 2, "--include", "junk.bin"], "not text"),
        (3, [*RUN, "-k", 2, "--include", "empty.txt"], "no vertices"),
        (3, [*RUN, "-k", 2, "--targets", "missing.txt"], "missing.txt"),
        (3, [*RUN, "-k", 2, "--targets", "one.txt"], "1 columns, 2 are needed"),
        (3, [*RUN, "-k", 2, "--targets", "letters.txt"], "line 1"),
        (3, [*RUN, "-k", 2, "--targets", "negative.txt"], "'-1'"),
        (3, [*RUN, "-k", 2, "--targets", "nan.txt"], "'nan'"),
        (3, [*RUN, "-k", 2, "--targets", "tiny.txt"], "'1e-10' is not a number in [0, 9007199.254740992], with at"),
        (3, [*RUN, "-k", 2, "--targets", "both.txt"], "line 2: '100000000' is not a number in [0, 9007199.254740992]"),
        (3, [*RUN, "-k", 2, "--targets", "twice.txt"], "twice.txt, line 2: vertex 10 is given twice, first in line 1"),
        (2, [*RUN, "-k", 2, "--costs", "costs.txt"], "budget"),
        (3, [*RUN, "--budget", 2, "--costs", "fine.txt"], "at most 6 decimals"),
        (4, [*RUN, "-k", 2, "--min-sets", 10**12], "31,250,000,000 RR sets"),
        (4, [*SAMPLE, "--count", 10**12], "free on this machine; draw fewer"),
        (2, [*RUN, "--budget", "x"], "--budget"),
        (2, [*RUN, "--budget", "nan"], "--budget"),
        (2, [*RUN, "--budget", 0], "--budget"),
        (2, [*RUN, "--budget", "1e999999"], "--budget: '1e999999' is not a number"),
        (3, [*RUN, "--budget", 2, "--costs", "huge.txt"], "huge.txt, line 1: '1e999999' is not a number"),
        (2, [*RUN, "--budget", 0.5], "below the cost"),
        (2, ["papers", *RUN, "-k", 2, "--block", 7], "--block"),
        (2, [*RUN, "-k", 2, "--threads", 0], "--threads"),
        (3, ["run", "missing.h5", "--out", "S.h5", "-k", 2], "missing.h5"),
        (3, ["run", ".", "--out", "S.h5", "-k", 2], "."),
        (3, ["run", "empty.txt", "--out", "S.h5", "-k", 2], "empty.txt"),
        (3, ["run", "junk.bin", "--out", "S.h5", "-k", 2], "junk.bin"),
        (3, ["run", "edgeless.h5", "--out", "S.h5", "-k", 2], "no edges"),
        (3, ["run", "forward.h5", "--out", "S.h5", "-k", 2], "transpose"),
        (3, ["run", "bare.h5", "--out", "S.h5", "-k", 2], "probabilities"),
        (3, ["baseline", "bare.h5", "--out", "S.h5", "-k", 2, "--method", "degree-discount"], "--weights wc|const:P|"),
        (3, ["run", "heavy.h5", "--out", "S.h5", "-k", 2, "--model", "lt"], "at most 1"),
        (3, ["run", "G.h5", "--out", "none/S.h5", "-k", 2], "no folder"),
        (3, ["sample", "edgeless.h5", "--out", "S.h5", "--count", 2], "no edges"),
        (3, ["baseline", "edgeless.h5", "--out", "S.h5", "-k", 2, "--method", "random"], "no edges"),
        (2, ["baseline", "G.h5", "--out", "S.h5", "-k", 0, "--method", "random"], "k = 0"),
        (2, [*SAMPLE, "--count", 0], "--count"),
        (2, [*SAMPLE, "--count", 5, "--first", -1], "sample ids"),
        (2, [*SAMPLE, "--count", 5, "--first", 2**48 - 4], "2^48"),
        (3, ["select", "G.h5", "--out", "S.h5", "-k", 2], "G.h5"),
        (3, ["select", "r0.h5", "r9.h5", "--out", "S.h5", "-k", 2], "gap"),
        (3, ["select", "r0.h5", "r0.h5", "--out", "S.h5", "-k", 2], "overlap"),
        (3, ["select", "r0.h5", "seed.h5", "--out", "S.h5", "-k", 2], "differ in seed"),
        (3, ["select", "r0.h5", "lt.h5", "--out", "S.h5", "-k", 2], "differ in model"),
        (3, ["select", "r0.h5", "--judge", "r0.h5", "--out", "S.h5", "-k", 2], "both hold sample id 0"),
        (3, ["select", "r0.h5", "--judge", "seed.h5", "--out", "S.h5", "-k", 2], "differ in seed"),
        (3, ["select", "r0.h5", "--judge", "lt.h5", "--out", "S.h5", "-k", 2], "differ in model"),
        (3, ["select", "r0.h5", "--judge", "G.h5", "--out", "S.h5", "-k", 2], "G.h5"),
        (3, ["select", "r0.h5", "plain.h5", "--out", "S.h5", "-k", 2], "differ in sets (kept, plain); draw them alike"),
        (3, ["select", "r0.h5", "--judge", "targets.h5", "--out", "S.h5", "-k", 2], "differ in targets (none, "),
        (3, ["select", "none.h5", "--out", "S.h5", "-k", 2], "no sample id gave a set that is not trivial; draw more"),
        (3, ["select", "r0.h5", "--judge", "none.h5", "--out", "S.h5", "-k", 2], "no sample id gave a set"),
        (2, ["select", "r0.h5", "--out", "S.h5", "-k", 0], "k is 0"),
        (2, ["select", "r0.h5", "--out", "S.h5", "-k", 2, "--gpus", -1], "--gpus is -1"),
    ],
)
def test_what_is_wrong_is_one_line(run, good, folder, graph, code, words, line):
    texts = {"empty": "", "letters": "10\nten\n", "one": "10\n", "negative": "10 -1\n", "nan": "10 nan\n"}
    texts |= {"twice": "10 1\n10 2\n", "costs": "10 1\n", "fine": "10 0.1234567\n", "huge": "10 1e999999\n"}
    texts |= {"eleven": "10 11\n", "tiny": "10 1e-10\n", "both": "10 0.000000001\n20 100000000\n"}
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    (folder / "junk.bin").write_bytes(bytes(range(256)))
    write_graph("edgeless.h5", Graph(np.zeros(6, np.int64), np.zeros(0, np.int32)))
    if "forward.h5" in words:
        write_graph("forward.h5", Graph(graph.indptr, graph.indices))
    if "bare.h5" in words:
        write_graph("bare.h5", build_graph(np.array([0, 1]), np.array([1, 2]), weights=Weights("none")))
    if "heavy.h5" in words:
        write_graph("heavy.h5", build_graph(np.array([0, 1]), np.array([2, 2]), weights=Weights("const", 0.9)))
    if "select" in words:
        extras = (("r0", []), ("r9", ["--first", 9]), ("seed", ["--first", 5, "--seed", 1]))
        extras += (("plain", ["--first", 5, "--sets", "plain"]), ("targets", ["--first", 5, "--targets", "eleven.txt"]))
        for name, more in (*extras, ("lt", ["--first", 5, "--model", "lt"])):
            good("papers", "sample", "G.h5", "--out", f"{name}.h5", "--count", 5, *more)
        if "none.h5" in words:
            trivial = next(id_ for id_ in range(10**4) if _is_trivial(graph, id_))
            good("sample", "G.h5", "--out", "none.h5", "--count", 1, "--first", trivial)
    found, out, err = run(*words)
    lines = [text for text in err.splitlines() if "device cpu" not in text]
    assert found == code, err
    assert len(lines) == 1 and line in lines[0], err
    assert out == ""
    assert not (folder / "S.h5").exists() and not (folder / "R.h5").exists()
    assert not list(folder.glob(".*tmp"))


def test_cuda_without_a_gpu_fails(run, good, folder, monkeypatch):
    from gpukit.device import select

    monkeypatch.setattr(select, "detect", lambda: ((), "no driver"))
    good("sample", "G.h5", "--out", "r.h5", "--count", 5)
    for words in (["run", "G.h5"], ["select", "r.h5"]):
        code, _, err = run(*words, "--out", "S.h5", "-k", 2, "--device", "cuda")
        assert code == 4 and "cannot use a GPU" in err
    assert run(*RUN, "-k", 2, "--min-sets", 10)[0] == 0


def test_ctrl_c(run, folder, monkeypatch):
    """Interrupted while it draws sets: exit code 5, one line, no output."""
    from gpukit.worlds.collection import CpuCollection

    extend = CpuCollection.extend

    def interrupted(self, size, report=None):
        if size > 1000:
            raise KeyboardInterrupt
        extend(self, size, report)

    monkeypatch.setattr(CpuCollection, "extend", interrupted)
    code, out, err = run(*RUN, "-k", 2, "--min-sets", 10_000)
    assert (code, out) == (5, "")
    assert err.splitlines() == ["gpukit: interrupted; nothing unfinished was left behind"]
    assert {path.name for path in folder.iterdir()} == {"G.h5"}


def test_ctrl_c_inside_compiled_code():
    """The interrupt caused the error, directly or through another error."""
    error: BaseException = KeyboardInterrupt()
    for function in ("_numba_unpickle", "CPUDispatcher"):
        outer = SystemError(f"{function} returned a result with an exception set")
        outer.__cause__ = error
        error = outer
        assert explain(error) == explain(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt), Session():
            raise error
