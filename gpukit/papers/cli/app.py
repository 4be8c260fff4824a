"""``gpukit papers``: the commands that only rebuild a paper."""

from gpukit.cli.command import group
from gpukit.papers.cli import bench, gim, kpar, merit, report

app = group("Rebuild the papers: ablations, competitors, timed runs, claims.")

for name, part in (("gim", gim), ("kpar", kpar), ("merit", merit), ("bench", bench), ("report", report)):
    app.add_typer(part.app, name=name)
