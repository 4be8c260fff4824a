"""The tables of rebuilt papers, in addition to those of the systems."""

from functools import partial

from gpukit.papers.report import claims, rebuild
from gpukit.report import tables

KINDS = {**tables.KINDS, **rebuild.KINDS, **claims.KINDS}
"""The kinds of tables by name."""

write_table = partial(tables.write_table, kinds=KINDS)
read_table = partial(tables.read_table, kinds=KINDS)
make_table = partial(tables.make_table, kinds=KINDS)
"""As in :mod:`gpukit.report.tables`, for all of these kinds."""
