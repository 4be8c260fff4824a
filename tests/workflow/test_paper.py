"""The papers' configurations plan at every scale, and one of them runs for real on tiny stand-ins."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gpukit.papers.report.items import ITEMS
from gpukit.papers.report.tables import KINDS

pytestmark = pytest.mark.timeout(900)  # whole workflows, with other tests beside them
ROOT = Path(__file__).resolve().parents[2]


def snakemake(directory: Path, *options: str) -> str:
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        str(ROOT / "Snakefile"),
        "--directory",
        str(directory),
        *options,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=800)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


BUILT = {
    "gim": ["table-1", "table-2", "table-3", "figure-3", "figure-4", "figure-5", "figure-6", "figure-7"]
    + ["figure-8a", "figure-8b"],
    "imgpu": ["table-1", "figure-4", *(f"figure-{number}" for number in range(6, 11))]
    + ["unroll-lengths", "persistence", "dag-share"],
    "kpar": ["table-2", "table-3", "figure-3", *(f"figure-{number}" for number in range(6, 10))],
    "diversity": [*(f"table-{number}" for number in range(1, 6)), *(f"figure-{number}" for number in range(6, 11))],
    "merit": ["table-1", *(f"figure-{number}" for number in range(5, 17))],
}
"""Every table and figure of the papers that shows something measured."""


def test_the_five_papers_are_complete():
    assert {paper: sorted(items) for paper, items in ITEMS.items()} == {
        paper: sorted(items) for paper, items in BUILT.items()
    }
    assert {path.stem for path in (ROOT / "config/paper").glob("*.yaml")} == set(BUILT)
    assert {path.stem for path in (ROOT / "workflow/paper").glob("*.tsv")} == set(BUILT)


@pytest.mark.long
@pytest.mark.parametrize("scale", ["smoke", "small", "full"])
@pytest.mark.parametrize("paper", ITEMS)
def test_every_scale_plans_every_item(tmp_path, paper, scale):
    once = tmp_path / "once.yaml"  # repeats are of no matter to a plan
    data = "real" if scale == "full" else "stand-ins"
    once.write_text(yaml.safe_dump({"scale": scale, "data": data, "scales": {scale: {"repeats": 1}}}))
    configuration = str(ROOT / f"config/paper/{paper}.yaml")
    words = ("--cores", "64", "--resources", "gpu=4") if scale == "full" else ("--cores", "2")
    text = snakemake(tmp_path, "-n", "-p", *words, "--configfile", configuration, str(once))
    for item in ITEMS[paper]:
        # It needs a GPU, and a profiler that this machine may lack; smoke scale has none.
        planned = (paper, item) != ("merit", "figure-13") or (scale == "full" and "figure-13 is left out" not in text)
        assert (f"results/paper/{paper}/items/{item}.tsv" in text) == planned
        assert (f"report item {paper} {item} " in text) == planned
    assert ("figure-13 is left out: it needs a GPU" in text) == (paper == "merit" and scale == "small")
    asked = set(map(int, re.findall(r"--gpus (\d+)", text)))
    assert max(asked) == (0 if scale != "full" else 4 if paper == "diversity" else 1)
    assert ("evaluate spread" in text) == (paper in ("gim", "imgpu"))
    # What compiles is not timed; benchmarks see to it themselves.
    warm = {"gim": "seeds", "kpar": "kpar", "imgpu": "imgpu"}.get(paper)
    assert warm is None or f"--out results/paper/{paper}/warm-up/{warm}.h5" in text
    (page,) = (line for line in text.splitlines() if " report page " in line)
    shown = re.findall(r"--table=([^=]+)=", page)
    assert len(shown) > 3 and set(shown) <= set(KINDS)
    lacking = {"kpar": ["DBLP"], "imgpu": ["Twitter"], "diversity": ["socfb-konect"]}.get(paper, [])
    assert re.findall(r"(\S+) stays a stand-in: ", text) == lacking * (scale == "full")
    assert ("data fetch" in text) == (scale == "full")


@pytest.mark.long
@pytest.mark.parametrize("scale", ["small", "full"])
def test_counters_are_planned_where_there_is_a_profiler(tmp_path, monkeypatch, scale):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    words = ("-n", "-p", "--cores", "2", "--resources", "gpu=1", "--config", f"scale={scale}")
    words = (*words, "--configfile", str(ROOT / "config/paper/merit.yaml"))
    if not Path("/usr/local/cuda/bin/ncu").exists():
        text = snakemake(tmp_path, *words)
        assert "figure-13 is left out: NVIDIA's profiler ncu is not on PATH" in text
        assert "'papers bench counters " not in text
    (tmp_path / "bin/ncu").write_text("#!/bin/sh\n")
    (tmp_path / "bin/ncu").chmod(0o755)
    text = snakemake(tmp_path, *words)
    assert "left out" not in text and "report item merit figure-13 " in text
    assert text.count("'papers bench counters ") == 2


# Of a paper: the lines that show how rivals are planned where there are 32 cores and a GPU, and what is in each.
RIVALS = {
    "gim": [
        ("cells/soc-Epinions1/imm-16/", "--gpus 0 --threads 16 "),
        (
            "--out results/paper/gim/cells/soc-Epinions1/gim/",
            "--samples original --sets plain --sentinels off --sampler scan --block ",
        ),
    ],
    "kpar": [
        ("--delta 16 -k 10 --out results/paper/kpar/kpar/DBLP/fora-cpu-10.h5", "--device cpu --gpus 0 --threads 32"),
        ("--method topppr -k 10 --out results/paper/kpar/kpar/DBLP/topppr-10.h5", "--device cpu --gpus 0 --threads 32"),
        ("--out results/paper/kpar/kpar/DBLP/fora-cpu-10.h5", "--random 100 --out-edges "),
        ("--out results/paper/kpar/kpar/DBLP/kpar-10.h5", "--seed 1 --repeat 5 "),
        ("--out results/paper/kpar/kpar/DBLP/one-thread/index.h5", "--device cpu --gpus 0 --threads 1 "),
        ("> results/paper/kpar/kpar/DBLP/one-thread/fora.json", "--delta 16 --random 1 "),
    ],
    "merit": [("--methods pasti,pasti-4", "--gpus 0 --threads 16 ")],
    "diversity": [("--methods cpu-div,mcpu-div", "--gpus 0 --threads 6 ")],
}


@pytest.mark.long
def test_measures_of_more_gpus_than_are_granted_are_left_out_aloud(tmp_path):
    words = (
        "-n",
        "-p",
        "--cores",
        "2",
        "--configfile",
        str(ROOT / "config/paper/diversity.yaml"),
        "--config",
        "scale=full",
    )
    text = snakemake(tmp_path, *words, "--resources", "gpu=1")
    assert "truss-4 is left out: it needs 4 GPUs, and --resources gpu=1 grants 1" in text and "--gpus 4" not in text
    text = snakemake(tmp_path, *words, "--resources", "gpu=4")
    assert "left out" not in text and "--gpus 4" in text


@pytest.mark.long
def test_full_scale_has_topppr_only_where_it_is_asked_for(tmp_path):
    words = ("-n", "-p", "--cores", "2", "--configfile", str(ROOT / "config/paper/kpar.yaml"), "--config", "scale=full")
    assert "--method topppr" not in snakemake(tmp_path, *words)
    asked = "scales={full: {baselines: [fora-16, topppr]}}"
    assert "--method topppr" in snakemake(tmp_path, *words, asked)


@pytest.mark.long
@pytest.mark.parametrize("paper", RIVALS)
def test_rivals_have_the_threads_in_print(tmp_path, paper):
    configuration = ("--configfile", str(ROOT / f"config/paper/{paper}.yaml"), "--config", "scale=small")
    text = snakemake(tmp_path, "-n", "-p", "--cores", "32", "--resources", "gpu=1", *configuration)
    for where, wanted in RIVALS[paper]:
        lines = [line for line in text.splitlines() if where in line and "-m gpukit" in line and "report" not in line]
        assert lines and all(wanted in line for line in lines), (where, lines[:1])


@pytest.mark.long
def test_a_paper_runs_on_tiny_graphs(tmp_path):
    graphs = [
        {"name": "soc-Epinions1", "generate": "er --vertices 60 --edges 300"},
        {"name": "ba-2", "generate": "ba --vertices 60 --attach 2"},
    ]
    cell = {"methods": ["imm", "gim", "skim"], "k": [3], "epsilon": [0.3]}
    mine = {"scales": {"smoke": {"graphs": graphs, "repeats": 2}}}
    mine |= {"experiments": {"table-2": cell, "figure-7": {**cell, "methods": ["gim"], "graphs": "density"}}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"paper": "gim", "scale": "smoke", **mine}))
    snakemake(tmp_path, "--cores", "2", "--configfile", str(tmp_path / "mine.yaml"))
    items = tmp_path / "results/items"
    assert {path.name for path in items.iterdir()} == {
        f"{item}.{form}" for item in ("table-1", "table-2", "figure-7") for form in ("tsv", "svg")
    }
    with (items / "table-2.tsv").open(newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    gim = [row for row in rows if (row["graph"], row["method"], row["quantity"]) == ("soc-Epinions1", "gim", "time")]
    (ours,), (theirs,) = ([row for row in gim if (row["ours"] == "NA") == printed] for printed in (False, True))
    assert ours["paper"] == "NA" and float(ours["ours"]) > 0 and ours["repeats"] == "2"
    assert theirs["paper"] == "0.131"
    assert theirs["setting"].startswith("printed for 75,879 vertices"), "the stand-in has 60"
    assert ours["data"].startswith("stand-in: er")
    reached = {row["method"]: float(row["ours"]) for row in rows if row["quantity"] == "spread"}
    assert reached.keys() == {"gim", "skim"} and all(3 <= spread <= 60 for spread in reached.values())
    assert (tmp_path / "results/report.html").read_text().count("<svg") == 3


@pytest.mark.long
def test_measures_run_on_tiny_graphs(tmp_path):
    graphs = [{"name": "Gowalla", "generate": "er --vertices 60 --edges 300", "weights": "none"}]
    graphs[0]["generate"] += " --undirected"
    measures = {
        "sizes": {"command": "diversity decompose --egos", "items": ["table-1"]},
        "one": {"command": "papers bench diversity --methods extract --threads 1 --repeat 2", "items": ["table-4"]},
    }
    mine = {"paper": "diversity", "scale": "smoke", "scales": {"smoke": {"graphs": graphs, "measures": measures}}}
    mine["results"] = "my results; touch PWNED"
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine))
    snakemake(tmp_path, "--cores", "2", "--configfile", str(tmp_path / "mine.yaml"))
    assert not (tmp_path / "PWNED").exists()
    with (tmp_path / mine["results"] / "items/table-4.tsv").open(newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    (ours,) = [row for row in rows if row["ours"] != "NA"]
    assert (ours["graph"], ours["method"], ours["paper"], ours["repeats"]) == ("Gowalla", "cpu-div", "NA", "2")
    assert ours["setting"].endswith("1 thread") and ours["data"].startswith("stand-in: er")
    measures["one"]["graphs"] = ["Orkut"]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine))
    with pytest.raises(AssertionError, match="names the graph Orkut, which this scale does not have"):
        snakemake(tmp_path, "-n", "--cores", "1", "--configfile", str(tmp_path / "mine.yaml"))


@pytest.mark.long
def test_seeds_of_measures_are_judged(tmp_path):
    graph = {"name": "NetHEPT", "generate": "er --vertices 60 --edges 300", "weights": "const:0.1"}
    run = "papers imgpu run -k 3 --worlds 50 --fresh --by-level"
    measures = {
        "shape": {"command": "papers imgpu shape --worlds 3", "items": ["figure-4", "dag-share"]},
        "imgpu": {"command": f"{run} --unroll 1", "items": ["figure-8", "figure-9", "figure-10"]},
        "imgpu-k": {"command": f"{run} --unroll 1 --combine", "items": ["figure-10"]},
        "mixgreedy": {"command": "papers imgpu baseline --method mixgreedy -k 3 --worlds 50", "items": ["figure-9"]},
        "random": {"command": "gim baseline --method random -k 3", "items": ["figure-8"]},
    }
    mine = {"paper": "imgpu", "scale": "smoke", "evaluate": {"prefixes": [1, 3], "runs": 300}, "gim": {"k": 3}}
    mine |= {"scales": {"smoke": {"graphs": [graph], "measures": measures, "repeats": 2}}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine))
    snakemake(tmp_path, "--cores", "2", "--configfile", str(tmp_path / "mine.yaml"))
    rows = {}
    for item in ("figure-4", "figure-8", "figure-9", "figure-10", "dag-share"):
        with (tmp_path / f"results/items/{item}.tsv").open(newline="") as stream:
            rows[item] = [row for row in csv.DictReader(stream, delimiter="\t") if row["ours"] != "NA"]
    spread = {(row["method"], row["x"]): float(row["ours"]) for row in rows["figure-8"] if row["quantity"] == "spread"}
    assert set(spread) == {(method, k) for method in ("imgpu", "random") for k in "13"}
    assert spread["imgpu", "3"] > spread["imgpu", "1"] > 1 and spread["imgpu", "3"] >= spread["random", "3"]
    speed = [row for row in rows["figure-9"] if row["quantity"] == "speed-up over mixgreedy"]
    assert [(row["method"], row["paper"]) for row in speed] == [("imgpu", "NA")]
    timed = {row["method"]: row["repeats"] for row in rows["figure-9"] if row["quantity"] == "time"}
    assert timed["imgpu"] == timed["mixgreedy"] == "2", "a run that repeats nothing itself is repeated"
    each = {row["method"]: row["repeats"] for row in rows["figure-10"] if row["quantity"] == "time of a choice"}
    assert each == {"imgpu": "6", "imgpu-k": "6"}
    assert {row["quantity"] for row in rows["figure-4"]} == {"nodes of the level", "levels with fewer than 100 nodes"}
    assert rows["dag-share"][0]["paper"] == "NA", "that in print is of a larger graph"


def test_a_graph_has_one_origin(tmp_path):
    for wrong in ({"name": "x"}, {"name": "x", "edges": "e.txt", "generate": "er --vertices 9 --edges 9"}):
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"graphs": [wrong]}))
        with pytest.raises(AssertionError, match="one of edges, generate and fetch"):
            snakemake(tmp_path, "-n", "--cores", "1", "--configfile", str(tmp_path / "mine.yaml"))
