"""Spread of the seeds of gIM and of its competitors, by forward simulation."""

import math
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

import numpy as np

from gpukit import gim, imgpu
from gpukit.device.select import Device
from gpukit.errors import DeviceError
from gpukit.evaluate import Until, forward_spread
from gpukit.gim.baselines import degree, degree_discount
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights

METHODS = ("gim", "degree", "degree-discount", "imgpu", "imm", "imm-20")
"""``gim`` is the default; ``imm-20`` has 20 times the sets of ``imm``, which has ε = 0.05."""

EPSILON, TIMES = 0.05, 20


class _TooLong(Exception):
    """A competitor has used up its time, or will do so."""


class _Watch:
    """Stops a method if its CPU time exceeds ``limit_s``, or is predicted to exceed twice that.

    The prediction uses the pace since the total was last set, and counts after a twentieth of the limit.
    """

    def __init__(self, start: float, limit_s: float) -> None:
        self.start, self.limit_s = start, limit_s
        self._since, self._done, self._total = start, 0, 0

    def __call__(self, done: int, total: int) -> None:
        now = process_time()
        if total != self._total or done < self._done:
            self._since, self._done, self._total = now, done, total
        spent = now - self._since
        ahead = spent * (total - done) / max(1, done - self._done)
        if now - self.start > self.limit_s or (spent > self.limit_s / 20 and ahead > 2 * self.limit_s):
            raise _TooLong


def reweighted(graph: Graph, weights: Weights) -> Graph:
    """Return a graph with other edge probabilities."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    made = build_graph(tails, graph.indices, weights=weights, ids=False, n=graph.n)
    return replace(made, ids=graph.ids, labels=graph.labels, undirected=graph.undirected)


class Contest:
    """Methods on one graph, for ascending numbers of seeds.

    Parameters
    ----------
    graph : Graph
        With its transpose and edge probabilities.
    model : str
        ``ic`` or ``lt``; IMGPU supports only ``ic``.
    device : Device
    seed : int
    error : float
        Largest value of two standard errors of a spread, as a share of it.
    limit_s : float
        Most CPU seconds of a competitor, over all threads. A competitor that takes longer, or is predicted to take
        twice as long, is stopped and left out, also for larger k. ``imm-20`` is left out if 20 times the time of
        ``imm`` is more.
    """

    def __init__(self, graph: Graph, model: str, device: Device, seed: int, error: float, limit_s: float) -> None:
        self.graph, self.model, self.device, self.seed = graph, model, device, seed
        self.until, self.limit_s = Until(error), limit_s
        self._left_out: dict[str, str] = {}
        self._imm: dict[int, tuple[int, float]] = {}

    def measure(self, method: str, k: int) -> dict[str, Any]:
        """Return the spread of k seeds of a method (``spread``, ``stderr``, ``runs``), and the time of the choice.

        The record also has the method's own values, except its standard error. A competitor that was left out has only
        the reason, ``left_out``. ``imm`` must come before ``imm-20``.
        """
        record: dict[str, Any] = {"method": method, "k": k, "model": self.model, "error": self.until.error}
        if method == "imgpu" and self.model != "ic":
            return record | {"left_out": "knows independent cascade alone"}
        if method == "imm-20" and k not in self._imm:
            return record | {"left_out": "imm, whose sets it multiplies, was left out"}
        if method not in self._left_out:
            start, wall = process_time(), perf_counter()
            try:
                seeds, facts = self._choose(method, k, start)
            except _TooLong:
                self._left_out[method] = f"over {self.limit_s / 60:g} core-minutes"
            except DeviceError as error:
                self._left_out[method] = str(error)
            else:
                spent = {"core_s": process_time() - start, "time_s": perf_counter() - wall}
                if method == "imm":
                    self._imm[k] = facts["rr_sets"], spent["core_s"]
                judged = forward_spread(
                    self.graph, seeds, model=self.model, runs=self.until, seed=self.seed, device=self.device
                )
                found = {"spread": judged.spread, "stderr": judged.stderr, "runs": judged.runs}
                return record | facts | found | spent
        return record | {"left_out": self._left_out[method]}

    def _choose(self, method: str, k: int, start: float) -> tuple[Sequence[int] | np.ndarray, dict[str, Any]]:
        """Return the seeds, and the method's own values; raises _TooLong."""
        watch = _Watch(start, math.inf if method == "gim" else self.limit_s)
        if method == "degree":
            return degree(self.graph, k), {}
        if method == "degree-discount":
            return degree_discount(self.graph, k, self.model), {}
        if method == "imgpu":
            found = imgpu.maximise(self.graph, imgpu.Params(k, seed=self.seed), self.device, progress=watch)
            return found.seeds, {name: found.facts()[name] for name in ("spread_estimate", "worlds", "optimism")}
        params = gim.Params(k=k, model=self.model, seed=self.seed)  # type: ignore[arg-type]
        if method != "gim":
            params = replace(params, bound="imm", epsilon=EPSILON, min_sets=0)
        if method == "imm-20":
            sets, seconds = self._imm[k]
            if TIMES * seconds > self.limit_s:
                raise _TooLong
            params = replace(params, min_sets=TIMES * sets)
        chosen = gim.maximise(self.graph, params, self.device, progress=watch)
        return chosen.seeds, chosen.facts()
