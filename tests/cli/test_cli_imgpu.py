"""``gpukit imgpu``: records, artifacts that do not depend on the machine, and one line for each error."""

import json

import numpy as np
import pytest

from gpukit.artifacts import read_header, read_metrics, read_seeds, write_graph
from gpukit.cli.app import main
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights
from gpukit.imgpu import Params, maximise
from gpukit.imgpu.levels_cpu import nodes_per_level
from gpukit.imgpu.worlds_cpu import CpuWorlds
from gpukit.papers.imgpu import baselines
from gpukit.wording import with_error
from gpukit.worlds.blocks import prepare_blocks

GROUP = ("imgpu",)


@pytest.fixture(scope="module")
def graph():
    """A graph whose original ids are not its internal ones."""
    u, v = 10 * np.random.default_rng(1).integers(1, 60, (2, 250))
    return build_graph(u, v, weights=Weights("const", 0.2))


@pytest.fixture
def folder(tmp_path, graph, monkeypatch):
    write_graph(tmp_path / "G.h5", graph)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_record_and_artifact(record, folder, graph):
    found = record("run", "G.h5", "--out", "S.h5", "-k", 4, "--worlds", 200, "--fresh", "--seed", 3)
    expected = maximise(graph, Params(4, 200, True, 3))
    assert found["seeds"] == graph.original(expected.seeds).tolist()
    assert found["gains"] == expected.gains.tolist()
    assert {name: found[name] for name in expected.facts()} == expected.facts()
    assert {"params", "graph", "device", "seed", "time_s"} <= found.keys()
    assert found["params"] == {"k": 4, "worlds": 200, "fresh": True}
    assert {"total", "worlds", "estimate"} <= found["time_s"].keys()
    stored = read_seeds(folder / "S.h5")
    assert stored.seeds.tolist() == found["seeds"] and stored.internal.tolist() == expected.seeds.tolist()
    assert (stored.spread_estimate, stored.seed, stored.method) == (found["spread_estimate"], 3, "imgpu")
    assert stored.graph == read_header(folder / "G.h5").payload
    assert main(["verify", "S.h5"]) == 0


def test_the_number_of_worlds_is_found(record, good, folder, graph, monkeypatch, capsys):
    found = record("run", "G.h5", "--out", "S.h5", "-k", 4, "--seed", 3)
    expected = maximise(graph, Params(4, seed=3))
    assert {name: found[name] for name in expected.facts()} == expected.facts()
    assert found["optimism"] + found["optimism_sd"] <= 0.01
    assert found["params"]["worlds"] == found["worlds"] == expected.worlds
    good("run", "G.h5", "--out", "T.h5", "-k", 4, "--seed", 3, "--worlds", found["worlds"])
    assert (folder / "S.h5").read_bytes() == (folder / "T.h5").read_bytes()
    assert "which chose the number of worlds" in good("run", "G.h5", "--out", "S.h5", "-k", 4, "--seed", 3)
    monkeypatch.setattr("gpukit.imgpu.run.MAX_WORLDS", 128)
    assert main(["imgpu", "run", "G.h5", "--out", "S.h5", "-k", "4", "--seed", "3", "--device", "cpu", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["worlds"] == 128
    assert len([line for line in err.splitlines() if "with 128 worlds, the most by default" in line]) == 1


@pytest.mark.parametrize("mode", ["--fresh", "--fixed"])
def test_bytes_do_not_depend_on_threads(good, folder, mode):
    for name, threads, seed in (("A.h5", 1, 0), ("B.h5", 2, 0), ("C.h5", 1, 1)):
        words = ("run", "G.h5", "-k", 3, "--worlds", 70, mode, "--threads", threads, "--seed", seed)
        good(*words, "--out", name)
    assert (folder / "A.h5").read_bytes() == (folder / "B.h5").read_bytes() != (folder / "C.h5").read_bytes()


def test_switches_change_nothing(good, folder):
    base = ("run", "G.h5", "-k", 3, "--worlds", 60)
    good(*base, "--out", "A.h5")
    for words in (["--by-level"], ["--combine"], ["--reorder", "--unroll", 4], ["--combine", "--unroll", 128]):
        good("papers", *base, *words, "--out", "B.h5")
        assert (folder / "A.h5").read_bytes() == (folder / "B.h5").read_bytes()


def test_levels_draw_the_arcs_of_an_undirected_edge_singly(good, folder):
    """Without levels one coin decides both arcs, and worlds are components; with them, optimisations agree."""
    u, v = np.random.default_rng(4).integers(0, 50, (2, 110))
    write_graph(folder / "U.h5", build_graph(u, v, weights=Weights("const", 0.2), undirected=True))
    base = ("run", "U.h5", "-k", 3, "--worlds", 60)
    good(*base, "--out", "components.h5")
    levels = {}
    for words in (["--by-level"], ["--combine"], ["--reorder", "--unroll", 4]):
        good("papers", *base, *words, "--out", "B.h5")
        levels[words[0]] = (folder / "B.h5").read_bytes()
    assert len(set(levels.values())) == 1
    assert levels["--by-level"] != (folder / "components.h5").read_bytes()


@pytest.mark.parametrize("method", ["celf", "newgreedy", "mixgreedy", "esmce", "pmia"])
def test_baselines(record, folder, graph, method):
    words = ("papers", "baseline", "G.h5", "--out", "B.h5", "-k", 3, "--method", method)
    found = record(*words, "--worlds", 40, "--seed", 2)
    expected = {
        "celf": lambda: baselines.celf(graph, 3, 40, 2),
        "newgreedy": lambda: baselines.new_greedy(graph, 3, 40, 2),
        "mixgreedy": lambda: baselines.mix_greedy(graph, 3, 40, 2),
        "esmce": lambda: baselines.esmce(graph, 3, 40, 2),
        "pmia": lambda: baselines.pmia(graph, 3),
    }[method]()
    assert found["seeds"] == graph.original(expected).tolist()
    assert read_seeds(folder / "B.h5").method == method
    assert main(["verify", "B.h5"]) == 0


def test_reach_of_worlds_and_of_one(good, record, folder, graph):
    found = record("reach", "G.h5", "--out", "M.h5", "--worlds", 30, "--first", 5)
    expected = CpuWorlds(prepare_blocks(graph), 0).gains(5, 30, [])
    table = read_metrics(folder / "M.h5")
    assert table.arrays["total"].tolist() == expected.tolist()
    assert table.arrays["vertex"].tolist() == graph.original(np.arange(graph.n)).tolist()
    assert np.array_equal(table.arrays["mean"], expected / 30)
    assert (table.attributes["metric"], table.attributes["first"]) == ("reach", 5)
    assert found["largest"][0]["reach"] == expected.max() / 30
    assert found["mean"] == pytest.approx(expected.mean() / 30)
    assert found["nodes_per_level"] == nodes_per_level(graph, 0, 5, 30).tolist()
    total = np.zeros(graph.n, np.int64)
    for id_ in range(5, 8):
        good("reach", "G.h5", "--out", "M.h5", "--worlds", 1, "--first", id_)
        total += read_metrics(folder / "M.h5").arrays["total"]
    good("reach", "G.h5", "--out", "M.h5", "--worlds", 3, "--first", 5)
    assert read_metrics(folder / "M.h5").arrays["total"].tolist() == total.tolist()
    assert main(["verify", "M.h5"]) == 0


def test_bench(capsys, folder, monkeypatch):
    monkeypatch.setattr("gpukit.papers.bench.machine.COPY_BYTES", 1 << 16)
    words = [
        "papers",
        "bench",
        "imgpu",
        "G.h5",
        "--worlds",
        "30",
        "-k",
        "3",
        "--repeat",
        "1",
        "--device",
        "cpu",
        "--threads",
        "1",
    ]
    assert main([*words, "--mixgreedy", "--switches", "--out", "B.json", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert json.loads((folder / "B.json").read_text())["runs"] == record["runs"]
    rival, fixed, fresh, switches = record["runs"]
    assert [one["method"] for one in record["runs"]] == ["mixgreedy", "fixed", "fresh", "switches"]
    assert fixed["times_mixgreedy"] == rival["algorithm_ms"] / fixed["algorithm_ms"]["median"]
    assert len(fixed["seeds"]) == len(fresh["seeds"]) == len(rival["seeds"]) == 3
    assert set(switches["pass_ms"]) == {"none", "K", "R", "U", "KRU"}
    assert main([*words, "--modes", "stale"]) == 2
    assert "--modes is stale" in capsys.readouterr().err
    assert main([*words, "--modes", "none", "--switches", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert [one["method"] for one in alone["runs"]] == ["switches"] and "copy_bandwidth" not in alone
    assert main([*words, "--modes", "none"]) == 2
    assert "nothing else is to be timed" in capsys.readouterr().err


def test_summary_for_people(good, folder):
    lines = good("run", "G.h5", "--out", "S.h5", "-k", 2, "--worlds", 2).splitlines()
    assert {line.split("  ")[0] for line in lines} == {"seeds", "spread", "worlds", "graph", "time", "written"}
    found = json.loads(good("run", "G.h5", "--out", "S.h5", "-k", 2, "--worlds", 2, "--json"))
    said = f"{with_error(found['spread_estimate'], 2 * found['stderr'])} (two standard errors; 2 independent worlds)"
    assert lines[1].removeprefix("spread").strip() == said
    assert "mean" in good("reach", "G.h5", "--out", "M.h5", "--worlds", 2)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["run", "G.h5", "-k", "0"], 2, "k is 0"),
        (["run", "G.h5", "-k", "5000"], 2, "k is 5000"),
        (["run", "G.h5"], 2, "-k"),
        (["run", "G.h5", "-k", "1", "--worlds", "1"], 2, "worlds is 1; 2 to 2^31 - 1"),
        (["run", "G.h5", "-k", "1", "--seed", "-1"], 2, "--seed is -1"),
        (["run", "G.h5", "-k", "1", "--device", "cuda", "--gpus", "0"], 2, "--gpus is 0"),
        (["run", "nowhere.h5", "-k", "1"], 3, "nowhere.h5 does not exist"),
        (["run", "none.h5", "-k", "1"], 3, "no edge probabilities"),
        (["run", "empty.h5", "-k", "1"], 3, "no edges"),
        (["papers", "run", "G.h5", "-k", "1", "--unroll", "0"], 2, "--unroll is 0"),
        (["papers", "baseline", "G.h5", "-k", "1", "--method", "celf", "--worlds", "1"], 2, "--worlds is 1"),
        (["papers", "baseline", "G.h5", "-k", "0", "--method", "pmia"], 2, "k is 0"),
        (["reach", "G.h5", "--worlds", "0"], 2, "--worlds is 0"),
        (["reach", "G.h5", "--first", "-1"], 2, "--first is -1"),
        (["reach", "none.h5"], 3, "no edge probabilities"),
        (["reach", "G.h5", "--seed", str(2**64)], 2, "--seed"),
    ],
)
def test_what_is_wrong(run, folder, words, code, says):
    edge = (np.array([1]), np.array([2]))
    write_graph(folder / "none.h5", build_graph(*edge, weights=Weights("none")))
    write_graph(folder / "empty.h5", Graph(
        indptr=np.zeros(4, np.int64), indices=np.empty(0, np.int32), in_indptr=np.zeros(4, np.int64),
        in_indices=np.empty(0, np.int32),
    ))  # fmt: skip
    found = run(*words, "--out", "S.h5")
    assert (found[0], found[1]) == (code, "") and says in found[2]
    assert found[2].count("error:") == 1 and not (folder / "S.h5").exists()


def test_shape_of_a_graph_and_its_worlds(record, good, run, folder, graph):
    found = record("papers", "shape", "G.h5", "--worlds", 3)
    assert found["params"] == {"worlds": 3} and found["device"]["threads"] == 1
    assert sum(found["degrees"]) == graph.n
    degree = np.diff(graph.indptr)
    assert found["hubs"][0]["vertex"] == int(graph.original([degree.argmax()])[0])
    assert sum(found["hubs"][0]["children"]) == degree.max()
    assert "of them with fewer than 100 components" in good("papers", "shape", "G.h5", "--worlds", 1)
    write_graph(folder / "E.h5", build_graph(np.empty(0, int), np.empty(0, int), ids=False, n=3))
    for words, code, text in (
        (["papers", "shape", "G.h5", "--worlds", 0], 2, "--worlds is 0; 1 to"),
        (["papers", "shape", "E.h5"], 3, "has no edges"),
    ):
        found = run(*words)
        assert found[0] == code and text in found[2]
