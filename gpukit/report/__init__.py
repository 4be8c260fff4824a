"""Tables, figures and one page for people, out of run records and artifacts.

``tables.py`` turns records and artifacts into tidy TSV files, ``plots.py`` draws SVG figures out of those, and
``page.py`` sets tables and figures into one self-contained HTML page. Each step reads only what the step before wrote.
"""
