"""Code that is needed only to rebuild the papers. It may import all other rooms, and none of them imports it.

``gim``, ``imgpu``, ``kpar``, ``merit`` and ``diversity`` have the competitors, printed variants and ablations of each
system. ``bench`` has timed runs, ``report`` compares the papers' tables, figures and claims with ours, and ``cli`` has
the commands.
"""
