"""kPAR's query without an index in plain Python, with dictionaries and big integers; it examines every vertex."""

import math

from gpukit.kpar.rule import any_walk_end

ONE = 1 << 62
STEP_COST = 4


def kpar_direct(graph, omega, schedule, params, delta_min, start, k, key, among=None):
    """Return [(vertex, score)], the number of values of δ, and the walks that each step drew (-1: none tried)."""

    def named(values):
        return {v: value for v, value in values.items() if among is None or among[v]}

    n, go_on = graph.n, round((1 - params.alpha) * 2**32)
    rows = {v: [int(u) for u in graph.indices[graph.indptr[v] : graph.indptr[v + 1]]] for v in range(n)}
    residue, reserve, drawn = dict(start), dict.fromkeys(range(n), 0), []
    worked = spent = aim = 0
    frontier = sorted(residue)
    for number, step in enumerate(schedule):
        while frontier:
            taken = {v: residue.pop(v) for v in frontier}
            for v, amount in taken.items():
                share = (amount * go_on >> 32) // len(rows[v]) if rows[v] else 0
                reserve[v] += amount - share * len(rows[v])
                worked += len(rows[v]) if share or (rows[v] and amount * go_on >> 32) else 0
                for u in rows[v]:
                    where = residue if rows[u] else reserve
                    where[u] = where.get(u, 0) + share
            frontier = [v for v, amount in residue.items() if amount > omega[v] * step.rho]
        residue = {v: amount for v, amount in residue.items() if amount}
        last = number == len(schedule) - 1
        aim = number if last else aim
        left, rho = sum(residue.values()), schedule[aim].rho
        drawn.append(-1)
        if worked >= step.patience or not left or last:
            if _certain(named(reserve), left, k, delta_min, params.epsilon):
                return _best(named(reserve), k), number + 1, drawn
            walks = {v: -(-amount // rho) for v, amount in residue.items()}
            cost = sum(walks.values()) * STEP_COST * 2**32 // (2**32 - go_on)
            if last or spent + cost <= worked:
                spent += cost
                drawn[-1] = sum(walks.values())
                score = dict(reserve)
                for v, count in walks.items():
                    for i in range(count):
                        end = any_walk_end(graph.indptr, graph.indices, None, go_on, *key, i, v)
                        score[end] += residue[v] // count
                if last or _passes(schedule[aim], named(score), reserve, k, delta_min, params.epsilon):
                    return _best(named(score), k), number + 1, drawn
                aim = min(aim + 2, len(schedule) - 1)
        following = schedule[min(number + 1, len(schedule) - 1)].rho
        frontier = [v for v, amount in residue.items() if amount > omega[v] * following]
    raise AssertionError("the schedule is empty")


def _best(score, k):
    return sorted(((v, s) for v, s in score.items() if s > 0), key=lambda pair: (-pair[1], pair[0]))[:k]


def _certain(reserve, left, k, delta_min, epsilon):
    """Test Definition 1 at each position, with π° as the answer and π° + R as the upper bound of every vertex."""
    values = sorted(reserve.values(), reverse=True)[:k]
    return all(
        (value + left) / ONE <= delta_min or value / ONE >= (1 - epsilon) * ((value + left) / ONE) for value in values
    )


def _passes(step, score, reserve, k, delta_min, epsilon):
    """Test Definition 1 with the bounds of Theorem 2."""

    def bound(v, which, sign):
        a, b, d = getattr(step, which)
        return score[v] / ONE + a + sign * math.sqrt(b + d * ((score[v] - reserve[v]) / ONE))

    nothing = step.upper[0] + math.sqrt(step.upper[1])
    uppers = sorted((bound(v, "upper", 1) for v in score if score[v]), reverse=True)
    for i, limit in enumerate([max(upper, nothing) for upper in uppers[:k]]):
        if limit <= delta_min:
            return True
        v, value = _best(score, k)[i]
        value /= ONE
        low = max(reserve[v] / ONE, bound(v, "lower", -1))
        high = bound(v, "upper", 1)
        if low < (1 - epsilon) * limit or value > (1 + epsilon) * low or value < (1 - epsilon) * high:
            return False
    return len(uppers) >= k or nothing <= delta_min
