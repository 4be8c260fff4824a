"""``gpukit papers bench``: the contents of its records, interruptions, and the comparison of records."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from gpukit import gim, imgpu
from gpukit.artifacts import read_graph, write_graph
from gpukit.cli.app import main
from gpukit.evaluate import Until, forward_spread
from gpukit.gim import baselines
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.probabilities import parse_weights
from gpukit.papers.bench.gim_quality import reweighted
from gpukit.papers.cli.bench_record import command_line
from gpukit.papers.report.tables import make_table

GROUP = ("papers", "bench")
CPU = ("--device", "cpu", "--threads", 1)
COMMANDS = {
    "gim": ("-k", 2, "--models", "ic", "--bounds", "opim", "--epsilon", 0.4, "--repeat", 3),
    "gim-quality": (
        "-k",
        "2,3",
        "--error",
        0.05,
        "--weights",
        "wc,const:0.1",
        "--methods",
        "gim,degree,degree-discount,imm",
    ),
    "imgpu": ("-k", 2, "--worlds", 20, "--repeat", 3, "--mixgreedy", "--switches"),
    "kpar": ("-k", "2,3", "--queries", 3, "--batch", 3, "--fora", 2, "--on-threads", 2),
    "kpar-quality": ("-k", "2", "--queries", 2),
    "merit": ("--eta", 10, "-b", 2, "--models", "ic", "--methods", "merit", "--worlds", 3),
    "diversity": ("--models", "comp", "--methods", "score,search,bc-div,steal", "-k", 2, "-t", 2, "--sample", 3),
}
FIGURES = {"gim": 1, "gim-quality": 16, "imgpu": 8, "kpar": 13, "kpar-quality": 18, "merit": 1, "diversity": 4}
"""How many figures a comparison of one graph has."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two graphs in a folder below the current one; a small copy measures the bandwidth."""
    (tmp_path / "graphs").mkdir()
    for key, name in enumerate("GH"):
        u, v = np.random.default_rng(key).integers(0, 40, (2, 160))
        write_graph(tmp_path / f"graphs/{name}.h5", build_graph(u, v, weights=Weights(), undirected=True, ids=False))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpukit.papers.bench.machine.COPY_BYTES", 1 << 16)
    return tmp_path


def slower(path, times):
    """Multiply every time of a record file, and raise the violations of its answers, or lower their spread."""

    def scaled(value, key=""):
        if isinstance(value, dict):
            of_a_time = key.endswith("_ms") or key in ("ms", "time_s")
            return {name: scaled(one, key if of_a_time else name) for name, one in value.items()}
        if isinstance(value, list):
            return [scaled(one, key) for one in value]
        if key in ("violations", "spread"):
            return value + (1 if key == "violations" else -1)
        return value * times if isinstance(value, float) and key.endswith(("_ms", "_s", "ms", "_query")) else value

    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"runs": scaled(record["runs"])}))


def test_graphs_made_on_a_gpu_need_one(run, folder):
    code, out, err = run("kpar", "--rmat", "10:1000", *CPU)
    assert (code, out) == (2, "") and "--rmat graphs are made on a GPU" in err


@pytest.mark.parametrize("name", COMMANDS)
def test_records_of_every_benchmark_compare(run, record, folder, name):
    words = (name, "graphs/G.h5", *COMMANDS[name], *CPU)
    first = record(*words, "--out", "old.json")
    kept = json.loads((folder / "old.json").read_text())
    assert kept == {key: first[key] for key in kept}
    assert kept["benchmark"] == name and kept["device"]["kind"] == "cpu" and kept["versions"]["numba"] and kept["date"]
    typed = " ".join(map(str, COMMANDS[name]))
    assert kept["command"] == f"gpukit papers bench {name} G.h5 {typed} --device cpu --threads 1 --out old.json --json"
    assert {one["graph"]["name"] for one in kept["runs"]} == {"G"} and kept["runs"][0]["graph"]["weights"] == "wc"
    assert "comparison" not in kept
    (folder / "printed.json").write_text(json.dumps(first))
    code, out, err = run(*words, "--compare", "printed.json", "--json")
    found = json.loads(out)["comparison"]
    assert len(found["rows"]) == FIGURES[name] and found["only_old"] == found["only_new"] == []
    bad = sum(row["verdict"] in ("slower", "worse") for row in found["rows"])
    assert code == (bad > 0) and (f"{bad} of " in err) == (bad > 0)
    slower(folder / "old.json", 1e-6)  # so that this run is slower than any noise
    if name.endswith("-quality"):
        slower(folder / "old.json", 1)
        code, out, err = run(*words, "--compare", "old.json")
        assert code == 0 and "better" in out
        return
    code, out, err = run(*words, "--compare", "old.json")
    assert code == 1 and "slower" in out and "slower or worse than in old.json" in err and err.count("error:") == 1
    slower(folder / "old.json", 1e12)
    code, out, err = run(*words, "--compare", "old.json")
    assert code == 0 and "faster" in out and "slower" not in out


def test_a_campaign_that_takes_too_long_has_a_least_time(run, record, folder):
    words = ("merit", "graphs/G.h5", "--eta", 30, "-b", 1, "--models", "ic", "--methods", "merit", "--worlds", 2, *CPU)
    whole = record(*words)["runs"][0]
    assert record(*words, "--limit", 1000)["runs"][0]["cost"] == whole["cost"] and whole["stopped"] == 0
    cut = record(*words, "--limit", 0, "--out", "cut.json")["runs"][0]
    assert cut["stopped"] == 2 and len(cut["time_s"]["each"]) == 2 and "cost" not in cut
    assert 0 < cut["time_s"]["min"] <= cut["time_s"]["mean"]
    code, out, err = run(*words, "--limit", 0, "--compare", "cut.json")
    assert code == 0 and "more than 0.0" in out and "2 of 2 campaigns stopped" in out, err
    row, other = make_table("merit-measures", [("G/merit", "cut.json")])
    assert {row["quantity"], other["quantity"]} == {"time at least"} and row["value"] == cut["time_s"]["each"][0]


SMALL = {
    "gim": ("--models", "ic", "--bounds", "opim", "--epsilon", 0.4, "--repeat", 1),
    "gim-quality": ("--methods", "degree", "--error", 0.1),
    "imgpu": ("--modes", "fixed", "--worlds", 20, "--repeat", 1, "--mixgreedy"),
    "kpar": ("--queries", 2, "--batch", 2, "--fora", 2),
    "kpar-quality": ("--queries", 2),
    "merit": ("--models", "ic", "--methods", "merit", "--worlds", 1),
    "diversity": ("--methods", "search,mcpu-div", "--repeat", 1),
}


@pytest.mark.parametrize("name", SMALL)
def test_defaults_are_no_more_than_there_are_vertices(run, record, folder, name):
    u = np.arange(12)
    write_graph("ring.h5", build_graph(u, (u + 1) % 12, weights=Weights(), undirected=True, ids=False))
    runs = record(name, "ring.h5", *SMALL[name], *CPU)["runs"]
    if name == "kpar":
        assert [one["k"] for one in [*runs[0]["latency"], *runs[0]["batch"], runs[0]["fora"]]] == [12, 12, 12]
    elif name == "gim-quality":
        assert {one["k"] for one in runs} == {5, 12}
    elif name == "kpar-quality":
        assert {one["k"] for one in runs} == {10, 12}
    elif name == "merit":
        assert (runs[0]["params"]["eta"], runs[0]["params"]["batch"]) == (12, 12)
    elif name == "diversity":
        assert runs[0]["t"] == 12
    else:
        assert {one["params"]["k"] for one in runs} == {12}
    for option in {"merit": ["--eta", "-b"], "diversity": ["-t"]}.get(name, ["-k"]):
        code, out, err = run(name, "ring.h5", *SMALL[name], *CPU, option, 13)
        assert (code, out) == (2, "") and "is 13; 1 to 12" in err
    if name == "merit":  # not the target of the campaign that warms up
        assert "eta is 1000; 1 to 12" in run(name, "ring.h5", *SMALL[name], *CPU, "--eta", 1000)[2]


@pytest.mark.parametrize("name", SMALL)
def test_a_graph_without_vertices_is_named_as_such(run, folder, name):
    nothing = np.zeros(0, np.int64)
    write_graph("none.h5", build_graph(nothing, nothing, weights=Weights(), undirected=True, ids=False, n=0))
    code, out, err = run(name, "none.h5", *SMALL[name], *CPU)
    assert (code, out) == (3, "") and (" no vert" in err or " no edges" in err) and err.count("error:") == 1


@pytest.mark.parametrize("name", SMALL)
def test_two_graphs_of_one_name_have_lines_of_their_own(good, folder, name):
    (folder / "other").mkdir()
    shutil.copy(folder / "graphs/H.h5", folder / "other/G.h5")
    words = (name, *COMMANDS[name], *CPU)
    alone = good(*words, "graphs/G.h5").splitlines()
    both = good(*words, "graphs/G.h5", "other/G.h5").splitlines()
    assert sum(line.startswith("G ") for line in alone) == len(alone) - 1 > 0
    for path in ("graphs/G.h5", "other/G.h5"):
        assert sum(line.startswith(f"{path} ") for line in both) == len(alone) - 1


def test_runs_of_one_record_alone_are_listed(run, record, folder):
    options = (*COMMANDS["gim"], *CPU)
    record("gim", "graphs/G.h5", "graphs/H.h5", *options, "--out", "old.json")
    words = ("gim", "graphs/G.h5", *options, "--models", "lt", "--compare", "old.json")
    code, out, _ = run(*words)
    lines = [line.split("  ") for line in out.splitlines() if " record" in line]
    assert code == 0 and len(lines) == 3
    assert sorted(line[-1] for line in lines) == ["only in the new record"] + 2 * ["only in the old record"]


def test_what_is_measured_survives(run, folder):
    code, out, err = run("gim", "graphs/G.h5", "none.h5", *COMMANDS["gim"], *CPU, "--out", "B.json")
    assert (code, out) == (3, "") and "none.h5 does not exist" in err
    kept = json.loads((folder / "B.json").read_text())
    assert [one["graph"]["name"] for one in kept["runs"]] == ["G"]
    assert {path.name for path in folder.iterdir()} == {"graphs", "B.json"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda old: "[1]", "is not a JSON object"),
        (lambda old: '{"benchmark": ', "is not JSON"),
        (lambda old: json.dumps(old | {"benchmark": "merit"}), "is a record of `gpukit papers bench merit`"),
        (lambda old: json.dumps(old | {"device": old["device"] | {"name": "Z80"}}), "was taken on 1 thread of Z80"),
        (lambda old: json.dumps(old | {"device": old["device"] | {"threads": 9}}), "was taken on 9 threads"),
        (lambda old: json.dumps({**old, "runs": [{"graph": 3}]}), "is missing or wrong"),
        (lambda old: json.dumps({**old, "runs": [7]}), "is missing or wrong"),
        (lambda old: json.dumps({name: old[name] for name in old if name != "runs"}), "'runs' is missing or wrong"),
        (lambda old: json.dumps({name: old[name] for name in old if name != "device"}), "'device' is missing or wrong"),
        (lambda old: None, "old.json"),
    ],
)
def test_what_cannot_be_compared(run, record, folder, change, says):
    words = ("gim", "graphs/G.h5", *COMMANDS["gim"], *CPU)
    text = change(record(*words))
    if text is not None:
        (folder / "old.json").write_text(text)
    code, out, err = run(*words, "--compare", "old.json", "--out", "B.json")
    assert (code, out) == (3, "") and says in err and err.count("error:") == 1
    assert not (folder / "B.json").exists()


@pytest.mark.parametrize("name", ["kpar", "kpar-quality"])
def test_lengths_that_are_no_numbers(run, folder, name):
    code, out, err = run(name, "graphs/G.h5", "-k", "3,a", *CPU)
    assert (code, out) == (2, "") and "-k: 'a' is not a number" in err


def test_the_command_line_names_no_folders():
    words = ["papers", "bench", "gim", "/home/me/a b.h5", "--out=../x/B.json", "--compare", "./old.json"]
    assert command_line("gpukit", words) == "gpukit papers bench gim 'a b.h5' --out=B.json --compare old.json"


def test_the_name_that_the_group_had_before(capsys):
    shown = [(main([*group, "gim", "--help"]), capsys.readouterr().out) for group in (["bench"], GROUP)]
    assert shown[0] == shown[1] and shown[0][0] == 0


QUALITY = ("gim-quality", "graphs/G.h5", *CPU, "--error", 0.05)


def seeds_by(method, graph, k):
    """Return the seeds of a method that is called by itself."""
    by_imm = gim.Params(k=k, bound="imm", epsilon=0.05, min_sets=0, seed=1)
    if method == "imm-20":
        return gim.maximise(graph, replace(by_imm, min_sets=20 * gim.maximise(graph, by_imm).rr_sets)).seeds
    if method in ("degree", "degree-discount"):
        return (baselines.degree if method == "degree" else baselines.degree_discount)(graph, k)
    if method == "imgpu":
        return imgpu.maximise(graph, imgpu.Params(k, seed=1)).seeds
    return gim.maximise(graph, by_imm if method == "imm" else gim.Params(k=k, seed=1)).seeds


@pytest.mark.long
def test_quality_is_that_of_each_method_alone(record, folder):
    stored = read_graph("graphs/G.h5")
    graph = reweighted(stored, parse_weights("uniform:0:0.3", 1))
    assert graph.undirected and np.array_equal(graph.indices, stored.indices)
    runs = record(*QUALITY, "-k", "3", "--weights", "uniform:0:0.3")["runs"]
    assert [one["method"] for one in runs] == ["gim", "degree", "degree-discount", "imgpu", "imm", "imm-20"]
    for one in runs:
        assert one["graph"]["weights"] == "uniform:0.0:0.3"
        expected = forward_spread(graph, seeds_by(one["method"], graph, 3), runs=Until(0.05), seed=1)
        assert (one["spread"], one["stderr"], one["runs"]) == (expected.spread, expected.stderr, expected.runs)
        assert one["core_s"] > 0 and ("rr_sets" in one) == (one["method"] in ("gim", "imm", "imm-20"))
    assert runs[5]["rr_sets"] >= 20 * runs[4]["rr_sets"]


def test_quality_leaves_out_who_takes_too_long(record, good, folder):
    words = (*QUALITY, "-k", "2,3", "--methods", "imm-20,imm,imgpu,gim,degree")
    runs = record(*words, "--limit", 1e-9)["runs"]
    said = {(one["method"], one["k"]): one.get("left_out") for one in runs}
    for k in (2, 3):
        assert said["gim", k] is said["degree", k] is None
        assert said["imm", k] == said["imgpu", k] == "over 1e-09 core-minutes"
        assert said["imm-20", k] == "imm, whose sets it multiplies, was left out"
    assert "left out: over 1e-09 core-minutes" in good(*words, "--limit", 1e-9)
    runs = record(*QUALITY, "-k", "2", "--methods", "imgpu,degree", "--model", "lt")["runs"]
    assert [one.get("left_out") for one in runs] == [None, "knows independent cascade alone"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--methods", "gim,greedy"], "--methods is 'greedy'; gim, degree"),
        (["--methods", "imm-20"], "imm-20 takes its number of sets from imm"),
        (["--limit", "0"], "--limit is 0.0; more than 0"),
        (["--weights", "file"], "--weights is file; wc, const:P"),
        (["--weights", "wc,const:2"], "--weights const:2"),
        (["-k", "0,5"], "-k is 0,5; 1 to "),
        (["-k", "a"], "-k"),
        (["--error", "2"], "error is 2.0"),
    ],
)
def test_quality_says_what_is_wrong(run, folder, words, says):
    code, out, err = run(*QUALITY, "--methods", "degree", *words)
    assert (code, out) == (2, "") and says in err and err.count("error:") == 1


def test_batches_of_kpar_are_timed_as_often_as_asked(record, folder):
    words = ("kpar", "graphs/G.h5", "-k", 2, "--queries", 2, "--batch", 3, "--fora", 1, *CPU)
    for more, times in ((("--on-threads", 1), 2), (("--on-threads", 1, "--repeat", 4), 4), (("--repeat", 1), 1)):
        found = record(*words, *more)
        (one,) = found["runs"]
        both = [one["on_threads"][name] for name in ("kpar", "fora")] if "on_threads" in one else []
        timed = [one["batch"][0], one["fora"], *both]
        assert [len(part["each_ms_per_query"]) for part in timed] == [times] * len(timed)
        assert one["batch"][0]["ms_per_query"] == min(one["batch"][0]["each_ms_per_query"])
