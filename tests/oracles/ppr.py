"""Personalised PageRank by a dense solve, and the whole of kPAR in plain Python: dictionaries and big integers."""

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


def kpar(graph, index, schedule, delta_min, start, k):
    """Return [(vertex, π̂ in units of 2**-62)] and the number of values of δ, with every vertex estimated in full.

    ``index`` has ω in ``walks``, ω_I in ``arrivals`` and rows by start in ``forward``; ``start`` maps ids to units.
    """
    n, epsilon = graph.n, index.params.epsilon
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
        for v, amount in residue.items():
            for i in range(begin[v], begin[v + 1]):
                score[ends[i]] += amount // omega[v] * freqs[i]
        order = sorted((v for v in score if score[v] > 0), key=lambda v: (-score[v], v))
        last = number == len(schedule) - 1 or not any(residue.values())
        positive = sorted((x for x in reserve.values() if x), reverse=True)
        least = positive[k - 1] if len(positive) >= k else 0
        tested = worked >= step.patience
        if last or (tested and _passes(step, order, score, reserve, index, least, k, delta_min, epsilon)):
            return [(v, score[v]) for v in order[:k]], number + 1
        following = schedule[number + 1].rho
        frontier = [v for v, amount in residue.items() if amount > omega[v] * following]
    raise AssertionError("the schedule is empty")


def _passes(step, order, score, reserve, index, least, k, delta_min, epsilon):
    def upper(value, walked):
        a, b, d = step.upper
        return value + a + math.sqrt(b + d * walked)

    def lower(v):
        a, b, d = step.lower
        value = score[v] / ONE
        return max(reserve[v] / ONE, value + a - math.sqrt(b + d * ((score[v] - reserve[v]) / ONE)))

    def upper_of(v):
        return upper(score[v] / ONE, (score[v] - reserve[v]) / ONE)

    candidates = [v for v in reserve if reserve[v] + int(index.arrivals[v]) * step.rho >= least]
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
