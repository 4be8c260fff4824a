"""Live-edge worlds: the rule (IC, LT), sampling tables, reverse sampling of RR sets, greedy coverage.

``rule.py`` decides which in-edges are live and is compiled for both devices; ``tables.py`` prepares what it reads;
``cpu.py`` and ``cuda.py`` hold the same functions twice; ``collection.py`` is the RR collection both fill.
"""
