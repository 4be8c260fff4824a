"""Code that only the gIM paper needs: its sampler, its selection, and IMM as printed. The system does not import it.

==========================  ==============================================================
part of the paper           file
==========================  ==============================================================
2.5, algorithms 1 and 2     ``imm.py``, sets re-used as printed (``--samples original``)
3.2 to 3.7, algorithms 3-6  ``per_edge_cuda.py`` (``--sampler scan``, on a GPU)
3.8, algorithm 7            ``passes.py`` (``--selection scan``)
==========================  ==============================================================

:func:`maximise` is :func:`gpukit.gim.maximise` with these parts, if the parameters request them.
"""

from gpukit.papers.gim.run import maximise, methods_of

__all__ = ["maximise", "methods_of"]
