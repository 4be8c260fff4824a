"""Code that only rebuilds the paper: its update as printed, and the competitors of MERIT.

===================  =========================================================================================
``factory.py``       campaigns whose parameters may ask for what is here
``printed.py``       section 3.3 as printed, which is biased (``--update paper``)
``rings.py``         sets in segments (3.1, 3.3.3, 3.3.4), where MERIT has hash tables: ``discover_cuda.py`` finds
                     those that a round changed, ``update_cuda.py`` draws and updates them (``grow_cuda.py`` adds
                     to one, ``table_cuda.py`` is the ring), and ``cover_cuda.py`` chooses seeds
``gamcss.py``        GAMCSS (sections 3.1 and 5), its kernels in ``gamcss_cuda.py``
``nonadaptive.py``   all seeds at once, in the place of SCORE
``baselines.py``     the systems of section 5, each with the parameters and the device that make it
===================  =========================================================================================

MERIT imports none of this.
"""
