"""Tables, figures and one page for people, out of run records and artifacts.

``gim.py``, ``imgpu.py``, ``kpar.py``, ``merit.py`` and ``diversity.py`` hold what each system shows: its tables, its
figures and its section of the page; ``ego.py`` is the picture of an ego-network. What a table takes out of a record is
itself a table, of columns and places (``records.py``). ``tables.py`` turns records and artifacts into tidy TSV files,
``figure.py`` draws SVG, and ``page.py`` sets tables and figures (``parts.py``) into one self-contained HTML page.
Each step reads only what the step before wrote.
"""
