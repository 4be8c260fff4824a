"""``gpukit papers``: the commands that only rebuild a paper."""

from gpukit.cli.command import group
from gpukit.papers.cli import bench, diversity, gim, imgpu, kpar, merit, report

app = group("Rebuild the papers: ablations, competitors, timed runs, claims.")

GROUPS = {"gim": gim, "imgpu": imgpu, "kpar": kpar, "merit": merit, "diversity": diversity}
GROUPS |= {"bench": bench, "report": report}

for name, part in GROUPS.items():
    app.add_typer(part.app, name=name)
