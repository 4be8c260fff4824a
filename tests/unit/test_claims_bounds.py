"""What benchmarks/README.md says of the floors and phases behind README's figures is what the records hold."""

import pytest
from claims import one, record, says

RMAT22 = one("gim-h200", graph="rmat22", model="ic", bound="opim")
IMM = one("gim-h200", graph="rmat22", model="ic", bound="imm", samples="grid")
CPU = one("gim-cpu-1", graph="rmat20", model="ic")
FIXED, FRESH = (one("imgpu-h200-nethept", method=method) for method in ("fixed", "fresh"))
KPAR = record("kpar-h200-twitter-size")["runs"][0]["latency"][0]
MERIT = one("merit-h200", graph="soc-Epinions1", method="merit", eta=1000)
LARGE = one("merit-h200-livejournal-size", method="merit")
WEB, LIVE = (
    one("diversity-h200", graph=graph, method="score", model="truss", k=4)
    for graph in ("web-NotreDame", "livejournal-size")
)


def over(run, time="algorithm_ms", floor="floor_ms", middle="median"):
    return run[time][middle] / run[floor]


def drawing(run):
    """Return the time of drawing, and how many times its floor that is."""
    return run["phases_ms"]["sampling"], run["phases_ms"]["sampling"] / run["floor_ms"]


ROUND = sum(MERIT["phases_s"][name] for name in ("update", "generate", "select"))
CLAIMS = [
    ("| {} | {:.0f} × | gIM's own code, noted by hand | drawing, {:.1f} of {:.1f} ms, of so few sets that it is {:.0f}",
     (RMAT22["repeat"], over(RMAT22), drawing(RMAT22)[0], RMAT22["algorithm_ms"]["median"], drawing(RMAT22)[1])),
    ("| {} | {:.0f} × | the same | drawing, {:.0f} of {:.0f} ms, {:.0f} × its floor |",
     (IMM["repeat"], over(IMM), drawing(IMM)[0], IMM["algorithm_ms"]["median"], drawing(IMM)[1])),
    ("| {} | {:.0f} × | – | drawing, {:.0f} of {:.0f} ms |",
     (CPU["repeat"], over(CPU), drawing(CPU)[0], CPU["algorithm_ms"]["median"])),
    ("four H200s do it {:.1f} × as fast as one",
     (one("gim-h200-x4-sampling", graph="rmat22", sets=40_000_000, gpus=4)["speedup"],)),
    ("| {} | {:.0f} × | MixGreedy, one thread, one run | selection, {:.0f} of {:.0f} ms |",
     (FIXED["repeat"], over(FIXED), FIXED["phases_ms"]["selection"], FIXED["algorithm_ms"]["median"])),
    ("| {} | {:.0f} × | the same | drawing worlds for each seed, all of {:.0f} ms |",
     (FRESH["repeat"], over(FRESH), FRESH["phases_ms"]["worlds"])),
    ("| {} queries | {:.1f} × | FORA+, 5 queries | a query reads {:.0f} M edges and {:.0f} M entries",
     (KPAR["queries"], KPAR["times_floor"], KPAR["edges"] / 1e6, KPAR["entries"] / 1e6)),
    ("| {} worlds; – five | {:.0f} × | GAMCSS and PASTI, in the record | update, drawing and selection are {:.0f} of "
     "{:.0f} ms; the rest is the host between {} rounds",
     (MERIT["worlds"], over(MERIT, "time_s", "floor_s", "mean"), 1e3 * ROUND, 1e3 * MERIT["time_s"]["mean"],
      MERIT["rounds"])),
    ("| {} world; – five | {:.0f} × | – | updating sets, {:.0f} of {:.0f} s |",
     (LARGE["worlds"], over(LARGE, "time_s", "floor_s", "mean"), LARGE["phases_s"]["update"], LARGE["time_s"]["mean"])),
    ("| 7 | {:.0f} × | – in the record", (over(WEB, "ms"),)),
    ("| 7 | {:.0f} × | – | – no phases", (over(LIVE, "ms"),)),
    ("`networkx-backend.json` | {} |", (len(record("networkx-backend")["runs"][0]["networkx_s"]["each"]),)),
    ("`cold-start-cpu.json`, `-h200` | {} and {} |",
     tuple(len(record(name)["runs"][0]["process_s"]["each"]) for name in ("cold-start-cpu", "cold-start-h200"))),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "values"), CLAIMS, ids=[sentence[:30] for sentence, _ in CLAIMS])
def test_bounds_are_those_of_the_records(sentence, values):
    says("benchmarks/README.md", sentence, values)
