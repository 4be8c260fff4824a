"""Tables, figures and one page for readers, made from run records and artifacts.

``gim.py``, ``imgpu.py``, ``kpar.py``, ``merit.py`` and ``diversity.py`` have the tables, figures and page section of
each system; ``ego.py`` draws ego-networks. The columns of a table are declared by name and place in the record
(``records.py``). ``tables.py`` turns records and artifacts into tidy TSV files, ``figure.py`` draws SVG, and
``page.py`` combines tables and figures (``parts.py``) to one self-contained HTML page. Each step reads only the output
of the previous one.
"""
