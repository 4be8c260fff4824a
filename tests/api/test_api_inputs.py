"""Inputs of the Python API, its messages about wrong types and values, and its behaviour as a library."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gpukit as gk
from gpukit.artifacts import read_header
from gpukit.cli.app import main
from gpukit.errors import DeviceError, GpukitError, InputError, UsageError, WrongType

ROOT = Path(gk.__file__).parents[1]
EDGES = [(3, 7), (7, 9), (9, 3), (3, 9), (12, 3), (3, 7)]
NAMES = {3: "ann", 7: "Zoë", 9: "bob", 12: "c,d"}


@pytest.fixture(scope="module")
def star() -> gk.Graph:
    return gk.from_edges(["hub"] * 4, ["a", "b", "c", "d"], weights="const:1")


def imported(folder: Path, edges: list, *options: str) -> str:
    """Return the digest that ``graph import`` gives edges."""
    rows = "\n".join(",".join('"' + str(x) + '"' if isinstance(x, str) else str(x) for x in row) for row in edges)
    (folder / "edges.csv").write_text(rows + "\n")
    words = ["--sep", "comma", "--no-header", *options]
    assert main(["graph", "import", str(folder / "edges.csv"), "--out", str(folder / "G.h5"), *words]) == 0
    return read_header(folder / "G.h5").payload


# --- graphs in memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("undirected", [False, True])
def test_graphs_of_other_libraries(tmp_path: Path, named: bool, undirected: bool) -> None:
    edges = [(NAMES[u], NAMES[v]) for u, v in EDGES] if named else EDGES
    digest = imported(tmp_path, edges, *(["--undirected"] if undirected else []))
    u, v = (list(side) for side in zip(*edges, strict=True))
    network = (nx.Graph if undirected else nx.DiGraph)(edges)
    frame = pd.DataFrame({"x": 1.5, "from": u, "to": v})
    found = [
        gk.from_edges(u, v, undirected=undirected),
        gk.from_edges(np.array(u), np.array(v), undirected=undirected),
        gk.from_edges(tuple(u), pd.Series(v), undirected=undirected),
        gk.from_networkx(network),
        gk.from_networkx((nx.MultiGraph if undirected else nx.MultiDiGraph)(edges)),
        gk.from_pandas(frame, "from", "to", undirected=undirected),
        gk.from_pandas(frame, undirected=undirected),  # columns called so
        gk.from_pandas(frame.astype({"from": "category"}), undirected=undirected),
    ]
    assert {one.digest for one in found} == {digest}
    assert found[0].vertices == sorted(
        NAMES.values() if named else NAMES, key=lambda one: str(one).encode() if named else one
    )


@pytest.mark.parametrize("parallel", ["merge", "combine"])
def test_probabilities_count_where_they_are_named(tmp_path: Path, parallel: str) -> None:
    weighted = [(u, v, 0.1 * place) for place, (u, v) in enumerate(EDGES)]
    digest = imported(tmp_path, weighted, "--weights", "file", "--parallel-edges", parallel)
    u, v, w = zip(*weighted, strict=True)
    network = nx.MultiDiGraph()
    for tail, head, p in weighted:
        network.add_edge(tail, head, trust=p)
    frame = pd.DataFrame({"u": u, "v": v, "p": w})
    found = [
        gk.from_edges(u, v, w, parallel_edges=parallel),
        gk.from_networkx(network, weight="trust", parallel_edges=parallel),
        gk.from_pandas(frame, "u", "v", "p", parallel_edges=parallel),
    ]
    assert {one.digest for one in found} == {digest}
    assert gk.from_networkx(network) == gk.from_pandas(frame, "u", "v") == gk.from_edges(u, v) != found[0]


def test_matrices(tmp_path: Path) -> None:
    matrix = sp.csr_array(([0.5, 0.25], ([0, 3], [3, 1])), shape=(5, 5))
    sp.save_npz(tmp_path / "A.npz", matrix)
    for weights in ("wc", "file"):
        assert (
            main(["graph", "import", str(tmp_path / "A.npz"), "--weights", weights, "--out", str(tmp_path / "G.h5")])
            == 0
        )
        found = [gk.from_scipy(kind, weights=weights) for kind in (matrix, matrix.tocoo(), sp.csc_matrix(matrix))]
        assert {one.digest for one in found} == {read_header(tmp_path / "G.h5").payload}
        assert found[0].n == 5


def test_tables_of_arrow() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"strength": [0.5, 0.25], "to": ["b", "c"], "from": ["a", "b"]})
    assert gk.from_arrow(table) == gk.from_edges(["a", "b"], ["b", "c"])
    assert gk.from_arrow(table, "from", "to", "strength") == gk.from_edges(["a", "b"], ["b", "c"], [0.5, 0.25])
    made = gk.from_edges(["a", "b"], ["b", "c"])
    assert made.to_arrow().to_pandas().equals(made.to_pandas())


def test_arrow_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, star: gk.Graph) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"to_arrow needs the package pyarrow; install gpukit\[parquet\]"):
        star.to_arrow()


def test_vertices_without_edges() -> None:
    network = nx.DiGraph([(0, 1)])
    network.add_nodes_from([4, 2])
    assert gk.from_networkx(network).vertices == [0, 1, 2, 4]
    assert gk.from_edges([0], [1], vertices=3).vertices == [0, 1, 2]


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(4, create_using=nx.DiGraph),
        pd.DataFrame({"u": [0, 1, 2], "v": [1, 2, 3]}),
        sp.csr_array(([9, 9, 9], ([0, 1, 2], [1, 2, 3])), shape=(4, 4)),
    ],
    ids=["networkx", "pandas", "scipy"],
)
def test_every_question_takes_them(graph: object) -> None:
    made = gk.from_edges([0, 1, 2], [1, 2, 3])
    for ask in (
        lambda one: gk.influence_maximization(one, 1, min_sets=100),
        lambda one: gk.simulated_seeds(one, 1, worlds=10),
        lambda one: gk.estimate_spread(one, [0], runs=10),
        lambda one: gk.PageRankIndex(one).top_k(0, k=2),
        lambda one: gk.seed_minimization(one, 2),
        lambda one: gk.structural_diversity(one, 1, model="comp", t=2, undirected=True),
    ):
        assert ask(graph) == ask(made)
    assert gk.influence_maximization(graph, 1, weights="const:1", min_sets=100).spread_estimate == 4


# --- wrong types and values ------------------------------------------------------------------------------------------

ONE_COLUMN = pd.DataFrame({"u": [1]})

WRONG: list[tuple[type, str, Callable[[gk.Graph], object]]] = [
    (InputError, "vertices are of type int and str; all whole", lambda g: gk.from_edges([1, "a"], [2, 3])),
    (InputError, "vertices are of type bool", lambda g: gk.from_edges([True], [False])),
    (InputError, "vertices are of type tuple", lambda g: gk.from_networkx(nx.grid_graph([2, 2]))),
    (InputError, "no whole number|neither a whole number", lambda g: gk.from_edges(np.array([0.5]), np.array([1.5]))),
    (InputError, "vertex id -1 is outside", lambda g: gk.from_edges([-1], [2])),
    (InputError, "u: vertex id 1180591620717411303424 is outside", lambda g: gk.from_edges([2**70], [2])),
    (InputError, "the graph has no edges; a graph needs at least one", lambda g: gk.from_edges([], [])),
    (InputError, "the graph has no edges: 1 self-loops", lambda g: gk.from_edges([1], [1])),
    (InputError, "weight 3.0 is not a probability", lambda g: gk.from_edges([1], [2], [3])),
    (InputError, "1 rows have no vertex", lambda g: gk.from_pandas(pd.DataFrame({"a": ["x", None], "b": ["y", "z"]}))),
    (InputError, "has no trust", lambda g: gk.from_networkx(nx.path_graph(2), weight="trust")),
    (InputError, "2 by 3; a graph is a square matrix", lambda g: gk.from_scipy(sp.coo_array(np.ones((2, 3))))),
    (UsageError, "1 and 2 rows; give as many of each", lambda g: gk.from_edges([1], [2, 3])),
    (UsageError, "no column is called 'to' in the frame; there are u", lambda g: gk.from_pandas(ONE_COLUMN, "u", "to")),
    (UsageError, "weights file reads; give w", lambda g: gk.from_edges([1], [2], weights="file")),
    (UsageError, "leave one of them out", lambda g: gk.from_edges([1], [2], [0.5], weights="wc")),
    (UsageError, "^weights x: choose wc", lambda g: gk.from_edges([1], [2], weights="x")),
    (UsageError, "cannot be given weights wc", lambda g: gk.from_edges([1], [2], [0.5]).with_weights("wc")),
    (UsageError, "both source and target", lambda g: gk.read_edges("x", source="a")),
    (WrongType, "a str is no column", lambda g: gk.from_edges("ab", "bc")),
    (WrongType, "an int is no graph of NetworkX", lambda g: gk.from_networkx(3)),
    (WrongType, "a list is no graph; give one by gpukit.read_edges", lambda g: gk.influence_maximization([(1, 2)], 1)),
    (WrongType, "an int is no path", lambda g: gk.read_graph(3)),
    (UsageError, "give undirected=True to ignore", lambda g: gk.structural_diversity(gk.from_edges([1, 2], [2, 3]), 2)),
    (InputError, "nope: No such file", lambda g: gk.read_edges("/nope")),
    (UsageError, "give the number of seeds by k, or what", lambda g: gk.influence_maximization(g)),
    (UsageError, "k is 9; 1 to 5", lambda g: gk.influence_maximization(g, 9)),
    (WrongType, "k is 'two', a str; a whole number", lambda g: gk.influence_maximization(g, "two")),
    (WrongType, "k is 'True', a bool", lambda g: gk.influence_maximization(g, True)),
    (WrongType, "epsilon is '0.1', a str; a number is", lambda g: gk.influence_maximization(g, 1, epsilon="0.1")),
    (UsageError, "^epsilon is 2", lambda g: gk.influence_maximization(g, 1, epsilon=2)),
    (UsageError, "model 'xx' is unknown; choose ic or lt", lambda g: gk.influence_maximization(g, 1, model="xx")),
    (UsageError, "device 'tpu' is unknown", lambda g: gk.influence_maximization(g, 1, device="tpu")),
    (UsageError, "^seed is -1", lambda g: gk.influence_maximization(g, 1, seed=-1)),
    (WrongType, "seed is '1.5', a float", lambda g: gk.influence_maximization(g, 1, seed=1.5)),
    (UsageError, "^threads is 0", lambda g: gk.influence_maximization(g, 1, threads=0)),
    (WrongType, "progress is 'yes', a str; True", lambda g: gk.influence_maximization(g, 1, progress="yes")),
    (UsageError, "^budget: '0' is not", lambda g: gk.influence_maximization(g, budget=0)),
    (UsageError, "give budget instead of k$", lambda g: gk.influence_maximization(g, 1, costs={"a": 1})),
    (WrongType, "include is a str; give a list", lambda g: gk.influence_maximization(g, 1, include="hub")),
    (UsageError, "exclude: vertex a is given twice", lambda g: gk.influence_maximization(g, 1, exclude=["a", "a"])),
    (InputError, "vertex 'nobody' is not in the graph", lambda g: gk.influence_maximization(g, 1, exclude=["nobody"])),
    (WrongType, "'3' is a number, but the vertices of this graph are names", lambda g: gk.estimate_spread(g, [3])),
    (WrongType, "'x' is a text, but .* whole numbers", lambda g: gk.estimate_spread(gk.from_edges([1], [2]), ["x"])),
    (WrongType, "targets is a list; give numbers", lambda g: gk.influence_maximization(g, 1, targets=["a"])),
    (WrongType, "'x' is a str; numbers are needed", lambda g: gk.influence_maximization(g, 1, targets={"a": "x"})),
    (InputError, "nan' is not a number", lambda g: gk.influence_maximization(g, 1, targets={"a": float("nan")})),
    (InputError, "with at most 6 decimals", lambda g: gk.Campaign(g, 2, costs={"a": Decimal("0.1234567")})),
    (UsageError, "is neither degree nor uniform", lambda g: gk.Campaign(g, 2, costs="free")),
    (UsageError, "eta is 9; 1 to 5", lambda g: gk.Campaign(g, 9)),
    (UsageError, "belongs to model='lt'", lambda g: gk.Campaign(g, 2, lt_residual="raw")),
    (UsageError, "^worlds is 0", lambda g: gk.seed_minimization(g, 2, worlds=0)),
    (UsageError, "1 runs are not in", lambda g: gk.estimate_spread(g, ["hub"], runs=1)),
    (UsageError, "the seed set is empty", lambda g: gk.estimate_spread(g, [])),
    (UsageError, "the graph is directed", lambda g: gk.structural_diversity(g)),
    (UsageError, "the graph is directed", lambda g: gk.DiversityIndex(g)),
    (UsageError, "^t is 6; 1 to 5", lambda g: gk.DiversityIndex(g, undirected=True).search(t=6)),
    (UsageError, "model 'x' is unknown", lambda g: gk.DiversityIndex(g, undirected=True).search(model="x")),
    (WrongType, "k is 'x', a str", lambda g: gk.DiversityIndex(g, undirected=True).search("x")),
    (WrongType, "source is a list; give a vertex", lambda g: gk.PageRankIndex(g).top_k(["hub"])),
    (WrongType, "sources is a str; give a list", lambda g: gk.PageRankIndex(g).top_k_many("hub")),
    (UsageError, "every weight of a source is 0", lambda g: gk.PageRankIndex(g).top_k({"hub": 0})),
    (UsageError, "source has weight -1; 0 and numbers", lambda g: gk.PageRankIndex(g).top_k({"hub": -1})),
    (UsageError, "source has weight inf; 0 and numbers", lambda g: gk.PageRankIndex(g).top_k({"hub": float("inf")})),
    (WrongType, "is '0.5', a str; a number", lambda g: gk.PageRankIndex(g).top_k({"hub": "0.5"})),
    (UsageError, "source has weight nan; 0 and numbers", lambda g: gk.PageRankIndex(g).top_k({"hub": float("nan")})),
    (UsageError, "source names no vertices", lambda g: gk.PageRankIndex(g).top_k({})),
    (UsageError, "^k is 6; 1 to 5", lambda g: gk.PageRankIndex(g).top_k("hub", k=6)),
    (UsageError, "depth 'x' is unknown", lambda g: gk.PageRankIndex(g).top_k("hub", depth="x")),
    (UsageError, "depth 'refined' is unknown here", lambda g: gk.personalized_pagerank(g, "hub", depth="refined")),
    (UsageError, "^k is 6; 1 to 5", lambda g: gk.personalized_pagerank(g, "hub", k=6)),
    (UsageError, "^k is 2; 1 to 1", lambda g: gk.personalized_pagerank(g, "hub", k=2, among=["hub"])),
    (UsageError, "among goes with a source", lambda g: gk.personalized_pagerank(g, among=["hub"])),
    (WrongType, "source is a list; give a vertex", lambda g: gk.personalized_pagerank(g, ["hub"])),
    (WrongType, "alpha is 'x', a str; a number", lambda g: gk.personalized_pagerank(g, "hub", alpha="x")),
    (UsageError, "depth 'walks' is unknown", lambda g: gk.PageRankIndex(g).top_k("hub", depth="walks")),
    (UsageError, "among names no vertices", lambda g: gk.PageRankIndex(g).top_k("hub", among=[])),
    (UsageError, "^k is 2; 1 to 1", lambda g: gk.PageRankIndex(g).top_k("hub", k=2, among=["hub"])),
    (UsageError, "was not made for updates", lambda g: gk.PageRankIndex(g).update(add=[("a", "b")])),
    (UsageError, "keeps all walks", lambda g: gk.PageRankIndex(g, updatable=True, memory=1)),
    (WrongType, "add is a str; give a list of pairs", lambda g: gk.PageRankIndex(g, updatable=True).update(add="ab")),
    (WrongType, "'ab' is no edge; give pairs", lambda g: gk.PageRankIndex(g, updatable=True).update(remove=["ab"])),
    (InputError, "'x' is not in the graph", lambda g: gk.PageRankIndex(g, updatable=True).update(add=[("x", "a")])),
    (UsageError, "no batch is waiting", lambda g: gk.Campaign(g, 2).observe([])),
    (UsageError, "S.csv: save writes HDF5, and .csv is the name", lambda g: g.save("S.csv")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "line", "ask"), WRONG, ids=[line[:40] for _, line, _ in WRONG])
def test_errors_are_one_line(star: gk.Graph, kind: type, line: str, ask: Callable[[gk.Graph], object]) -> None:
    with pytest.raises(kind, match=line) as caught:
        ask(star)
    assert isinstance(caught.value, GpukitError) and isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError) == (kind is WrongType)
    assert "\n" not in str(caught.value) and "--" not in str(caught.value)


def test_no_gpu(star: gk.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr("gpukit.device.select.detect", lambda: ((), "no NVIDIA driver"))
    with pytest.raises(GpukitError, match="cannot use a GPU: no NVIDIA driver"):
        gk.simulated_seeds(star, 1, device="cuda")


# --- answers ---------------------------------------------------------------------------------------------------------


def test_answers_print_in_a_few_lines_and_as_tables(star: gk.Graph) -> None:
    friends = gk.from_edges(["<me>"] * 3, ["a", "b", "c"], undirected=True)
    answers = [
        star,
        gk.influence_maximization(star, 2, min_sets=100),
        gk.estimate_spread(star, ["hub"], runs=10),
        gk.PageRankIndex(star),
        gk.PageRankIndex(star).top_k_many(["hub", "a"], k=3),
        gk.seed_minimization(star, 3),
        gk.Campaign(star, 3),
        gk.structural_diversity(friends, 1, model="comp", t=2),
    ]
    for answer in answers:
        text, frame = repr(answer), answer.to_pandas()
        assert text.startswith(type(answer).__name__) and text == str(answer) and text.count("\n") < 12
        assert len(frame) > 0 and isinstance(frame, pd.DataFrame)
        shown = answer._repr_html_()
        assert "<table" in shown and "<me>" not in shown


def test_answers_are_frozen(star: gk.Graph) -> None:
    seeds = gk.influence_maximization(star, 1, min_sets=100)
    with pytest.raises(dataclasses.FrozenInstanceError):
        seeds.artifact = None
    assert seeds == gk.influence_maximization(star, 1, min_sets=100) and len({seeds, seeds}) == 1
    assert seeds != gk.influence_maximization(star, 2, min_sets=100) and seeds != "hub"


def test_what_loads_and_what_does_not(star: gk.Graph, tmp_path: Path) -> None:
    file = tmp_path / "x.h5"
    other = gk.from_edges([1], [2])
    for answer in (star, gk.influence_maximization(star, 1, min_sets=100), gk.estimate_spread(star, ["hub"], runs=10)):
        answer.save(file, force=True)
        assert gk.load(file) == answer and type(gk.load(str(file))) is type(answer)
    with pytest.raises(InputError, match="is of kind egonets, which has no class"):
        friends = gk.from_edges([1], [2], undirected=True)
        friends.save(tmp_path / "G.h5")
        assert main(["diversity", "egos", str(tmp_path / "G.h5"), "--out", str(file), "--force"]) == 0
        gk.load(file)
    gk.PageRankIndex(star).save(file, force=True)
    with pytest.raises(UsageError, match="an index, which needs its graph"):
        gk.load(file)
    with pytest.raises(InputError, match="made on another graph"):
        gk.load(file, graph=other)
    gk.influence_maximization(star, 1, min_sets=100).save(file, force=True)
    with pytest.raises(InputError, match="was made on another graph"):
        gk.load(file, graph=other)
    gk.Campaign(star, 4, batch=1).save(file, force=True)
    with pytest.raises(UsageError, match="loaded without its graph"):
        gk.load(file).next_batch()
    with pytest.raises(InputError, match="on another graph"):
        gk.load(file, graph=other)
    gk.seed_minimization(star, 4).save(file, force=True)
    with pytest.raises(UsageError, match="was simulated, and has ended"):
        gk.load(file, graph=star).next_batch()


def test_a_campaign_under_way_is_not_written_over(star: gk.Graph, tmp_path: Path) -> None:
    campaign = gk.Campaign(star, 4, batch=1)
    campaign.save(tmp_path / "C.h5")
    campaign.observe([])
    campaign.save(tmp_path / "C.h5")
    before = (tmp_path / "C.h5").read_bytes()
    with pytest.raises(UsageError, match="has an unfinished campaign, and 1 observed"):
        gk.Campaign(star, 4, batch=1, seed=8).save(tmp_path / "C.h5")
    assert (tmp_path / "C.h5").read_bytes() == before
    campaign.observe([])
    campaign.save(tmp_path / "C.h5")


def test_a_wrong_observation_changes_nothing(star: gk.Graph) -> None:
    campaign = gk.Campaign(star, 4, batch=1, costs="uniform")
    batch = campaign.next_batch()
    for wrong in (["nobody"], ["a", "a"], [3]):
        with pytest.raises(GpukitError):
            campaign.observe(wrong)
    assert campaign.next_batch() == batch and campaign.activated == 0
    campaign.observe(["a"])
    assert campaign.rounds[0]["activated"] == ["a", "hub"]
    with pytest.raises(InputError, match="was active before"):
        campaign.observe(["a"])


# --- a good library --------------------------------------------------------------------------------------------------


def script(text: str, **how: object) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, **how)


def test_import_loads_nothing() -> None:
    heavy = ("numpy", "numba", "h5py", "pandas", "scipy", "networkx", "typer", "rich", "cupy")
    done = script(f"import sys, gpukit; dir(gpukit); print([one for one in {heavy} if one in sys.modules])")
    assert done.stdout == "[]\n"
    times = script("import time; t = time.perf_counter(); import gpukit; print(time.perf_counter() - t)")
    assert float(times.stdout) < 0.1


def test_names() -> None:
    assert {name for name in dir(gk) if not name.startswith("__")} == set(gk.__all__)
    assert all(callable(getattr(gk, name)) for name in gk.__all__)
    with pytest.raises(AttributeError, match="no attribute 'pagerank'"):
        gk.pagerank  # noqa: B018


@pytest.mark.parametrize(
    "ask",
    [
        lambda g, p: gk.influence_maximization(g, 1, min_sets=100, progress=p),
        lambda g, p: gk.simulated_seeds(g, 1, worlds=50, progress=p),
        lambda g, p: gk.estimate_spread(g, ["hub"], runs=100, progress=p),
        lambda g, p: gk.PageRankIndex(g, progress=p).top_k("hub", k=2),
        lambda g, p: gk.seed_minimization(g, 4, progress=p),
    ],
    ids=["gim", "imgpu", "spread", "kpar", "merit"],
)
def test_progress(star: gk.Graph, ask: Callable, capsys: pytest.CaptureFixture) -> None:
    told: list[tuple[int, int]] = []
    found = ask(star, lambda done, total: told.append((done, total)))
    assert told and all(0 <= done <= total for done, total in told)
    assert ask(star, False) == found and capsys.readouterr() == ("", "")
    assert ask(star, True) == found


def test_an_error_in_progress_comes_through(star: gk.Graph) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gk.estimate_spread(star, ["hub"], runs=100, progress=stop)
    assert gk.estimate_spread(star, ["hub"], runs=100).mean == 5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("OutOfMemoryError", "Out of memory allocating 8 bytes"),
        ("CUDARuntimeError", "cudaErrorMemoryAllocation: out of memory"),
    ],
)
def test_too_little_gpu_memory_is_one_line(star: gk.Graph, name: str, text: str) -> None:
    """CuPy's errors are known by their names: on a machine without a GPU nothing loads CuPy."""

    def fail(done: int, total: int) -> None:
        raise type(name, (RuntimeError,), {})(text)

    with pytest.raises(DeviceError, match=rf"(?s)^(?!.*\n).*free \({text}\); .* device='cpu'"):
        gk.estimate_spread(star, ["hub"], runs=100, progress=fail)


def test_threads_are_given_back(star: gk.Graph) -> None:
    import numba

    before = numba.get_num_threads()
    gk.estimate_spread(star, ["hub"], runs=100, threads=1)
    assert numba.get_num_threads() == before


def test_an_interrupt_ends_a_call_and_leaves_the_rest_usable() -> None:
    text = (
        "import gpukit as gk, os, signal\n"
        "g = gk.from_edges([0, 1, 2], [1, 2, 0], weights='const:0.5')\n"
        "gk.estimate_spread(g, [0], runs=10)\n"
        "print('ready', flush=True)\n"
        "try:\n    gk.estimate_spread(g, [0], runs=2_000_000_000)\n"
        "except KeyboardInterrupt:\n    print('interrupted', gk.estimate_spread(g, [0], runs=10).runs)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen([sys.executable, "-c", text], env=environment, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=120)[0] == "interrupted 10\n"


def test_types(tmp_path: Path) -> None:
    """``mypy --strict`` accepts typical programs, and refuses wrong ones."""
    uses = ROOT / "tests" / "typing" / "uses.py"
    check = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    done = subprocess.run([*check, str(uses)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import gpukit as gk\ngk.influence_maximization(1, k='3').nothing\n")
    done = subprocess.run([*check, str(wrong)], cwd=ROOT, capture_output=True, text=True)
    assert "arg-type" in done.stdout and "attr-defined" in done.stdout
    assert (ROOT / "gpukit" / "py.typed").is_file()


@pytest.mark.parametrize("scale", ["max", "in-sum", "16"])
def test_counts_in_memory_are_scaled_as_in_a_file(tmp_path, scale):
    u, v, w = ["ann", "bob", "ann", "cy"], ["bob", "cy", "cy", "ann"], [4, 2, 10, 1]
    frame = pd.DataFrame({"from": u, "to": v, "mails": w})
    frame.to_csv(tmp_path / "e.csv", index=False)
    network = nx.DiGraph()
    network.add_weighted_edges_from(zip(u, v, w, strict=True), weight="mails")
    read = gk.read_edges(tmp_path / "e.csv", source="from", target="to", weight="mails", scale=scale)
    made = [
        gk.from_pandas(frame, "from", "to", "mails", scale=scale),
        gk.from_edges(u, v, w, scale=scale),
        gk.from_networkx(network, weight="mails", scale=scale),
    ]
    # The text that was read is among the facts of its graph, so that the edges are compared.
    for one in made:
        assert one.vertices == read.vertices
        assert one.csr.probabilities.tolist() == read.csr.probabilities.tolist()
    numbers = {name: place for place, name in enumerate(sorted({*u, *v}))}
    matrix = sp.coo_array((w, ([numbers[one] for one in u], [numbers[one] for one in v])))
    scaled = gk.from_scipy(matrix, weights="file", scale=scale)
    assert scaled.csr.probabilities.tolist() == read.csr.probabilities.tolist()
    with pytest.raises(InputError, match="is not a probability"):
        gk.from_pandas(frame, "from", "to", "mails")
    with pytest.raises(UsageError, match="scale makes probabilities of weights, but weights is wc"):
        gk.from_edges(u, v, scale=scale)
    with pytest.raises(UsageError, match="max, in-sum and a number above 0 are allowed"):
        gk.from_edges(u, v, w, scale="half")


def test_the_ends_of_edges_in_a_frame_are_found_or_refused() -> None:
    """The first two columns count where none has a name, or there are no more."""
    frame = pd.DataFrame({"a": [5, 6], "b": [6, 7], "n": [1, 2]})
    with pytest.raises(InputError, match=r"has 3 columns \(a, b, n\); which two are the ends"):
        gk.from_pandas(frame)
    assert gk.from_pandas(frame, "a", "b").vertices == [5, 6, 7]
    assert gk.from_pandas(frame, weight="n", scale="max").vertices == [5, 6, 7]
    assert gk.from_pandas(frame.set_axis(range(3), axis=1)).vertices == [5, 6, 7]
    assert gk.from_pandas(frame.set_axis(["n", "caller", "callee"], axis=1)).vertices == [1, 2, 6, 7]
