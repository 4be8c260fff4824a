"""The working space of queries on a GPU, and the number of queries that run at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, free_memory
from gpukit.device.launch import cooperative_grid
from gpukit.device.select import simulated
from gpukit.kpar.batch import push_cuda
from gpukit.kpar.problem import Sources
from gpukit.kpar.query import select_cuda, team_cuda
from gpukit.kpar.query.team_cuda import GROUP_SIZE, TeamArrays

BLOCK = 4 if simulated() else 512
BYTES_PER_VERTEX = 8 * team_cuda.LONG_ROWS + 4 * team_cuda.SHORT_ROWS + 2 + 1
"""Bytes per vertex of each slot of a team, with its unit and its mark."""

AT_WORK = 20_000_000
"""Most vertices in the working arrays of all teams that run at once: more would displace each other from the cache."""

GROUPS = 32 // GROUP_SIZE
"""Groups of GROUP_SIZE queries that begin together: fewer do not keep a GPU busy."""

LARGE = 2_000_000
"""Vertices above which queries read start lists together, if there are enough queries: the units no longer fit the
cache."""

EDGES_A_BLOCK, FEWEST_BLOCKS = 100_000, 8
"""Edges of the graph per block of a team, and the fewest blocks; additional blocks only wait longer."""

ANSWER_WORDS = 1 << 26
"""Most words of answers that one launch leaves in device memory."""

A_LAUNCH = 64
"""Queries per launch for each team. A team of an H200 took 4 to 17 ms for one query on graphs of 0.5 million to 1.6
billion edges (docs/kpar.md). So progress and Ctrl-C are handled about once a second."""


@dataclass(frozen=True)
class Shape:
    """How queries are distributed over the GPU; answers do not depend on it.

    Attributes
    ----------
    teams : int
        Number of queries at a time; 0 chooses.
    blocks : int
        Number of blocks that answer a query together; 0 chooses.
    slots_per_team : int
        Slots per team, in which queries begin together: 1 (none do) or ``GROUP_SIZE``, or fewer for one team; 0
        chooses. Queries on a light index begin alone.
    """

    teams: int = 0
    blocks: int = 0
    slots_per_team: int = 0


class Workspaces:
    """Working space of the kernels for a graph of n vertices and m edges on the current GPU, reused between batches."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        self._work: dict[Any, Any] = {}
        self._resident: dict[Any, int] = {}
        self._sources, self._pairs = Buffer(64, np.int64), Buffer(0, np.uint32)
        self.states: Buffer | None = None

    def spread(
        self, kernel: Any, args: Callable[[int, TeamArrays], tuple], queries: int, k: int, shape: Shape
    ) -> tuple[int, int, int]:
        """Return the number of teams, the blocks of each, and the slots of each.

        ``args(blocks, arrays)`` must return the arguments of the kernel for teams of ``blocks`` blocks.
        """
        if simulated():
            return min(shape.teams or 1, queries), shape.blocks or 1, shape.slots_per_team or 1
        one = args(1, self.arrays(1, 1, k))
        teams, slots_per_team = self.teams(queries, shape)
        teams = min(teams, queries, self.blocks(kernel, one, 1))
        teams, slots_per_team = self._fitting(teams, slots_per_team)
        blocks = self.blocks(kernel, one, teams, shape.blocks or max(FEWEST_BLOCKS, self.m // EDGES_A_BLOCK))
        return teams, blocks, slots_per_team

    def teams(self, queries: int, shape: Shape) -> tuple[int, int]:
        """Return the preferred numbers of teams and slots per team for ``queries`` queries, whatever the GPU holds."""
        alone = max(1, AT_WORK // max(1, self.n))
        teams, slots_per_team = alone, 1
        if self.n > LARGE and queries >= GROUP_SIZE * GROUPS and shape.slots_per_team != 1:
            teams, slots_per_team = GROUPS, GROUP_SIZE
        elif alone == 1 and queries > 1:
            slots_per_team = GROUP_SIZE
        return shape.teams or min(teams, team_cuda.MAX_BLOCKS), shape.slots_per_team or slots_per_team

    def _fitting(self, teams: int, slots_per_team: int) -> tuple[int, int]:
        """Return the number of teams and of slots per team that memory allows, at most these.

        Additional slots only save time, so they leave half of the free memory to arrays that are made later, such as
        in-edges.
        """
        if self._lacking(teams, slots_per_team) > 0:
            # Only here, because a query of the free memory goes to the driver.
            free = int(0.9 * free_memory())
            while slots_per_team > 1 and self._lacking(1, slots_per_team) > free // 2:
                slots_per_team //= 2
            limit = free // 2 if slots_per_team > 1 else free
            while teams > 1 and self._lacking(teams, slots_per_team) > limit:
                teams -= 1
        return teams, slots_per_team

    def blocks(self, kernel: Any, args: tuple, teams: int, wanted: int = 0) -> int:
        """Return the blocks per team of a cooperative kernel: ``wanted``, or as many as fit."""
        if kernel not in self._resident:
            self._resident[kernel] = cooperative_grid(kernel, BLOCK, args)
        return max(1, min(wanted or team_cuda.MAX_BLOCKS, self._resident[kernel] // teams, team_cuda.MAX_BLOCKS))

    def launches(self, queries: int, width: int, shape: Shape) -> Iterator[tuple[int, int]]:
        """Return the first query of each launch and the end (exclusive), for answers of ``width`` words."""
        size = max(1, min(ANSWER_WORDS // width, A_LAUNCH * self.teams(queries, shape)[0]))
        return ((first, min(first + size, queries)) for first in range(0, queries, size))

    def _lacking(self, teams: int, slots_per_team: int) -> int:
        """Return the bytes that the arrays of these teams need beyond those already allocated."""
        slots, pairs = (
            teams * slots_per_team - self._work["rows"][0],
            self._pairs_for(slots_per_team) - len(self._pairs),
        )
        return BYTES_PER_VERTEX * self.n * max(0, slots) + 4 * max(0, pairs)

    def _pairs_for(self, slots_per_team: int) -> int:
        """Return the number of pairs of units: those of one group if queries begin together, else 0."""
        return 0 if slots_per_team == 1 else team_cuda.PAIRS * self.n

    def arrays(self, teams: int, slots_per_team: int, k: int) -> TeamArrays:
        """Return clean arrays for at least these teams (:func:`query_cuda.answer`), as arguments of kernels."""
        slots = teams * slots_per_team
        if "rows" not in self._work or self._work["rows"][0] < slots:
            self._work.pop("rows", None)
            long = Buffer((slots, team_cuda.LONG_ROWS, self.n), np.int64, 0)
            short = Buffer((slots, team_cuda.SHORT_ROWS, self.n), np.int32)
            control = Buffer(1 + slots * team_cuda.CONTROL, np.int64)
            marks = Buffer((slots, (self.n + 31) // 32), np.uint32, 0)
            units = Buffer((slots, self.n), np.uint16, 0)
            self._work["rows"] = (slots, long, short, control, marks, units)
        held, long, short, control, marks, units = self._work["rows"]
        pairs = self._pairs_for(slots_per_team)
        self._pairs.reserve(pairs, 0, pairs)
        shape = (held, select_cuda.TOP_ROWS, 1 << (k - 1).bit_length())
        if "top" not in self._work or self._work["top"].array.shape != shape:
            self._work["top"] = Buffer(shape, np.int64, 0)
        self.clear_control()
        if self.states is None or len(self.states) != (slots if slots_per_team > 1 else 0):
            self.states = Buffer((slots if slots_per_team > 1 else 0, push_cuda.STATE_WORDS), np.int64)
        top = self._work["top"]
        return TeamArrays(
            long.view, short.view, top.view, control.view, units.view, self._pairs.view, marks.view, self.states.view
        )  # fmt: skip

    @property
    def marks(self) -> Buffer:
        """Marks of the vertices that each slot has met."""
        return self._work["rows"][4]

    def clear_control(self) -> None:
        """Reset the shared state of teams to zero, before a launch."""
        self._work["rows"][3].array.fill(0)

    def sources(self, sources: Sources, first: int, last: int) -> Any:
        """Return queries as an argument of kernels: offsets, vertices and mass in one int64 array on the device."""
        part = slice(sources.offsets[first], sources.offsets[last])
        offsets, mass = sources.offsets[first : last + 1] - part.start, sources.mass[part].view(np.int64)
        self._sources.load(np.concatenate([offsets, sources.vertices[part], mass]))
        return self._sources.view

    def out(self, queries: int, width: int) -> Buffer:
        """Return an array for answers, int64 (queries, width)."""
        if "out" not in self._work or self._work["out"].array.shape != (queries, width):
            self._work["out"] = Buffer((queries, width), np.int64)
        return self._work["out"]
