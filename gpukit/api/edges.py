"""From edges to a graph, for ``graph import`` and for Python: options, report of how the file was read, building."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.api.session import Session
from gpukit.errors import InputError, UsageError
from gpukit.parameters.graph import Import, Text
from gpukit.wording import counted, spelled

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.graph.read.dialect import Dialect
    from gpukit.graph.read.edgelist import EdgeList, ReadOptions

_log = logging.getLogger("gpukit")

KINDS = {"integer": "whole numbers", "text": "names"}

MERGED = {
    "sum": "their weights are added",
    "combine": "each is a chance of its own",
    "first": "the first line of each counts",
    "merge": "the largest weight counts",
}
"""The treatment of parallel edges with weights, for messages."""

MOST_FAULTS = 10
"""Most skipped lines that are reported one by one."""


def import_edges(
    session: Session, edges: Path, asked: Import, limit: int | None = None
) -> "tuple[Graph, dict[str, Any], float]":
    """Return the graph of a file of edges, how its text was read, and the fraction of the file that was read.

    ``limit`` is that of :func:`gpukit.graph.read.formats.read_edges`: blocks of a text, all by default.
    """
    known, undirected, vertices = None, asked.undirected, asked.vertices
    if asked.dataset is not None:
        from gpukit.datasets import find_dataset

        known = find_dataset(asked.dataset)
        if vertices not in (None, known.vertices):
            raise UsageError(
                f"{spelled('vertices', vertices)} contradicts {spelled('dataset')} {known.name}, which says "
                "it; leave it out"
            )
        undirected, vertices = undirected or known.undirected or None, known.vertices
    said = said_of(asked.text)
    parallel = parallel_of(asked.parallel_edges, asked.scale)
    session.params = {"undirected": bool(undirected), "weights": asked.weights, "parallel_edges": parallel}
    session.params |= {"vertices": vertices} | ({"dataset": known.name} if known is not None else {})
    session.params |= ({"scale": asked.scale} if asked.scale is not None else {}) | said
    session.use_device()
    from gpukit.graph.lines import COUNTS, PROBABILITIES
    from gpukit.graph.probabilities import parse_weights
    from gpukit.graph.read.formats import read_edges

    options = read_options(asked.text)
    scheme = parse_weights(asked.weights, session.seed)
    if asked.scale is not None and scheme.scheme != "file":
        raise UsageError(
            f"{spelled('scale')} makes probabilities of a third column, but {spelled('weights')} is "
            f"{asked.weights}; use file"
        )
    highest = (COUNTS if asked.scale else PROBABILITIES) if scheme.scheme == "file" else 0
    with session.phase("read"), session.progress("read") as update:
        listed = read_edges(edges, highest, update, options, limit)
        session.inputs = {} if listed.digest is None else {"edges": listed.digest}
    understood = tell(listed, highest > 0)
    if undirected is None:
        undirected = bool(listed.undirected)
    elif listed.undirected not in (None, undirected):
        _log.warning(
            "the file says that its edges are %s; %s", *(("directed", f"{spelled('undirected', True)} reads each in "
                "both directions") if undirected
            else ("undirected", f"{spelled('undirected', False)} reads each in one direction"))
        )  # fmt: skip
    if (listed.ids is not None or listed.n is not None) and vertices is not None:
        kind = listed.said.get("format", "Matrix Market")
        raise UsageError(f"{spelled('vertices')} does not go with a {kind} file, which declares its vertices")
    if listed.labels is not None and vertices is not None:
        raise UsageError(
            f"{spelled('vertices')} goes with whole numbers, and the ids of this file are names; leave it out"
        )
    lines, session.skipped = len(listed.u), listed.bad
    facts = {"text": understood} if understood and not (listed.dialect and listed.dialect.plain) else {}
    graph = build(
        session,
        listed,
        parallel,
        undirected=undirected,
        vertices=vertices,
        facts=facts,
        transpose=asked.transpose,
        scale=asked.scale,
        consume=True,
    )
    if known is not None and limit is None:
        known.check_sizes(edges, graph.n, lines)
        if known.approximate:
            _log.info("the sizes of %s are known roughly only, and not compared", known.name)
    return graph, understood, listed.share


def said_of(text: Text) -> dict[str, Any]:
    """Return the options that the user gave about a file; the rest is detected."""
    usual = Text().record()
    return {name: value for name, value in text.record().items() if value != usual[name]}


def read_options(text: Text) -> "ReadOptions":
    """Return the options that the user gave about a file, in the form that readers take."""
    from gpukit.graph.read.edgelist import ReadOptions

    return ReadOptions(**{"separator" if name == "sep" else name: value for name, value in said_of(text).items()})


def parallel_of(asked: str | None, scale: str | None) -> str:
    """Return the treatment of parallel edges; by default counts are added, and the largest probability is kept."""
    return ("merge" if scale is None else "sum") if asked is None else "merge" if asked == "max" else asked


def seed_of(session: Session) -> int | None:
    """Return the seed of a graph, if its probabilities are drawn."""
    from gpukit.graph.probabilities import parse_weights

    return session.seed if parse_weights(session.params["weights"], session.seed).drawn else None


def build(
    session: Session,
    listed: "EdgeList",
    parallel: str,
    *,
    undirected: bool = False,
    vertices: int | None = None,
    facts: dict[str, Any],
    transpose: bool = True,
    scale: str | None = None,
    consume: bool = False,
) -> "Graph":
    """Build the graph of listed edges, with the probabilities that the parameters of the session name.

    ``consume``: the list may be overwritten, see :func:`gpukit.graph.build.build_graph`.
    """
    from gpukit.graph.build import build_graph
    from gpukit.graph.lines import shown
    from gpukit.graph.probabilities import parse_weights

    count, pair = listed.labels.alike() if listed.labels is not None else (0, [])
    if count:
        _log.warning(
            "%s from another name only in case or blanks, such as %s and %s; %s and %s make them one vertex",
            "1 name differs" if count == 1 else f"{count:,} names differ", *map(shown, pair),
            spelled("fold_case", True), spelled("strip", True),
        )  # fmt: skip
    with session.phase("build"):
        graph = build_graph(
            listed.u,
            listed.v,
            w=listed.w,
            weights=parse_weights(session.params["weights"], session.seed),
            undirected=undirected,
            parallel=parallel,
            ids=listed.ids if listed.ids is not None else vertices is None and listed.n is None,
            n=vertices if listed.n is None else listed.n,
            labels=listed.labels,
            scale=scale,
            transpose=transpose,
            facts=facts | ({} if listed.labels is None else listed.labels.facts),
            consume=consume,
        )
    if merged := graph.facts["parallel_edges_merged"]:
        weighted = parallel == "combine" or session.params["weights"] == "file"
        how = MERGED[parallel] if weighted else "an edge counts once"
        _log.info("%s merged: %s", counted(merged, "parallel edge"), how)
    if raised := graph.facts.get("probabilities_raised", 0):
        _log.warning("%s below 2^-32, the least that is stored, became 2^-32", counted(raised, "probability"))
    return graph


def need_edges(graph: "Graph") -> None:
    """Refuse a graph without remaining edges; raises InputError."""
    if not graph.m:
        raise InputError(
            f"the graph has no edges: {graph.facts['self_loops_dropped']} self-loops and "
            f"{graph.facts['zero_probability_dropped']} edges of probability 0 were dropped; give one with edges"
        )


def tell(listed: "EdgeList", weighted: bool, option: str | None = None) -> dict[str, Any]:
    """Log how a text was read, in one line, then possible mistakes; return the former for the record.

    ``option`` is the option that would read a third column of weights; ``--weights file`` by default.
    """
    dialect, record = listed.dialect, listed.said
    option = option or spelled("weights", "file")
    sides = {None: "", True: "; the file says that edges have no direction", False: ""}[listed.undirected]
    skipped = f"; {counted(listed.skipped, 'line')} blank or with a comment" if listed.skipped else ""
    if dialect is not None:
        columns = " and ".join(map(str, record["columns"][:2])) + "".join(
            f", weight {one}" for one in record["columns"][2:]
        )
        header = "a header" if record["header"] else "no header"
        said = (record["separator"], header, columns, KINDS[record["ids"]], sides, skipped)
        _log.info("read with %s between columns, %s, ids in columns %s: %s%s%s", *said)
        _tell_of_columns(dialect, weighted, option)
    elif record:
        columns = " in columns " + " and ".join(record["columns"][:2]) if "columns" in record else ""
        _log.info("read as %s, ids%s: %s%s", record["format"], columns, KINDS[record["ids"]], sides)
    for note in (*listed.notes, *_skipped(listed.bad)):
        _log.warning("%s", note)
    return record


def _skipped(bad: "Sequence[str]") -> list[str]:
    """Return the messages about skipped lines: their number, and the number and the fault of each of the first ones."""
    if not bad:
        return []
    faults = [f"  {fault.partition('; ')[0]}" for fault in bad[:MOST_FAULTS]]  # without the advice
    left = [f"  … and {len(bad) - MOST_FAULTS:,} more"] * (len(bad) > MOST_FAULTS)
    return [f"skipped {counted(len(bad), 'line')} without an edge:", *faults, *left]


def _tell_of_columns(dialect: "Dialect", weighted: bool, option: str) -> None:
    """Log which columns of a text were not used."""
    unused = set(range(dialect.width)) - {*dialect.columns, dialect.direction}
    if dialect.has_index and 0 in unused:
        _log.info("the first column has no name, as the index of a table, and is not used")
        unused.remove(0)
    if len(unused) > 1 and not weighted:
        names = ", ".join(dialect.names[place] or "no name" for place in sorted(unused) if dialect.names)[:200]
        _log.info(
            "the lines have %d columns, %d of them%s are not used; %s reads one of weights",
            dialect.width, len(unused), names and f" ({names})", option,
        )  # fmt: skip
    elif unused and not weighted:
        _log.info(
            "the lines have %d columns, the %s is not used; %s reads it",
            dialect.width, ("first", "second", "third", "fourth")[min(unused)], option,
        )  # fmt: skip
