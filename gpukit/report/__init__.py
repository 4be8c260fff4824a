"""Tables, figures and one page for people, out of run records and artifacts.

``gim.py``, ``kpar.py`` and ``diversity.py`` hold what each system shows: its tables, its figures and its section of the
page; ``ego.py`` is the picture of an ego-network. ``tables.py`` turns records and artifacts into tidy TSV files,
``figure.py`` draws SVG, and ``page.py`` sets tables and figures (``parts.py``) into one self-contained HTML page.
``paper.py`` sets what was measured beside what a paper prints; ``paper_items.py`` says what each of its tables and
figures is made of. Each step reads only what the step before wrote.
"""
