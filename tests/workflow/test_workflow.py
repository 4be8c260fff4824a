"""The workflow itself: clean, quick to plan, and run for real on a graph of 30 vertices."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]  # whole workflows, with other tests beside them
ROOT = Path(__file__).resolve().parents[2]
CIRCLES = ("comp", "core", "truss")
CONFIG = {
    "graphs": [{"name": "tiny", "edges": "tiny.txt", "undirected": True, "models": ["ic", "lt"]}],
    "gim": {"k": 3, "epsilon": 0.3, "min_sets": 2000},
    "baselines": ["degree", "random"],
    "evaluate": {"prefixes": [1, 3], "runs": 400},
    "imgpu": {"worlds": 300, "baselines": ["celf", "random"]},
    "kpar": {"k": [2, 10], "sources": 5},
    "merit": {"policies": ["coupled", "regenerate", "anew"], "eta": [15], "batch": 2, "worlds": 2},
    "diversity": {"k": 2, "t": 4, "check": 10},
    "shards": {"count": 2, "sets": 500},
}


def snakemake(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--directory", str(directory)]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=800)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a finished run of both targets: a ring of 30 vertices with a hub."""
    folder = tmp_path_factory.mktemp("workflow")
    ring = [(v, (v + 1) % 30) for v in range(30)] + [(7, v) for v in range(12, 28)]
    (folder / "tiny.txt").write_text("".join(f"{100 + u} {100 + v}\n" for u, v in ring))
    (folder / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    done = snakemake(folder, "all", "sharded", "--cores", "2", "--configfile", str(folder / "mine.yaml"))
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_lint_finds_nothing():
    done = subprocess.run([sys.executable, "-m", "snakemake", "--lint"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_can_be_planned(tmp_path):
    done = snakemake(tmp_path, "-n", "--cores", "1")
    assert done.returncode == 0, done.stderr


def test_every_rule_is_described():
    text = "\n".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    rules = re.split(r"^rule ", text, flags=re.MULTILINE)[1:]
    assert len(rules) > 10
    wanted = {"message", "input", "output", "log", "benchmark", "threads", "resources", "conda", "shell"}
    for rule in rules:
        missing = wanted - set(re.findall(r"^    (\w+):", rule, flags=re.MULTILINE))
        name = rule.partition(":")[0]
        sourceless = name in ("generate_graph", "fetch_graph", "warm_up_graph")
        assert missing <= ({"input"} if sourceless else set()), f"{name} lacks {sorted(missing)}"


def test_results_are_there_and_sensible(finished):
    results = finished / "results"
    spread = {
        (r["model"], r["method"], int(r["k"])): float(r["spread_vertices"]) for r in rows(results / "tables/spread.tsv")
    }
    assert len(spread) == 2 * 3 * 2
    for (_, _, k), value in spread.items():
        assert k <= value <= 30
    assert all(spread[model, "gim", 3] > spread[model, "random", 3] for model in ("ic", "lt"))
    seeds = [int(row["vertex"]) for row in rows(results / "tables/seeds.tsv") if row["model"] == "ic"]
    assert seeds[0] == 107, "the hub has to come first, by its original id"
    runs = rows(results / "tables/runs.tsv")
    assert [(row["graph"], row["model"], row["n_vertices"], row["m_edges"]) for row in runs] == [
        ("tiny", "ic", "30", "92"),
        ("tiny", "lt", "30", "92"),
    ]
    page = (results / "report.html").read_text()
    figures = 3 + 4 + 2 + 6 + 5  # of gIM, IMGPU, kPAR, MERIT and structural diversity; no core is a circle, nor shown
    assert (
        "tiny" in page
        and page.count("<svg") == figures - 1
        and figures == len(list((results / "figures").glob("*.svg")))
    )
    assert (results / "seeds/tiny/sharded-lt.h5").stat().st_size > 0
    sharded = json.loads((results / "runs/tiny/sharded-lt.json").read_text())
    assert sharded["params"]["judge_first"] == sharded["params"]["count"] and sharded["spread_estimate"] > 0


def test_parts_gather_into_the_whole(finished):
    results = finished / "results"
    pairs = [(f"kpar/tiny/gathered-{k}.h5", f"kpar/tiny/kpar-{k}.h5") for k in (2, 10)]
    pairs += [(f"diversity/tiny/{circle}-gathered.h5", f"diversity/tiny/{circle}.h5") for circle in CIRCLES]
    for gathered, whole in pairs:
        assert (results / gathered).read_bytes() == (results / whole).read_bytes(), gathered


def test_personalised_pagerank_is_there_and_sensible(finished):
    tables = finished / "results/tables"
    quality = {(r["method"], int(r["k"])): r for r in rows(tables / "kpar-quality.tsv")}
    assert set(quality) == {(method, k) for method in ("kpar", "fora") for k in (2, 10)}
    assert all(float(r["precision"]) > 0.8 and r["violations"] == "0" and r["queries"] == "5" for r in quality.values())
    assert {(r["method"], r["k"]) for r in rows(tables / "kpar-queries.tsv")} >= {("truth", "10"), ("kpar", "2")}
    best = rows(tables / "kpar-answers.tsv")
    assert all(r["vertex"] == r["source"] for r in best if r["place"] == "1"), "a walk stops at its source with 0.2"


def test_simulated_worlds_are_there_and_sensible(finished):
    tables = finished / "results/tables"
    spread = {(r["method"], int(r["k"])): r for r in rows(tables / "imgpu-spread.tsv")}
    assert {method for method, _ in spread} == {"fixed", "fresh", "celf", "random"}
    best = {method: float(spread[method, 3]["spread_vertices"]) for method in ("fixed", "fresh", "celf", "random")}
    error = float(spread["fixed", 3]["stderr_vertices"])
    assert abs(best["fixed"] - best["celf"]) < 6 * error and best["fixed"] > best["random"]
    runs = {r["method"]: r for r in rows(tables / "imgpu-runs.tsv")}
    assert set(runs) == {"fixed", "fresh", "celf"} and runs["fixed"]["worlds"] == "300"
    assert abs(float(runs["fixed"]["spread_estimate_vertices"]) - best["fixed"]) < 6 * 2 * error
    times = [float(r["time_s"]) for r in rows(tables / "imgpu-times.tsv") if r["method"] == "fresh"]
    assert len(times) == 3 and times == sorted(times) and times[0] > 0
    assert [r["optimisation"] for r in rows(tables / "imgpu-switches.tsv")] == ["none", "K", "R", "U", "KRU"]
    assert float(rows(tables / "imgpu-levels.tsv")[0]["components"]) > 0


def test_campaigns_are_there_and_reach_their_targets(finished):
    campaigns = rows(finished / "results/tables/merit-campaigns.tsv")
    assert len(campaigns) == 2 * 3 * 2  # models, policies, worlds
    assert all(int(r["activated_vertices"]) >= int(r["eta"]) for r in campaigns)
    facts = ("model", "eta", "world", "cost", "activated_vertices", "rounds", "seeds")
    outcome = {
        policy: [[r[name] for name in facts] for r in campaigns if r["policy"] == policy]
        for policy in ("coupled", "regenerate")
    }
    assert outcome["coupled"] == outcome["regenerate"], "the same sets, so the same campaigns"
    page = " ".join((finished / "results/report.html").read_text().split())
    assert "Every campaign reached its target." in page and "each campaign came out the same" in page


def test_structural_diversity_is_there_and_right(finished):
    tables = finished / "results/tables"
    top = {r["model"]: (r["vertex"], r["score"]) for r in reversed(rows(tables / "diversity-top.tsv"))}
    assert top == {"comp": ("107", "1"), "core": ("100", "0"), "truss": ("107", "1")}
    checks = rows(tables / "diversity-checks.tsv")
    assert len(checks) == 3
    assert all(r[kind] == "0" for r in checks for kind in ("wrong_scores", "wrong_contexts", "misplaced", "missed"))
    runs = rows(tables / "diversity-runs.tsv")
    assert {(r["m_edges"], r["directions"]) for r in runs} == {("46", "none")}
    picture = (finished / "results/figures/ego-tiny-comp.svg").read_text()
    assert "vertex 107: 18 friends" in picture


def test_systems_are_chosen_graph_by_graph(finished, tmp_path):
    (tmp_path / "tiny.txt").write_text((finished / "tiny.txt").read_text())
    graphs = [CONFIG["graphs"][0] | {"systems": ["diversity"], "undirected": False}]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(CONFIG | {"graphs": graphs}))
    done = snakemake(tmp_path, "-n", "-p", "--cores", "1", "--configfile", str(tmp_path / "mine.yaml"))
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert "diversity search results/graphs/tiny.h5" in text and "-k 2 -t 4 --undirected" in text
    assert "gim run" not in text and "kpar query" not in text


def test_second_run_does_nothing(finished):
    mine = ("--cores", "2", "--configfile", str(finished / "mine.yaml"))
    for options in ((), ("--cores", "1", "--config", "threads=1"), ("--resources", "gpu=1", "--config", "device=auto")):
        done = snakemake(finished, "all", "sharded", *mine, *options)
        assert done.returncode == 0, done.stderr
        assert "Nothing to be done" in done.stdout + done.stderr, f"{options} ran something again"


def test_what_was_deleted_is_made_again(finished):
    """Each file alone: what is asked for only because others need it would stay away while those are there."""
    results = finished / "results"
    mine = ("--cores", "2", "--configfile", str(finished / "mine.yaml"))
    files = {
        "graphs/tiny.h5": "import_graph",
        "graphs/tiny.json": "import_graph",
        "seeds/tiny/degree.h5": "gim_baseline",
        "kpar/tiny/index.h5": "kpar_index",
        "diversity/tiny/egos.h5": "diversity_egos",
        "tables/spread.tsv": "table",
    }
    for name, rule in files.items():
        aside = finished / "aside"
        (results / name).rename(aside)
        planned = snakemake(finished, "-n", "-p", *mine).stdout
        aside.rename(results / name)
        assert re.search(rf"^{rule} +1$", planned, flags=re.MULTILINE), f"{name} would not be made again"
    before = {path: path.read_bytes() for path in results.rglob("*.h5")}
    (results / "diversity/tiny/egos.h5").unlink()
    done = snakemake(finished, *mine)
    assert done.returncode == 0, done.stderr[-4000:]
    assert {path: path.read_bytes() for path in results.rglob("*.h5")} == before
    said = max((finished / ".snakemake/log").glob("*.log")).read_text()
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", said, flags=re.MULTILINE))
    assert jobs == {"all": "1", "diversity_egos": "1", "figures_egos": "1", "report_page": "1", "total": "4"}


def test_a_warm_up_that_is_killed_costs_no_report(tmp_path):
    config = CONFIG | {"graphs": [CONFIG["graphs"][0] | {"systems": ["merit"], "models": ["ic"]}]}
    config["merit"] = {"eta": [15], "batch": 2, "worlds": 1, "policies": ["coupled"]}
    (tmp_path / "tiny.txt").write_text("".join(f"{v} {(v + 1) % 20}\n" for v in range(20)))
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
    begun = tmp_path / "results/warm-up/merit.h5"  # written four times
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--cores", "1"]
    command += ["--configfile", "mine.yaml", "--nolock"]
    for number in (signal.SIGINT, signal.SIGKILL):
        begun.unlink(missing_ok=True)
        run = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL)
        while not begun.exists() and run.poll() is None:
            time.sleep(0.05)
        os.killpg(run.pid, number)
        assert run.wait(timeout=60) != 0 and not (tmp_path / "results/report.html").exists()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Every campaign reached its target." in " ".join((tmp_path / "results/report.html").read_text().split())


def test_an_edge_list_that_is_gone_is_named(finished, tmp_path):
    moved = CONFIG | {"graphs": [CONFIG["graphs"][0] | {"edges": "gone.txt"}]}
    (tmp_path / "moved.yaml").write_text(yaml.safe_dump(moved))
    done = snakemake(finished, "-n", "--cores", "1", "--configfile", str(tmp_path / "moved.yaml"))
    assert done.returncode != 0
    assert "graphs[0] (tiny): there is no file 'gone.txt'" in done.stdout + done.stderr


def test_a_fetched_graph_is_imported_as_the_catalogue_says(tmp_path):
    graph = {"name": "co-authors", "fetch": "NetHEPT"}  # shipped, so that no network is needed
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(CONFIG | {"graphs": [graph]}))
    record = "results/graphs/co-authors.json"
    done = snakemake(tmp_path, record, "--cores", "1", "--configfile", str(tmp_path / "mine.yaml"))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / record).read_text())
    assert found["undirected"] and found["graph"] == {"n": 15_233, "m": 2 * 31_376}


def test_failed_command_leaves_no_output_and_shows_its_line(finished, tmp_path):
    # The configuration's check looks at the first MiB alone, where that has vertices enough.
    (tmp_path / "tiny.txt").write_text("".join(f"{v} {v + 1}\n" for v in range(100_000)) + "3 letters\n")
    done = snakemake(tmp_path, "--cores", "1", "--configfile", str(finished / "mine.yaml"))
    text = done.stdout + done.stderr
    assert done.returncode != 0
    assert "gpukit: error:" in text and "letters" in text
    assert not list((tmp_path / "results/graphs").glob("*"))
