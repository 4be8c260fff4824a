"""Kernels behind :mod:`gpukit.graph.sort`. The *code* of a key is its tail and its head side by side, ``bits`` each."""

import numpy as np

from gpukit.device.compiled import njit

DIGIT = 8
"""Bits by which keys are told apart at a time."""

FEW, ROOM = 24, 1 << 16
"""Keys that are sorted one by one, and those that are sorted with as much room beside them, as a core's cache has."""


@njit
def digit_starts(keys, bits, shift):
    """Return where the keys of each digit of their codes at ``shift`` start once they are split by it, and the end.

    An int64 array, shape (2**DIGIT + 1,). Cost: one pass.
    """
    starts = np.zeros((1 << DIGIT) + 1, np.int64)
    for key in keys:
        starts[_digit(key, bits, shift) + 1] += 1
    for digit in range(1 << DIGIT):
        starts[digit + 1] += starts[digit]
    return starts


@njit
def gather_digit(keys, starts, heads, digit, bits, shift):
    """Bring the keys of a digit into their place, where none is moved by the gathering of other digits afterwards.

    Cycles of keys that stand in each other's places ("American flag sort": P. M. McIlroy, K. Bostic and M. D. McIlroy,
    "Engineering radix sort", 1993). Cost: one pass for all digits together, in any order.

    Parameters
    ----------
    keys : int64 array
    starts : int64 array
        Those of :func:`digit_starts`.
    heads : int64 array
        Where the next key of each digit goes: ``starts`` at first, changed here.
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
    """Sort keys, in place, whose codes differ in the bits below ``top`` alone; ``room`` is an int64 array."""
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
    return ((key >> 32 << bits | key & 0xFFFFFFFF) >> shift) & ((1 << DIGIT) - 1)


@njit
def _sort_few(keys):
    for i in range(1, len(keys)):
        key, place = keys[i], i
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


@njit
def _sort_beside(keys, bits, top, other):
    """Sort by the last digit, then by the one before it, …, to and fro between two arrays."""
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
        for i in range(len(keys)):  # a slice would have Numba compile what it says of slices that do not fit
            keys[i] = other[i]
