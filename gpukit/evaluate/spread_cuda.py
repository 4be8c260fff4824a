"""Forward Monte Carlo on GPUs: launches of ``spread_ic_cuda.py`` and ``spread_lt_cuda.py``."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpukit.device.arrays import Buffer, cooperative_grid, for_launch, free_memory, on_gpu
from gpukit.device.launch import launch
from gpukit.device.placing import place
from gpukit.device.shape import shape
from gpukit.evaluate.batches import Progress, share_runs
from gpukit.evaluate.plan import Plan
from gpukit.evaluate.spread_ic_cuda import CONTROL, PIECE, WORD, WORDS, Front, OutEdges, ic_runs
from gpukit.evaluate.spread_lt_cuda import Scratch, lt_runs
from gpukit.graph.probabilities import head_probabilities

THREADS = 128
BLOCKS_PER_MULTIPROCESSOR = 8
RUNS_PER_BLOCK = 16
"""Threshold cascades of a block in one launch: launches cost little beside them, and Ctrl-C and progress get their
turn."""


class _State(NamedTuple):
    """A GPU, how many runs a launch takes at most, and what launches some: their first id and where values go."""

    gpu: int
    runs: int
    launch: Callable[[int, Any], None]


def run_on_gpus(
    plan: Plan,
    runs: int,
    gpus: Sequence[int],
    progress: Progress | None = None,
    *,
    first: int = 0,
    blocks: int | None = None,
    threads: int = THREADS,
) -> np.ndarray:
    """Return the value of each run at each stage; batches of runs go to whichever GPU is free.

    Parameters
    ----------
    plan : Plan
    runs : int
        Run ids first … first + runs - 1.
    gpus : sequence of int
        CUDA device numbers.
    progress : callable or None
        Called with (runs done, runs).
    first : int
    blocks : int or None
        Most blocks of a launch; by default as many as a GPU runs at once (IC) or 8 for each multiprocessor, each with
        its scratch, fewer where memory is short (LT).
    threads : int
        Threads of a block, a multiple of ``MEMBERS``.

    Returns
    -------
    int64 array, shape (runs, stages)

    Raises
    ------
    DeviceError
        If the graph and the state of a run (LT), or of the ``WORD`` runs of a word (IC), do not fit into a GPU.
    """
    values = np.empty((runs, len(plan.stage_rounds)), np.int64)
    made = _ic_state if plan.model == "ic" else _lt_state
    states = []
    for gpu in gpus:
        with on_gpu(gpu):
            states.append(made(plan, -(-runs // len(gpus)), gpu, blocks, threads))

    def run_batch(state: _State, start: int, count: int) -> None:
        with on_gpu(state.gpu):
            for low in range(start, start + count, state.runs):
                high = min(low + state.runs, start + count)
                part = Buffer((high - low, values.shape[1]), np.int64, 0)
                state.launch(first + low, part.view)
                values[low:high] = part.host()

    share_runs(states, run_batch, runs, max(state.runs for state in states), progress)
    return values


def _ic_state(plan: Plan, runs: int, gpu: int, blocks: int | None, threads: int) -> _State:
    """Place the graph, and make room for as many cascades side by side as there are, or as fit."""
    graph, several = plan.graph, plan.stage_rounds[-1] > 0
    by_head = graph.probabilities is None
    thresholds = head_probabilities(graph) if graph.probabilities is None else graph.probabilities
    pieces = graph.n + graph.m // PIECE
    # A word of ``active``, two of ``fresh``, and one of ``seen`` where there are several rounds.
    word, rest = 8 * graph.n * (3 + several), 12 * graph.n + 8 * pieces
    arrays = {"indptr": graph.indptr, "indices": graph.indices, "thresholds": thresholds}
    by_edge = ("indices",) if by_head else ("indices", "thresholds")
    placed = place(arrays, by_edge, {f"{WORD} runs": word + rest}, "use --device cpu")
    fit = int(0.9 * free_memory() - rest) // word
    words = max(1, min(WORDS, -(-runs // WORD), fit))
    control = Buffer(CONTROL, np.int64)
    front = Front(
        active=Buffer((graph.n, words), np.uint64).view,
        fresh=Buffer((2, graph.n, words), np.uint64, 0).view,
        seen=Buffer((graph.n if several else 1, words), np.uint64).view,
        marks=Buffer(graph.n, np.int32).view,
        lists=Buffer((2, graph.n), np.int32).view,
        pieces=Buffer(pieces, np.int64).view,
        control=control.view,
    )
    edges = OutEdges(**{name: one.view for name, one in placed.items()}, by_head=by_head)
    inputs = (edges, for_launch(plan.stages), np.uint64(plan.seed), plan.tag)

    def launch_runs(first: int, values: Any) -> None:
        control.array.fill(0)
        args = (*inputs, first, front, values)
        grid = cooperative_grid(ic_runs, threads, args)
        launch(ic_runs, min(blocks or grid, grid), threads, *args)

    return _State(gpu, WORD * words, launch_runs)


def _lt_state(plan: Plan, runs: int, gpu: int, blocks: int | None, threads: int) -> _State:
    """Place the graph, and make room for as many blocks as there may be, or as fit."""
    n, edges = plan.graph.n, plan.edges()
    seen = (n + 31) // 32 if plan.stage_rounds[-1] > 0 else 1
    # A row of the scratch, and the values of a block's runs.
    each = 12 * n + 4 * seen + 8 * RUNS_PER_BLOCK * len(plan.stage_rounds)
    placed = place(edges._asdict(), ("indices", "weights"), {"one run": each}, "use --device cpu")
    fit = shape(lt_runs, int(0.9 * free_memory()) // each, threads, BLOCKS_PER_MULTIPROCESSOR).grid
    size = min(blocks or fit, runs)
    scratch = Scratch(
        received=Buffer((size, n), np.int64).view,
        seen=Buffer((size, seen), np.uint32).view,
        queue=Buffer((size, n), np.int32).view,
    )
    inputs = (type(edges)(**{name: one.view for name, one in placed.items()}), for_launch(plan.stages))

    def launch_runs(first: int, values: Any) -> None:
        launch(lt_runs, size, threads, *inputs, np.uint64(plan.seed), plan.tag, first, scratch, values)

    return _State(gpu, RUNS_PER_BLOCK * size, launch_runs)
