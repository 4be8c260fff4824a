"""One round: draw or update mRR sets, choose a batch, and add sets until the batch is certified.

The first trial keeps the number of sets of the last round if its counts say that this number, or a slightly smaller
one, suffices again. With another number, occurrences would have to be counted again, and a lucky round says little
about the next.

Sample ids are below 2**48. The collection for choosing batches uses ids from 0 on, the judging sets ids from 2**47 on.
"""

from bisect import bisect_left
from dataclasses import replace

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import PhaseTimer
from gpukit.errors import InputError
from gpukit.graph.csr import Graph
from gpukit.merit.bounds import SERVES, Plan, judging, max_coverage, plan
from gpukit.merit.factory import MakeSets
from gpukit.merit.problem import Costs, Params, Round
from gpukit.merit.residual import Residual
from gpukit.merit.sets import MrrSets
from gpukit.worlds.reverse import Reverse

JUDGE_FIRST = 1 << 47

LEAP = 4
"""Most sets of a trial, as a multiple of the previous trial; counts in few sets are unreliable."""

BACK = 2
"""Trial sizes by which a round goes back from the last size, if an even smaller size would suffice."""

END_ROOTS = 1 << 24
"""Most roots in the sets of a trial in the end game, or twice the roots of a first trial just before the end game, if
that is more."""

DOUBT, MORE, LESS = 1.3, 1.1, 0.99
"""Initial ratio between the share of sets that a batch hits in the collection and the share expected in the judging
sets, and the factors by which a refusal and a round change this ratio."""


class Judge:
    """Sets that judge batches, and the expected ratio of hits in the two collections.

    They are reused over several rounds: a passed test reveals nothing to later choices. Consider the campaign that
    continues as if all tests on these sets were passed. Its batches and residual graphs do not depend on the sets, so
    each of its tests is as good as one on freshly drawn sets. It equals the real campaign until a test fails; then the
    sets are discarded. To make failures rare, a batch is tested only if its own counts suggest that it will pass.

    Parameters
    ----------
    sets : MrrSets
        The collection.
    serves : int
        Most rounds for which the same sets are used.
    """

    def __init__(self, sets: MrrSets, serves: int) -> None:
        self.sets, self.serves = sets, serves
        self.used = 0
        self.doubt = DOUBT
        self._rounds = self._judges = 0
        sets.restart(JUDGE_FIRST)

    def begin(self, regenerate: bool) -> None:
        """Begin a round. With ``regenerate`` all sets are dropped and drawn again with the same ids."""
        if self._rounds >= self.serves:
            self.renew()
        elif regenerate:
            self.sets.restart(JUDGE_FIRST + self.used)

    def extend_to(self, size: int) -> None:
        """Update and draw sets until there are enough to judge a batch chosen from ``size`` sets."""
        size = judging(size)
        self._judges = max(self._judges, size)
        self.sets.update(size)
        self.sets.extend(size)

    def renew(self) -> None:
        """Discard the sets; the next ones get unused ids."""
        self._begin_with(self.used + self._judges)

    def reach(self, size: int, refused: int) -> int:
        """Return an upper bound on the ids used up before a round's judging sets; see :meth:`remember`."""
        return self.used + (refused + 1) * max(self._judges, judging(size))

    def remember(self, used: int, size: int, refused: int) -> None:
        """Record a round: ids used up before its judging sets, sets in its collection, and refusals."""
        if used != self.used:
            self._begin_with(used)
        self._rounds, self._judges = self._rounds + 1, max(self._judges, judging(size))
        for _ in range(refused):
            self.doubt *= MORE
        self.doubt = max(1.0, self.doubt * LESS)

    def _begin_with(self, used: int) -> None:
        self.used, self._rounds, self._judges = used, 0, 0
        self.sets.restart(JUDGE_FIRST + used)


class Policy:
    """Chooses batches from the observed state of a campaign.

    Parameters
    ----------
    graph : Graph
        With its transpose.
    reverse : Reverse
        The graph, ready for sampling.
    params : Params
    costs : Costs
    device : Device or None
        Where the sets are drawn; one CPU thread if not given.
    timer : PhaseTimer
        Charged with ``generate``, ``update``, ``judge`` and ``select``.
    make_sets : callable
        Makes the collections (:func:`gpukit.merit.factory.make_sets`).
    """

    def __init__(
        self,
        graph: Graph,
        reverse: Reverse,
        params: Params,
        costs: Costs,
        device: Device | None,
        timer: PhaseTimer,
        make_sets: MakeSets,
    ) -> None:
        self.params, self.costs, self.timer = params, costs, timer
        self.residual = Residual(graph, params.eta, params.model)
        self._drawn = 0
        self._last: tuple[Round, int] | None = None
        self._sets = make_sets(reverse, self.residual, params, device)
        self._judge: Judge | None = None
        if params.certificate == "fresh":
            judges = make_sets(reverse, self.residual, params, device, share_graph_with=self._sets)
            self._judge = Judge(judges, 1 if params.ids == "fresh" else SERVES)

    @property
    def _collections(self) -> list[MrrSets]:
        return [self._sets] if self._judge is None else [self._sets, self._judge.sets]

    def totals(self) -> dict[str, int]:
        """Return the counters of the work so far, as fields of :class:`gpukit.merit.problem.Result`."""
        return {
            "probes": sum(one.probes for one in self._collections),
            "updating_probes": self._sets.probes,
            "members": self._sets.peak_members,
            "memory": sum(one.memory() for one in self._collections),
            "planned_memory": sum(one.planned() for one in self._collections),
        }

    def observe(self, last: Round, activated: np.ndarray, *, replay: bool = False) -> None:
        """Remove the vertices that a batch activated from the graph.

        ``replay`` says that the batch was chosen elsewhere; then only a collection with a history is rebuilt.

        Raises
        ------
        InputError
            If the batch was chosen elsewhere, and its numbers cannot result from a choice.
        """
        if last.sets and replay:
            self._check(last)
            if self._sets.has_history:
                self._extend_to(self._sets, last.sets)
        if last.sets and self._judge is not None:
            self._judge.remember(last.judged, last.sets, last.refused)
        self._last = last, self.residual.eta
        self._drawn += last.sets
        weakened = self.residual.kill(activated)
        for one in self._collections:
            one.kill(activated, weakened)
        if not replay and self.params.update != "regenerate" and self.residual.eta > self.params.size:
            # Most rounds begin with as many sets as the previous one, so their update starts now, before the round is
            # planned.
            with self.timer.phase("update"):
                self._sets.begin(last.sets)

    def _plan(self) -> Plan:
        """Return the plan of the round; in the end game, only the sizes that keep the number of roots below a limit."""
        params, living, eta = self.params, self.residual.living, self.residual.eta

        def of(b: int) -> Plan:
            return plan(living, b, params.epsilon, params.certificate, self.costs.sums(b))

        if eta > params.size:
            return of(params.size)
        trials = of(eta)
        limit = max(END_ROOTS, 2 * of(params.size).sizes[0] * living // (params.size + 1))
        return replace(trials, sizes=tuple(size for size in trials.sizes if size * living // eta <= limit))

    def _check(self, last: Round) -> None:
        """Check the numbers of sets of a replayed round: numbers out of range would take forever to rebuild."""
        sizes = self._plan().sizes
        fits = last.sets <= sizes[-1] and last.refused < len(sizes)
        fits = fits and max(last.covered, last.coverage_upper, last.hits or 0) <= last.sets
        if self._judge is not None:
            fits = fits and self._judge.used <= last.judged <= self._judge.reach(last.sets, last.refused)
        if not fits:
            raise InputError("a round has numbers of sets that no choice leads to; the campaign contradicts itself")

    def _extend_to(self, sets: MrrSets, size: int) -> None:
        with self.timer.phase("update"):
            sets.update(size)
        if sets.size < size:
            with self.timer.phase("generate"):
                sets.extend(size)

    def choose(self) -> Round:
        """Return the next batch; its outcome is not observed yet.

        In the end game the η_i cheapest vertices suffice. They are the batch unless a certified batch costs less.
        """
        params, sets, judge = self.params, self._sets, self._judge
        b, refused = min(params.size, self.residual.eta), 0
        sure = self._end() if self.residual.eta <= params.size else None
        if sure is not None and (b == 1 or b == self.residual.living):
            return sure
        trials = self._plan()
        if not trials.sizes:
            assert sure is not None
            return sure
        if params.update == "regenerate":
            sets.restart(self._drawn if params.ids == "fresh" else 0)
        if judge is not None:
            judge.begin(params.update == "regenerate")
        doubt = 1.0 if judge is None else judge.doubt
        place = self._first_place(trials, doubt)
        while True:
            size = trials.sizes[place]
            self._extend_to(sets, size)
            if judge is not None:
                with self.timer.phase("judge"):
                    judge.extend_to(size)
            with self.timer.phase("select"):
                found = sets.select(b, self.costs.values, None if judge is None else judge.sets)
            seeds, hits, covered = found.seeds, found.hits, int(found.gains.sum())
            upper = max_coverage(found.gains.tolist(), self.costs.values[seeds].tolist(), size, found.leaders)
            enough = size == trials.sizes[-1]
            shown = enough or trials.would_certify(size, upper, covered / doubt)
            certified = shown and trials.accepts(size, upper, covered if hits is None else hits)
            if certified or enough:
                kind, used = "certified" if certified else "cap", 0 if judge is None else judge.used
                cost = self.costs.of(seeds)
                if sure is not None and not (certified and cost < sure.cost):
                    return sure
                return Round(seeds, cost, None, size, covered, hits, kind, upper, refused, used)
            if shown and judge is not None:
                refused += 1
                doubt *= MORE
                judge.renew()
            leap = bisect_left(trials.sizes, LEAP * size)
            place = max(place + 1, min(trials.needed(size, upper, covered / doubt), leap, len(trials.sizes) - 1))

    def _first_place(self, trials: Plan, doubt: float) -> int:
        """Return the index of the first size that a round tries."""
        if self._last is None:
            return 0
        last, eta = self._last
        # A vertex is in more sets when fewer vertices remain to be activated.
        growth = eta / self.residual.eta
        needed = 1 + trials.needed(last.sets, last.coverage_upper * growth, last.covered * growth / doubt)
        before = bisect_left(trials.sizes, last.sets)
        place = needed if needed > before else before - (BACK if needed < before - BACK else 0)
        return max(0, min(place, len(trials.sizes) - 1))

    def _end(self) -> Round:
        """Return the round that chooses the η_i cheapest inactive vertices; these alone end the campaign."""
        living = np.flatnonzero(self.residual.dead == 0)
        order = np.argsort(self.costs.values[living], kind="stable")
        seeds = living[order[: self.residual.eta]].astype(np.int32)
        return Round(seeds, self.costs.of(seeds), None, 0, 0, None, "end")
