"""The rebuilt tables and figures of a paper, and the verdicts on its claims.

``rebuild.py`` pairs measured values with the printed ones. ``items.py`` declares the observations of each table and
figure; three papers have their own modules, ``imgpu.py``, ``merit.py`` and ``diversity.py``. ``observations.py`` has
the code that papers share: sizes, settings, means and speed-ups. ``claims.py`` judges claims by the rules of
``rules.py``. ``page.py`` makes the paper's section of the page, and ``reproduction.py`` the page about all five papers.
"""
