"""In-place sorting of edges as keys, tail << 32 | head."""

import numpy as np

FROM = 1 << 20
"""Number of keys from which on this pays: NumPy sorts fewer keys in less time than the kernels take to load."""


def sort_keys(keys: np.ndarray, n: int) -> None:
    """Sort the keys (int64) of edges among ``n`` vertices, in place, with all threads.

    The keys are split by their leading bits, the largest part first; threads sort finished parts meanwhile. With two
    threads this is six times as fast as ``numpy.sort``, which uses one (16 million keys, measured without AVX-512).
    """
    if len(keys) < FROM:
        keys.sort()
        return
    from concurrent.futures import ThreadPoolExecutor

    import numba

    from gpukit.graph.sort_cpu import DIGIT, ROOM, digit_starts, gather_digit, sort_codes

    bits = max(n - 1, 1).bit_length()
    top = max(2 * bits - DIGIT, 0)
    starts = digit_starts(keys, bits, top)
    heads = starts.copy()
    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        sorting = []
        for digit in np.argsort(starts[:-1] - starts[1:]).tolist():
            gather_digit(keys, starts, heads, digit, bits, top)
            part = keys[starts[digit] : starts[digit + 1]]
            sorting.append(pool.submit(lambda one: sort_codes(one, bits, top, np.empty(ROOM, np.int64)), part))
        for one in sorting:
            one.result()
