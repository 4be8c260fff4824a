"""Names of options in messages: arguments in Python, options on the command line."""

import ast
import logging
import re
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest

import gpukit as gk
from gpukit.cli.app import main
from gpukit.errors import GpukitError, UsageError
from gpukit.wording import facing, spelled

ROOT = Path(gk.__file__).parent
OPTION = re.compile(r"(^|[\s(`'\"])--?[a-z]")
COMMAND = re.compile(r"`\w[^`]*`|ulimit -[vd]")
"""A command to type, which stays as it is."""
COMMANDS_ONLY = ("cli", "papers", "report", "wording.py", "device/build.py")
"""Rooms and files that no function of Python leads to, and the one that spells options."""

FILES = [path for path in ROOT.rglob("*.py") if not str(path.relative_to(ROOT)).startswith(COMMANDS_ONLY)]


def messages(path: Path) -> list[str]:
    """Return the texts of a file that name an option, but for what documents it; what is filled in is 3."""
    tree = ast.parse(path.read_text())
    parts = {id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) for part in one.values}
    documents = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    found = []
    for one in ast.walk(tree):
        if isinstance(one, ast.JoinedStr):
            found.append("".join(part.value if isinstance(part, ast.Constant) else "3" for part in one.values))
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and id(one) not in parts | documents:
            found.append(one.value)
    return [text for text in found if " " in text and OPTION.search(COMMAND.sub("", text))]


def test_messages_name_options_by_a_function() -> None:
    """``spelled`` names them as the reader does; a text that has ``--option`` in it names them as commands do alone."""
    assert [(path.name, text) for path in FILES for text in messages(path)] == []


@pytest.mark.parametrize(
    ("given", "command", "python", "workflow"),
    [
        (("k",), "-k", "k", "k"),
        (("max_members",), "--max-members", "max_members", "max_members"),
        (("device", "cpu"), "--device cpu", "device='cpu'", "device: cpu"),
        (("memory", 0), "--memory 0", "memory=0", "memory: 0"),
        (("undirected", True), "--undirected", "undirected=True", "undirected: true"),
        (("undirected", False), "--directed", "undirected=False", "undirected: false"),
        (("header", False), "--no-header", "header=False", "header: false"),
        (("out",), "--out", "path", "out"),
        (("columns", "2,3"), "--columns 2,3", "source=2, target=3", "columns: 2,3"),
        (("columns", "source,target,weight"), "--columns source,target,weight", "source, target, weight", None),
        (("columns",), "--columns", "source, target and weight", "columns"),
    ],
)
def test_an_option_is_spelled_as_its_reader_does(given: tuple, command: str, python: str, workflow: str | None) -> None:
    assert spelled(*given) == python
    with facing("command"):
        assert spelled(*given) == command
    with facing("workflow"):
        assert workflow is None or spelled(*given) == workflow


def test_what_people_call_things_stays_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "data -x"
    folder.mkdir()
    (folder / "a --b.csv").write_text("1;2;x\n3;x;4\n5;6;7\n")
    with pytest.raises(GpukitError) as caught:
        gk.read_edges(folder / "a --b.csv", weights="file")
    assert str(folder / "a --b.csv") in str(caught.value)


def test_a_command_names_options_and_what_follows_it_in_python_does_not(tmp_path: Path, capsys) -> None:
    line = "weights x: choose"
    (tmp_path / "e.txt").write_text("1 2\n")
    for _ in range(2):
        with pytest.raises(UsageError, match=f"^{line}"):
            gk.read_edges(tmp_path / "e.txt", weights="x")
        assert (
            main(["graph", "import", str(tmp_path / "e.txt"), "--weights", "x", "--out", str(tmp_path / "G.h5")]) == 2
        )
        assert f"error: --{line}" in capsys.readouterr().err


def test_the_log_names_arguments(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    star = gk.from_edges(["hub"] * 3, ["a", "b", "c"], weights="const:0.5")
    monkeypatch.setattr(logging.getLogger("gpukit"), "propagate", True)
    gk.influence_maximization(star, 1, max_members=1000, optimism=1e-9)
    assert "raise max_members" in caplog.text and "--max" not in caplog.text


def table(tmp_path: Path) -> str:
    (tmp_path / "e.csv").write_text("from,to,w,x\nann,bob,2,1\nbob,cy,3,1\n")
    return str(tmp_path / "e.csv")


CHAIN = nx.DiGraph([(1, 2), (2, 3)])
NONE = {"weights": "none"}

ASKED: list[tuple[str, Callable[[str], object]]] = [
    ("^weights x: choose wc", lambda p: gk.from_edges([1], [2]).with_weights("x")),
    ("^weights const:7: P must", lambda p: gk.from_edges([1], [2]).with_weights("const:7")),
    ("^weights uniform:1:0: LO", lambda p: gk.from_edges([1], [2], weights="uniform:1:0")),
    ("scale takes counts", lambda p: gk.from_edges([1], [2], [3])),
    ("scale takes counts", lambda p: gk.from_pandas(pd.read_csv(p), "from", "to", "w")),
    ("has no w; weights='file' needs all", lambda p: gk.from_networkx(CHAIN, weight="w")),
    ("^vertices goes with whole numbers, and the ids of these", lambda p: gk.from_edges(["a"], ["b"], vertices=3)),
    ("^vertices is 0", lambda p: gk.from_edges([1], [2], vertices=0)),
    ("^scale makes", lambda p: gk.read_edges(p, scale="max")),
    ("^sep is 'ab'", lambda p: gk.read_edges(p, sep="ab")),
    ("source, target and weight: no column is called 'u'", lambda p: gk.read_edges(p, source="u", target="to")),
    ("source=to, target=to names a column twice", lambda p: gk.read_edges(p, source="to", target="to")),
    ("weights='file' reads .* it, source, target, weight", lambda p: gk.read_edges(
        p, source="from", target="to", weights="file")),
    ("weights='file' alone reads", lambda p: gk.read_edges(p, source="from", target="to", weight="w", weights="wc")),
    ("^vertices is 0", lambda p: gk.read_edges(p, vertices=0)),
    ("^vertices=7 contradicts", lambda p: gk.read_edges(p, dataset="wiki-Vote", vertices=7)),
    ("import it with weights", lambda p: gk.influence_maximization(gk.from_networkx(CHAIN, **NONE), 1)),
    ("import it with weights", lambda p: gk.estimate_spread(gk.from_networkx(CHAIN, **NONE), [1])),
    ("weights='wc', or use model='ic'", lambda p: gk.estimate_spread(
        gk.from_edges([1, 2], [3, 3], weights="const:1"), [1], model="lt")),
    ("^max_runs is for error", lambda p: gk.estimate_spread(CHAIN, [1], max_runs=10)),
    ("^give either runs or error", lambda p: gk.estimate_spread(CHAIN, [1], runs=10, error=0.1)),
    ("leave weighted=True out", lambda p: gk.PageRankIndex(CHAIN, weighted=True)),
    ("keeps all walks, and memory may not", lambda p: gk.PageRankIndex(CHAIN, updatable=True, memory=1)),
    ("make it again with updatable=True", lambda p: gk.PageRankIndex(CHAIN).update(add=[(1, 3)])),
    ("^memory is -1", lambda p: gk.PageRankIndex(CHAIN, memory=-1)),
    ("use device='cpu'", lambda p: gk.PageRankIndex(CHAIN, device="cuda")),
    ("give undirected=True to ignore", lambda p: gk.structural_diversity(CHAIN)),
    ("^replay is one campaign; leave worlds out", lambda p: gk.seed_minimization(CHAIN, 1, worlds=2, replay=[[1]])),
    ("^gpus is 2; a real campaign", lambda p: gk.Campaign(CHAIN, 1, gpus=2).next_batch()),
    ("^lt_residual belongs to model='lt'", lambda p: gk.Campaign(CHAIN, 1, lt_residual="raw")),
    ("^part is", lambda p: gk.PageRankIndex(CHAIN).write_all(p + ".parquet", part="3")),
    ("replace it with force=True", lambda p: gk.PageRankIndex(CHAIN).write_all(p.replace("csv", "parquet"))),
    ("replace it with force=True", lambda p: gk.from_networkx(CHAIN).save(p.replace(".csv", ""))),
]  # fmt: skip


@pytest.mark.parametrize(("line", "ask"), ASKED, ids=[line for line, _ in ASKED])
def test_errors_name_arguments(tmp_path: Path, line: str, ask: Callable[[str], object]) -> None:
    path = table(tmp_path)
    for other in ("", ".parquet"):
        Path(path.replace(".csv", other)).write_text("mine\n")
    with pytest.raises(GpukitError, match=line) as caught:
        ask(path)
    assert not OPTION.search(str(caught.value))
