"""Seeds out of RR sets that were drawn in several places, each a range of sample ids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpukit.errors import InputError, UsageError
from gpukit.gim.judge import standard_error
from gpukit.gim.problem import Result, Step
from gpukit.worlds import cover_cpu
from gpukit.worlds.collection import coverage_of

Sets = tuple[np.ndarray, np.ndarray]
"""RR sets as offsets and members."""


@dataclass(frozen=True, eq=False)
class Shard:
    """RR sets with sample ids first … first + len(offsets) - 2.

    Attributes
    ----------
    name : str
        What messages call it.
    first : int
        First sample id.
    offsets : int64 array
        Start of each set in ``members``.
    members : int32 array
        Elements ``round * n + v``.
    made_from : tuple of (str, value)
        What must agree between shards of one collection, by name: graph, model, sampler, stream, rounds, seed.
    """

    name: str
    first: int
    offsets: np.ndarray
    members: np.ndarray
    made_from: tuple[tuple[str, object], ...]

    @property
    def end(self) -> int:
        """The sample id after the last."""
        return self.first + len(self.offsets) - 1


def join(shards: Sequence[Shard]) -> Sets:
    """Return the sets of all shards, in the order of their ids, as offsets and members.

    Raises
    ------
    InputError
        If the shards are not of one collection, or their ids overlap or leave a gap, or there are no sets.
    """
    ordered = sorted(shards, key=lambda shard: (shard.first, shard.end))
    for one, other in zip(ordered, ordered[1:], strict=False):
        _check_alike(one, other)
        if one.end != other.first:
            what = "overlap" if one.end > other.first else "leave a gap"
            raise InputError(
                f"the sample ids of {one.name} (to {one.end - 1}) and {other.name} (from {other.first}) {what}; "
                "give ranges that follow each other"
            )
    if ordered[0].first == ordered[-1].end:
        raise InputError(f"{ordered[0].name} holds no sets; give RR sets that `gpukit gim sample` drew")
    starts = np.cumsum([0] + [len(shard.members) for shard in ordered])
    pieces = [shard.offsets[1:] + start for shard, start in zip(ordered, starts, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *pieces]), np.concatenate([shard.members for shard in ordered])


def separate(chosen: Sequence[Shard], judging: Sequence[Shard]) -> None:
    """Check that shards can judge what is chosen from others: drawn alike, without a sample id in common.

    Raises
    ------
    InputError
        If they cannot.
    """
    for one in chosen:
        for other in judging:
            _check_alike(one, other)
            if max(one.first, other.first) < min(one.end, other.end):
                raise InputError(
                    f"{one.name} and {other.name} both hold sample id {max(one.first, other.first)}; "
                    "seeds are judged by sets that they were not chosen from"
                )


def _check_alike(one: Shard, other: Shard) -> None:
    for (what, here), (_, there) in zip(one.made_from, other.made_from, strict=True):
        if here != there:
            raise InputError(f"{one.name} and {other.name} differ in {what} ({here}, {there}); draw them alike")


def select(
    offsets: np.ndarray, members: np.ndarray, n: int, rounds: int, k: int, *, judge: Sets | None = None
) -> Result:
    """Choose k seeds a round from given RR sets.

    Parameters
    ----------
    offsets : int64 array, shape (s + 1,)
    members : int32 array
        The sets, end to end: elements ``round * n + v``.
    n, rounds : int
        Vertices and rounds.
    k : int
        Seeds of each round, in [1, n].
    judge : offsets and members, optional
        Sets to estimate the spread with, none of them among the others (:func:`separate`).

    Returns
    -------
    Result
        Without a guarantee: how many sets there are was not chosen with one in mind.

    Raises
    ------
    UsageError
        If k is out of range.
    """
    if not 1 <= k <= n:
        raise UsageError(f"k is {k}; 1 to {n}, the number of vertices, are allowed")
    counts = np.bincount(members, minlength=n * rounds).astype(np.int32)
    seeds, gains, _ = cover_cpu.greedy(
        offsets, members, counts, n, rounds, k, np.empty(0, np.int32), np.zeros(n * rounds, np.bool_), False,
        cover_cpu.PLAIN,
    )  # fmt: skip
    sets, covered = len(offsets) - 1, int(gains.sum())
    result = Result(
        seeds=(seeds % n).astype(np.int32),
        rounds=(seeds // n).astype(np.int32) if rounds > 1 else None,
        gains=gains,
        spread_estimate=None,
        selection_estimate=n * covered / sets,
        rr_sets=sets,
        guarantee=None,
        guarantee_kind="none",
        history=(Step("select", sets, covered),),
    )
    if judge is None:
        return result
    judging = len(judge[0]) - 1
    hit = int(coverage_of(n * rounds, *judge, seeds)[-1])
    return replace(
        result, spread_estimate=n * hit / judging, selection_estimate=None, rr_sets=sets + judging,
        stderr=standard_error(n, hit, judging),
    )  # fmt: skip
