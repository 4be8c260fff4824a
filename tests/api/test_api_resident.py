"""An index that stays open: ready at once from the second time, the same answers from any number of threads."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpukit as gk
from gpukit.artifacts import ready, write_graph
from gpukit.artifacts.ready import ready_path
from gpukit.cli.app import main
from gpukit.errors import InputError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.kpar.engine import Busy, Engine
from gpukit.kpar.problem import Sources


def files(folder, *options, seed=4, weighted=False):
    """Write a graph whose original ids are not its internal ones, and an index."""
    generator = np.random.default_rng(seed)
    u, v = 10 * generator.integers(1, 60, (2, 300))
    write_graph(folder / "G.h5", build_graph(u, v, weights=Weights("trivalency", seed=1) if weighted else None))
    words = ["kpar", "index", str(folder / "G.h5"), "--out", str(folder / "I.h5"), "--device", "cpu", *options]
    assert main(words) == 0
    return folder / "G.h5", folder / "I.h5"


def plain(graph, index):
    return gk.load(index, graph=gk.read_graph(graph), device="cpu")


@pytest.mark.parametrize("kind", ["plain", "light", "weighted"])
def test_opened_answers_are_the_same(tmp_path, kind):
    options = {"plain": (), "light": ("--memory", "0"), "weighted": ("--weighted",)}[kind]
    pair = files(tmp_path, *options, weighted=kind == "weighted")
    index = plain(*pair)
    some = [*index.graph.vertices[:9], {20: 1, 30: 5}]
    for mapped in (False, True):
        assert ready_path(pair[1]).exists() == mapped
        with gk.PageRankIndex.open(*pair, device="cpu", threads=2) as opened:
            assert opened.top_k_many(some, 6) == index.top_k_many(some, 6)
            assert opened.top_k_many(some, 6).certain == index.top_k_many(some, 6).certain is not None
            assert opened.top_k(20, 6, depth="auto") == index.top_k(20, 6, depth="auto")
            assert opened.top_k(20, 6, depth="end") == index.top_k(20, 6, depth="end")
            assert (opened.digest, opened.alpha, opened.epsilon) == (index.digest, index.alpha, index.epsilon)
            assert opened == index and opened.graph == index.graph and repr(opened) == repr(index)
            opened.save(tmp_path / "again.h5")
            index.save(tmp_path / "plain.h5")
            assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "plain.h5").read_bytes()


def test_the_second_time_reads_neither_file(tmp_path, monkeypatch):
    pair = files(tmp_path)
    gk.PageRankIndex.open(*pair).close()
    monkeypatch.setattr("gpukit.artifacts.read_irw", lambda path: pytest.fail("the index was read"))
    gk.PageRankIndex.open(*pair).close()


def test_many_threads_get_the_answers_of_one(tmp_path):
    pair = files(tmp_path)
    index = plain(*pair)
    vertices = index.graph.vertices
    wanted = [index.top_k(v, 5) for v in vertices]
    with gk.PageRankIndex.open(*pair, threads=2) as opened, ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(lambda v: opened.top_k(v, 5), vertices)) == wanted
        assert len(opened._engine._workers) == 2
        assert len(opened._prepared[1][0].spaces) <= 2, "a workspace for each worker, not for each caller"
    with pytest.raises(UsageError, match="closed"):
        opened.top_k(vertices[0], 5)
    shared = plain(*pair)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda v: shared.top_k(v, 5), vertices)) == wanted, "not opened: one at a time"


def test_another_index_or_damage_makes_it_anew(tmp_path, capsys):
    pair = files(tmp_path)
    gk.PageRankIndex.open(*pair).close()
    first = ready_path(pair[1]).read_bytes()
    pair = files(tmp_path, "--seed", "5")
    with gk.PageRankIndex.open(*pair) as opened:
        assert opened.top_k(20, 5) == plain(*pair).top_k(20, 5)
    second = ready_path(pair[1]).read_bytes()
    assert first != second
    for damaged in (second[:-1] + bytes([second[-1] ^ 1]), second[: len(second) // 2], b"", b"x" * 500):
        ready_path(pair[1]).write_bytes(damaged)
        with gk.PageRankIndex.open(*pair) as opened:
            assert opened.top_k(20, 5) == plain(*pair).top_k(20, 5)
        assert ready_path(pair[1]).read_bytes() == second
    assert "is damaged" in capsys.readouterr().err


def test_lies_lead_nowhere(tmp_path):
    """A file whose checksums are right, but whose values lead out of its arrays."""
    pair = files(tmp_path)
    gk.PageRankIndex.open(*pair).close()
    path = ready_path(pair[1])
    about = {"graph": plain(*pair).graph.digest, "index": plain(*pair).digest}
    arrays = {name: array.copy() for name, array in ready.map_ready(path, about, 59).items()}
    assert ready.map_ready(path, about, 59) is not None
    begins = ("indptr", "in_begin", "row_begin", "src_begin", "frequent_begin")
    for name in ("indices", "in_tails", "row_ends", "starts", "by_arrivals", *begins):
        lie = arrays[name].copy()
        lie[len(lie) // 2] = 1 << 30
        time.sleep(0.01)
        assert ready.write_ready(path, about, {**arrays, name: lie})
        assert ready.map_ready(path, about, 59) is None, name
    assert ready.write_ready(path, about, {name: array for name, array in arrays.items() if name != "walks"})
    assert ready.map_ready(path, about, 59) is None


def test_where_nothing_can_be_written_it_opens_all_the_same(tmp_path):
    pair = files(tmp_path)
    os.mkdir(ready_path(pair[1]))
    with gk.PageRankIndex.open(*pair) as opened:
        assert opened.top_k(20, 5) == plain(*pair).top_k(20, 5)


def test_wrong_files_are_told(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = files(tmp_path / "a"), files(tmp_path / "b", seed=6)
    with pytest.raises(InputError, match="was made on another graph"):
        gk.PageRankIndex.open(one[0], other[1])
    with pytest.raises(InputError, match="does not exist"):
        gk.PageRankIndex.open(one[0], tmp_path / "none.h5")


class Slow:
    """Replaces a prepared GPU: it answers the queries of several callers together."""

    class constants:  # noqa: N801
        n = 100

    def __init__(self, pause=0.05):
        self.asked, self.among, self.pause = [], [], pause

    def query(self, sources, k, *, refine, among):
        from gpukit.kpar.problem import Result

        self.asked.append((len(sources), k))
        self.among.append(None if among is None else np.flatnonzero(among).tolist())
        if k == 13:
            raise ValueError("thirteen")
        time.sleep(self.pause)
        return Result.of([(np.array([v]), np.array([k])) for v in sources.vertices.tolist()])


class Cuda:
    kind = "cuda"
    threads = 1


def test_a_gpu_takes_all_that_wait_with_the_same_k():
    home = Slow()
    engine = Engine(Cuda(), [home], capacity=50)
    pieces = [engine.submit(Sources.single([v, v + 1]), 3 + (v % 4 == 0)) for v in range(0, 20, 2)]
    engine.submit(Sources.single([50]), 5)[0].cancel()
    (failing,) = engine.submit(Sources.single([51]), 13)
    with pytest.raises(Busy, match="no more than 50 may"):
        engine.submit(Sources.single([0] * 51), 3)
    for v, (piece,) in zip(range(0, 20, 2), pieces, strict=True):
        found = piece.result(10)
        assert found.nodes.tolist() == [v, v + 1] and set(found.scores.tolist()) == {3 + (v % 4 == 0)}
    with pytest.raises(ValueError, match="thirteen"):
        failing.result(10)
    engine.close()
    assert len(home.asked) <= 4 and (1, 5) not in home.asked and engine.waiting == 0
    with pytest.raises(Busy, match="closed"):
        engine.submit(Sources.single([0]), 3)


def test_a_gpu_takes_those_together_that_may_name_the_same_vertices():
    home = Slow(pause=0.3)
    engine = Engine(Cuda(), [home])
    engine.submit(Sources.single([0]), 3)  # all others wait for this one
    asked = [[7, 2], [2, 7], None, [5], [7, 2], None]
    pieces = [engine.submit(Sources.single([v]), 2, among)[0] for v, among in enumerate(asked)]
    for v, piece in enumerate(pieces):
        assert piece.result(10).nodes.tolist() == [v]
    engine.close()
    assert home.asked == [(1, 3), (3, 2), (2, 2), (1, 2)] and home.among == [None, [2, 7], None, [5]]


def test_an_opened_index_takes_names_in_every_spelling_that_was_joined(tmp_path):
    (tmp_path / "e.csv").write_text("from,to\nGroß,bob\nGROSS,cy\nGroß,cy\n")
    gk.read_edges(tmp_path / "e.csv", fold_case=True).save(tmp_path / "G.h5")
    words = ["kpar", "index", str(tmp_path / "G.h5"), "--out", str(tmp_path / "I.h5"), "--device", "cpu"]
    assert main(words) == 0
    for _ in range(2):  # made, and mapped
        index = gk.PageRankIndex.open(tmp_path / "G.h5", tmp_path / "I.h5", device="cpu")
        assert {name for name, *_ in index.top_k("gross", 3)[0]} == {"Groß", "bob", "cy"}
