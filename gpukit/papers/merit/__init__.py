"""What only serves to rebuild the paper: its update as printed, and the systems that MERIT is compared with.

===================  =========================================================================================
``factory.py``       campaigns whose parameters may ask for what is here
``printed.py``       section 3.3 as printed, which is biased (``--update paper``)
``gamcss.py``        GAMCSS (sections 3.1 and 5), its kernels in ``gamcss_cuda.py``
``nonadaptive.py``   all seeds at once, in the place of SCORE
``baselines.py``     the systems of section 5, each with the parameters and the device that make it
===================  =========================================================================================

MERIT imports none of this.
"""
