"""Kernels of :mod:`gpukit.graph.sort`. The *code* of a key is the concatenation of its tail and head, ``bits`` each."""

import numpy as np

from gpukit.device.compiled import njit

DIGIT = 8
"""Bits of a code that one pass distinguishes."""

FEW, ROOM = 24, 1 << 16
"""Most keys sorted by insertion; most keys sorted with a second array of equal size, which fit a core's cache."""


@njit
def digit_starts(keys, bits, shift):
    """Return the start of each digit's keys, after a split by the digit of their codes at ``shift``, and the end.

    The result is an int64 array of shape (2**DIGIT + 1,). Cost: one pass.
    """
    starts = np.zeros((1 << DIGIT) + 1, np.int64)
    for key in keys:
        starts[_digit(key, bits, shift) + 1] += 1
    for digit in range(1 << DIGIT):
        starts[digit + 1] += starts[digit]
    return starts


@njit
def gather_digit(keys, starts, heads, digit, bits, shift):
    """Move the keys of a digit to their final range, which later calls for other digits do not change.

    Keys are moved along cycles ("American flag sort": P. M. McIlroy, K. Bostic and M. D. McIlroy, "Engineering radix
    sort", 1993). Cost: one pass for all digits together, in any order.

    Parameters
    ----------
    keys : int64 array
    starts : int64 array
        The result of :func:`digit_starts`.
    heads : int64 array
        Next place for a key of each digit: ``starts`` at first, changed here.
    digit, bits, shift : int64
    """
    while heads[digit] < starts[digit + 1]:
        key = keys[heads[digit]]
        other = _digit(key, bits, shift)
        while other != digit:
            place = heads[other]
            heads[other] += 1
            key, keys[place] = keys[place], key
            other = _digit(key, bits, shift)
        keys[heads[digit]] = key
        heads[digit] += 1


@njit
def sort_codes(keys, bits, top, room):
    """Sort keys in place whose codes differ only in the bits below ``top``; ``room`` is an auxiliary int64 array."""
    if len(keys) <= FEW:
        _sort_few(keys)
    elif len(keys) <= len(room):
        _sort_beside(keys, bits, top, room[: len(keys)])
    elif top > 0:
        shift = max(top - DIGIT, 0)
        starts = digit_starts(keys, bits, shift)
        heads = starts.copy()
        for digit in range(1 << DIGIT):
            gather_digit(keys, starts, heads, digit, bits, shift)
            sort_codes(keys[starts[digit] : starts[digit + 1]], bits, shift, room)


@njit
def _digit(key, bits, shift):
    """Return the digit of a key's code at ``shift``."""
    return ((key >> 32 << bits | key & 0xFFFFFFFF) >> shift) & ((1 << DIGIT) - 1)


@njit
def _sort_few(keys):
    """Sort keys in place by insertion."""
    for i in range(1, len(keys)):
        key, place = keys[i], i
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


@njit
def _sort_beside(keys, bits, top, other):
    """Sort by the last digit, then by the one before it, and so on, alternating between two arrays."""
    here, there = keys, other
    for shift in range(0, top, DIGIT):
        starts = np.zeros((1 << DIGIT) + 1, np.int64)
        for key in here:
            starts[_digit(key, bits, shift) + 1] += 1
        for digit in range(1 << DIGIT):
            starts[digit + 1] += starts[digit]
        for key in here:
            digit = _digit(key, bits, shift)
            there[starts[digit]] = key
            starts[digit] += 1
        here, there = there, here
    if (top + DIGIT - 1) // DIGIT % 2:
        for i in range(len(keys)):  # a slice would make Numba compile the error for slices of unequal length
            keys[i] = other[i]
