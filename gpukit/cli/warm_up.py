"""``gpukit warm-up``: compile the CPU code of all commands in advance, for example in a container image."""

import logging
import subprocess
import sys
import tempfile
from pathlib import Path

from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.errors import DeviceError

_log = logging.getLogger("gpukit")

EDGES = "".join(f"{u} {v} 0.5\n" for u in range(10, 34) for v in (u + 1, u + 2, u + 5))
"""A graph whose ids differ from the internal ids, with triangles and a probability for each edge."""

COMMANDS = """
graph import edges.txt --undirected --weights wc --out U.h5
graph import edges.txt --weights wc --out G.h5
graph import edges.txt --weights const:0.2 --out C.h5
graph import edges.txt --weights trivalency --out T.h5
graph import edges.txt --weights file --out F.h5
graph import edges.txt --undirected --parallel-edges combine --weights const:0.2 --out M.h5
graph generate er --vertices 40 --edges 160 --out er.h5
graph generate ba --vertices 40 --attach 3 --out ba.h5
graph generate rmat --scale 9 --edges 2000 --out rmat.h5
graph generate holme-kim --vertices 40 --attach 3 --triad 0.5 --out hk.h5
graph generate affiliation --vertices 400 --edges 2000 --triangles 500 --out aff.h5
gim run G.h5 -k 2 --min-sets 500 --out S.h5 --device cpu
gim run F.h5 -k 2 --min-sets 500 --bound imm --out S.h5 --device cpu
gim run G.h5 -k 2 --min-sets 500 --model lt --rounds 2 --out S.h5 --device cpu
gim run G.h5 --budget 3 --min-sets 500 --targets numbers.txt --costs numbers.txt --exclude 12 --out S.h5 --device cpu
gim sample G.h5 --count 300 --out rr-0.h5 --device cpu
gim sample G.h5 --first 300 --count 300 --out rr-1.h5 --device cpu
gim select rr-0.h5 --judge rr-1.h5 -k 2 --out S.h5
gim baseline G.h5 --method degree-discount -k 2 --out S.h5
imgpu run C.h5 -k 2 --worlds 20 --out S.h5 --device cpu
imgpu run M.h5 -k 2 --worlds 20 --fresh --out S.h5 --device cpu
imgpu run T.h5 -k 2 --worlds 20 --out S.h5 --device cpu
imgpu reach C.h5 --worlds 20 --out R.h5 --device cpu
kpar rank G.h5 --out PR.h5 --device cpu
kpar index G.h5 --rank PR.h5 --out I.h5 --device cpu
kpar query G.h5 --index I.h5 --random 4 -k 5 --out A.h5 --device cpu
kpar query G.h5 --index I.h5 --source 10:2,11 -k 5 --device cpu
kpar index G.h5 --updatable --out U-I.h5
kpar update G.h5 --index U-I.h5 --add more.txt --remove less.txt --out-graph G2.h5 --out I2.h5
kpar query G.h5 --source 10 -k 5
kpar truth G.h5 --random 2 -k 5
merit run G.h5 --eta 8 --batch 2 --out M1.h5 --device cpu
merit run G.h5 --eta 8 --batch 2 --model lt --out M2.h5 --device cpu
merit run aff.h5 --eta 100 --out M4.h5 --device cpu
merit start G.h5 --eta 8 --batch 2 --costs numbers.txt --out M3.h5 --device cpu
merit next G.h5 M3.h5 --observed 14,15 --device cpu
diversity search U.h5 --model comp -k 1 -t 3 --out D.h5 --device cpu
diversity search U.h5 --model core -k 1 -t 3 --out D.h5 --device cpu
diversity search U.h5 --model truss -k 2 -t 3 --out D.h5 --device cpu
diversity index U.h5 --out N.h5 --device cpu
diversity egos U.h5 --out E.h5 --device cpu
diversity decompose U.h5 --egos --out X.h5 --device cpu
evaluate spread G.h5 --ids 10,11 --prefixes 1,2 --runs 100 --device cpu
evaluate spread G.h5 --ids 10,11 --model lt --runs 100 --device cpu
evaluate ppr G.h5 --answers A.h5
evaluate diversity U.h5 --answers D.h5
verify G.h5
doctor
"""
"""The commands to run, with all kinds of arguments that they can get; without ablations and competitors."""


@with_run()
def warm_up(run: Run) -> None:
    """Compile the CPU code of all commands in advance, so that none compiles later.

    GPU kernels are already compiled.
    """
    from gpukit.device.compiled import check_place

    check_place()
    commands = [line.split() for line in COMMANDS.strip().split("\n")]
    run.params = {"devices": ["cpu"]}
    with run.phase("compile"), run.progress("commands") as update, tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "edges.txt").write_text(EDGES)
        (Path(folder) / "more.txt").write_text("10 20\n12 10\n")
        (Path(folder) / "less.txt").write_text("10 11\n")
        (Path(folder) / "numbers.txt").write_text("10 1.5\n11 2\n12 0.25\n")
        for done, command in enumerate(commands):
            update(done, len(commands))
            if not sys.stderr.isatty():
                _log.info("%d of %d: gpukit %s", done + 1, len(commands), " ".join(command[:2]))
            _call(command, folder)
    run.finish({"commands": len(commands)}, {"commands": f"{len(commands)}, on the CPU"})


def _call(command: list[str], folder: str) -> None:
    """Run a command in a separate process; raises DeviceError with its message if it fails."""
    words = [str(Path(folder) / word) if word.endswith((".h5", ".txt")) else word for word in command]
    done = subprocess.run(
        [sys.executable, "-m", "gpukit", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2].removeprefix("gpukit: error: ")
        raise DeviceError(f"`gpukit {' '.join(command)}` ended with {done.returncode}: {said}")
