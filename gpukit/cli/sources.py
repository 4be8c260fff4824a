"""The sources of personalised PageRank queries: on the command line, in a file, or at random."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from gpukit.cli.vertices import MAX_ID, text_lines, vertices_of, words_of
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.kpar.problem import Sources

MAX_WEIGHT = 10**9
MAX_QUERIES = 10**7


def read_sources(
    graph: "Graph",
    source: str | None,
    file: Path | None,
    random: int | None,
    seed: int,
    k: int,
    inputs: dict[str, str],
) -> "Sources":
    """Return the queries of one of ``--source``, ``--sources`` and ``--random``; a file's digest joins ``inputs``.

    Raises
    ------
    UsageError
        If not exactly one is given, a word of ``--source`` is not ``ID`` or ``ID:WEIGHT``, or k does not fit the graph.
    InputError
        If the file is broken or an id is not in the graph.
    """
    from gpukit.kpar.problem import Sources, check_k

    if sum(given is not None for given in (source, file, random)) != 1:
        raise UsageError("give the sources by one of --source, --sources and --random")
    check_k(k, graph.n)
    if random is not None:
        if not 1 <= random <= MAX_QUERIES:
            raise UsageError(f"--random is {random}; 1 to {MAX_QUERIES} are allowed")
        from gpukit.kpar.problem import random_vertices

        return Sources.single(random_vertices(graph.n, random, seed))
    if source is not None:
        try:
            sets = [_pairs(source)]
        except ValueError as error:
            raise UsageError(f"--source: {error}") from None
        vertices = graph.internal([vertex for vertex, _ in sets[0]]).tolist()
    else:
        assert file is not None
        content = file.read_bytes()
        inputs["sources"] = hashlib.sha256(content).hexdigest()
        lines, sets = _read(file, content)
        ids = [vertex for one in sets for vertex, _ in one]
        places = [line for line, one in zip(lines, sets, strict=True) for _ in one]
        vertices = vertices_of(file, places, ids, graph).tolist()
    place, queries = 0, []
    for one in sets:
        queries.append(Sources.weighted(vertices[place : place + len(one)], [weight for _, weight in one]))
        place += len(one)
    return Sources.together(queries)


def _read(path: Path, content: bytes) -> tuple[list[int], list[list[tuple[int, int]]]]:
    """Return the lines of a text file that hold a query, and the queries, one a line; ``#`` starts a comment."""
    lines, sets = [], []
    for number, text in text_lines(path, content):
        try:
            sets.append(_pairs(text))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        lines.append(number)
    return lines, sets


def _pairs(text: str) -> list[tuple[int, int]]:
    """Return (vertex, weight) of words ``ID`` or ``ID:WEIGHT`` between blanks or commas; raises ValueError."""
    pairs = []
    for word in words_of(text):
        name, colon, weight = word.partition(":")
        for part, least, most in ((name, 0, MAX_ID), (weight if colon else "1", 1, MAX_WEIGHT)):
            if not (part.isascii() and part.isdigit() and len(part) < 20 and least <= int(part) <= most):
                raise ValueError(f"{word[:40]!r} is not ID or ID:WEIGHT (whole numbers, weights 1 to {MAX_WEIGHT})")
        pairs.append((int(name), int(weight) if colon else 1))
    if not pairs:
        raise ValueError("no vertex is named")
    return pairs
