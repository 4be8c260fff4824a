"""The kernel that draws R-MAT edges on a GPU; draws equal those of ``quadrants.py`` for the same seed."""

from numba import int64, uint64

from gpukit.device.kernels import cuda, kernel
from gpukit.device.select import for_kernels
from gpukit.graph.generators import quadrants

_descend = for_kernels(quadrants._descend)


@kernel(("uint64", "int64", "int64", "uint64[::1]", "int64[::1]"))
def draw(seed, tag, levels, limits, keys):
    """Write u << 32 | v of draw i on 2**levels vertices, or -1 for a loop; a thread owns a draw."""
    i = cuda.grid(1)
    if i < len(keys):
        u, v = uint64(0), uint64(0)
        for call in range((levels + 3) // 4):
            take = min(4, levels - 4 * call)
            down, right = _descend(seed, tag, int64(i), call, take, limits)
            u = (u << uint64(take)) | down
            v = (v << uint64(take)) | right
        keys[i] = int64(-1) if u == v else int64(u << uint64(32) | v)
