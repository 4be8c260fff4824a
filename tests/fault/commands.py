"""Every command of gpukit that faults strike, on a graph of 40 vertices, and the files that they read and write."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from gpukit.papers.report.claims import CLAIM
from gpukit.papers.report.rebuild import COLUMNS

TABLE = """
graph import edges.txt --weights wc --out G.h5 --json > graph.json
graph import edges.txt --undirected --weights const:0.2 --out U.h5
graph import weighted.csv --weights file --transpose --out W.h5
graph import edges.mtx --weights trivalency --seed 3 --out T.h5
graph info G.h5
graph generate er --vertices 40 --edges 160 --out er.h5
graph generate ba --vertices 40 --attach 3 --out ba.h5
graph generate rmat --scale 6 --edge-factor 4 --out rmat.h5
graph generate holme-kim --vertices 40 --attach 3 --triad 0.5 --out hk.h5
graph generate affiliation --vertices 400 --edges 2000 --triangles 500 --out aff.h5
data list
data fetch wiki-Vote --out wiki.txt.gz
gim run G.h5 -k 3 --epsilon 0.3 --min-sets 2000 --out gim.h5 --json > gim.json
gim run G.h5 -k 3 --epsilon 0.3 --model lt --bound imm --out lt.h5
gim run T.h5 -k 3 --epsilon 0.3 --targets weights.txt --include 100 --min-sets 1000 --out targets.h5
gim run G.h5 --budget 5 --costs costs.txt --epsilon 0.3 --min-sets 1000 --out budget.h5
gim sample T.h5 --first 0 --count 300 --targets weights.txt --out rr-0.h5
gim sample T.h5 --first 300 --count 300 --targets weights.txt --out rr-1.h5
gim select rr-0.h5 --judge rr-1.h5 -k 3 --out shards.h5
gim baseline G.h5 --method degree-discount -k 3 --out degree.h5
papers gim skim G.h5 -k 3 --out skim.h5
imgpu run U.h5 -k 3 --worlds 60 --out fixed.h5 --json > fixed.json
imgpu run U.h5 -k 3 --worlds 60 --fresh --out fresh.h5
imgpu reach U.h5 --worlds 20 --out reach.h5 --json > reach.json
papers imgpu shape U.h5 --worlds 20
papers imgpu baseline U.h5 --method celf -k 3 --worlds 40 --out celf.h5
kpar rank G.h5 --out rank.h5
kpar index G.h5 --rank rank.h5 --out irw.h5
kpar index G.h5 --updatable --out updatable.h5
kpar query G.h5 --index irw.h5 --sources sources.txt -k 5 --out near.h5 --json > near.json
kpar query G.h5 --index irw.h5 --source 100:3,101 -k 5
kpar query G.h5 --index irw.h5 --random 4 -k 5 --part 1/2 --out part-1.h5
kpar query G.h5 --index irw.h5 --random 4 -k 5 --part 2/2 --out part-2.h5
kpar gather part-1.h5 part-2.h5 --out gathered.h5
kpar truth G.h5 --random 4 -k 5 --out truth.h5
papers kpar baseline G.h5 --method fora --random 4 -k 5 --out fora.h5
merit run G.h5 --eta 12 --batch 2 --worlds 2 --out merit.h5 --json > merit.json
papers merit run G.h5 --eta 12 --batch 2 --model lt --update regenerate --out regenerated.h5
merit start G.h5 --eta 20 --batch 2 --costs costs.txt --out start.h5
merit start G.h5 --eta 12 --batch 1 --model lt --costs uniform --out start-lt.h5
merit next G.h5 start.h5 --observed observed.txt --out next.h5
merit next G.h5 start-lt.h5 --observed 110 --out next-lt.h5
merit next G.h5 start.h5 --observed=
papers merit once G.h5 --eta 8 --out once.h5
diversity search U.h5 --model truss -k 2 -t 5 --out circles.h5 --json > circles.json
diversity search G.h5 --undirected --model comp -k 2 -t 5 --part 1/2 --out half-1.h5
diversity search G.h5 --undirected --model comp -k 2 -t 5 --part 2/2 --out half-2.h5
diversity gather half-1.h5 half-2.h5 --out halves.h5
diversity index U.h5 --out index.h5
diversity search U.h5 --index index.h5 --model truss -k 2 -t 5 --out looked-up.h5
diversity egos U.h5 --vertices ids.txt --out egos.h5
diversity egos U.h5 --vertices 107 --out ego.h5
diversity decompose U.h5 --egos --out decomposed.h5
diversity search U.h5 --model core -k 1 -t 5 --out cores.h5
evaluate spread G.h5 --seeds gim.h5 --prefixes 1,3 --runs 300 --out spread.h5
evaluate spread G.h5 --ids 100,101 --model lt --runs 300
evaluate ppr G.h5 --answers near.h5 --out quality.h5 --json > quality.json
evaluate diversity U.h5 --answers circles.h5 --json > checks.json
papers bench gim-quality G.h5 -k 2 --weights wc --methods gim,degree --error 0.1 --out bench-gim-quality.json
papers bench gim G.h5 -k 2 --models ic --bounds opim --min-sets 500 --repeat 2 --out bench-gim.json
papers bench imgpu U.h5 -k 2 --modes fixed --worlds 30 --repeat 2 --switches --out bench-imgpu.json
papers bench kpar G.h5 -k 5 --queries 4 --batch 4 --out bench-kpar.json
papers bench kpar-quality G.h5 -k 5 --queries 4 --out bench-quality.json
papers bench merit G.h5 --eta 10 --batch 2 --worlds 2 --models ic --out bench-merit.json
papers bench diversity U.h5 -k 2 -t 5 --repeat 2 --models comp --out bench-diversity.json
export gim.h5 --graph G.h5 --out chosen.tsv
report table runs toy/ic=gim.json --out runs.tsv
report table seeds toy/ic=gim.h5 --out seeds.tsv
report table spread toy/ic/gim=spread.h5 --out spread.tsv
report table kpar-answers toy/kpar=near.h5 --out answers.tsv
report table merit-campaigns toy/ic/coupled/12=merit.json --out campaigns.tsv
report table diversity-top toy/truss=circles.h5 --out top.tsv
report table imgpu-levels toy=reach.json --out levels.tsv
report table kpar-queries toy/kpar/5=near.json --out queries.tsv
report table kpar-arrivals toy=irw.h5 --out arrivals.tsv
report table diversity-runs toy/truss=circles.json --out searches.tsv
report table artifacts G.h5 gim.h5 near.h5 --out artifacts.tsv
report plot spread spread.tsv --graph toy --model ic --out spread.svg
report plot runtime runs.tsv --out runtime.svg
report plot scores top.tsv --out scores.svg
report plot ego ego.h5 --answers cores.h5 --out ego.svg
report plot imgpu levels.tsv --graph toy --view levels --out levels.svg
report plot merit campaigns.tsv --graph toy --view cost --model ic --out cost.svg
report plot kpar queries.tsv --graph toy --quantity time --out time.svg
report plot arrivals arrivals.tsv --out arrivals.svg
report plot diversity-time searches.tsv --out searches.svg
report figures --table=spread=spread.tsv --table=runs=runs.tsv --figure=spread/toy/ic=figure-1.svg \
 --figure=runtime=figure-2.svg
papers report claims claims.tsv --items items.tsv --scale small --out verdicts.tsv
papers report reproduction verdicts.tsv --out held.md
report page --table=artifacts=artifacts.tsv --table=runs=runs.tsv --table=seeds=seeds.tsv --table=spread=spread.tsv \
 --figure=spread/toy/ic=spread.svg --figure=runtime=runtime.svg --out page.html
inspect G.h5 gim.h5 near.h5
verify G.h5 W.h5 gim.h5 rr-0.h5 rank.h5 irw.h5 near.h5 start.h5 circles.h5 index.h5 egos.h5 spread.h5
diff gim.h5 gim.h5
doctor
"""
"""The commands in an order in which they can run; ``> FILE`` keeps what a command prints, as an input of others."""

SOURCES = (
    "edges.txt",
    "weighted.csv",
    "edges.mtx",
    "ids.txt",
    "costs.txt",
    "sources.txt",
    "weights.txt",
    "observed.txt",
    "claims.tsv",
    "items.tsv",
)


@dataclass(frozen=True)
class Command:
    """A command: its words, the files that it reads, the file that it writes, and the file for what it prints."""

    words: tuple[str, ...]
    inputs: tuple[str, ...]
    out: str | None
    kept: str | None

    @property
    def name(self) -> str:
        """The words before the first file or option: the name in docs and counts."""
        words = self.words[: 3 if self.words[0] == "papers" else 2]
        return " ".join(word for word in words if "." not in word and not word.startswith("-"))

    @property
    def timed(self) -> bool:
        """Whether its output contains times, so that no two outputs are equal."""
        return self.words[:2] == ("papers", "bench")


def commands() -> list[Command]:
    """Return the commands of the table."""
    found: list[Command] = []
    files = set(SOURCES)
    for line in TABLE.strip().splitlines():
        text, _, kept = line.partition(" > ")
        words = tuple(text.split())
        out = words[words.index("--out") + 1] if "--out" in words else None
        named = [word.rpartition("=")[2] for word in words]
        inputs = tuple(dict.fromkeys(word for word in named if word in files))
        if words[:2] == ("merit", "next") and out is None:
            out = words[3]  # it replaces the state
        found.append(Command(words, inputs, out, kept or None))
        files |= {one for one in (out, kept) if one}
    return found


def write_sources(folder: Path) -> None:
    """Write the texts that commands start from: 40 people with ids from 100 on, a hub, circles and one-way edges."""
    edges = [(v, (v + 1) % 40) for v in range(40)] + [(7, v) for v in range(12, 36, 2)]
    edges += [(v, (v * 7 + 3) % 40) for v in range(40)] + [(v, v + 2) for v in range(20, 38)]
    edges = sorted({(100 + u, 100 + v) for u, v in edges if u != v})
    plain = "".join(f"{u} {v}\n" for u, v in edges)
    (folder / "edges.txt").write_text("# made for faults\n" + plain)
    (folder / "weighted.csv").write_text("".join(f"{u},{v},0.{1 + v % 9}\n" for u, v in edges))
    head = f"%%MatrixMarket matrix coordinate pattern general\n140 140 {len(edges)}\n"
    (folder / "edges.mtx").write_text(head + plain)
    (folder / "ids.txt").write_text("100\n101 # the second\n107\n")
    (folder / "costs.txt").write_text("".join(f"{100 + v} {1 + v % 3}.5\n" for v in range(40)))
    (folder / "sources.txt").write_text("100\n101:2 102:1\n\n# none\n107\n")
    (folder / "weights.txt").write_text("".join(f"{100 + v} {v % 4}\n" for v in range(40)))
    (folder / "observed.txt").write_text("110\n111\n")
    claim = ("c", "2", "It is quick", "3", "value", "table-1", "time", "toy", "", "gim", "", "each < 9", "0")
    (folder / "claims.tsv").write_text("\t".join(CLAIM) + "\n" + "\t".join(claim) + "\n")
    item = ("gim", "table-1", "toy", "real", "gim", "k 5", "", "time", "s", "5", "3", "0.1", "NA")
    (folder / "items.tsv").write_text("\t".join(("publication", *COLUMNS)) + "\n" + "\t".join(item) + "\n")


def provide(command: Command, pool: Path, folder: Path) -> None:
    """Copy the inputs of a command into a folder."""
    for name in command.inputs:
        shutil.copyfile(pool / name, folder / name)
