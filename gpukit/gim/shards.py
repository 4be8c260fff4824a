"""Seeds from RR sets that were drawn in several places, each place a range of sample ids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpukit.errors import InputError
from gpukit.gim.judge import standard_error
from gpukit.gim.known import Known
from gpukit.gim.problem import Result, Step
from gpukit.parameters.option import check_fit
from gpukit.wording import spelled
from gpukit.worlds import cover_cpu
from gpukit.worlds.collection import coverage_of, shared_out

Sets = tuple[np.ndarray, np.ndarray]
"""RR sets as offsets and members."""


@dataclass(frozen=True, eq=False)
class Shard:
    """RR sets of the sample ids first … first + drawn - 1.

    Attributes
    ----------
    name : str
        Name in messages.
    first : int
        First sample id.
    offsets : int64 array
        Start of each set in ``members``.
    members : int32 array
        Elements ``round * n + v``.
    made_from : tuple of (str, value)
        Values that must agree between the shards of one collection, by name: graph, model, sampler, stream, rounds,
        seed, sets, targets.
    drawn : int or None
        Number of sample ids, if the trivial sets among them are left out; None: each id has a set.
    """

    name: str
    first: int
    offsets: np.ndarray
    members: np.ndarray
    made_from: tuple[tuple[str, object], ...]
    drawn: int | None = None

    @property
    def end(self) -> int:
        """The sample id after the last."""
        return self.first + (len(self.offsets) - 1 if self.drawn is None else self.drawn)


def join(shards: Sequence[Shard]) -> Sets:
    """Return the sets of all shards, in the order of their ids, as offsets and members.

    Raises
    ------
    InputError
        If the shards are not of one collection, or their ids overlap or leave a gap.
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
    starts = np.cumsum([0] + [len(shard.members) for shard in ordered])
    pieces = [shard.offsets[1:] + start for shard, start in zip(ordered, starts, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *pieces]), np.concatenate([shard.members for shard in ordered])


def separate(chosen: Sequence[Shard], judging: Sequence[Shard]) -> None:
    """Check that shards can judge seeds chosen from other shards: they were drawn alike and share no sample id.

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


def select(sets: Sets, known: Known, n: int, rounds: int, k: int, *, judge: Sets | None = None) -> Result:
    """Choose k seeds a round from given RR sets.

    Parameters
    ----------
    sets : offsets and members
        Elements ``round * n + v``.
    known : Known
        Known worth of vertices, and Γ.
    n, rounds : int
        Vertices and rounds.
    k : int
        Seeds of each round, in [1, n].
    judge : offsets and members, optional
        Sets that estimate the spread, disjoint from ``sets`` (:func:`separate`).

    Returns
    -------
    Result
        Without a guarantee: the number of sets was not chosen for one.

    Raises
    ------
    UsageError
        If k is out of range.
    InputError
        If there is no set, although sets would matter.
    """
    check_fit("k", k, n)
    sizes = [0 if one is None else len(one[0]) - 1 for one in (sets, judge)]
    if known.gamma > 0 and (sizes[0] == 0 or (judge is not None and sizes[1] == 0)):
        raise InputError(
            f"no sample id gave a set that is not trivial; draw more of them (gim sample {spelled('count')})"
        )
    bonus = known.in_units(sizes[0]) if sizes[0] else known.scaled()
    with shared_out(*sets, n * rounds) as shares:
        seeds, gains, _ = cover_cpu.greedy(
            *sets, shares, n, rounds, k, np.empty(0, np.int32), np.zeros(n * rounds, np.bool_), False,
            cover_cpu.PLAIN if bonus is None else bonus.worth(),
        )  # fmt: skip
    covered = int(gains.sum())
    result = Result(
        seeds=(seeds % n).astype(np.int32),
        rounds=(seeds // n).astype(np.int32) if rounds > 1 else None,
        gains=gains,
        spread_gains=known.gains(seeds, gains, sizes[0]),
        spread_estimate=None,
        selection_estimate=known.spread(seeds, covered, sizes[0]),
        rr_sets=sum(sizes),
        guarantee=None,
        guarantee_kind="none",
        history=(Step("select", sizes[0], covered),),
    )
    if judge is None:
        return result
    hit = int(coverage_of(n * rounds, *judge, seeds)[-1])
    return replace(
        result, spread_estimate=known.spread(seeds, hit, sizes[1]), selection_estimate=None,
        stderr=standard_error(known.gamma, hit, max(sizes[1], 1)),
    )  # fmt: skip
