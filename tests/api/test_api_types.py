"""Every argument of the Python API is of its type, or refused in one line that names it; numbers may be NumPy's."""

import inspect
import tempfile
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gpukit as gk
from gpukit.errors import GpukitError, UsageError, WrongType
from gpukit.parameters.values import flag, is_number, number, optional, text, whole

FRIENDS = gk.from_edges([1, 2, 3], [2, 3, 4], undirected=True)
INDEX = gk.PageRankIndex(FRIENDS)
EDGES = Path(tempfile.mkdtemp()) / "edges.txt"
EDGES.write_text("1 2\n2 3\n")

CALLS: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
    "influence_maximization": (gk.influence_maximization, {"graph": FRIENDS, "k": 1}),
    "simulated_seeds": (gk.simulated_seeds, {"graph": FRIENDS, "k": 1, "worlds": 10}),
    "estimate_spread": (gk.estimate_spread, {"graph": FRIENDS, "seeds": [1], "error": 0.5, "max_runs": 100}),
    "Campaign": (gk.Campaign, {"graph": FRIENDS, "eta": 2}),
    "seed_minimization": (gk.seed_minimization, {"graph": FRIENDS, "eta": 2}),
    "PageRankIndex": (gk.PageRankIndex, {"graph": FRIENDS}),
    "top_k": (INDEX.top_k, {"source": 1, "k": 1}),
    "top_k_many": (INDEX.top_k_many, {"sources": [1], "k": 1}),
    "write_all": (INDEX.write_all, {"path": "/nowhere/all.parquet", "k": 1}),
    "personalized_pagerank": (gk.personalized_pagerank, {"graph": FRIENDS, "source": 1, "k": 1}),
    "structural_diversity": (gk.structural_diversity, {"graph": FRIENDS, "k": 2, "t": 1}),
    "DiversityIndex": (gk.DiversityIndex, {"graph": FRIENDS}),
    "search": (gk.DiversityIndex(FRIENDS).search, {"k": 2, "t": 1}),
    "with_weights": (FRIENDS.with_weights, {"weights": "trivalency"}),
    "save": (FRIENDS.save, {"path": "/nowhere/G.h5"}),
    "from_edges": (gk.from_edges, {"u": [1], "v": [2]}),
    "from_pandas": (gk.from_pandas, {"frame": pd.DataFrame({"u": [1], "v": [2]})}),
    "from_networkx": (gk.from_networkx, {"graph": nx.path_graph(2)}),
    "from_scipy": (gk.from_scipy, {"matrix": sp.csr_array([[0, 1], [0, 0]])}),
    "read_edges": (gk.read_edges, {"path": EDGES}),
}  # fmt: skip

WRONG: dict[Any, list[Any]] = {
    bool: ["no", 1, 0.0, np.int8(1)],
    int: [True, 2.0, "2", [1], np.float32(1), np.bool_(True)],
    float: ["0.5", True, [0.5], np.bool_(True)],
    str: [3, 0.1, True, b"wc"],
    Literal: ["nope", 3, True],
}
ELSE = {"source", "target", "weight", "sep", "costs", "budget", "path"}
"""Arguments that take several types, which other tests give."""


def kinds_of(annotation: Any) -> list[Any]:
    """Return the types that an annotation names."""
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for one in get_args(annotation) for kind in kinds_of(one)]
    return [Literal if get_origin(annotation) is Literal else annotation]


ARGUMENTS = [
    (call, name, kind, None in kinds or type(None) in kinds)
    for call, (ask, _) in CALLS.items()
    for name, parameter in inspect.signature(ask).parameters.items()
    for kinds in [kinds_of(parameter.annotation)]
    for kind in kinds
    if kind in WRONG and name not in ELSE and len([one for one in kinds if one in WRONG]) == 1
]


@pytest.mark.parametrize(("call", "name", "kind", "none"), ARGUMENTS, ids=[f"{c}-{n}" for c, n, _, _ in ARGUMENTS])
def test_wrong_types_are_one_line(call: str, name: str, kind: Any, none: bool) -> None:
    ask, given = CALLS[call]
    for wrong in WRONG[kind] + ([] if none or name == "device" else [None]):
        with pytest.raises(GpukitError) as caught:
            ask(**given | {name: wrong})
        line = str(caught.value)
        # A choice may be checked where it is called so, but a type is by the name of the argument.
        assert kind is Literal or (isinstance(caught.value, WrongType) and line.startswith(f"{name} is {str(wrong)!r}"))
        assert name.split("_")[0] in line and "\n" not in line and "--" not in line


def test_all_that_is_public_is_looked_at() -> None:
    made = {name for name in gk.__all__ if name.startswith(("read", "from", "simulated", "estimate", "influence"))}
    assert made - CALLS.keys() == {"read_graph", "from_arrow"}
    assert len(ARGUMENTS) > 120


@pytest.mark.parametrize(
    ("ask", "kinds"),
    [
        (lambda i, f, b: gk.influence_maximization(FRIENDS, i(1), epsilon=f(0.25), optimism=f(0.5), seed=i(3)), "gim"),
        (lambda i, f, b: gk.influence_maximization(FRIENDS, budget=f(1.5), costs={i(2): f(1.5)}), "budget"),
        (lambda i, f, b: gk.simulated_seeds(FRIENDS, i(1), worlds=i(10), fresh=b(True), threads=i(1)), "imgpu"),
        (lambda i, f, b: gk.estimate_spread(FRIENDS, [i(1)], error=f(0.5), max_runs=i(9), prefixes=[i(1)]), "spread"),
        (lambda i, f, b: gk.PageRankIndex(FRIENDS, alpha=f(0.25), hubs=b(True), memory=i(9)), "kpar"),
        (lambda i, f, b: gk.PageRankIndex(FRIENDS).top_k({i(1): f(0.5)}, k=i(2), among=[i(2), i(3)]), "query"),
        (lambda i, f, b: gk.personalized_pagerank(FRIENDS, i(1), i(2), epsilon=f(0.25), weighted=b(False)), "direct"),
        (lambda i, f, b: gk.seed_minimization(FRIENDS, i(2), epsilon=f(0.25), batch=i(1)), "merit"),
        (lambda i, f, b: gk.structural_diversity(FRIENDS, i(2), t=i(1), undirected=b(True), full=b(True)), "diversity"),
        (lambda i, f, b: gk.from_edges([1], [2], vertices=i(7), undirected=b(True), seed=i(5)), "edges"),
        (lambda i, f, b: FRIENDS.with_weights("trivalency", seed=i(5)), "weights"),
    ],
)  # fmt: skip
def test_numbers_of_numpy_are_as_good(ask: Callable[..., Any], kinds: str, tmp_path: Path) -> None:
    """Also in the files, to the byte."""
    found = ask(int, float, bool)
    found.save(tmp_path / "a.h5")
    for given in ((np.int64, np.float64, np.bool_), (np.uint8, np.float32, np.bool_), (np.array, np.array, np.array)):
        if kinds not in ("query", "budget") or given[0] is not np.array:  # an array is no key of a mapping
            same = ask(*given)
            same.save(tmp_path / "b.h5")
            assert same == found and (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_checks() -> None:
    assert whole("k", np.uint8(3)) == 3 and type(whole("k", np.int64(3))) is int
    assert number("p", Fraction(1, 4)) == 0.25 and type(number("p", 1)) is float
    assert flag("f", np.True_) is True and type(text("w", np.str_("wc"))) is str
    assert optional(whole, "k", None) is None and optional(whole, "k", 2) == 2
    assert is_number(Decimal(1)) and not is_number(True) and not is_number("1") and not is_number(np.ones(1))
    with pytest.raises(WrongType, match=r"^k is '\[1\]', a ndarray; a whole number is needed$"):
        whole("k", np.array([1]))
    with pytest.raises(WrongType, match="^p is '1', an? Decimal; a number is needed$"):
        number("p", Decimal(1))
    with pytest.raises(WrongType, match=r"^f is '1', an int; True or False is needed$"):
        flag("f", 1)


@pytest.mark.parametrize(
    ("line", "ask"),
    [
        ("source is '1.5', a float; the name or the number", lambda: gk.read_edges("x", source=1.5, target=2)),
        ("^weight is 'True', a bool; the name", lambda: gk.read_edges("x", source=1, target=2, weight=True)),
        ("budget is 'True', a bool", lambda: gk.influence_maximization(FRIENDS, budget=True)),
        ("replay is '3', an int; a list of lists", lambda: gk.seed_minimization(FRIENDS, 2, replay=3)),
        ("graph is '3', an int; a gpukit.graph.csr.Graph", lambda: gk.Graph(3)),
        ("weights is '0.1', a float", lambda: gk.influence_maximization(nx.path_graph(3), 1, weights=0.1)),
    ],
)  # fmt: skip
def test_what_takes_several_types(line: str, ask: Callable[[], object]) -> None:
    with pytest.raises(WrongType, match=line):
        ask()


def test_a_device_is_checked_where_it_is_named(tmp_path: Path) -> None:
    INDEX.save(tmp_path / "I.h5")
    with pytest.raises(UsageError, match="^device 'gpu' is unknown"):
        gk.load(tmp_path / "I.h5", graph=FRIENDS, device="gpu")


def test_an_empty_replay_is_no_simulation() -> None:
    with pytest.raises(GpukitError, match="the record ends after 0 rounds"):
        gk.seed_minimization(FRIENDS, 2, replay=[])


@pytest.mark.parametrize("vertex", [True, 1.0, [1], None])
def test_an_end_of_an_edge_is_no_vertex_for_being_equal_to_one(vertex: Any) -> None:
    """A mapping takes True and 1.0 for 1."""
    index = gk.PageRankIndex(FRIENDS, updatable=True)
    with pytest.raises(WrongType, match="^add: .* and no vertex; give ids or names"):
        index.update(add=[(1, 2), (vertex, 3)])
    assert index.graph == FRIENDS


def test_the_table_of_all_answers_is_called_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(UsageError, match=r"^path .*all.csv: Parquet is written; give a name that ends in .parquet$"):
        INDEX.write_all(tmp_path / "all.csv", k=2)
