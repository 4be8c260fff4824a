"""``gpukit papers bench``: timed runs with everything needed to judge them, one module per system."""

from gpukit.cli.command import group
from gpukit.papers.cli.bench_diversity import diversity
from gpukit.papers.cli.bench_gim import gim, gim_quality
from gpukit.papers.cli.bench_imgpu import imgpu
from gpukit.papers.cli.bench_kpar import kpar, kpar_quality
from gpukit.papers.cli.bench_merit import counters, merit

app = group("Time systems side by side.")


app.command("gim")(gim)
app.command("gim-quality")(gim_quality)
app.command("imgpu")(imgpu)
app.command("kpar")(kpar)
app.command("kpar-quality")(kpar_quality)
app.command("merit")(merit)
app.command("counters")(counters)
app.command("diversity")(diversity)
