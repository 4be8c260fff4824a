"""The code that the commands of ``gpukit papers bench`` share: the record, and its comparison with an older one."""

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.main import get_current_context

from gpukit.cli.common import Run
from gpukit.device.select import Device
from gpukit.errors import ComparisonFailed, InputError
from gpukit.files import write_text
from gpukit.wording import counted

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.papers.bench.compare import Comparison


class Record:
    """The record of a benchmark. Its file has the measurements so far, even if the rest is interrupted.

    Parameters
    ----------
    benchmark : str
        Name of the command.
    run : Run
        Has the output and the device in use.
    compare : path, optional
        An older record.
    header : mapping, optional
        More keys.

    Raises
    ------
    InputError
        If the older record is broken, or of another benchmark or device.
    """

    def __init__(
        self, benchmark: str, run: Run, compare: Path | None = None, header: Mapping[str, Any] | None = None
    ) -> None:
        from gpukit.cli.doctor import versions

        assert run.device is not None
        self.run, self.device, self.compare = run, run.device, compare
        self.old = None if compare is None else _read_old(compare, benchmark, run.device)
        words = get_current_context().obj  # set by the command line
        self.header: dict[str, Any] = {"benchmark": benchmark, "command": command_line("gpukit", words)}
        self.header |= {"date": time.strftime("%Y-%m-%d"), "device": run.device.record(), "versions": versions()}
        if run.device.kind == "cuda":
            from gpukit.papers.bench.machine import ROOMS, kernels_of

            self.header["kernels"] = {room: kernels_of(room) for room in ROOMS.get(benchmark.partition("-")[0], ())}
        self.header |= header or {}
        self.runs: list[dict[str, Any]] = []
        self.lines: dict[str, str] = {}

    @cached_property
    def bandwidth(self) -> float:
        """Bytes per second of large copies; measured at the first use, and stored in the record."""
        from gpukit.papers.bench.machine import copy_bandwidth

        self.header["copy_bandwidth"] = found = copy_bandwidth(self.device)
        return found

    def add(self, graph: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Add a run, and write the file, if one is requested."""
        self.runs.append({"graph": dict(graph), **found})
        if self.run.out is not None:
            write_text(self.run.out, json.dumps(self.content, indent=1) + "\n")

    @property
    def content(self) -> dict[str, Any]:
        """The content of the file."""
        return {**self.header, "runs": self.runs}

    def finish(self) -> None:
        """Print the record or the summary, with the comparison if one is requested.

        Raises
        ------
        ComparisonFailed
            If a figure became slower or worse.
        """
        if self.old is None:
            self.run.finish(self.content, self.lines)
            return
        from gpukit.papers.bench.compare import compare

        found = compare(self.old, self.content)
        self.run.finish({**self.content, "comparison": vars(found)}, self.lines | _table(found))
        if found.regressions:
            raise ComparisonFailed(
                f"{found.regressions} of {len(found.rows)} figures are slower or worse than in {self.compare}; "
                "the table names them"
            )


def named(graphs: Sequence[Path]) -> list[tuple[str, Path]]:
    """Return the display name of each graph, with its file; the path if two graphs have the same name."""
    stems = [path.stem for path in graphs]
    return [(stem if stems.count(stem) == 1 else str(path), path) for stem, path in zip(stems, graphs, strict=True)]


def each_graph(
    paths: Sequence[Path], **how: bool
) -> "Iterator[tuple[str, dict[str, Any], Graph, dict[str, Any] | None]]":
    """Yield name, facts, graph and sampling tables of graph files; ``how`` selects the parts that are read."""
    from gpukit.artifacts import read_graph_file

    for name, path in named(paths):
        graph, digest, tables = read_graph_file(path, **how)
        yield name, graph_facts(path, graph, digest), graph, tables


def graph_facts(path: Path, graph: "Graph", digest: str) -> dict[str, Any]:
    """Return the entries of a record about a graph file."""
    return {"name": path.stem, "n": graph.n, "m": graph.m, "weights": str(graph.weights), "digest": digest}


def command_line(program: str, words: Sequence[str]) -> str:
    """Return a program and its arguments as typed, with files named without their folders."""
    return " ".join([program, *(shlex.quote(_without_folder(word)) for word in words)])


def _without_folder(word: str) -> str:
    option, equals, value = word.rpartition("=") if word.startswith("-") else ("", "", word)
    return option + equals + Path(value).name if "/" in value else word


def _read_old(path: Path, benchmark: str, device: Device) -> dict[str, Any]:
    from gpukit.papers.bench.compare import figures
    from gpukit.report.records import record_of

    with record_of(str(path), f"papers bench {benchmark}") as old:
        if old["benchmark"] != benchmark:
            raise InputError(
                f"{path} is a record of `gpukit papers bench {old['benchmark']}`; give one of "
                f"`gpukit papers bench {benchmark}`"
            )
        there, here = (_place(one) for one in (old["device"], device.record()))
        figures(old)
    if there != here:
        raise InputError(f"{path} was taken on {there}, this run is on {here}; compare runs of the same device")
    return old


def _place(device: Mapping[str, Any]) -> str:
    """Return the attributes of a device that must be equal for times to be comparable."""
    if device["kind"] == "cpu":
        return f"{counted(int(device['threads']), 'thread')} of {device['name']}"
    return f"{len(device['gpus'])} × {device['name']}"


def milliseconds(spent: Mapping[str, float]) -> str:
    """Return the median and the range of times for the summary."""
    return f"{spent['median']:.2f} ms ({spent['min']:.2f} to {spent['max']:.2f})"


def _table(found: "Comparison") -> dict[str, str]:
    """Return old value, new value, ratio and verdict of each figure, and the figures that one record lacks."""
    lines = {"compared": f"{'old':>12} {'new':>12} {'ratio':>7} verdict"}
    everything = [*found.rows, *found.only_old, *found.only_new]
    for row, label in zip(everything, _labels(everything), strict=True):
        if "verdict" in row:
            ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f}"
            noise = f" (noise {row['noise']:.2f})" if row["verdict"] in ("slower", "faster", "as before") else ""
            lines[f"  {label}"] = f"{row['old']:>12.6g} {row['new']:>12.6g} {ratio:>7} {row['verdict']}{noise}"
        else:
            lines[f"  {label}"] = "only in the old record" if row in found.only_old else "only in the new record"
    return lines


def _labels(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a name for each row: graph, quantity, and the settings in which rows differ."""
    values: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row["settings"].items():
            values.setdefault(name, set()).add(str(value))
    # The digest of a graph is useful only if two graphs have the same name.
    named = {"graph"} | ({"digest"} if len(values.get("digest", ())) <= len(values.get("graph", ())) else set())
    for row in rows:
        own = row["settings"]
        differing = [f"{name} {str(own[name])[:12]}" for name in own if name not in named and len(values[name]) > 1]
        yield " ".join([own["graph"], *differing, row["quantity"]])
