"""Operations of all threads of a warp together; the simulator has no warps, so each thread is alone.

Only masks known beforehand name threads that wait for each other. The threads that happen to run the same code, which
``cuda.activemask`` returns, need not all reach the next barrier.
"""

from gpukit.device.kernels import cuda, device
from gpukit.device.select import simulated

if simulated():

    @device
    def warp_fence():
        """Do nothing: the simulator reads in program order."""

    @device
    def warp_barrier():
        """Wait for the other threads of a warp; in the simulator, for those of a block of one warp."""
        cuda.syncthreads()

    @device
    def any_goes_on(goes_on):
        """Return whether a thread of the warp goes on."""
        return goes_on

else:

    @device
    def warp_fence():
        """Issue all preceding loads, and make all threads of the warp run the same code in step from here on.

        Without it the compiler would delay loads one after the other, to save registers, and each thread that left a
        loop would continue by itself.
        """
        cuda.syncwarp()

    @device
    def warp_barrier():
        """Wait for the other threads of a warp, and see their writes."""
        cuda.syncwarp()

    @device
    def any_goes_on(goes_on):
        """Return whether a thread of the warp goes on."""
        return cuda.any_sync(0xFFFFFFFF, goes_on)
