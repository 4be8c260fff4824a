"""The definition of an mRR set: scalar integer rules, compiled for CPUs and, inside the kernels, for CUDA.

Set r of a round is a function of (seed, r, dead vertices, η_i). Its roots are the first k_r distinct living vertices of
a keyed uniform sequence over all vertices. Its members are all vertices that reach a root through living vertices in
the live-edge world of sample r. k_r never falls. So as vertices die a set keeps its living roots and gains new ones,
and a set without dead members keeps all its members.

The sequence is short: k_r <= n_i/2 + 1, because a round is sampled only while η_i >= 2. So among the living it takes
fewer than n·ln(n_i/(n_i - k_r)) draws on average, and no permutation of the vertices is needed.
"""

from collections import namedtuple

import numba
import numpy as np
from numba import int64, uint64

from gpukit.device.philox import draw4
from gpukit.merit.clocks import first_clock
from gpukit.worlds.reverse import Reverse
from gpukit.worlds.rule import CALLS_PER_ROW, lt_choice

SEQUENCE, COUNT = 0, 1
"""Vertex field of the two keyed draws of the root stream: the sequence of vertices, and the uniform behind k_r."""

DRAWS = 64
"""Draws of an LT vertex that may hit dead vertices before clocks decide."""


class InEdges(namedtuple("InEdges", "rows indices accept thresholds lt_kind lt_constant lt_prefix")):
    """Tables for drawing live in-edges: the fields of the same names of :class:`gpukit.worlds.reverse.Reverse`."""


def edges_of(reverse: Reverse) -> InEdges:
    """Return the tables for drawing live in-edges, in host memory."""
    constant = np.uint64(reverse.lt_constant)
    tables = (reverse.rows, reverse.indices, reverse.accept, reverse.thresholds)
    return InEdges(*tables, reverse.lt_kind, constant, reverse.lt_prefix)


class Remaining(namedtuple("Remaining", "dead living eta living_in raw")):
    """The residual graph (:class:`gpukit.merit.residual.Residual`), and ``raw``: whether LT weights stay unchanged."""


class Key(namedtuple("Key", "seed tag root_tag")):
    """Key of the draws: the user's seed, and the streams of the coins and of the roots."""


class Span(namedtuple("Span", "first step begin have end")):
    """Sets to bring up to the current round: ``begin`` … ``end`` - 1; sets from ``have`` on are new.

    On the CPU these are numbers in a segment; set j of a segment has the id ``first + j * step``. In
    :mod:`gpukit.papers.merit.rings` they are numbers in the collection: set r has the id ``first + r`` and lies in
    segment r modulo ``step``, the number of segments.
    """


class Sets(namedtuple("Sets", "starts sizes roots cursors")):
    """Places and roots of the sets of a segment, or of rings.

    Attributes
    ----------
    starts : int64 array; int32 where sets lie in rings
        Place of each set's first member, within its ring if sets lie in rings. Roots are the first members.
    sizes, roots : int32 arrays
        Members and roots of each set.
    cursors : int64 array
        Words of its root sequence that each set has consumed.
    """


@numba.njit
def root_count(living, eta, seed, tag, sample):
    """Return k_r = floor(n_i/η_i + u_r) for the set's one 32-bit uniform u_r.

    Parameters
    ----------
    living, eta : int
        n_i and η_i, 1 <= η_i <= n_i < 2**31.
    seed, tag, sample
        Key of the root stream.

    Returns
    -------
    int64
        In [1, n_i]; n_i/η_i in expectation, to 2**-32.
    """
    uniform = uint64(draw4(seed, tag, sample, COUNT, 0)[0])
    return int64(((uint64(living) << uint64(32)) + uniform * uint64(eta)) // (uint64(eta) << uint64(32)))


def make_living_choice(choose, decide):
    """Return :func:`living_choice` with the given functions for ``lt_choice`` and ``first_clock``."""

    def living_choice(edges, remaining, degree, start, key, sample, vertex):
        """Return the position of the one live in-edge of a vertex under LT in the residual graph, or -1 for none.

        The threshold of an inactive vertex is above the weight of its active in-neighbours. So the other weights count
        relative to the remaining weight: the choice is repeated until it falls on a living in-neighbour or on none. If
        the dead have nearly all of the weight, this could take forever: after ``DRAWS`` draws clocks decide, with the
        same probabilities (:func:`gpukit.merit.clocks.first_clock`). Choices of living vertices never change, so sets
        without dead members stay valid.

        Parameters
        ----------
        edges : InEdges
        remaining : Remaining
            ``raw``: take the first choice; no edge if it is a dead vertex (as printed in the paper).
        degree, start : int
            Number of in-edges of the vertex, and the first of them.
        key : Key
        sample, vertex
            The sample and the vertex whose draw it is.
        """
        if degree == 0 or (remaining.living_in[vertex] == 0 and not remaining.raw):
            return int64(-1)
        kind, constant, prefix, dead = edges.lt_kind, edges.lt_constant, edges.lt_prefix, remaining.dead
        for draw in range(DRAWS):
            number = draw * CALLS_PER_ROW
            chosen = int64(choose(kind, degree, start, constant, prefix, key.seed, key.tag, sample, vertex, number))
            if chosen < 0 or dead[edges.indices[start + chosen]] == 0:
                return chosen
            if remaining.raw:
                return int64(-1)
        return decide(kind, degree, start, constant, prefix, key.seed, sample, vertex, edges.indices, dead)

    return living_choice


living_choice = numba.njit(make_living_choice(lt_choice, first_clock))
