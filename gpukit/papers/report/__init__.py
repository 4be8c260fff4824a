"""A paper's tables and figures rebuilt, and what held of its claims.

``rebuild.py`` sets what was measured beside what a paper prints. ``items.py`` says what each table and figure is made
of; those of three papers are in ``imgpu.py``, ``merit.py`` and ``diversity.py``. ``observations.py`` holds what papers
share: sizes, settings, means and speed-ups. ``claims.py`` judges claims by the rules of ``rules.py``. ``page.py`` is
the paper's section of the page, and ``reproduction.py`` the page about all five papers.
"""
