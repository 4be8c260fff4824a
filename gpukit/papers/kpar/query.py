"""Queries with the printed variants of the paper, and with checks; on the CPU."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np

from gpukit.kpar.index.build import Index, hubs_of
from gpukit.kpar.problem import CONTEXT, ONE, Constants, Result, Sources, Step, step_arrays
from gpukit.kpar.query.answer import Prepared, Schedule, Task


def query(
    prepared: Prepared,
    sources: Sources,
    k: int,
    *,
    threads: int = 1,
    to_end: bool = False,
    printed: bool = False,
    resort: bool = False,
    watch: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Answer a batch like :func:`gpukit.kpar.query.answer.query`, with ablations or checks.

    Parameters
    ----------
    prepared, sources, k, threads, to_end, progress
        As there.
    printed : bool
        Whether to stop by the test as printed in the paper, without the guarantee.
    resort : bool
        Whether to draw walks at δ_min as a last resort, as printed, instead of continuing to δ_end.
    watch : bool
        Whether to check after every round that residues and reserves sum to one (slow).

    Returns
    -------
    Result

    Raises
    ------
    RuntimeError
        If ``watch`` finds a round whose sum is not one.
    """
    return Printed.like(prepared, printed, resort, watch).query(
        sources, k, threads=threads, to_end=to_end, progress=progress
    )


class Printed(Prepared):
    """Prepared data for queries with ablations or checks."""

    printed: bool
    resort: bool
    watch: bool

    @classmethod
    def like(cls, prepared: Prepared, printed: bool, resort: bool, watch: bool) -> "Printed":
        """Return prepared data for queries with variants (:func:`query`)."""
        made = cls(**vars(prepared))
        made.printed, made.resort, made.watch = printed, resort, watch
        return made

    def schedule(self, k: int, to_end: bool) -> Schedule:
        """Return the values of δ, as printed if the stop test or the last resort is."""
        if not (self.printed or self.resort):
            return super().schedule(k, to_end)
        steps = printed_schedule(self.constants, k, to_end=to_end, short=self.resort)
        return steps, step_arrays(steps)

    def kernel(self, task: Task) -> Callable[..., Any]:
        """Return the function that answers some queries on one core: :func:`gpukit.papers.kpar.query_cpu.answer`."""
        from gpukit.papers.kpar import query_cpu

        test = printed_bounds(self.constants, task.steps, self.index) if self.printed else np.empty((0, 2))
        worth = walk_worth(self.constants) if self.resort else 0

        def answer(*given: Any) -> None:
            *inputs, space, out = given
            if wrong := query_cpu.answer(*inputs, test, worth, self.watch, space, out):
                raise RuntimeError(f"{wrong} rounds of a push lost or gained mass")

        return answer


@cache
def printed_schedule(constants: Constants, k: int, *, to_end: bool = False, short: bool = False) -> list[Step]:
    """Return the values of δ as printed: queries are tested from the first on, and no δ is below the last.

    Parameters
    ----------
    constants : Constants
    k : int
    to_end : bool
        Whether no query is tested above the last value.
    short : bool
        Whether the last value is δ_min, at which walks are the last resort; otherwise it is δ_end.
    """
    with localcontext(CONTEXT):
        first, delta_min = constants.kth_value(k) / 10, constants.delta_min
        return constants.halved(max(first, delta_min), delta_min if short else constants.delta_end, 0, to_end=to_end)


def walk_worth(constants: Constants) -> int:
    """Return the residue of a walk of the last resort in units of 2**-62 (line 28 of algorithm 3, at δ_min)."""
    with localcontext(CONTEXT):
        e = Decimal(repr(constants.params.epsilon))
        return int(ONE * e * e * constants.delta_min / (4 * (e / 3 + 2) * constants.log_term))


def printed_bounds(constants: Constants, schedule: list[Step], index: Index) -> np.ndarray:
    """Return (steps, 2) float64 for the printed stop test: the constant of (12), and the bound (11).

    Vertices of H, at which more than 8ψ walks end, count as processed; an index with a list of H need not be searched.
    """
    e = constants.params.epsilon
    hubs = index.hubs if index.hubs is not None else hubs_of(index.arrivals, constants)
    others = int(np.delete(index.arrivals, hubs).max(initial=0))
    top, delta_min = 2 * e / 3 + 2, float(constants.delta_min)
    return np.array(
        [(top / (e * e * math.sqrt(one.delta * delta_min)), one.delta / 2 + one.rho / ONE * others) for one in schedule]
    )
