"""``gpukit merit``: simulated and real campaigns, states that survive errors, and one line for each error."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from gpukit.artifacts import read, write, write_graph
from gpukit.artifacts.verify import verify
from gpukit.cli.app import main
from gpukit.errors import InputError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.merit import Costs, Params, SimulatedWorld, simulate
from gpukit.worlds.tables import build_tables

GROUP = ("merit",)
COMMON = {"params", "graph", "device", "seed", "time_s"}


@pytest.fixture(scope="module")
def graph():
    """A graph whose original ids are not its internal ones."""
    u, v = 10 * np.random.default_rng(1).integers(1, 80, (2, 300))
    return build_graph(u, v, weights=Weights())


@pytest.fixture
def folder(tmp_path, graph, monkeypatch):
    write_graph(tmp_path / "G.h5", graph, build_tables(graph))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_run_is_the_library_and_verifies(record, folder, graph, model):
    options = ["--eta", 30, "--batch", 3, "--model", model, "--seed", 4, "--worlds", 3]
    found = record("run", "G.h5", "--out", "C.h5", *options)
    params = Params(30, 3, model, seed=4)
    results = [simulate(graph, params, SimulatedWorld(graph, model, 4, number)) for number in range(3)]
    first = results[0]
    assert found["seeds"] == graph.original(first.seeds).tolist()
    assert [one["batch"] for one in found["rounds"]] == [graph.original(one.batch).tolist() for one in first.rounds]
    assert sum(one["activated"] for one in found["rounds"]) == found["activated"] >= 30
    assert found["cost"] == pytest.approx(sum(one["cost"] for one in found["rounds"])) == pytest.approx(first.amount)
    assert [one["cost"] for one in found["campaigns"]] == [one.amount for one in results]
    assert found["mean_cost"] == pytest.approx(sum(one.amount for one in results) / 3)
    by_list = [one["list_cost"] for one in found["campaigns"]]
    assert found["mean_list_cost"] == pytest.approx(sum(by_list) / 3) and min(by_list) > 0
    one = record("run", "G.h5", "--out", "D.h5", *options[:-1], 1)
    assert "mean_list_cost" not in one and "list_cost" not in one["campaigns"][0]
    assert {"params", "graph", "device", "seed", "time_s"} <= found.keys()
    assert {"total", "generate", "update", "judge", "select"} <= found["time_s"].keys()
    verify(folder / "C.h5")
    arrays = read("C.h5", "campaign").arrays
    assert arrays["worlds"].tolist() == [0, 1, 2]
    assert arrays["seeds"].tolist() == [v for one in results for v in graph.original(one.seeds).tolist()]


def test_the_summary_says_where_it_stops(good, record, folder):
    words = ["run", "G.h5", "--out", "C.h5", "--eta", 50, "-b", 4, "--worlds", 12]
    found = record(*words)
    rows = dict(line.split("  ", 1) for line in good(*words).splitlines())
    seeds, activated = found["seeds"], [one["activated"] for one in found["campaigns"]]
    assert len(seeds) > 10
    assert rows["seeds"].strip() == ", ".join(map(str, seeds[:10])) + f", … and {len(seeds) - 10} more (--json has all)"
    assert rows["activated"].strip() == ", ".join(map(str, activated[:10])) + ", … and 2 more (--json has all)"
    assert rows["rounds"].strip().endswith(", … and 2 more (--json has all)")
    assert "…" not in good("run", "G.h5", "--out", "C.h5", "--eta", 5, "-b", 2, "--worlds", 10)


def test_records_hold_what_the_docs_promise(record, promised, folder):
    outputs = {("papers", "once"): "S.h5", ("start",): "C.h5"}
    once, step = (record(*command, "G.h5", "--out", out, "--eta", 12) for command, out in outputs.items())
    whole = record("run", "G.h5", "--out", "W.h5", "--eta", 12, "--worlds", 2)
    held = whole.keys() | whole["rounds"][0].keys() | whole["campaigns"][0].keys()
    assert promised("merit run") == held - COMMON | {"time_s", "unpriced"}
    for found in (step, record("next", "G.h5", "C.h5", "--observed", "")):
        assert promised("merit start") == promised("merit next") == found.keys() - COMMON
    assert promised("papers merit once") == once.keys() - COMMON


def test_updates_threads_and_devices_leave_the_file_as_it_is(record, folder):
    words = ["run", "G.h5", "--eta", 40, "-b", 2, "--seed", 2]
    record(*words, "--out", "A.h5", "--threads", 1)
    record("papers", *words, "--out", "B.h5", "--threads", 2, "--groups", 1)
    assert (folder / "A.h5").read_bytes() == (folder / "B.h5").read_bytes()
    first = record(*words, "--out", "A.h5")
    again = record("papers", *words, "--out", "B.h5", "--update", "regenerate")
    assert again["rounds"] == first["rounds"]
    record("papers", *words, "--out", "B.h5", "--update", "regenerate", "--fresh-ids", "--certificate", "paper")
    record("papers", *words, "--out", "B.h5", "--update", "paper", "--model", "lt", "--lt-residual", "raw")


def test_a_campaign_of_the_paper_goes_on_by_the_paper(run, record, folder):
    step = record("papers", "start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2, "--update", "paper")
    words = ["next", "G.h5", "S.h5", "--observed", step["batch"][0]]
    code, out, err = run(*words)
    assert (code, out) == (2, "") and "`gpukit papers merit`" in err
    assert record("papers", *words)["activated"] >= 1


def test_a_real_campaign_goes_on_anywhere(run, record, folder, graph):
    """A campaign answered by a world, file by file, is the simulated one; states can be copied on the way."""
    whole = record("run", "G.h5", "--out", "C.h5", "--eta", 30, "-b", 2, "--costs", "uniform", "--seed", 3)
    world = SimulatedWorld(graph, "ic", 3)
    step = record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2, "--costs", "uniform", "--seed", 3)
    lines = []
    while not step["done"]:
        verify(folder / "S.h5")
        activated = graph.original(world.diffuse(graph.internal(step["batch"]).astype(np.int32)))
        lines.append(" ".join(map(str, activated)))
        others = np.setdiff1d(activated, step["batch"])
        (folder / "seen.txt").write_text("# observed\n" + "".join(f"{v}\n" for v in others))
        shutil.move("S.h5", "T.h5")
        step = record("next", "G.h5", "T.h5", "--observed", "seen.txt", "--out", "S.h5")
    assert step["seeds"] == whole["seeds"] and step["cost"] == whole["cost"] and step["left"] == 0
    assert [one["batch"] for one in step["rounds"]] == [one["batch"] for one in whole["rounds"]]
    for name in ("seeds", "activated", "sets", "hits", "stops"):
        assert np.array_equal(read("S.h5").arrays[name], read("C.h5").arrays[name])
    (folder / "record.txt").write_text("# a line a round\n" + "\n".join(lines) + "\n")
    options = ["--eta", 30, "-b", 2, "--costs", "uniform", "--seed", 3]
    assert record("run", "G.h5", "--out", "R.h5", *options, "--replay", "record.txt")["seeds"] == whole["seeds"]
    code, _, err = run("next", "G.h5", "S.h5", "--observed", "10")
    assert code == 2 and "reached its target" in err


def test_costs_from_a_file(record, folder, graph):
    values = np.random.default_rng(2).integers(1, 10**6, graph.n)
    text = "".join(f"{v} {c / 10**6:.6f}\n" for v, c in zip(graph.original(np.arange(graph.n)), values, strict=True))
    (folder / "costs.txt").write_text(text)
    found = record("run", "G.h5", "--out", "C.h5", "--eta", 30, "-b", 2, "--costs", "costs.txt")
    costs = Costs(values, scheme="file")
    expected = simulate(graph, Params(30, 2, costs=costs), SimulatedWorld(graph, "ic", 0))
    assert found["seeds"] == graph.original(expected.seeds).tolist()
    assert found["cost"] == pytest.approx(values[expected.seeds].sum() / 10**6)
    verify(folder / "C.h5")
    step = record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2, "--costs", "costs.txt")
    (folder / "costs.txt").unlink()
    step = record("next", "G.h5", "S.h5", "--observed", ",".join(map(str, step["batch"])))
    assert step["activated"] == 2 and not step["done"]


def test_who_has_no_cost_costs_1(run, record, folder, graph):
    ids = graph.original(np.arange(graph.n))
    (folder / "some.txt").write_text(f"{ids[3]} 0.25\n{ids[0]} 7\n")
    words = ("run", "G.h5", "--out", "C.h5", "--eta", 30, "-b", 2, "--costs", "some.txt")
    values = np.full(graph.n, 10**6)
    values[[0, 3]] = 7 * 10**6, 250_000
    expected = simulate(graph, Params(30, 2, costs=Costs(values, scheme="file")), SimulatedWorld(graph, "ic", 0))
    assert record(*words)["cost"] == pytest.approx(values[expected.seeds].sum() / 10**6)
    code, _, err = run(*words)
    told = [line for line in err.splitlines() if "each of the others costs 1" in line]
    assert record(*words)["unpriced"] == graph.n - 2
    assert code == 0 and told == [f"gpukit: some.txt names 2 of {graph.n} vertices; each of the others costs 1"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--eta", "0"], 2, "eta is 0"),
        (["--eta", "1000"], 2, "eta is 1000"),
        (["--eta", "5", "-b", "1000"], 2, "batch is 1000"),
        (["--eta", "5", "--epsilon", "2"], 2, "epsilon"),
        (["--eta", "5", "--epsilon", "1e-300"], 2, "epsilon is 1e-300"),
        (["--eta", "5", "--costs", "absent.txt"], 2, "neither degree nor uniform"),
        (["--eta", "5", "--costs", "zero.txt"], 3, "is not a number in"),
        (["--eta", "5", "--costs", ""], 2, "--costs '' is neither degree nor uniform"),
        (["--eta", "5", "--costs", "unknown.txt"], 3, "unknown.txt, line {lines}: vertex 7 is not in the graph"),
        (["--eta", "5", "--costs", "twice.txt"], 3, "line {lines}: vertex {first} is given twice, first in line 1"),
        (["papers", "--eta", "5", "--groups", "3"], 2, "--groups is 3"),
        (["--eta", "5", "--worlds", "0"], 2, "--worlds is 0"),
        (["papers", "--eta", "5", "--fresh-ids"], 2, "fresh ids"),
        (["papers", "--eta", "5", "--lt-residual", "raw"], 2, "--lt-residual belongs to --model lt"),
        (
            ["papers", "--eta", "5", "--model", "ic", "--lt-residual", "renormalised"],
            2,
            "--lt-residual belongs to --model lt",
        ),
        (["--eta", "5", "--replay", "bad.txt"], 3, "line 1"),
        (["--eta", "5", "--replay", "absent.txt"], 3, "absent.txt"),
        (["--eta", "60", "--replay", "short.txt"], 3, "record"),
        (["--eta", "5", "--replay", ""], 2, "--replay names no file"),
        (["--eta", "5", "--replay", "empty.txt"], 3, "empty.txt names no vertices"),
        (["--eta", "5", "--replay", "stranger.txt"], 3, "stranger.txt, line 3: vertex 7 is not in the graph"),
        (["--eta", "5", "--replay", "again.txt"], 3, "again.txt, line 2: vertex 20 is given twice, first in line 2"),
        (["--eta", "5", "--replay", "later.txt"], 3, "later.txt, line 3: vertex 10 is given twice, first in line 1"),
        (["--eta", "5", "--replay", "large.txt"], 3, "line 1: '9223372036854775808' is not a vertex id"),
        (["--eta", "5", "--replay", "long.txt"], 3, "is not a vertex id"),
    ],
)
def test_errors_ofrun(run, folder, graph, words, code, message):
    ids = graph.original(np.arange(graph.n)).tolist()
    (folder / "zero.txt").write_text("".join(f"{v} {int(v != ids[4])}\n" for v in ids))
    (folder / "unknown.txt").write_text("".join(f"{v} 1\n" for v in [*ids, 7]))
    (folder / "bad.txt").write_text("10 x\n")
    (folder / "short.txt").write_text("10 20\n")
    texts = {"stranger": "10\n\n20 7\n", "again": "10\n20 30 20\n", "later": "10\n20\n10\n", "empty": "# none\n"}
    texts |= {"large": f"{2**63}\n", "long": "9" * 5000, "twice": "".join(f"{v} 1\n" for v in [*ids, ids[0]])}
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    message = message.format(lines=len(ids) + 1, first=ids[0])
    first = words[: words[0] == "papers"]
    got, out, err = run(*first, "run", "G.h5", "--out", "C.h5", *words[len(first) :])
    assert got == code and not out
    assert message in err.strip().splitlines()[-1], err
    assert not (folder / "C.h5").exists()


def test_the_batch_follows_from_what_seeds_are_expected_to_reach(run, record, folder):
    """Of 40 stars one is enough for 10 or 17 vertices; of the 30 for 900, a round buys an eighth of what it expects."""
    leaves = np.arange(40 * 29)
    write_graph("stars.h5", build_graph(leaves % 40, 40 + leaves, weights=Weights("const", 1.0)))
    words = ["stars.h5", "--costs", "uniform", "--out", "C.h5"]
    for command, eta, batch in (("run", 10, 1), ("run", 16, 1), ("run", 17, 1), ("run", 900, 2), ("start", 900, 2)):
        found = record(command, "--eta", eta, *words)
        assert found["params"]["batch"] == read("C.h5").attributes["batch"] == read("C.h5").params["batch"] == batch
        if command == "run":
            assert found["cost"] == -(-eta // 30)
    assert run("start", "--eta", 900, *words)[2].count("batches of 2 seeds, from their expected spread") == 1
    assert record("start", "--eta", 900, *words, "-b", 2)["batch"] == record("start", "--eta", 900, *words)["batch"]


def test_a_first_round_that_reaches_too_many_is_told(run, record, folder):
    leaves = np.arange(40 * 29)
    write_graph("stars.h5", build_graph(leaves % 40, 40 + leaves, weights=Weights("const", 1.0)))
    words = ["stars.h5", "--costs", "uniform", "--out", "C.h5", "--eta"]
    told = "the first round, of 4 seeds, reached 120 of 61 wanted in 3 of 3 campaigns; a smaller --batch may cost less"
    assert run("run", *words, 61, "-b", 4, "--worlds", 3)[2].count(told) == 1
    for batch in (1, 2):
        assert "a smaller --batch" not in run("run", *words, 61, "-b", batch)[2]
    seeds = record("start", *words, 61, "-b", 4)["batch"]
    reached = [v for v in range(40, 40 + 40 * 29) if v % 40 in seeds]
    err = run("next", "stars.h5", "C.h5", "--observed", ",".join(map(str, reached)))[2]
    assert err.count(told.replace(" in 3 of 3 campaigns", "")) == 1


def test_lt_residual_belongs_to_lt(run, record, folder):
    words = ["papers", "start", "G.h5", "--out", "S.h5", "--eta", 5, "-b", 2]
    code, out, err = run(*words, "--lt-residual", "raw")
    assert (code, out) == (2, "") and "--lt-residual belongs to --model lt" in err and not (folder / "S.h5").exists()
    assert record(*words, "--model", "lt", "--lt-residual", "raw")["params"]["lt_residual"] == "raw"
    assert record(*words, "--model", "lt")["params"]["lt_residual"] == "renormalised"


def test_errors_of_next_leave_the_state_untouched(run, record, folder, graph):
    batch = record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2)["batch"]
    record("next", "G.h5", "S.h5", "--observed", batch[0])
    u, v = np.random.default_rng(5).integers(0, 50, (2, 100))
    write_graph(folder / "H.h5", build_graph(u, v, weights=Weights()))
    (folder / "cut.h5").write_bytes((folder / "S.h5").read_bytes()[:-600])
    record("run", "G.h5", "--out", "C.h5", "--eta", 5)
    before = (folder / "S.h5").read_bytes()
    for words, code, message in (
        (["G.h5", "S.h5", "--observed", "7"], 3, "vertex 7 is not in the graph"),
        (["G.h5", "S.h5", "--observed", batch[0]], 3, f"vertex {batch[0]} was active before"),
        (["G.h5", "S.h5", "--observed", f"{batch[1]},{batch[1]}"], 2, "given twice"),
        (["G.h5", "S.h5", "--observed", "absent.txt"], 2, "'absent.txt' is neither a vertex id nor a file"),
        (["H.h5", "S.h5", "--observed", "1"], 3, "another graph"),
        (["G.h5", "C.h5", "--observed", "1"], 3, "simulated campaigns"),
        (["G.h5", "cut.h5", "--observed", "1"], 3, "cut.h5"),
        (["G.h5", "G.h5", "--observed", "1"], 3, "campaign is needed"),
    ):
        got, out, err = run("next", *words)
        assert got == code and not out, err
        assert message in err.strip().splitlines()[-1], err
    assert (folder / "S.h5").read_bytes() == before
    (folder / "none.txt").write_text("# nobody else\n")
    shutil.copy("S.h5", "T.h5")
    assert record("next", "G.h5", "S.h5", "--observed", "none.txt")["activated"] == 4
    assert record("next", "G.h5", "T.h5", "--observed", "")["activated"] == 4
    assert (folder / "T.h5").read_bytes() == (folder / "S.h5").read_bytes()


def test_a_state_is_brought_up_to_date_by_one_process_at_a_time(run, record, folder):
    """One waits for what was observed, with the state at hand: the others are refused, and its step is not lost."""
    batch = record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2)["batch"]
    before = (folder / "S.h5").read_bytes()
    os.mkfifo("seen")
    words = [sys.executable, "-m", "gpukit", "merit", "next", "G.h5", "S.h5", "--observed", "seen"]
    first = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        with open("seen", "w") as seen:  # opens when the other end is opened, too
            for others in (
                ["next", "G.h5", "S.h5", "--observed", ""],
                ["start", "G.h5", "--out", "S.h5", "--eta", 20],
                ["run", "G.h5", "--out", "S.h5", "--eta", 20],
            ):
                code, out, err = run(*others)
                assert (code, out) == (3, "") and "another process works on" in err.splitlines()[-1], err
            assert (folder / "S.h5").read_bytes() == before
            record("next", "G.h5", "S.h5", "--observed", "", "--out", "T.h5")
            seen.write(f"{batch[1]}\n")
        assert first.wait(120) == 0
    finally:
        first.kill()
        first.communicate()
    assert (folder / "S.h5").read_bytes() == (folder / "T.h5").read_bytes() != before
    assert sorted(os.listdir()) == ["G.h5", "S.h5", "T.h5", "seen"]


def test_observations_are_not_written_over(run, record, folder, graph):
    """By a campaign begun anew; one without observations, or at its end, gives way as any output does."""
    words = ["G.h5", "--out", "S.h5", "--eta", 30, "-b", 2]
    record("start", *words)
    batch = record("start", *words)["batch"]
    record("next", "G.h5", "S.h5", "--observed", batch[0])
    before = (folder / "S.h5").read_bytes()
    for command in ("start", "run"):
        code, out, err = run(command, *words)
        assert (code, out) == (2, "") and "and 1 observed round would be lost" in err.splitlines()[-1], err
    assert (folder / "S.h5").read_bytes() == before
    others = np.setdiff1d(graph.original(np.arange(graph.n)), batch)
    assert record("next", "G.h5", "S.h5", "--observed", ",".join(map(str, others)))["done"]
    record("run", *words)
    record("start", *words)


def test_a_killed_process_locks_nobody_out(run, record, folder):
    record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2)
    os.mkfifo("seen")
    words = [sys.executable, "-m", "gpukit", "merit", "next", "G.h5", "S.h5", "--observed", "seen"]
    first = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    with open("seen", "w"):
        first.kill()
        first.wait()
    assert ".S.h5.lock" in os.listdir()
    record("next", "G.h5", "S.h5", "--observed", "")
    (folder / ".S.h5.lock").symlink_to(folder / "G.h5")
    code, _, err = run("next", "G.h5", "S.h5", "--observed", "")
    assert code == 3 and "cannot lock S.h5 by a file .S.h5.lock next to it" in err
    (folder / ".S.h5.lock").unlink()
    record("next", "G.h5", "S.h5", "--observed", "")
    assert sorted(os.listdir()) == ["G.h5", "S.h5", "seen"]


def test_lists_of_vertices_that_are_wrong(run, record, folder):
    batch = record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2)["batch"]
    (folder / "twice.txt").write_text("# seen\n10\n20\n10\n")
    (folder / "stranger.txt").write_text("10\n\n7\n")
    for text, code, message in (
        (",".join(map(str, [*range(10, 3000, 10), "x", 3000])), 2, "--observed: 'x' is neither a vertex id nor a file"),
        ("10,,20", 2, "--observed: '' is neither a vertex id"),
        ("1" * 5000, 2, "is neither a vertex id"),
        (f"{batch[0]},{2**63}", 2, f"'{2**63}' is neither a vertex id"),
        (str(2**63 - 1), 3, f"vertex {2**63 - 1} is not in the graph"),
        ("twice.txt", 3, "twice.txt, line 4: vertex 10 is given twice, first in line 2"),
        ("stranger.txt", 3, "stranger.txt, line 3: vertex 7 is not in the graph"),
    ):
        got, out, err = run("next", "G.h5", "S.h5", "--observed", text)
        line = err.strip().splitlines()[-1]
        assert (got, out) == (code, "") and message in line and len(line) < 250, err


def test_a_record_of_more_than_is_asked_for(run, record, folder, graph):
    """A campaign that ends before its record does says so; ids may be as large as those of a graph."""
    write_graph("B.h5", build_graph(2**63 - 1 - np.array([0, 8, 16]), np.array([2, 2, 2]), weights=Weights()))
    words = ["B.h5", "--eta", 2, "-b", 1, "--costs", "uniform"]
    first = record("start", *words, "--out", "S.h5")["batch"][0]
    others = sorted({2, 2**63 - 1, 2**63 - 9, 2**63 - 17} - {first})
    (folder / "seen.txt").write_text(f"{first} {others[0]}\n{others[1]},{others[2]}\n")
    code, out, err = run("run", *words, "--out", "C.h5", "--replay", "seen.txt", "--json")
    assert code == 0 and json.loads(out)["activated"] == 2, err
    assert "reached its target in round 1 of the 2 in seen.txt; the others were not used" in err
    assert read("C.h5", "campaign").arrays["activated"].tolist() == sorted([first, others[0]])
    (folder / "seen.txt").write_text(f"{first} {others[0]}\n")
    assert "not used" not in run("run", *words, "--out", "C.h5", "--replay", "seen.txt")[2]


@pytest.mark.timeout(300)  # it used to go on for ever
@pytest.mark.parametrize("residual", ["renormalised", "raw"])
def test_the_dead_may_hold_nearly_all_of_the_weight(record, folder, residual):
    """Under LT, 1 is to activate 3 with all but a ten-millionth, and does not."""
    tails, heads = np.array([1, 2, 1, 4, 5, 6, 7, 8, 9]), np.array([3, 3, 4, 5, 6, 7, 8, 9, 10])
    w = np.array([0.9999999, 0.0000001, *[0.5] * 7])
    write_graph("L.h5", build_graph(tails, heads, w=w, weights=Weights("file")))
    words = ["--eta", 8, "--batch", 1, "--model", "lt", "--costs", "uniform", "--lt-residual", residual]
    step = record("papers", "start", "L.h5", "--out", "S.h5", *words)
    assert step["batch"] == [1]
    step = record("papers", "next", "L.h5", "S.h5", "--observed", "1")
    assert not step["done"] and step["activated"] == 1
    verify(folder / "S.h5")
    (folder / "seen.txt").write_text("1\n2 3 4 5 6 7 8 9 10\n")
    for update in ("coupled", "regenerate"):
        found = record("papers", "run", "L.h5", "--out", "C.h5", *words, "--update", update, "--replay", "seen.txt")
        assert found["seeds"] == [1, *step["batch"]]


BROKEN = [
    ("seeds", lambda a: a[::-1] * 0 + a[0], "activates a vertex twice|its own seeds"),
    ("batch_begin", lambda a: np.array([0, *a[1:-1] * 0, a[-1]]), "no seeds"),
    ("stops", lambda a: a + 5, "stops"),
    ("sets", lambda a: -a - 1, "sets holds|without sets"),
    ("activated", lambda a: np.full_like(a, a[0]), "twice|ascend"),
]


@pytest.mark.parametrize(("name", "change", "message"), BROKEN, ids=[row[0] for row in BROKEN])
def test_broken_states_are_refused(run, record, folder, name, change, message):
    """A state with right checksums that contradicts itself: verify and ``next`` refuse it and do not change it."""
    step = record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2)
    for _ in range(2):
        step = record("next", "G.h5", "S.h5", "--observed", step["batch"][0])
    good = read("S.h5", "campaign")
    arrays = dict(good.arrays)
    arrays[name] = np.ascontiguousarray(change(arrays[name])).astype(arrays[name].dtype)
    write("B.h5", "campaign", arrays, good.attributes, params=good.params, seed=good.seed, inputs=good.inputs)
    with pytest.raises(InputError, match=message):
        verify(folder / "B.h5")
    before = (folder / "B.h5").read_bytes()
    code, _, err = run("next", "G.h5", "B.h5", "--observed", step["batch"][0])
    assert code == 3 and len(err.strip().splitlines()[-1]) > 20
    assert (folder / "B.h5").read_bytes() == before


@pytest.mark.timeout(120)  # 2^40 refusals took for ever
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("cost", lambda a: a + 1, "B.h5: round 0 costs other than its seeds do"),
        ("refused", lambda a: a + 2**40, "refused holds"),
        ("sets", lambda a: a + 2**40, "numbers of sets that no choice leads to"),
        ("judged", lambda a: a + 2**62, "judged holds"),
        ("hits", lambda a: a + 2**62, "numbers of sets that no choice leads to"),
        ("most", lambda a: a + 2**62, "most holds"),
        ("covered", lambda a: a + 2**62, "seeds hit more sets than there are"),
        ("epsilon", 5.0, "B.h5: epsilon is 5.0"),
        ("ids", "fresh", "B.h5: fresh ids go with"),
    ],
)
def test_states_that_no_campaign_leads_to_are_refused(run, record, folder, name, change, message):
    """Values that are valid, but do not fit the graph and the other parameters."""
    step = record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2)
    step = record("next", "G.h5", "S.h5", "--observed", step["batch"][0])
    good = read("S.h5", "campaign")
    arrays, attributes = dict(good.arrays), dict(good.attributes)
    if name in arrays:
        arrays[name] = change(arrays[name])
    else:
        attributes[name] = change
    write("B.h5", "campaign", arrays, attributes, params=good.params, seed=good.seed, inputs=good.inputs)
    before = (folder / "B.h5").read_bytes()
    code, out, err = run("next", "G.h5", "B.h5", "--observed", step["batch"][0])
    assert (code, out) == (3, "") and message in err.strip().splitlines()[-1], err
    assert (folder / "B.h5").read_bytes() == before


def test_attributes_out_of_range_are_refused(run, record, folder):
    record("start", "G.h5", "--out", "S.h5", "--eta", 30, "-b", 2)
    good = read("S.h5", "campaign")
    for name, value in (("eta", 0), ("batch", 10**6), ("update", "none"), ("costs", "file"), ("pending", False)):
        changed = {**good.attributes, name: value}
        write("B.h5", "campaign", good.arrays, changed, params=good.params, seed=good.seed, inputs=good.inputs)
        with pytest.raises(InputError):
            verify(folder / "B.h5")
        assert run("next", "G.h5", "B.h5", "--observed", "10")[0] in (2, 3)


def test_seeds_chosen_at_once(record, folder, graph):
    found = record("papers", "once", "G.h5", "--out", "S.h5", "--eta", 12, "--seed", 1)
    assert found["cost"] == pytest.approx(0.01 * (np.diff(graph.indptr)[graph.internal(found["seeds"])] + 1).sum())
    assert found["reached"] >= 0.99 * found["judges"]
    verify(folder / "S.h5")


def test_bench(capsys, folder, monkeypatch):
    monkeypatch.setattr("gpukit.papers.bench.machine.COPY_BYTES", 1 << 20)
    methods = "merit,redrawn,pasti,printed"
    words = ["papers", "bench", "merit", "G.h5", "--eta", "10,20", "-b", "2", "--methods", methods, "--worlds", "2"]
    assert main([*words, "--out", "B.json", "--json", "--models", "lt"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["runs"]) == 8 and found["runs"] == json.loads((folder / "B.json").read_text())["runs"]
    assert all(one["cost"]["mean"] > 0 and one["time_s"]["mean"] > 0 for one in found["runs"])
    kept_runs, redrawn_runs = ([one for one in found["runs"] if one["method"] == name] for name in ("merit", "redrawn"))
    for kept, redrawn in zip(kept_runs, redrawn_runs, strict=True):
        assert all(kept[key] == redrawn[key] for key in ("cost", "rounds", "sets", "members"))
        assert kept["probes"] < redrawn["probes"]
    assert main([*words[:-4], "--methods", "none"]) == 2
    for groups in ("-1", "0", "1,3", "2,x"):
        capsys.readouterr()
        assert main([*words, "--models", "ic", "--groups", groups]) == 2
        assert "--groups" in capsys.readouterr().err
    assert main([*words[:-4], "--methods", "gamcss"]) == 2
