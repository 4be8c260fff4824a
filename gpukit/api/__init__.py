"""What ``import gpukit`` gives, and what the commands call: one function a question.

``session.py`` is a piece of work on a device; ``graph.py``, ``in_memory.py`` and ``edges.py`` make graphs of what
people have; ``vertices.py`` turns what they call vertices into internal ids; ``results.py`` holds what all answers can
do, and the answers. The questions are ``seeds.py`` (gIM, IMGPU), ``spread.py``, ``pagerank.py``, ``campaign.py`` (with
``campaign_run.py`` and ``campaign_state.py``) and ``diversity.py``: in each, what the command and the function share
comes first. ``files.py`` loads what was saved.
"""
