"""What all threads of a warp do together, each of them; the simulator has no warps, and each of its threads is alone.

Only masks that are known beforehand name threads that wait for each other. Those that happen to run the same code, as
``cuda.activemask`` tells, need not all come to the next barrier.
"""

from gpukit.device.kernels import cuda, device
from gpukit.device.select import simulated

if simulated():

    @device
    def warp_fence():
        """Do nothing: the simulator reads when it is told to."""

    @device
    def warp_barrier():
        """Wait for the other threads of a warp, here those of a block of one warp."""
        cuda.syncthreads()

    @device
    def any_goes_on(goes_on):
        """Return whether a thread of the warp goes on."""
        return goes_on

else:

    @device
    def warp_fence():
        """Have all loads before under way, and all threads of the warp run the same code at the same time from here on.

        Without it the compiler would delay loads one behind the other, to save registers, and each thread that left a
        loop would go on by itself.
        """
        cuda.syncwarp()

    @device
    def warp_barrier():
        """Wait for the other threads of a warp, and see what they wrote."""
        cuda.syncwarp()

    @device
    def any_goes_on(goes_on):
        """Return whether a thread of the warp goes on."""
        return cuda.any_sync(0xFFFFFFFF, goes_on)
