"""What messages call options: arguments in Python, options on the command line."""

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
from gpukit.wording import of_commands, worded

ROOT = Path(gk.__file__).parent
OPTION = re.compile(r"(^|[\s(`'\"])--?[a-z]")
COMMAND = re.compile(r"`\w[^`]*`")
"""A command to type, which stays as it is."""
COMMANDS_ONLY = ("cli", "papers", "report")
"""Rooms that no function of Python leads to."""

FILES = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in COMMANDS_ONLY]


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


def test_every_message_that_names_an_option_can_name_an_argument() -> None:
    found = [text for path in FILES for text in messages(path)]
    assert len(found) > 80
    assert [text for text in found if OPTION.search(COMMAND.sub("", worded(text)))] == []
    with of_commands():
        assert [worded(text) for text in found] == found


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("give --undirected, or -k and --max-members", "give undirected=True, or k and max_members"),
        ("use --device cpu (or --device cuda)", "use device='cpu' (or device='cuda')"),
        ("--vertices is 0; --memory 0", "vertices is 0; memory=0"),
        ("--weights wc|const:P|file, --weights const:0.1", "weights wc|const:P|file, weights const:0.1"),
        ("--columns 2,3 leaves it out", "source=2, target=3 leaves it out"),
        ("name it, --columns source,target,weight", "name it, source, target, weight"),
        ("--columns: no column is called 'a --b'", "source, target and weight: no column is called 'a --b'"),
        ("see `gpukit doctor --json`; a -1, x--y", "see `gpukit doctor --json`; a -1, x--y"),
    ],
)
def test_words(text: str, python: str) -> None:
    assert worded(text) == python
    with of_commands():
        assert worded(text) == text


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
    ("leave weighted=True or updatable=True out", lambda p: gk.PageRankIndex(
        gk.from_edges([1], [2], [0.5]), weighted=True, updatable=True)),
    ("keeps all walks, and memory may not", lambda p: gk.PageRankIndex(CHAIN, updatable=True, memory=1)),
    ("make it again with updatable=True", lambda p: gk.PageRankIndex(CHAIN).update(add=[(1, 3)])),
    ("^memory is -1", lambda p: gk.PageRankIndex(CHAIN, memory=-1)),
    ("use device='cpu'", lambda p: gk.PageRankIndex(CHAIN, device="cuda")),
    ("give undirected=True to ignore", lambda p: gk.structural_diversity(CHAIN)),
    ("^replay is one campaign; leave worlds out", lambda p: gk.seed_minimization(CHAIN, 1, worlds=2, replay=[[1]])),
    ("^gpus is 2; a campaign", lambda p: gk.Campaign(CHAIN, 1, gpus=2).next_batch()),
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
    assert not OPTION.search(str(caught.value)) and str(caught.value) == caught.value.args[0]
