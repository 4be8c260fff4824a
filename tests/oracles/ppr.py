"""Personalised PageRank by a dense solver, and all of kPAR in plain Python, with dictionaries and big integers."""

import math

import numpy as np

ONE = 1 << 62


def exact(graph, start, alpha=0.2, weights=None):
    """Return π (float64, n) for a start distribution; a vertex without out-edges absorbs; ``weights`` are of edges."""
    n = graph.n
    step, stop = np.zeros((n, n)), np.ones(n)
    for v in range(n):
        heads = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
        if len(heads):
            row = np.ones(len(heads)) if weights is None else weights[graph.indptr[v] : graph.indptr[v + 1]]
            step[v, heads] = (1 - alpha) * row / row.sum()
            stop[v] = alpha
    return np.linalg.solve((np.eye(n) - step).T, np.asarray(start, float)) * stop


def networkx_ppr(graph, start, alpha=0.2, weights=None):
    """Return the same from networkx, with a self-loop at each vertex without out-edges."""
    import networkx

    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    weights = np.ones(graph.m) if weights is None else weights
    other = networkx.DiGraph()
    other.add_weighted_edges_from(zip(tails.tolist(), graph.indices.tolist(), weights.tolist(), strict=True))
    other.add_nodes_from(range(graph.n))
    other.add_edges_from([(v, v) for v in range(graph.n) if graph.indptr[v] == graph.indptr[v + 1]])
    found = networkx.pagerank(other, 1 - alpha, personalization=dict(enumerate(start)), tol=1e-15, max_iter=1000)
    return np.array([found[v] for v in range(graph.n)])


def _shares(amount, count, words):
    """Return how ``amount`` is split between ``count`` edges; ``words``: their weights as whole numbers, or None."""
    if not words:
        return [amount // count] * count if count else []
    whole = sum(words)
    upto = [amount * ((sum(words[: i + 1]) << 64) // whole) >> 64 for i in range(len(words) - 1)]
    upto.append(amount)
    return [b - a for a, b in zip([0, *upto], upto, strict=False)]


def kpar(graph, index, schedule, delta_min, start, k, refine=False, among=None):
    """Return [(vertex, π̂ in units of 2**-62)] and the number of values of δ, with every vertex estimated in full.

    With ``refine`` the list is refined, and a third value says which of its positions are certain. With ``among`` the
    list has only these vertices.

    ``index`` has ω in ``walks``, ω_I in ``arrivals`` and rows by start in ``forward``; ``start`` maps ids to units.
    """
    n, epsilon = graph.n, index.params.epsilon
    among = set(range(n) if among is None else among)
    go_on = round((1 - index.params.alpha) * 2**32)
    rows = {v: [int(u) for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]] for v in range(n)}
    words = dict.fromkeys(range(n))
    if index.params.weighted:
        words = {v: [int(x) + 1 for x in graph.probabilities[graph.indptr[v] : graph.indptr[v + 1]]] for v in range(n)}
    omega = [int(w) for w in index.walks]
    begin, ends, freqs = (part.tolist() for part in index.forward)
    residue, reserve = dict(start), dict.fromkeys(range(n), 0)
    frontier, worked = sorted(residue), 0
    for number, step in enumerate(schedule):
        while frontier:
            taken = {v: residue.pop(v) for v in frontier}
            for v, amount in taken.items():
                shares = _shares(amount * go_on >> 32, len(rows[v]), words[v])
                reserve[v] += amount - sum(shares)
                worked += len(rows[v]) if any(shares) else 0
                for u, share in zip(rows[v], shares, strict=True):
                    if rows[u]:
                        residue[u] = residue.get(u, 0) + share
                    else:
                        reserve[u] += share
            assert sum(residue.values()) + sum(reserve.values()) == ONE
            frontier = [v for v, amount in residue.items() if amount > omega[v] * step.rho]
        score = dict(reserve)
        carried = {v: _rounded(amount // omega[v], step.rho) for v, amount in residue.items() if omega[v]}
        for v, amount in carried.items():
            for i in range(begin[v], begin[v + 1]):
                score[ends[i]] += amount * freqs[i]
        order = sorted((v for v in among if score[v] > 0), key=lambda v: (-score[v], v))
        last = number == len(schedule) - 1 or not any(residue.values())
        positive = sorted((x for v, x in reserve.items() if x and v in among), reverse=True)
        least = positive[k - 1] if len(positive) >= k else 0
        tested = worked >= step.patience
        if last or (tested and _passes(step, order, score, reserve, index, least, k, delta_min, epsilon, among)):
            if not refine:
                return [(v, score[v]) for v in order[:k]], number + 1
            candidates = [v for v in among if reserve[v] + int(index.arrivals[v]) * step.rho >= least]
            candidates = sorted(candidates if least else order, key=lambda v: (-score[v], v))
            state = {"score": score, "reserve": reserve, "residue": residue, "carried": carried, "worked": worked}
            bounds = _Bounds(step, score, reserve, least, candidates, k, delta_min, epsilon)
            if not any(residue.values()):
                return [(v, score[v]) for v in order[:k]], number + 1, [True] * min(k, len(order))
            after, intervals = score, {v: (bounds.low(v), bounds.high(v)) for v in candidates}
            if not last:
                after, intervals = _second_look(graph, index, words, go_on, bounds, state, intervals)
            length = min(k + 32, len(candidates))
            order = sorted(candidates[:length], key=lambda v: (-after[v], v))
            outside = [bounds.outside, *(intervals[v][1] for v in [*order[k:], *candidates[length:]])]
            certain = [intervals[v][0] >= max(outside) for v in order[:k]]
            return [(v, after[v]) for v in order[:k]], number + 1, certain
        following = schedule[number + 1].rho
        frontier = [v for v, amount in residue.items() if amount > omega[v] * following]
    raise AssertionError("the schedule is empty")


def _rounded(unit, rho):
    """Return the mass of a walk: ``unit`` without the bits below the 27 of ρ, and then only its first 12 bits.

    The second step loses at most one part in 2048.
    """
    unit >>= max(0, rho.bit_length() - 27)
    unit = unit >> max(0, unit.bit_length() - 12) << max(0, unit.bit_length() - 12)
    return unit << max(0, rho.bit_length() - 27)


def _passes(step, order, score, reserve, index, least, k, delta_min, epsilon, among):
    def upper(value, walked):
        a, b, d = step.upper
        return value + walked / 2048 + a + math.sqrt(b + d * (walked + walked / 2048))

    def lower(v):
        a, b, d = step.lower
        value = score[v] / ONE
        return max(reserve[v] / ONE, value + a - math.sqrt(b + d * ((score[v] - reserve[v]) / ONE)))

    def upper_of(v):
        return upper(score[v] / ONE, (score[v] - reserve[v]) / ONE)

    candidates = [v for v in among if reserve[v] + int(index.arrivals[v]) * step.rho >= least]
    bounds = sorted((upper_of(v) for v in candidates), reverse=True)
    outside = upper(least / ONE, least / ONE)
    for i in range(k):
        limit = max(bounds[i], outside)
        if limit <= delta_min:
            return True
        if i >= len(order):
            return False
        v = order[i]
        value, low, high = score[v] / ONE, lower(v), upper_of(v)
        if low < (1 - epsilon) * limit or value > (1 + epsilon) * low or value < (1 - epsilon) * high:
            return False
    return True


class _Bounds:
    def __init__(self, step, score, reserve, least, candidates, k, delta_min, epsilon):
        self.step, self.score, self.reserve, self.order, self.k = step, score, reserve, candidates, k
        self.outside, self.epsilon, self.delta_min = self.high_at(least / ONE, least / ONE), epsilon, delta_min
        highs = sorted((self.high(v) for v in candidates), reverse=True)[:k]
        self.limits = [max(high, self.outside) for high in highs] + [self.outside] * (k - len(highs))

    def high_at(self, value, walked, part=1.0):
        a, b, d = self.step.upper
        lost = walked / 2048
        return value + lost + a * part + math.sqrt(b * part**2 + d * part * (walked + lost))

    def low_at(self, value, walked, part=1.0):
        a, b, d = self.step.lower
        return max(value - walked, value + a * part - math.sqrt(b * part**2 + d * part * walked))

    def high(self, v):
        return self.high_at(self.score[v] / ONE, (self.score[v] - self.reserve[v]) / ONE)

    def low(self, v):
        return self.low_at(self.score[v] / ONE, (self.score[v] - self.reserve[v]) / ONE)

    def hold(self, order, after, intervals):
        """Return whether Definition 1 follows for the first k vertices of an order."""
        for v, limit in zip(order[: self.k], self.limits, strict=False):
            low, high = intervals[v]
            value = after[v] / ONE
            if limit <= self.delta_min:
                return True
            if (
                low < (1 - self.epsilon) * limit
                or value > (1 + self.epsilon) * low
                or value < (1 - self.epsilon) * high
            ):
                return False
        return True


def _second_look(graph, index, words, go_on, bounds, state, intervals):
    """Return scores and bounds after one backward push from each contender that the budget allows."""
    k, order, score = bounds.k, bounds.order, state["score"]
    length = min(k + 32, len(order))
    if length <= k:
        return score, intervals
    begin, ends, freqs = (part.tolist() for part in index.forward)
    walked = dict.fromkeys(range(graph.n), 0)
    for v, amount in state["carried"].items():
        for i in range(begin[v], begin[v + 1]):
            walked[ends[i]] += amount * freqs[i]
    heads = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist() for v in range(graph.n)]
    tails = {v: [w for w in range(graph.n) if v in heads[w]] for v in order[:length]}
    inside, outside = intervals[order[k - 1]][0], intervals[order[k]][1]
    left, rows = int(state["worked"] / max(2, min(k // 8, 12))), graph.n
    after, narrowed = dict(score), dict(intervals)
    for place in sorted(range(max(0, k - 32), length), key=lambda place: abs(place - k + 0.5 + 0.1)):
        v, into = order[place], tails[order[place]]
        low, high = intervals[v]
        if low > outside if place < k else high < inside:
            continue
        cost = len(into) + sum(int(index.arrivals[w]) for w in into) // 2
        if cost > left or len(into) > rows:
            continue
        left, rows = left - cost, rows - len(into)
        alpha, absorbs = 1 - go_on / 2**32, not heads[v]

        def brings(w, amount, v=v):
            return _shares(amount * go_on >> 32, len(heads[w]), words[w])[heads[w].index(v)]

        part = max((brings(w, ONE) / ONE for w in into), default=0.0) / (alpha if absorbs else 1)
        if part >= 1:
            continue
        brought, kept = sum(brings(w, walked[w]) for w in into), state["reserve"][v]
        if absorbs:
            brought = (brought << 32) // ((1 << 32) - go_on)
        else:
            rest = state["residue"].get(v, 0)
            kept += rest - (rest * go_on >> 32)
        value = (kept + brought) / ONE
        low, high = (
            max(low, bounds.low_at(value, brought / ONE, part)),
            min(high, bounds.high_at(value, brought / ONE, part)),
        )
        if kept + brought > 0 and low <= value <= high:
            after[v], narrowed[v] = kept + brought, (low, high)
    again = sorted(order[:length], key=lambda v: (-after[v], v))
    return (after, narrowed) if bounds.hold(again, after, narrowed) else (score, intervals)
