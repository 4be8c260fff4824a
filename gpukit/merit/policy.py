"""One round: draw or update mRR sets, choose a batch, double the sets until the batch is certified.

The first trial has about as many sets as the last round ended with, of the fixed sequence θ, 2θ, 4θ …: those before it
would hardly do. Every fourth round begins with half as many, for the sets that rounds need become fewer.

Sample ids, below 2**48: the sets that batches are chosen from have the ids from 0, those that judge a batch the ids
from 2**47, new ones every round; a round that ended with θ sets has used up θ of these.
"""

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.graph.csr import Graph
from gpukit.merit.bounds import most_covered, plan
from gpukit.merit.problem import Costs, Params, Round
from gpukit.merit.residual import Residual
from gpukit.merit.sets import MrrSets, make_sets
from gpukit.worlds.reverse import Reverse

JUDGE_FIRST = 1 << 47

FEWER = 4
"""Of so many rounds one begins with fewer sets."""


class Policy:
    """Chooses batches from what is known of a campaign.

    Parameters
    ----------
    graph : Graph
        With its transpose.
    reverse : Reverse
        The graph, ready for sampling.
    params : Params
    costs : Costs
    device : Device or None
        Where the sets are; one CPU thread if not given.
    groups : int
        β of the update on a GPU.
    timer : PhaseTimer
        Charged with ``generate``, ``update``, ``judge`` and ``select``.
    """

    def __init__(
        self,
        graph: Graph,
        reverse: Reverse,
        params: Params,
        costs: Costs,
        device: Device | None,
        groups: int,
        timer: PhaseTimer,
    ) -> None:
        self.params, self.costs, self.timer = params, costs, timer
        self.residual = Residual(graph, params.eta, params.model)
        self._drawn = 0
        self._last = 0
        self._rounds = 0
        self._sets = make_sets(reverse, self.residual, params, device, groups)
        self._judge: MrrSets | None = None
        if params.certificate == "fresh":
            self._judge = make_sets(reverse, self.residual, params, device, groups, beside=self._sets)

    @property
    def probes(self) -> int:
        """Vertices whose in-edges were drawn."""
        return self._sets.probes + (self._judge.probes if self._judge is not None else 0)

    @property
    def updating_probes(self) -> int:
        """The same without the sets that judge."""
        return self._sets.probes

    @property
    def most_members(self) -> int:
        """Most members that the collection which batches are chosen from has held."""
        return self._sets.most_members

    @property
    def memory(self) -> int:
        """Most bytes of device memory that the collections have taken."""
        return self._sets.memory() + (self._judge.memory() if self._judge is not None else 0)

    @property
    def planned_memory(self) -> int:
        """Bytes of device memory that the budget planned for, before the arrays were made."""
        return self._sets.planned() + (self._judge.planned() if self._judge is not None else 0)

    def observe(self, activated: np.ndarray, sets: int, *, replay: bool = False) -> None:
        """Take activated vertices out of the graph after a round that used ``sets`` sets.

        With ``replay`` the round was chosen elsewhere; only sets that remember earlier rounds (``paper``) are made up.
        """
        if replay and self.params.update == "paper" and sets:
            self._bring(self._sets, sets)
        weakened = self.residual.kill(activated)
        self._drawn += sets
        self._last = sets
        self._rounds += 1
        for one in (self._sets, self._judge):
            if one is not None:
                one.kill(activated, weakened)

    def _bring(self, sets: MrrSets, size: int) -> None:
        with self.timer.phase("update"):
            sets.update(size)
        with self.timer.phase("generate"):
            sets.extend(size)

    def choose(self) -> Round:
        """Return the next batch, not yet observed."""
        params, rest = self.params, self.residual
        if rest.eta <= params.batch:
            return self._end()
        sets, judge = self._sets, self._judge
        if params.update == "regenerate":
            sets.restart(self._drawn if params.ids == "fresh" else 0)
        if judge is not None:
            judge.restart(JUDGE_FIRST + self._drawn)
        b = params.batch
        sizes = plan(rest.living, b, params.epsilon, params.certificate, self.costs.sums(b))
        size = sizes.first
        goal = self._last // 2 if self._rounds % FEWER == 0 else self._last
        while 3 * size <= 2 * goal:
            size *= 2
        while True:
            self._bring(sets, size)
            if judge is not None:
                with self.timer.phase("judge"):
                    judge.extend(size)
            with self.timer.phase("select"):
                seeds, gains, hits = sets.select(b, self.costs.values, judge)
            covered = int(gains.sum())
            most = most_covered(gains.tolist(), self.costs.values[seeds].tolist(), size)
            certified = sizes.accepts(most, covered if hits is None else hits)
            if certified or size >= sizes.cap:
                kind = "certified" if certified else "cap"
                return Round(seeds, self.costs.of(seeds), None, size, covered, hits, kind)
            size *= 2

    def _end(self) -> Round:
        """Return the η_i cheapest living vertices: they are enough by themselves."""
        living = np.flatnonzero(self.residual.dead == 0)
        order = np.argsort(self.costs.values[living], kind="stable")
        seeds = living[order[: self.residual.eta]].astype(np.int32)
        return Round(seeds, self.costs.of(seeds), None, 0, 0, None, "end")
