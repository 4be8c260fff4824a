"""``gpukit demo``: run the workflow on the graphs that ship with gpukit, without a checkout."""

import importlib.util
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from gpukit.cli.ask import Questions, answer
from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument, option
from gpukit.cli.workflow.commands import source_of, write_workflow
from gpukit.device.select import available_threads
from gpukit.errors import InputError, UsageError
from gpukit.files import write_text
from gpukit.parameters.graph import BothWays, Import, ScaleParameter

_log = logging.getLogger("gpukit")

NEEDED = ("snakemake", "jinja2", "matplotlib")
PATIENCE_S = 2
"""Seconds that jobs have to end by themselves after an interrupt; after 3 s the command itself ends (`interrupts`)."""
_STEPS = re.compile(r"(\d+) of \d+ steps \(.*\) done")


@with_run("threads")
def demo(
    run: Run,
    folder: Annotated[Path, argument("[DIR]", "The folder for it; an earlier demo there is continued.")] = Path(
        "gpukit-demo"
    ),
    *,
    graph_file: Annotated[
        Path | None, option("--graph FILE", "The same as `gpukit ask FILE --out DIR`, about an edge list of yours.")
    ] = None,
    undirected: BothWays = False,
    scale: ScaleParameter = None,
) -> None:
    """Run every system on real graphs, check each answer by another method, and write a report: some minutes."""
    if graph_file is not None:
        found = answer(run, graph_file, folder, Questions(), Import(undirected=undirected or None, scale=scale))
        done = {"jobs": len(found.steps.made), "report": str(found.page)}
        run.finish(found.record() | done, found.summary())
        return
    for package in NEEDED:
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"the demo needs the package {package}; install gpukit[workflow]")
    if undirected or scale:
        raise UsageError(f"{'--undirected' if undirected else '--scale'} is said of an edge list; name it by --graph")
    if not (folder / "Snakefile").is_file():
        write_workflow(folder)
    elif any(_differs(folder, part) for part in ("Snakefile", "workflow/Snakefile")):
        raise UsageError(f"{folder} holds another workflow, or that of another version; name a new folder")
    words = ["--cores", str(run.threads or available_threads())]
    _log.info("%s: some minutes; everything is written to %s", folder, folder / "demo.log")
    with run.phase("workflow"):
        jobs = run_snakemake(folder, words)
    report = folder / "results/report.html"
    run.finish({"folder": str(folder), "jobs": jobs, "report": str(report)}, {"jobs": jobs})
    if not run.as_json:
        print(f"The report: {report}")


def _differs(folder: Path, part: str) -> bool:
    """Return whether a file of a workflow differs from that of this version."""
    return not (folder / part).is_file() or (folder / part).read_bytes() != source_of(part).read_bytes()


def run_snakemake(folder: Path, words: list[str]) -> int:
    """Run the workflow in a folder, with its progress on the screen; return the number of finished jobs.

    The output of Snakemake goes into ``demo.log``.

    Raises
    ------
    InputError
        If the workflow fails, with the first line that gives the reason.
    """
    command = [sys.executable, "-m", "snakemake", "--logger", "gpukit", *words]
    before = set(_logs(folder))
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), process_group=0
    ) as process:
        try:
            process.wait()
        except BaseException:
            _end(process)
            raise
        finally:
            written = [log.read_text(encoding="utf-8", errors="replace") for log in sorted(set(_logs(folder)) - before)]
            write_text(folder / "demo.log", "".join(written))
    lines = "".join(written).splitlines()
    if process.returncode:
        why = next((line for line in lines if line.startswith("gpukit: error: ")), "") or _first_error(lines)
        raise InputError(
            f"the workflow failed: {why.removeprefix('gpukit: error: ').strip()}; {folder / 'demo.log'} says more, and "
            "the same command goes on from there"
        )
    return max((int(found[1]) for line in lines if (found := _STEPS.match(line))), default=0)


def _logs(folder: Path) -> list[Path]:
    """Return the logs of Snakemake's runs in a folder."""
    return list((folder / ".snakemake/log").glob("*.log"))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End Snakemake and all its jobs, for which it would wait.

    (Programs that a shell started in the background ignore SIGINT.)
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)


def _first_error(lines: Sequence[str]) -> str:
    """Return the first line that reports an error, or the last line."""
    every = [" ".join(line.split()) for line in lines if line.strip()]
    return next(
        (line for line in every if re.search(r"(?i)\berror\b", line)),
        every[-1] if every else "what it said stands above",
    )
