"""The functions of ``import gpukit``, which the commands also call: one function per question.

``session.py``: one run on a device. ``graph.py``, ``in_memory.py`` and ``edges.py``: graphs from files and from objects
in memory. ``vertices.py``: from names of vertices to internal ids. ``results.py``: the answers, and their common
methods. ``files.py``: loads saved objects. The questions are in ``seeds.py`` (gIM, IMGPU), ``spread.py``,
``pagerank.py``, ``campaign.py`` (with ``campaign_run.py`` and ``campaign_state.py``) and ``diversity.py``. Each begins
with the code that the command and the function share.
"""
