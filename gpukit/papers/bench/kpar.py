"""Top-k personalised PageRank, timed after a warm-up: ranking, index, single queries, batches, and competitors."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import synchroniser
from gpukit.errors import InputError
from gpukit.graph.csr import Graph
from gpukit.kpar.index.build import Index
from gpukit.kpar.problem import TRACE, Params, Result, Sources, random_vertices
from gpukit.kpar.run import index_on, prepare_on, rank_on
from gpukit.papers.bench.machine import timed
from gpukit.papers.kpar import baselines_on

BYTES_PER_EDGE = 4 + 8 + 8
"""Least memory traffic of a pushed edge: its head, and a residue read and written."""

BYTES_PER_ENTRY = 4 + 8
"""Least memory traffic of an index entry: a start, and the unit of residue there."""

BYTES_PER_VERTEX = 4 + 8 + 8 + 4 + 8
"""Least memory traffic of a reached vertex in each step: its place in the list, residue, reserve, ω, and the unit
written."""


@contextmanager
def _clock(record: dict[str, float], name: str, device: Device) -> Iterator[None]:
    """Add the seconds of a block, with the GPU idle at both ends, to a record."""
    sync = synchroniser(device)
    sync()
    start = time.perf_counter()
    yield
    sync()
    record[name] = time.perf_counter() - start


def random_sources(graph: Graph, count: int, seed: int, *, any_source: bool = False) -> Sources:
    """Return queries from vertices chosen by the seed, all or those with out-edges; graph arrays may lie on a GPU.

    Raises InputError if there is no such vertex.
    """
    degrees = _host(graph.indptr[1:] - graph.indptr[:-1])
    able = np.arange(graph.n) if any_source else np.flatnonzero(degrees)
    if not len(able):
        raise InputError("no vertex of the graph has an out-edge to ask from; give a graph with edges, or --any-source")
    return Sources.single(able[random_vertices(len(able), count, seed)])


def _host(array: Any) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.get()


def on_host(graph: Graph) -> Graph:
    """Return the graph with its out-edges in host memory."""
    return replace(graph, indptr=_host(graph.indptr), indices=_host(graph.indices))


class Bench:
    """kPAR and FORA+ on one graph and device.

    Parameters
    ----------
    graph : Graph
        Its arrays may lie on the GPU.
    params : Params
    device : Device
    seed : int
    bandwidth : float
        Bytes per second that the device's memory moves (:func:`gpukit.papers.bench.machine.copy_bandwidth`).
    refine : bool
        Whether queries resolve near ties with additional work.
    repeat : int
        Timed calls of each batch.
    """

    def __init__(
        self, graph: Graph, params: Params, device: Device, seed: int, bandwidth: float, *, refine: bool, repeat: int
    ) -> None:
        self.graph, self.params, self.device, self.seed, self.bandwidth = graph, params, device, seed, bandwidth
        self.refine, self.repeat = refine, repeat
        self.index: Index
        self.prepared: Any

    def preprocessing(self) -> dict[str, Any]:
        """Compute PageRank and index twice, cold and warm, and prepare queries; return the seconds and sizes."""
        seconds: dict[str, float] = {}
        for heat in ("cold", "warm"):
            with _clock(seconds, f"rank_{heat}_s", self.device):
                rank = rank_on(self.device, self.graph, self.params, to_host=False)
            self.index = None  # type: ignore[assignment]
            with _clock(seconds, f"index_{heat}_s", self.device):
                self.index = index_on(self.device, self.graph, rank.order, self.params, seed=self.seed, to_host=False)
        with _clock(seconds, "prepare_s", self.device):
            (self.prepared,) = prepare_on(self.device, self.graph, self.index)
        walks = int(self.index.walks.sum())
        sizes = {"walks": walks, "entries": len(self.index.starts), "frequent": len(self.index.frequencies)}
        arrays = ("walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies")
        sizes["index_bytes"] = sum(getattr(self.index, name).nbytes for name in arrays)
        return {**seconds, **sizes, "rank_rounds": rank.rounds}

    def ask(self, sources: Sources, k: int) -> Result:
        """Answer a batch."""
        if self.device.kind == "cpu":
            from gpukit.kpar.query.answer import query

            return query(self.prepared, sources, k, threads=self.device.threads, refine=self.refine)
        return self.prepared.query(sources, k, refine=self.refine)

    def latency(self, k: int, sources: Sources) -> dict[str, Any]:
        """Ask single queries; return milliseconds, mean counts and the least possible time."""
        first, spent, results = _one_by_one(partial(self.ask, k=k), sources)
        counts = self._counts(results)
        floor = self._floor_ms(counts)
        return {
            "k": k, "queries": len(sources), "first_ms": first, **_spread(spent), **counts, "floor_ms": floor,
            "times_floor": float(np.mean(spent)) / floor,
        }  # fmt: skip

    def _counts(self, results: list[Result]) -> dict[str, float]:
        """Return the means over queries of the counts in the traces, summed over steps."""
        traces = [trace for result in results for trace in result.traces]
        columns = ("rounds", "frontier", "edges", "candidates", "entries")
        means = {name: float(np.mean([t[:, TRACE.index(name)].sum() for t in traces])) for name in columns}
        met = [trace[:, TRACE.index("touched")] for trace in traces]
        means |= {"touched": float(np.mean([m[-1] for m in met])), "visited": float(np.mean([m.sum() for m in met]))}
        return {**means, "steps": float(np.mean([len(trace) for trace in traces]))}

    def _floor_ms(self, counts: dict[str, float]) -> float:
        moved = BYTES_PER_EDGE * counts["edges"] + BYTES_PER_ENTRY * counts["entries"]
        return 1e3 * (moved + BYTES_PER_VERTEX * counts["visited"]) / self.bandwidth

    def throughput(self, k: int, sources: Sources) -> dict[str, Any]:
        """Ask all queries in one call, the best of ``repeat`` warm ones.

        Return queries per second and the least possible time.
        """
        rate, result = _repeated(self.repeat, len(sources), lambda: self.ask(sources, k))
        floor = self._floor_ms(self._counts([result]))
        return {
            "k": k, "queries": len(sources), **rate, "ms_per_query": min(rate["each_ms_per_query"]),
            "floor_ms_per_query": floor,
        }  # fmt: skip

    def fora(self, k: int, sources: Sources) -> dict[str, Any]:
        """Return index time, latency and throughput of FORA+ on the same device.

        kPAR's index is freed first, because on the largest graphs a GPU cannot hold both.
        """
        self.index = self.prepared = None  # type: ignore[assignment]
        if self.device.kind == "cuda":
            from gpukit.device.arrays import on_gpu, xp

            with on_gpu(self.device.gpus[0]):
                xp.get_default_memory_pool().free_all_blocks()
        baselines, placed = baselines_on(self.device)
        seconds: dict[str, float] = {}
        with _clock(seconds, "index_s", self.device):
            index = baselines.fora_index(self.graph, self.params, seed=self.seed, **placed)
        ask = partial(baselines.fora, self.graph, index, k=k, **placed)
        if self.device.kind == "cuda":
            ask = partial(baselines.CudaFora(self.graph, index, **placed).query, k=k)
        return {
            "k": k,
            "queries": len(sources),
            **seconds,
            "walks": int(index.places[-1]),
            **_asked(ask, sources, self.repeat),
        }

    def on_threads(self, k: int, sources: Sources) -> dict[str, Any]:
        """Return queries per second of kPAR and FORA+ on CPU threads, and whether kPAR's answers equal the device's.

        Both use at most one thread per query; ``threads`` of the record is this number.
        """
        from gpukit.kpar.query.answer import Prepared, query
        from gpukit.kpar.threads import workers_for
        from gpukit.papers.kpar import baselines

        graph, threads = on_host(self.graph), workers_for(len(sources), self.device.threads)
        record: dict[str, Any] = {"threads": threads, "k": k, "queries": len(sources)}
        index = self.index
        if self.device.kind == "cuda":
            from gpukit.kpar.index import build_cuda

            index = build_cuda.on_host(index)
            if not self.prepared.light:
                # A CPU would need minutes to sort them on the largest graphs.
                names = ("row_begin", "row_ends", "row_freqs")
                begin, ends, freqs = (_host(self.prepared.arrays[name].array) for name in names)
                index = replace(index, forward=(begin, ends, freqs))
        prepared = Prepared.of(graph, index)
        record["kpar"], expected = _repeated(
            self.repeat, len(sources), lambda: query(prepared, sources, k, threads=threads, refine=self.refine)
        )
        found = self.ask(sources, k)
        same = np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
        record["same_answers"] = bool(same)
        seconds: dict[str, float] = {}
        with _clock(seconds, "index_s", self.device):
            fora = baselines.fora_index(graph, self.params, seed=self.seed, threads=threads)
        rate, _ = _repeated(self.repeat, len(sources), lambda: baselines.fora(graph, fora, sources, k, threads=threads))
        record["fora"] = {**seconds, "walks": int(fora.places[-1]), **rate}
        return record


def _one_by_one(ask: Callable[[Sources], Result], sources: Sources) -> tuple[float, list[float], list[Result]]:
    """Ask single queries, after asking the first one once to warm up.

    Returns the milliseconds of the warm-up call, those of the other calls, and their results.
    """

    def alone(q: int) -> Result:
        return ask(sources.part(q, q + 1))

    (first, _), *each = (timed(partial(alone, q)) for q in (0, *range(len(sources))))
    return 1e3 * first, [1e3 * spent for spent, _ in each], [result for _, result in each]


def _asked(ask: Callable[[Sources], Result], sources: Sources, repeat: int) -> dict[str, Any]:
    """Return milliseconds of single queries, and the rate of one call with all queries."""
    _, spent, _ = _one_by_one(ask, sources)
    rate, _ = _repeated(repeat, len(sources), lambda: ask(sources))
    return {**_spread(spent), **rate}


def _repeated(repeat: int, queries: int, work: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    """Call a function several times.

    Return the queries per second of the fastest call, the times of all, and the result.
    """
    each = []
    for _ in range(repeat):
        spent, result = timed(work)
        each.append(1e3 * spent / queries)
    return {"queries_per_s": 1e3 / min(each), "each_ms_per_query": each}, result


def _spread(milliseconds: list[float]) -> dict[str, float]:
    values = np.array(milliseconds)
    low, middle, high = np.percentile(values, [5, 50, 95])
    return {"mean_ms": float(values.mean()), "median_ms": middle, "p5_ms": low, "p95_ms": high}
