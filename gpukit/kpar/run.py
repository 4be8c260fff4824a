"""The steps of kPAR on the device that was chosen: CPU threads, or one or several GPUs."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.device.select import Device
from gpukit.graph.csr import Graph
from gpukit.kpar.index.build import Index
from gpukit.kpar.problem import Params, Result, Sources
from gpukit.kpar.query.answer import Prepared
from gpukit.kpar.rank import Rank

if TYPE_CHECKING:
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared


def rank_on(device: Device, graph: Graph, params: Params, *, to_host: bool = True) -> Rank:
    """Compute PageRank and the PRO-rank list (:func:`gpukit.kpar.rank.rank`); a GPU's arrays stay there if asked to."""
    if device.kind == "cpu":
        from gpukit.kpar.rank import rank

        return rank(graph, params)
    from gpukit.device.arrays import on_gpu
    from gpukit.kpar import rank_cuda
    from gpukit.kpar.rows_cuda import to_host as host

    found = rank_cuda.rank(graph, params, gpu=device.gpus[0])
    if not to_host:
        return found
    with on_gpu(device.gpus[0]):
        return Rank(host(found.pagerank), host(found.order), found.alpha, found.rounds, found.remaining)


def index_on(
    device: Device, graph: Graph, order: np.ndarray, params: Params, *, to_host: bool = True, **options: Any
) -> Index:
    """Build the index (:func:`gpukit.kpar.index.build.build_index`); a GPU's arrays stay there if asked to."""
    if device.kind == "cpu":
        from gpukit.kpar.index.build import build_index

        return build_index(graph, order, params, threads=device.threads, **options)
    from gpukit.device.arrays import on_gpu
    from gpukit.kpar.index import build_cuda

    gpu = device.gpus[0]
    found = build_cuda.build_index(graph, order, params, gpu=gpu, **options)
    if not to_host:
        return found
    with on_gpu(gpu):
        return build_cuda.on_host(found)


def prepare_on(device: Device, graph: Graph, index: Index) -> "list[Prepared] | list[CudaPrepared]":
    """Prepare queries on each GPU, or once for all CPU threads."""
    if device.kind == "cpu":
        return [Prepared.of(graph, index)]
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared

    return CudaPrepared.of_each(graph, index, device.gpus)


def query_on(
    device: Device,
    prepared: Any,
    sources: Sources,
    k: int,
    *,
    to_end: bool = False,
    refine: bool = False,
    among: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Answer a batch (:func:`gpukit.kpar.query.answer.query`) on what :func:`prepare_on` made; GPUs share it."""
    if device.kind == "cpu":
        return prepared[0].query(
            sources, k, to_end=to_end, refine=refine, among=among, progress=progress, threads=device.threads
        )
    ends = np.linspace(0, len(sources), len(prepared) + 1).astype(int)
    done = np.zeros(len(prepared), int)

    def work(place: int) -> Result:
        def advance(count: int, _: int) -> None:
            done[place] = count
            if progress is not None:
                progress(int(done.sum()), len(sources))

        part = sources.part(ends[place], ends[place + 1])
        return prepared[place].query(part, k, to_end=to_end, refine=refine, among=among, progress=advance)

    with ThreadPoolExecutor(len(prepared)) as pool:
        return Result.joined(list(pool.map(work, range(len(prepared)))))
