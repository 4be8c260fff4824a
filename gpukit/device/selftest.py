"""Known answers of Philox4x32-10, to check that compiled integer code gives the right bits (CUDA: selftest_cuda.py)."""

import numpy as np

import gpukit.device.compiled  # noqa: F401  which checks Numba's settings in the environment
from gpukit.device.philox import philox4x32

# Counter, key and output of Salmon et al.'s reference code, as 32-bit words.
KNOWN_ANSWERS = np.array(
    [
        [0, 0, 0, 0, 0, 0, 0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        [0xFFFFFFFF] * 6 + [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        [
            *(0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
            *(0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ],
    ],
    dtype=np.uint32,
)


def philox_cpu() -> bool:
    """Return whether the CPU code gives the known answers."""
    return all(tuple(int(word) for word in philox4x32(*row[:6])) == tuple(row[6:].tolist()) for row in KNOWN_ANSWERS)
