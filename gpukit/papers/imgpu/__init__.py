"""What only serves to rebuild the paper of IMGPU: what it compares with, BUTA on the CPU, and what worlds look like.

``baselines.py`` has the competitors of its section 5, ``levels_cpu.py`` counts level by level with the switches K, R
and U of its section 4, and ``shape.py`` measures what these rest on. No system imports this folder.
"""
