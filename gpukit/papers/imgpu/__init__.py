"""Code that only rebuilds the paper of IMGPU: its competitors, BUTA on the CPU, and the shape of worlds.

``baselines.py`` has the competitors of its section 5, ``levels_cpu.py`` counts level by level with the switches K, R
and U of its section 4, and ``shape.py`` measures the properties that these rely on. No system imports this folder.
"""
