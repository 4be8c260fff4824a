"""The laboratory: everything that only rebuilds a paper. It may import all other rooms, and none of them imports it.

``gim``, ``imgpu``, ``kpar``, ``merit`` and ``diversity`` hold competitors, variants as printed and ablations of each
system. ``bench`` has timed runs, ``report`` the papers' tables, figures and claims beside ours, ``cli`` the commands.
"""
