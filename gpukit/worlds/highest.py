"""The highest of many values, without sorting all of them."""

from typing import Any

import numpy as np

from gpukit.device.compiled import njit


def limit_of(values: np.ndarray, count: int) -> int:
    """Return the ``count``-th largest of some integers; 0 if it is negative or there are at most ``count`` integers."""
    return max(0, int(_least(values, count))) if count < len(values) else 0


def highest(values: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of the ``count`` highest values, or of all, by falling value; ties go to the lower index."""
    if count == 0:
        return np.zeros(0, np.int64)
    places = np.flatnonzero(values >= _least(values, count)) if count < len(values) else np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")[:count]]


def _least(values: np.ndarray, count: int) -> Any:
    """Return the ``count``-th largest; NumPy's partition takes ten times as long on processors of the Zen 4 family."""
    return largest_first(values.copy(), len(values), count)


@njit
def largest_first(keys, count, k):
    """Reorder ``keys[:count]`` so that its k largest come first, and return the k-th largest (Hoare's selection)."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) >> 1
        a, b, c = keys[low], keys[middle], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] > pivot:
                i += 1
            while keys[j] < pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return keys[k - 1]
