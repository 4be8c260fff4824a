"""Forward Monte Carlo on GPUs: launches of ``spread_block_cuda.py`` and ``spread_together_cuda.py``."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpukit.device.arrays import Buffer, for_launch, free_memory, on_gpu
from gpukit.device.launch import cooperative_grid, launch
from gpukit.device.on_each import OnEach
from gpukit.device.placing import Placement
from gpukit.device.select import simulated
from gpukit.device.shape import shape
from gpukit.evaluate.batches import Progress, share_runs
from gpukit.evaluate.plan import LtEdges, Plan
from gpukit.evaluate.spread_block_cuda import Scratch, lt_runs
from gpukit.evaluate.spread_together_cuda import CONTROL, PIECE, WORD, WORDS, Front, OutEdges, ic_together
from gpukit.evaluate.spread_together_cuda import THREADS as MOST_THREADS
from gpukit.graph.probabilities import head_probabilities
from gpukit.wording import spelled

THREADS = 128
BLOCKS_PER_MULTIPROCESSOR = 8
RUNS_PER_BLOCK = 16
"""Runs of a block in one launch: the cost of a launch is small compared with them, and Ctrl-C and progress are handled
between launches."""

LONG = 32
"""A whole warp reads a row if rows have more edges than this on average."""


class _State(NamedTuple):
    """A GPU, the most runs of a launch, and a function that launches runs from a first id into an array of values."""

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
    """Return the value of each run at each stage; each batch of runs goes to a GPU that is free.

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
        Most blocks of a launch. For LT the default is 8 per multiprocessor, each with its scratch, fewer if memory is
        short; for IC, as many as a GPU runs at once.
    threads : int
        Threads of a block, a multiple of ``MEMBERS``.

    Returns
    -------
    int64 array, shape (runs, stages)

    Raises
    ------
    DeviceError
        If the graph and the state of one run (LT), or of the ``WORD`` runs of one word (IC), do not fit on a GPU.
    """
    values = np.empty((runs, len(plan.stage_rounds)), np.int64)
    made, placement = (_ic_state, _ic_placement) if plan.model == "ic" else (_lt_state, _lt_placement)
    placed = placement(plan, gpus)

    def state_on(gpu: int) -> _State:
        return made(plan, placed.here(), -(-runs // len(gpus)), gpu, blocks, threads)

    states = OnEach(gpus)(gpus, state_on, gpus)

    def run_batch(state: _State, start: int, count: int) -> None:
        with on_gpu(state.gpu):
            for low in range(start, start + count, state.runs):
                high = min(low + state.runs, start + count)
                part = Buffer((high - low, values.shape[1]), np.int64, 0)
                state.launch(first + low, part.view)
                values[low:high] = part.host()

    share_runs(states, run_batch, runs, max(state.runs for state in states), progress)
    return values


def _ic_placement(plan: Plan, gpus: Sequence[int]) -> Placement:
    """Choose the placement of edges for cascades of edge coins; it leaves room for the runs of one word."""
    graph = plan.graph
    by_head = graph.probabilities is None
    thresholds = head_probabilities(graph) if graph.probabilities is None else graph.probabilities
    arrays = {"indptr": graph.indptr, "indices": graph.indices, "thresholds": thresholds}
    word, rest = _bytes_together(plan)
    by_edge = ("indices",) if by_head else ("indices", "thresholds")
    return Placement(arrays, by_edge, {f"{WORD} runs": word + rest}, f"use {spelled('device', 'cpu')}", gpus=gpus)


def _ic_state(plan: Plan, placed: dict[str, Buffer], runs: int, gpu: int, blocks: int | None, threads: int) -> _State:
    """Allocate the state of as many concurrent cascades as there are, or as fit."""
    graph, several = plan.graph, plan.stage_rounds[-1] > 0
    edges = OutEdges(**{name: one.view for name, one in placed.items()}, by_head=graph.probabilities is None)
    word, rest = _bytes_together(plan)
    fit = int(0.9 * free_memory() - rest) // word
    words = max(1, min(WORDS, -(-runs // WORD), fit))
    control = Buffer(CONTROL, np.int64)
    front = Front(
        active=Buffer((graph.n, words), np.uint64).view,
        fresh=Buffer((2, graph.n, words), np.uint64, 0).view,
        seen=Buffer((graph.n if several else 1, words), np.uint64).view,
        marks=Buffer(graph.n, np.int32).view,
        lists=Buffer((2, graph.n), np.int32).view,
        pieces=Buffer(graph.n + graph.m // PIECE, np.int64).view,
        control=control.view,
    )
    inputs = (edges, for_launch(plan.stages), np.uint64(plan.seed), plan.tag)
    block = min(threads, MOST_THREADS)
    team = 1 if simulated() else min(32 if graph.m > LONG * graph.n else 8, block)

    def launch_runs(first: int, values: Any) -> None:
        control.array.fill(0)
        args = (*inputs, first, team, front, values)
        grid = cooperative_grid(ic_together, block, args)
        launch(ic_together, min(blocks or grid, grid), block, *args)

    return _State(gpu, WORD * words, launch_runs)


def _lt_placement(plan: Plan, gpus: Sequence[int]) -> Placement:
    """Choose the placement of edges for threshold cascades; it leaves room for one cascade."""
    run = {"one run": _bytes_of_a_run(plan)}
    return Placement(plan.edges()._asdict(), ("indices", "weights"), run, f"use {spelled('device', 'cpu')}", gpus=gpus)


def _lt_state(plan: Plan, placed: dict[str, Buffer], runs: int, gpu: int, blocks: int | None, threads: int) -> _State:
    """Allocate the state of as many blocks, one cascade each, as are allowed, or as fit."""
    n = plan.graph.n
    fit = int(0.9 * free_memory()) // _bytes_of_a_run(plan)
    size = min(blocks or shape(lt_runs, fit, threads, BLOCKS_PER_MULTIPROCESSOR).grid, runs)
    widths = (n, np.int64), _seen(plan), (n, np.int32)
    scratch = Scratch(*(Buffer((size, width), dtype).view for width, dtype in widths))
    inputs = (LtEdges(**{name: one.view for name, one in placed.items()}), for_launch(plan.stages))

    def launch_runs(first: int, values: Any) -> None:
        launch(lt_runs, size, threads, *inputs, np.uint64(plan.seed), plan.tag, first, scratch, values)

    return _State(gpu, RUNS_PER_BLOCK * size, launch_runs)


def _bytes_together(plan: Plan) -> tuple[int, int]:
    """Return the bytes that one word of concurrent runs takes, and those that all runs share."""
    n, pieces = plan.graph.n, plan.graph.n + plan.graph.m // PIECE
    # ``active``, ``fresh`` twice, and ``seen`` if there are several rounds; marks and lists.
    return 8 * n * (4 if plan.stage_rounds[-1] > 0 else 3), 12 * n + 8 * pieces


def _bytes_of_a_run(plan: Plan) -> int:
    """Return the bytes of a block: its row of the scratch, and the values of its runs."""
    width, dtype = _seen(plan)
    return 12 * plan.graph.n + width * np.dtype(dtype).itemsize + 8 * RUNS_PER_BLOCK * len(plan.stage_rounds)


def _seen(plan: Plan) -> tuple[int, type]:
    """Return width and type of a row of :attr:`Scratch.seen`."""
    return (plan.graph.n + 31) // 32 if plan.stage_rounds[-1] > 0 else 1, np.uint32
