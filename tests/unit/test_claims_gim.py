"""gIM: statements of its pages that are in no table, computed again; and conditions on its records."""

import math

from claims import ROOT
from gim_quality import table
from records import record

from gpukit.evaluate.spread import forward_spread
from gpukit.gim import Params
from gpukit.gim.baselines import degree
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.read.formats import read_edges
from gpukit.papers.gim import maximise


def imported(name, **options):
    (path,) = (ROOT / "data").glob(f"{name}.txt.*")
    listed = read_edges(path, weights=False)
    return build_graph(listed.u, listed.v, weights=Weights(), **options)


def test_first_result_of_the_readme():
    """NetHEPT, 50 seeds of a million sets: the figures that the README opens with, with its own parameters."""
    graph = imported("NetHEPT", undirected=True)
    found = maximise(graph, Params(k=50, epsilon=0.1, min_sets=1_000_000, seed=1))
    reach, others = (forward_spread(graph, seeds, runs=5000, seed=1) for seeds in (found.seeds, degree(graph, 50)))
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"reach {reach.spread:.0f} ± {math.ceil(2 * reach.stderr)} of them in 5,000 simulated cascades" in text
    assert f"{reach.spread / others.spread - 1:.0%} more than the 50 with most co-authors" in text.replace(" %", "%")
    assert found.guarantee_kind == "certified" and 1 / found.guarantee <= 1.4
    assert "no other 50 can reach more than 1.4 times as many" in text
    assert f"except with a probability of 1 in {graph.n:,}" in text


def test_numbers_of_sets_that_imm_draws():
    graph = imported("soc-Epinions1")
    drawn = [
        maximise(graph, Params(k=50, epsilon=0.1, bound="imm", samples=samples, min_sets=0, seed=1)).rr_sets
        for samples in ("grid", "fresh", "original")
    ]
    said = "`grid` draws {:,} sets, `fresh` {:,}, `original` {:,}.".format(*drawn)
    assert said in " ".join((ROOT / "docs" / "gim.md").read_text().split())


def test_kept_sets_reach_as_much_as_plain_ones():
    runs = {
        (run["graph"]["name"], run["graph"]["weights"], run["method"]): run for run in record("gim-kept-sets")["runs"]
    }
    kept, plain = (runs["soc-Epinions1", "wc", method]["spread"] for method in ("kept", "plain"))
    assert kept >= 0.995 * plain


def test_no_seed_ends_where_halves_agree_by_chance():
    """docs/gim.md, the floor of the deviation: seeds 1 and 19 ended 1.9 % lower without it."""
    graph = imported("soc-Epinions1")
    assert (
        len({frozenset(maximise(graph, Params(k=5, epsilon=0.1, seed=seed)).seeds.tolist()) for seed in (0, 1, 19)})
        == 1
    )


def test_no_rival_beats_the_default():
    cells = record("gim-quality-cells")["cells"]
    printed = table(cells)
    assert len(cells) >= 147 and "Over 1.5 %: none." in printed and "`--max-members` spent: none." in printed


def test_no_certificate_was_untrue():
    found = record("gim-certificates")
    assert found["untrue"] == 0 and found["runs"] == sum(one["runs"] for one in found["settings"].values()) >= 5000
    assert all(one == {"runs": one["runs"], "certified": one["runs"]} for one in found["settings"].values())
