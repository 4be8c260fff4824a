"""``gpukit demo``: the workflow on the graphs that ship with gpukit, or on one's own, without a checkout."""

import importlib.util
import logging
import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TextIO

from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.options import BothWaysOption, argument, option
from gpukit.cli.workflow import source_of, write_workflow
from gpukit.device.select import available_threads
from gpukit.errors import InputError, UsageError
from gpukit.files import write_text

_log = logging.getLogger("gpukit")

NEEDED = ("snakemake", "jinja2", "matplotlib")
PATIENCE_S = 2
"""Time that jobs have to end by themselves after an interrupt; after 3 s the command itself ends (`interrupts`)."""
_TAIL = 200
"""Lines of Snakemake's log in which a failure is looked for."""


@with_run("threads")
def demo(
    run: Run,
    folder: Annotated[Path, argument("[DIR]", "The folder for it; an earlier demo there goes on.")] = Path(
        "gpukit-demo"
    ),
    *,
    graph_file: Annotated[
        Path | None, option("--graph FILE", "An edge list of yours, in place of the graphs that ship with gpukit.")
    ] = None,
    undirected: BothWaysOption = False,
) -> None:
    """Run every system on real graphs, check each answer by another method, and write a report: some minutes."""
    for package in NEEDED:
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"the demo needs the package {package}; install gpukit[workflow]")
    if undirected and graph_file is None:
        raise UsageError("--undirected is said of an edge list; name it by --graph")
    own = None if graph_file is None else own_configuration(run, graph_file, undirected)
    if not (folder / "Snakefile").is_file():
        write_workflow(folder)
    elif (folder / "Snakefile").read_bytes() != source_of("Snakefile").read_bytes():
        raise UsageError(f"{folder} holds another workflow, or that of another version; name a new folder")
    words = ["--cores", str(run.threads or available_threads())]
    if own is not None:
        _write_own(folder / "mine.yaml", own)
        words += ["--configfile", "mine.yaml"]
    _log.info("%s: some minutes; everything is written to %s", folder, folder / "demo.log")
    with run.phase("workflow"):
        jobs = run_snakemake(folder, words)
    report = folder / "results/report.html"
    run.finish({"folder": str(folder), "jobs": jobs, "report": str(report)}, {"jobs": jobs})
    if not run.as_json:
        print(f"The report: {report}")


def own_configuration(run: Run, path: Path, undirected: bool) -> dict[str, Any]:
    """Return a configuration for an edge list: sizes that it has room for, on all systems but IMGPU.

    IMGPU counts what every vertex reaches, which takes hours where that is much. Raises what reading the file raises.
    """
    if not path.is_file():
        raise InputError(f"{path} is no file; name an edge list")
    with run.phase("read"):
        from gpukit.graph.build import build_graph
        from gpukit.graph.readers import read_edges

        listed = read_edges(path)
        ids = listed.ids if listed.ids is not None else listed.n is None
        n = build_graph(listed.u, listed.v, ids=ids, n=listed.n, labels=listed.labels, transpose=False).n
    k = max(1, min(50, n // 10))
    eta = [one for one in (50, 100, 200) if one <= n // 4] or [max(1, n // 4)]
    name = re.sub(r"[^A-Za-z0-9._-]", "-", path.name.partition(".")[0]).lstrip("._-")[:50] or "graph"
    return {
        "graphs": [
            {
                "name": name,
                "edges": str(path.resolve()),
                "undirected": undirected,
                "systems": ["gim", "kpar", "merit", "diversity"],
            }
        ],
        "gim": {"k": k},
        "evaluate": {"prefixes": sorted({one for one in (1, 5, 10, 20, 30, 40, 50) if one < k} | {k})},
        "kpar": {"k": [one for one in (10, 100, 1000) if one <= n] or [n]},
        "merit": {"eta": eta, "batch": max(1, min(16, k // 3))},
        "diversity": {"k": 3, "t": min(100, n)},
    }


def _write_own(path: Path, configuration: dict[str, Any]) -> None:
    """Write a configuration, but not over one that somebody changed."""
    import yaml

    text = yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise UsageError(
            f"{path} is there, and says something else; remove it, or run it by `snakemake --cores all --configfile "
            f"{path.name}` in {path.parent}"
        )
    write_text(path, text)


def run_snakemake(folder: Path, words: list[str]) -> int:
    """Run the workflow in a folder with a line for each job that is done; return how many there were.

    All that Snakemake says goes into ``demo.log``.

    Raises
    ------
    InputError
        If it fails, with the first line that says why.
    """
    command = [sys.executable, "-m", "snakemake", *words]
    last: deque[str] = deque(maxlen=_TAIL)
    with (
        open(folder / "demo.log", "w", encoding="utf-8") as log,
        subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, encoding="utf-8", errors="replace", process_group=0,
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        try:
            jobs = _tell(_kept(process.stdout, log, last))
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        why = next((line for line in last if line.startswith("gpukit: error: ")), "") or _first_error(last)
        raise InputError(
            f"the workflow failed: {why.removeprefix('gpukit: error: ').strip()}; {folder / 'demo.log'} says more, and "
            "the same command goes on from there"
        )
    return jobs


def _end(process: "subprocess.Popen[str]") -> None:
    """End Snakemake and all its jobs, for which it would wait; SIGINT is ignored by what a shell started aside."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)


def _kept(lines: Iterable[str], log: TextIO, last: "deque[str]") -> Iterator[str]:
    """Yield the lines of Snakemake, which are kept in its log."""
    for line in lines:
        log.write(line)
        log.flush()
        last.append(line)
        yield line.rstrip("\n")


def _tell(lines: Iterable[str]) -> int:
    """Say which jobs are done, by the lines of Snakemake's log; return how many there were."""
    titles: dict[str, str] = {}
    done, ended = 0, ""
    for line in lines:
        if found := re.fullmatch(r"(?:local)?[Jj]ob (\d+): (.+)", line):
            titles[found[1]] = found[2]
        elif found := re.fullmatch(r"Finished job(?:id: )?(\d+)(?: \(Rule: (\w+)\))?\.?", line):
            ended = titles.get(found[1], found[2] or "")
        elif found := re.fullmatch(r"(\d+) of (\d+) steps \(.*\) done", line):
            done = int(found[1])
            _log.info("%*s of %s  %s", len(found[2]), found[1], found[2], ended)
    return done


def _first_error(lines: Iterable[str]) -> str:
    """Return the first line that tells of an error, or the last line."""
    every = [" ".join(line.split()) for line in lines if line.strip()]
    return next((line for line in every if re.search(r"(?i)\berror\b", line)), every[-1] if every else "no word of it")
