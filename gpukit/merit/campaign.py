"""Whole campaigns: choose and observe batches until η vertices are active, simulated or reported by the user."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import Graph
from gpukit.merit.factory import MakeSets, make_sets
from gpukit.merit.policy import Policy
from gpukit.merit.problem import Params, Result, Round, check
from gpukit.merit.world import World
from gpukit.worlds.reverse import prepare

Progress = Callable[[int, int], None]


class Campaign:
    """A campaign between rounds: a function of graph, parameters and observations, independent of the device.

    Parameters
    ----------
    graph : Graph
        With its transpose and edge probabilities.
    params : Params
    rounds : sequence of Round
        The rounds so far, in order; the outcome of the last one may be unknown.
    device : Device, optional
        Where to run; one CPU thread if not given. The result does not depend on it.
    sampler : str
        ``skip`` jumps from one live in-edge to the next, ``scan`` tests each (:func:`gpukit.worlds.reverse.prepare`).
    tables : mapping of arrays, optional
        Sampling tables of the graph, if available.
    timer : PhaseTimer, optional
        Charged with ``transfer``, ``generate``, ``update``, ``judge`` and ``select``.
    make_sets : callable
        Makes the collections; :mod:`gpukit.papers.merit.factory` has another one, with further options.

    Raises
    ------
    UsageError, InputError
        If the parameters do not fit the graph, or the rounds contradict each other.
    DeviceError
        If the work does not fit on the device.
    """

    def __init__(
        self,
        graph: Graph,
        params: Params,
        rounds: Sequence[Round] = (),
        device: Device | None = None,
        *,
        sampler: str = "skip",
        tables: Mapping[str, np.ndarray] | None = None,
        timer: PhaseTimer | None = None,
        make_sets: MakeSets = make_sets,
    ) -> None:
        self.graph, self.params = graph, params
        self.costs = check(graph, params)
        timer = timer or PhaseTimer()
        reverse = prepare(graph, params.model, sampler, tables=None if tables is None else dict(tables))
        with timer.phase("transfer"):
            self._policy = Policy(graph, reverse, params, self.costs, device, timer, make_sets)
        self.rounds: list[Round] = []
        for one in rounds:
            self.rounds.append(replace(one, activated=None))
            if one.activated is not None:
                self._observe(one.activated, replay=True)

    @property
    def pending(self) -> bool:
        """Whether the last batch is not observed yet."""
        return bool(self.rounds) and self.rounds[-1].activated is None

    @property
    def left(self) -> int:
        """Vertices that remain to be activated; 0 or less when the campaign is done."""
        return self._policy.residual.eta

    def choose(self) -> Round:
        """Choose the next batch.

        Raises
        ------
        UsageError
            If the last batch was not observed yet, or the campaign is done.
        """
        if self.pending:
            raise UsageError("the last batch was not observed yet; give what it activated")
        if self.left <= 0:
            raise UsageError("the campaign has reached its target; there is nothing left to choose")
        self.rounds.append(self._policy.choose())
        return self.rounds[-1]

    def observe(self, activated: np.ndarray) -> None:
        """Record the vertices that the last batch activated.

        Parameters
        ----------
        activated : int array
            Internal ids, distinct; the batch itself may be left out.

        Raises
        ------
        UsageError
            If no batch waits to be observed.
        InputError
            If a vertex is named twice or was active before. The campaign is unchanged then.
        """
        self._observe(activated, replay=False)

    def _observe(self, activated: np.ndarray, *, replay: bool) -> None:
        if not self.pending:
            raise UsageError("no batch is waiting to be observed; choose one first")
        last = self.rounds[-1]
        found, times = np.unique(np.asarray(activated, np.int64), return_counts=True)
        again = found[times > 1]
        if len(again):
            raise InputError(f"vertex {self.graph.original(again[0])} is observed twice; name each once")
        dead = found[self._policy.residual.dead[found] != 0]
        if len(dead):
            raise InputError(
                f"vertex {self.graph.original(dead[0])} was active before this round; observe only what is new"
            )
        everyone = np.union1d(found, last.batch).astype(np.int32)
        if self._policy.residual.dead[last.batch].any():
            raise InputError("a seed of the last batch was active before; the campaign contradicts itself")
        self.rounds[-1] = replace(last, activated=everyone)
        self._policy.observe(last, everyone, replay=replay)

    def result(self) -> Result:
        """Return the result of the campaign so far."""
        return Result(tuple(self.rounds), self.costs, **self._policy.totals())


def simulate(
    graph: Graph,
    params: Params,
    world: World,
    device: Device | None = None,
    *,
    sampler: str = "skip",
    tables: Mapping[str, np.ndarray] | None = None,
    timer: PhaseTimer | None = None,
    progress: Progress | None = None,
    make_sets: MakeSets = make_sets,
) -> Result:
    """Run a campaign in a world until η vertices are active.

    Parameters
    ----------
    world : World
        Decides which vertices the seeds activate. It must be new: no vertex is active in it.
    progress : callable, optional
        Called with (vertices activated, η) after each round.

    Other parameters and errors are those of :class:`Campaign`; the time of the world counts as ``diffuse``.
    """
    timer = timer or PhaseTimer()
    campaign = Campaign(graph, params, (), device, sampler=sampler, tables=tables, timer=timer, make_sets=make_sets)
    while campaign.left > 0:
        batch = campaign.choose().batch
        with timer.phase("diffuse"):
            activated = world.diffuse(batch)
        campaign.observe(activated)
        if progress is not None:
            progress(min(params.eta, params.eta - campaign.left), params.eta)
    return campaign.result()
