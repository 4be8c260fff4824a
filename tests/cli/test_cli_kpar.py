"""``gpukit kpar`` and ``gpukit evaluate ppr``: records, artifacts, exit codes."""

import importlib
import json

import h5py
import numpy as np
import pytest

from gpukit import PageRankIndex
from gpukit.artifacts import read_header, read_irw, read_metrics, read_pagerank, read_topk, write_graph
from gpukit.artifacts.verify import verify
from gpukit.cli.app import main
from gpukit.device.memory import check_budget
from gpukit.errors import InputError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.kpar import Prepared, Sources, build_index, query, rank
from gpukit.report.tables import make_table


@pytest.fixture(scope="module")
def graph():
    """A graph whose original ids are not its internal ones; id 5 has no edges."""
    generator = np.random.default_rng(1)
    u, v = 10 * generator.integers(1, 60, (2, 300))
    return build_graph(np.append(u, 5), np.append(v, 5), weights=Weights())


@pytest.fixture(scope="module")
def folder(tmp_path_factory, graph):
    folder = tmp_path_factory.mktemp("kpar")
    write_graph(folder / "G.h5", graph)
    assert main(["kpar", "rank", str(folder / "G.h5"), "--out", str(folder / "PR.h5")]) == 0
    words = ["papers", "kpar", "index", str(folder / "G.h5"), "--rank", str(folder / "PR.h5"), "--hubs", "--seed", "7"]
    assert main([*words, "--out", str(folder / "I.h5")]) == 0
    return folder


def test_files_are_what_the_functions_return(folder, graph):
    ranked = rank(graph)
    stored = read_pagerank(folder / "PR.h5")
    assert np.array_equal(stored.arrays["pagerank"], ranked.pagerank)
    assert np.array_equal(stored.arrays["order"], ranked.order)
    index = build_index(graph, ranked.order, seed=7, hubs=True)
    stored = read_irw(folder / "I.h5")
    for name in ("walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies", "hubs"):
        assert np.array_equal(stored.arrays[name], getattr(index, name)), name
    assert stored.inputs == {
        "graph": read_header(folder / "G.h5").payload,
        "rank": read_header(folder / "PR.h5").payload,
    }
    for name in ("PR.h5", "I.h5"):
        verify(folder / name)


def test_records_hold_what_the_docs_promise(record, promised, folder, tmp_path):
    common = {"params", "graph", "device", "time_s"}
    rank = record("kpar", "rank", folder / "G.h5", "--out", tmp_path / "R.h5")
    assert promised("kpar rank") == (rank.keys() | rank["top"].keys()) - common
    index = record("papers", "kpar", "index", folder / "G.h5", "--out", tmp_path / "I.h5", "--hubs")
    assert promised("kpar index") == index.keys() - common - {"seed"}


def test_refined_answers_say_which_places_are_certain(record, folder, graph, tmp_path, capsys):
    words = ("kpar", "query", folder / "G.h5", "--index", folder / "I.h5", "-k", 5, "--random", 6)
    answered = record(*words, "--out", tmp_path / "T.h5")
    ready = Prepared.of(graph, build_index(graph, rank(graph).order, seed=7))
    stored = read_topk(tmp_path / "T.h5")
    sources = Sources(*(stored.arrays[name] for name in ("source_offsets", "sources", "source_mass")))
    found = query(ready, sources, 5, refine=True)
    assert stored.version == 3 and np.array_equal(stored.arrays["certain"], found.certain)
    assert sum((one["certain"] for one in answered["results"]), []) == found.certain.tolist()
    verify(tmp_path / "T.h5")
    for part in (1, 2):
        record(*words, "--part", f"{part}/2", "--out", tmp_path / f"{part}.h5")
    record("kpar", "gather", tmp_path / "1.h5", tmp_path / "2.h5", "--out", tmp_path / "W.h5")
    assert np.array_equal(read_topk(tmp_path / "W.h5").arrays["certain"], found.certain)
    assert main(["export", str(tmp_path / "T.h5"), "--out", str(tmp_path / "T.csv")]) == 0
    lines = (tmp_path / "T.csv").read_text().splitlines()
    assert lines[0].endswith("score,certain") and len(lines) == 1 + len(found.nodes)
    capsys.readouterr()
    plain = record(*words, "--depth", "auto", "--out", tmp_path / "P.h5")
    assert (plain["params"]["depth"], answered["params"]["depth"]) == ("auto", "refined")
    assert "certain" not in plain["results"][0] and read_topk(tmp_path / "P.h5").version == 1
    assert np.array_equal(read_topk(tmp_path / "P.h5").arrays["scores"], query(ready, sources, 5).scores)
    capsys.readouterr()
    assert main([str(word) for word in ("papers", *words, "--depth", "walks", "--device", "cuda")]) == 2
    assert "--depth walks" in capsys.readouterr().err


def test_exact_answers_name_ties(record, folder, tmp_path, capsys):
    words = ("kpar", "query", folder / "G.h5", "--source", 10, "-k", 8, "--depth", "exact")
    found = record(*words, "--out", tmp_path / "A.h5")
    indexed = record(*words, "--index", folder / "I.h5")
    truth = record("kpar", "truth", folder / "G.h5", "--source", 10, "-k", 8)
    (one,), (other,) = found["results"], truth["results"]
    assert one["nodes"] == other["nodes"] == indexed["results"][0]["nodes"] and found["tied"] == indexed["tied"]
    assert (
        np.allclose(one["scores"], other["scores"], atol=1e-6) and read_topk(tmp_path / "A.h5").arrays["certain"].all()
    )
    star = build_graph(np.zeros(4, np.int64), np.array([10, 20, 30, 40]))
    write_graph(tmp_path / "star.h5", star)
    words = ["kpar", "query", str(tmp_path / "star.h5"), "--source", "0", "-k", "3", "--depth", "exact"]
    tied = record(*words)
    # The source has 0.2, and so has each of the others: 0.8 / 4.
    assert tied["results"][0]["nodes"] == [0, 10, 20] and tied["results"][0]["certain"] == [False] * 3
    assert tied["tied"] == [[30, 40]]
    assert main(words) == 0 and "left out, as good as the last: 30, 40" in capsys.readouterr().out
    assert main([*words, "--explain"]) == 2


def test_ablations_of_queries(run, record, folder, tmp_path):
    words = ("kpar", "query", folder / "G.h5", "-k", 5, "--random", 6)
    index = ("--index", folder / "I.h5")
    usual = record(*words, *index, "--depth", "auto")
    same = record("papers", *words, *index, "--depth", "auto", "--balance", "none")
    assert same["results"] == usual["results"]
    code, out, err = run("papers", *words, *index, "--bounds", "printed", "--json")
    found = json.loads(out)
    assert code == 0 and "without the guarantee" in err and found["params"]["bounds"] == "printed"
    assert (found["params"]["depth"], found["device"]["kind"]) == ("auto", "cpu")
    assert record("papers", *words, *index, "--depth", "walks")["params"]["depth"] == "walks"
    code, _, err = run("papers", *words)
    assert code == 2 and "give --index" in err


def test_the_best_among_some_vertices(record, folder, graph, tmp_path, capsys):
    (tmp_path / "named.txt").write_text("# of a kind\n5\n10\n20\n30\n40\n")
    words = ("kpar", "query", folder / "G.h5", "--index", folder / "I.h5", "--source", 20, "--among")
    answered = record(*words, tmp_path / "named.txt", "-k", 3, "--out", tmp_path / "T.h5")
    ready = Prepared.of(graph, build_index(graph, rank(graph).order, seed=7))
    among = np.isin(graph.original(np.arange(graph.n)), [5, 10, 20, 30, 40])
    found = query(ready, Sources.single(graph.internal([20])), 3, refine=True, among=among)
    nodes, scores = found.answer(0)
    expected = {"source": 20, "nodes": graph.original(nodes).tolist(), "scores": scores.tolist()}
    assert answered["results"] == [expected | {"certain": found.certain.tolist()}]
    assert answered["params"]["among"] == 5 and set(read_topk(tmp_path / "T.h5").inputs) == {"graph", "index", "among"}
    assert record(*words, "40,30,20,10,5", "-k", 3)["results"] == answered["results"]
    assert len(record(*words, "5,10")["results"][0]["nodes"]) <= 2
    capsys.readouterr()
    for more, line in (
        (("5,10", "-k", 3), "-k is 3; 1 to 2"),
        (("5,10", "--depth", "walks"), "--among"),
        (("5,10", "--bounds", "printed"), "--among"),
    ):
        papers = ["papers"] * (more[1] in ("--depth", "--bounds"))
        assert main([str(word) for word in (*papers, *words, *more)]) == 2
        assert line in capsys.readouterr().err
    alone = ("kpar", "query", folder / "G.h5", "--source", 20, "--depth", "end")
    truly = record(*alone[:-1], "exact", "--among", tmp_path / "named.txt", "-k", 3)["results"][0]
    assert record(*alone, "--among", tmp_path / "named.txt", "-k", 3)["results"][0]["nodes"] == truly["nodes"]
    every = record(*alone, "-k", graph.n)["results"][0]["nodes"]
    left = record(*alone, "--among", "5,10,20", "--exclude", "20", "-k", 2, "--out", tmp_path / "E.h5")
    assert left["results"][0]["nodes"] == [one for one in every if one in (5, 10)] and left["params"]["among"] == 2
    assert "among" in read_topk(tmp_path / "E.h5").inputs
    assert main(["evaluate", "ppr", str(folder / "G.h5"), "--answers", str(tmp_path / "T.h5")]) == 3


def test_answers_leave_out_who_is_excluded(record, folder, tmp_path, capsys):
    (tmp_path / "named.txt").write_text("20\n30\n")
    words = ("kpar", "query", folder / "G.h5", "--index", folder / "I.h5", "--source", 20)
    every = record(*words, "-k", 8)["results"][0]["nodes"]
    without = record(*words, "--exclude", tmp_path / "named.txt", "-k", 5)["results"][0]["nodes"]
    assert {20, 30} & {*every} and without == [one for one in every if one not in (20, 30)][:5]
    among = record(*words, "--among", "5,10,20,30", "--exclude", "20,30", "-k", 2)["results"]
    assert among == record(*words, "--among", "5,10", "-k", 2)["results"]
    index = PageRankIndex.open(folder / "G.h5", folder / "I.h5")
    assert [one for one, _ in index.top_k(20, 5, exclude=[20, 30])[0]] == without
    for more in (("--among", "5", "--exclude", "5"), ("--exclude", "no")):
        assert main([str(word) for word in (*words, *more)]) == 2
        assert "--exclude" in capsys.readouterr().err


def test_query_record_artifact_and_judge(record, folder, graph):
    (folder / "sources.txt").write_text("# two queries\n20\n\n30:2, 40:1 30\n")
    words = ("kpar", "query", folder / "G.h5", "--index", folder / "I.h5", "-k", 5)
    answered = record(*words, "--sources", folder / "sources.txt", "--out", folder / "T.h5", "--explain")
    assert {"params", "graph", "device", "seed", "time_s", "results", "steps", "explain"} <= answered.keys()
    ready = Prepared.of(graph, build_index(graph, rank(graph).order, seed=7))
    sources = Sources.joined(
        [Sources.single(graph.internal([20])), Sources.weighted(graph.internal([30, 40]).tolist(), [3, 1])]
    )
    found = query(ready, sources, 5, refine=True)
    assert [one["source"] for one in answered["results"]] == [20, [[30, 0.75], [40, 0.25]]]
    for q, one in enumerate(answered["results"]):
        nodes, scores = found.answer(q)
        assert (one["nodes"], one["scores"]) == (graph.original(nodes).tolist(), scores.tolist())
        assert len(answered["explain"][q]) == answered["steps"][q]
        assert {"delta", "rounds", "edges", "candidates", "failed_at"} <= answered["explain"][q][0].keys()
    stored = read_topk(folder / "T.h5")
    verify(folder / "T.h5")
    assert np.array_equal(stored.arrays["scores"], found.scores)
    assert set(stored.inputs) == {"graph", "index", "sources"}
    judged = record("evaluate", "ppr", folder / "G.h5", "--answers", folder / "T.h5", "--out", folder / "M.h5")
    assert (judged["violations"], judged["queries"], judged["k"]) == (0, 2, 5)
    assert judged["precision"] > 0.5 and judged["ndcg"] > 0.99
    assert list(read_metrics(folder / "M.h5").arrays) == ["precision", "ndcg", "violations"]


def test_queries_are_timed_as_often_as_asked(record, folder, capsys):
    asked = ("--random", 5, "-k", 4, "--seed", 2)
    index = ("--index", folder / "I.h5")
    for command in (("query", *index), ("baseline", "--method", "fora"), ("baseline", "--method", "topppr")):
        words = (*["papers"] * (command[0] == "baseline"), "kpar", command[0], folder / "G.h5", *command[1:], *asked)
        once, often = record(*words), record(*words, "--repeat", 3)
        assert "query_s" not in once and len(often["query_s"]) == 3 and min(often["query_s"]) > 0
        assert sum(often["query_s"]) == pytest.approx(often["time_s"]["query"], abs=1e-5)
        assert often["results"] == once["results"]
        (folder / "often.json").write_text(json.dumps(often))
        rows = make_table("kpar-repeats", [("toy/kpar/4", str(folder / "often.json"))])
        assert [row["time_answer_s"] for row in rows] == often["query_s"]
        (row,) = make_table("kpar-queries", [("toy/kpar/4", str(folder / "often.json"))])
        assert row["time_answer_s"] == pytest.approx(sum(often["query_s"]) / 3)
    assert main(["kpar", "query", str(folder / "G.h5"), "--source", "20", "--repeat", "2"]) == 2
    assert "--repeat needs --index" in capsys.readouterr().err


def test_topppr_answers_on_the_cpu(record, folder, capsys, tmp_path):
    words = ("papers", "kpar", "baseline", folder / "G.h5", "--method", "topppr", "--random", 8, "--out-edges", "-k", 6)
    found = record(*words, "--precision", 1, "--out", tmp_path / "T.h5")
    assert found["params"]["precision"] == 1 and found["device"]["kind"] == "cpu"
    judged = record("evaluate", "ppr", folder / "G.h5", "--answers", tmp_path / "T.h5", "--threads", 2)
    assert judged["precision"] == 1 and judged["queries"] == 8
    capsys.readouterr()
    for more, code, line in (
        (("--device", "cuda"), 4, "use --device cpu"),
        (("--precision", 0), 2, "--precision is 0.0"),
        (("--weighted",), 2, "leave --weighted out"),
    ):
        assert main([str(word) for word in (*words, *more)]) == code
        assert line in capsys.readouterr().err


def test_isolated_source_and_truth(record, good, folder):
    words = (folder / "G.h5", "--source", 5, "-k", 3)
    for found in (
        record("kpar", "query", *words, "--index", folder / "I.h5"),
        record("kpar", "truth", *words),
        record("papers", "kpar", "baseline", *words),
    ):
        assert found["results"][0] | {"certain": [True]} == {
            "source": 5,
            "nodes": [5],
            "scores": [1.0],
            "certain": [True],
        }
    for command in ("query", "truth"):
        options = ["--index", folder / "I.h5"] if command == "query" else []
        assert "5 (1); no edge leads away" in good("kpar", command, *words, *options)
    everything = record("kpar", "query", folder / "G.h5", "--index", folder / "I.h5", "--source", 20)
    assert everything["params"]["k"] == everything["graph"]["n"] < 100
    truth = record("kpar", "truth", folder / "G.h5", "--random", 4, "-k", 5, "--out", folder / "R.h5")
    assert len(truth["results"]) == 4
    judged = record("evaluate", "ppr", folder / "G.h5", "--answers", folder / "R.h5")
    assert (judged["precision"], judged["violations"]) == (1, 0) and judged["max_error"] < 1e-9


def test_a_source_given_twice_is_answered_twice(good, folder, tmp_path):
    (tmp_path / "sources.txt").write_text("20\n30\n20\n")
    words = ["--index", folder / "I.h5", "--sources", tmp_path / "sources.txt", "-k", 2]
    shown = good("kpar", "query", folder / "G.h5", *words)
    assert [shown.count(f"from {title} ") for title in ("20, query 1", "30", "20, query 3")] == [1, 1, 1]


def test_what_people_do_not_see_is_said(good, record, folder):
    words = ("kpar", "query", folder / "G.h5", "--index", folder / "I.h5")
    (all_ten,) = record(*words, "--source", "20", "-k", 10)["results"]
    line = good(*words, "--source", "20", "-k", 10).splitlines()[0]
    places = zip(all_ten["nodes"], all_ten["scores"], strict=True)
    sure = f"; {sum(all_ten['certain'])} of 10 places certain"
    assert line == "from 20  " + ", ".join(f"{v} ({s:.4g})" for v, s in places) + sure
    assert ", … and 3 more (--json has all); " in good(*words, "--source", "20", "--k", 23).splitlines()[0]
    lines = good(*words, "--random", 12, "-k", 1).splitlines()
    assert sum(line.startswith("from ") for line in lines) == 10
    assert "queries" in lines[10] and lines[10].endswith("12, of which 2 are not shown (--json has all)")


@pytest.mark.long
def test_what_would_take_too_long_or_too_much(run, tmp_path, monkeypatch):
    """A circle, where no walk ends before it stops by chance; a machine with 100 bytes left."""
    monkeypatch.setattr(importlib.import_module("gpukit.kpar.rank"), "ROUNDS", 1000)
    monkeypatch.setattr(
        "gpukit.kpar.index.build.check_host", lambda *what: check_budget(what[0], 100, "this machine", what[1])
    )
    v = np.arange(20)
    write_graph(tmp_path / "C.h5", build_graph(v, (v + 1) % 20))
    for words, code, says in (
        (["rank", "--alpha", "0.0001"], 2, "alpha of 0.0003 and more"),
        (["index"], 4, "100 bytes are free on this machine; raise --epsilon, or keep only counts"),
    ):
        found = run("kpar", words[0], tmp_path / "C.h5", "--out", tmp_path / "no.h5", *words[1:])
        assert (found[0], found[1]) == (code, "") and says in found[2] and found[2].count("error:") == 1, found
        assert not (tmp_path / "no.h5").exists()


def test_the_judge_asks_for_what_a_query_guarantees(record, folder):
    judged = record("evaluate", "ppr", folder / "G.h5", "--answers", folder / "T.h5")
    assert judged["params"]["delta"] == 0.01 and judged["positions"] > 0


def test_light_index_gives_the_same_answers(run, record, folder):
    code, _, err = run("kpar", "index", folder / "G.h5", "--memory", 0, "--seed", 7, "--out", folder / "L.h5")
    assert code == 0 and "do not fit" in err
    verify(folder / "L.h5")
    words = ("kpar", "query", folder / "G.h5", "--random", 6, "-k", 9)
    assert (
        record(*words, "--index", folder / "L.h5")["results"]
        == (record(*words, "--index", folder / "I.h5", "--threads", 1)["results"])
    )


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--source", "77"], 3, "vertex 77 is not in the graph"),
        (["--source", "20", "-k", "0"], 2, "-k is 0"),
        (["--source", "20", "-k", "5000"], 2, "-k is 5000"),
        (["--source", "20:0"], 2, "--source: every weight is 0; give a vertex a weight above 0"),
        (["--source", "20:0,30:0.0"], 2, "every weight is 0"),
        (["--source", "20:-1"], 2, "weights 0 and numbers from 1e-300 to 1e300"),
        (["--source", "20:nan"], 2, "weights 0 and numbers from 1e-300 to 1e300"),
        (["--source", "20:1,77:0"], 3, "vertex 77 is not in the graph"),
        (["--sources", "ZEROS"], 3, "zeros.txt, line 2: every weight is 0; give a vertex a weight above 0"),
        (["--source", "20:1e301"], 2, "from 1e-300 to 1e300"),
        (["--source", "20:1e-" + 30 * "9"], 2, "ID:WEIGHT"),
        (["--source", "20:0." + 31 * "3"], 2, "at most 30 digits"),
        (["--source", "x"], 2, "ID:WEIGHT"),
        (["--source", ""], 2, "no vertex"),
        (["--source", "20", "--random", "3"], 2, "one of --source"),
        ([], 2, "one of --source"),
        (["--random", "0"], 2, "--random is 0"),
        (["--source", "20", "--out-edges"], 2, "--out-edges is about --random"),
        (["--sources", "nowhere.txt"], 3, "nowhere.txt"),
        (["--sources", "SOURCES"], 3, "sources.txt, line 4: vertex 77 is not in the graph"),
        (["--source", "20", "-k", "5", "--alpha", "0.15"], 3, "alpha 0.2, not 0.15"),
        (["--source", "20", "-k", "5", "--epsilon", "0.1"], 3, "epsilon 0.5, not 0.1"),
        (["--source", "20", "-k", "5", "--device", "cuda"], 4, "--device cpu"),
    ],
)
def test_what_is_wrong_with_a_query(run, folder, tmp_path, words, code, says):
    out = tmp_path / "T.h5"
    (tmp_path / "sources.txt").write_text("# two\n20 30\n\n20:3 77\n")
    (tmp_path / "zeros.txt").write_text("20:1 30:0\n20:0 30:0\n")
    words = [tmp_path / f"{word.lower()}.txt" if word in ("SOURCES", "ZEROS") else word for word in words]
    found = run("kpar", "query", folder / "G.h5", "--index", folder / "I.h5", "--out", out, *words)
    assert (found[0], found[1]) == (code, "") and says in found[2]
    assert found[2].count("error:") == 1 and not out.exists()


def test_random_sources_can_be_those_with_out_edges(record, run, tmp_path):
    star = build_graph(np.array([1, 1, 1, 2]), np.array([3, 4, 5, 6]), weights=Weights())
    write_graph(tmp_path / "S.h5", star)
    words = ("kpar", "truth", tmp_path / "S.h5", "--random", 40, "-k", 1)
    sources = [one["source"] for one in record(*words, "--out-edges")["results"]]
    assert set(sources) == {1, 2} and len(sources) == 40
    assert {one["source"] for one in record(*words)["results"]} > {1, 2}
    edgeless = build_graph(np.array([1]), np.array([1]), weights=Weights())
    write_graph(tmp_path / "E.h5", edgeless)
    found = run("kpar", "truth", tmp_path / "E.h5", "--random", 2, "-k", 1, "--out-edges")
    assert found[0] == 3 and "no vertex of the graph has an out-edge" in found[2]


def test_files_of_another_graph_or_kind(run, folder, tmp_path):
    write_graph(tmp_path / "H.h5", build_graph(np.array([20, 30]), np.array([30, 20]), weights=Weights()))
    asked = ("--source", 20, "-k", 1)
    for words in (
        ("kpar", "query", tmp_path / "H.h5", "--index", folder / "I.h5", *asked),
        ("kpar", "index", tmp_path / "H.h5", "--rank", folder / "PR.h5", "--out", tmp_path / "I.h5"),
    ):
        code, _, err = run(*words)
        assert code == 3 and "another graph" in err
    alpha = ("kpar", "index", folder / "G.h5", "--rank", folder / "PR.h5", "--alpha", 0.3, "--out", tmp_path / "I.h5")
    code, _, err = run(*alpha)
    assert code == 3 and "give --alpha 0.2" in err
    code, _, err = run("kpar", "query", folder / "G.h5", "--index", folder / "PR.h5", *asked)
    assert code == 3 and "pagerank" in err
    for options in (("--alpha", 0), ("--epsilon", 0.7), ("--memory", -1)):
        code, _, _ = run("kpar", "index", folder / "G.h5", "--out", tmp_path / "I.h5", *options)
        assert code == 2 and not (tmp_path / "I.h5").exists()


def test_rows_that_would_lead_out_of_the_arrays_are_refused(folder, tmp_path):
    from gpukit.artifacts import irw_artifact, put

    found = read_irw(folder / "I.h5")
    arrays = dict(found.arrays)
    moved = arrays["frequent_begin"].copy()
    moved[1:] = moved[-1]
    facts = {"alpha": 0.2, "epsilon": 0.5, "graph": found.attributes["graph"], "seed": 7}
    put(tmp_path / "I.h5", irw_artifact({**arrays, "frequent_begin": moved}, light=False, **facts))
    with pytest.raises(InputError, match="more frequencies than starts"):
        read_irw(tmp_path / "I.h5")
    put(tmp_path / "I.h5", irw_artifact({**arrays, "arrivals": arrays["arrivals"][::-1]}, light=False, **facts))
    with pytest.raises(InputError, match="do not agree"):
        verify(tmp_path / "I.h5")
    with h5py.File(folder / "I.h5") as file:
        assert file["starts"].chunks is None


def test_weighted_edges(run, record, tmp_path):
    edges = "1 2 1.0\n1 3 0.25\n2 1 0.5\n3 1 0.5\n3 2 0.125\n"
    (tmp_path / "edges.txt").write_text(edges)
    for scheme in ("file", "wc", "none"):
        words = ("graph", "import", tmp_path / "edges.txt", "--weights", scheme)
        assert run(*words, "--out", tmp_path / f"{scheme}.h5")[0] == 0
    at = {name: tmp_path / f"{name}.h5" for name in ("file", "wc", "none", "PR", "plain-PR", "I", "plain-I", "T", "R")}
    for option, mark in ((["--weighted"], ""), ([], "plain-")):
        assert run("kpar", "rank", at["file"], "--out", at[f"{mark}PR"], *option)[0] == 0
        words = ("kpar", "index", at["file"], "--rank", at[f"{mark}PR"], "--out", at[f"{mark}I"])
        code, _, err = run(*words, *([] if option else ["--weighted"]))
        assert code == 3 and "edge weights" in err and not at[f"{mark}I"].exists()
        assert run(*words, *option)[0] == 0
        verify(at[f"{mark}PR"])
        verify(at[f"{mark}I"])
    assert (
        read_header(at["I"]).payload != read_header(at["plain-I"]).payload
        and "weighted" not in read_irw(at["plain-I"]).attributes
    )

    asked = ("--source", 1, "-k", 3)
    found = record("kpar", "query", at["file"], "--index", at["I"], *asked, "--out", at["T"])
    truth = record("kpar", "truth", at["file"], "--weighted", *asked, "--out", at["R"])
    assert found["params"]["weighted"] and truth["params"]["weighted"] and found["device"]["kind"] == "cpu"
    # By hand: with x, y, z the walks expected to visit 1, 2, 3: x = 1 + 0.8 (y + 0.8 z), y = 0.8 (0.8 x + 0.2 z), ...
    assert truth["results"][0]["nodes"] == [1, 2, 3]
    visits = np.linalg.solve(np.eye(3) - 0.8 * np.array([[0, 1, 0.8], [0.8, 0, 0.2], [0.2, 0, 0]]), [1, 0, 0])
    np.testing.assert_allclose(truth["results"][0]["scores"], 0.2 * visits, atol=1e-9)
    np.testing.assert_allclose(found["results"][0]["scores"], 0.2 * visits, atol=0.01)
    for answers in (at["T"], at["R"]):
        judged = record("evaluate", "ppr", at["file"], "--answers", answers)
        assert (judged["precision"], judged["violations"]) == (1, 0) and judged["max_error"] < 0.01
    assert record("evaluate", "ppr", at["file"], "--answers", at["R"])["max_error"] < 1e-9
    for method in ("monte-carlo", "fora"):
        other = record("papers", "kpar", "baseline", at["file"], "--weighted", "--method", method, *asked)
        np.testing.assert_allclose(other["results"][0]["scores"], 0.2 * visits, atol=0.1)

    for words, code, says in (
        (("query", at["wc"], "--index", at["I"], *asked), 3, "another graph"),
        (("query", at["file"], "--index", at["I"], *asked, "--device", "cuda"), 4, "--device cpu"),
        (("rank", at["none"], "--out", tmp_path / "X.h5", "--weighted"), 3, "--weights file"),
        (("truth", at["none"], "--weighted", *asked), 3, "--weights"),
    ):
        found = run("kpar", *words)
        assert (found[0], found[1]) == (code, "") and says in found[2] and found[2].count("error:") == 1
    assert not (tmp_path / "X.h5").exists()


def test_several_answers_are_judged_by_one_truth(record, good, folder, tmp_path):
    """Each record equals the record of a separate run."""
    asked = [folder / "G.h5", "--random", 6, "--seed", 3]
    good("kpar", "query", *asked, "--index", folder / "I.h5", "-k", 5, "--out", tmp_path / "a.h5")
    good("papers", "kpar", "baseline", *asked, "-k", 9, "--out", tmp_path / "b.h5")
    files = [tmp_path / "a.h5", tmp_path / "b.h5"]
    given = [word for file in files for word in ("--answers", file)]
    words = ["evaluate", "ppr", folder / "G.h5", *given]
    records = [word for file in files for word in ("--record", file.with_suffix(".json"))]
    shown = good(*words, *records)
    assert shown.count("NDCG") == 2
    for file in files:
        alone = record("evaluate", "ppr", folder / "G.h5", "--answers", file)
        found = json.loads(file.with_suffix(".json").read_text())
        assert {**found, "time_s": 0} == {**alone, "time_s": 0}
    assert main([str(word) for word in [*words, "--record", tmp_path / "one.json"]]) == 2
    assert main([str(word) for word in words]) == 2
    good("kpar", "truth", folder / "G.h5", "--random", 6, "--seed", 4, "-k", 5, "--out", tmp_path / "b.h5")
    assert main([str(word) for word in [*words, *records, "--force"]]) == 3, "other sources"
