"""The graphs of a configuration: their sources, and checks of their edge lists before any rule runs."""

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError, UsageError
from gpukit.files import local, missing
from gpukit.parameters.graph import Text
from gpukit.parameters.option import declared
from gpukit.remote import address_of

if TYPE_CHECKING:
    from gpukit.graph.read.edgelist import EdgeList

LOOKED_THROUGH = 64 << 20
"""Most bytes of an edge list that is read completely before any rule runs (about a second); of a longer one only the
start is read."""
OWN_OPTIONS = {"out", "as_json", "verbose", "help", "force"}
"""Parameters of commands that only the workflow sets; for ``generate`` also those of :data:`GENERATE_OPTIONS`."""
GENERATE_OPTIONS = OWN_OPTIONS | {"weights", "seed", "threads"}


def take_real(entry: dict[str, Any], *, wanted: bool) -> None:
    """Fetch the data set that a graph stands in for, if this is requested and the data set is available."""
    if not entry["real"]:
        return
    if not (entry["generate"] or entry["fetch"] == entry["real"]):
        raise InputError("real names what generate stands in for; leave it out beside edges or fetch")
    if not lacking(entry) and wanted:
        entry["fetch"], entry["generate"] = entry["real"], ""


def lacking(entry: Mapping[str, Any]) -> str:
    """Return why the data set that a graph stands in for is not available; an empty text if it is.

    Raises
    ------
    UsageError
        If there is no such data set.
    """
    from gpukit.datasets import find_dataset, local_copy

    if not entry["real"]:
        return ""
    dataset = find_dataset(entry["real"])
    there = dataset.url or dataset.shipped or local_copy(dataset)
    return "" if there else dataset.note or "no address of it is known"


def check_origin(entry: dict[str, Any], places: Sequence[Path]) -> None:
    """Check the source of a graph, and its edge probabilities."""
    if sum(map(bool, (entry["edges"], entry["generate"], entry["fetch"]))) != 1:
        raise InputError("each graph needs one of edges, generate and fetch")
    weights = entry["weights"]
    if weights.startswith("const:") and not 0 < float(weights.removeprefix("const:")) <= 1:
        raise InputError(f"weights is {weights}; a probability in (0, 1] is needed, as const:0.01")
    if weights.startswith("uniform:"):
        low, high = map(float, weights.removeprefix("uniform:").split(":"))
        if not 0 <= low <= high <= 1 or not high:
            raise InputError(f"weights is {weights}; 0 <= LO <= HI <= 1 with HI > 0 is needed, as uniform:0:0.1")
    if entry["scale"] and weights != "file":
        raise InputError(
            f"scale makes probabilities of a third column, but weights is {weights}; say file, or no scale"
        )
    if entry["parallel_edges"] == "sum" and not entry["scale"]:
        raise InputError("parallel_edges: sum adds counts, and needs scale to make probabilities of them; say both")
    if entry["generate"]:
        if weights == "file":
            raise InputError(
                "weights is file, but a generated graph has no file; choose wc, const:P, trivalency, "
                "uniform:LO:HI or none"
            )
        if entry["undirected"] and not entry["real"]:
            raise InputError("undirected is for edge lists; say --undirected in generate, where the model has it")
        check_generator(entry["generate"])
    elif entry["fetch"]:
        from gpukit.datasets import find_dataset, local_copy

        dataset = find_dataset(entry["fetch"])
        if not (dataset.url or dataset.shipped or local_copy(dataset)):
            raise InputError(
                f"fetch: {dataset.name} cannot be downloaded; get it from {dataset.page} and name it in edges"
            )
    elif places:
        check_file(entry["edges"], find_edges(entry, places))


def check_file(edges: str, found: Path | None, what: str = "edge list") -> None:
    """Check that a file was found, and that Snakemake and the commands read its name as the name of a file."""
    name = "edges" if what == "edge list" else "it"
    if found is None:
        if re.match("https?://", edges):
            raise missing(edges, "")
        raise InputError(f"there is no file {edges!r}; name {'an' if what[0] in 'aeiou' else 'a'} {what} that is there")
    if name != "edges" and not edges.isprintable():
        raise InputError(f"{name} is {edges[:60]!r}, with control characters; rename the file")
    if Path(edges) == Path("-"):
        raise InputError(f"{name} is '-', by which commands mean standard input; rename the file")
    if re.search("{.*}|<.*>", str(found), re.DOTALL):
        raise InputError(
            f"{name} is {str(found)!r}, but Snakemake puts something else for what is in braces or in < and >; "
            "rename the file, or name a link to it"
        )


def take_directions(entry: dict[str, Any], asked: bool | None) -> None:
    """Take from the catalogue whether a fetched graph is undirected; refuse a configuration that contradicts it."""
    if not entry["fetch"]:
        return
    from gpukit.datasets.catalogue import find_dataset

    dataset = find_dataset(entry["fetch"])
    if dataset.undirected and asked is False:
        raise InputError(
            f"undirected is false, but each line of {dataset.name} is an edge in both directions; leave undirected out"
        )
    entry["undirected"] = dataset.undirected or bool(asked)


def check_generator(text: str) -> int:
    """Check the model and options of a generated graph; return its number of vertices."""
    options = command_options("generate", ["graph", "generate"], words(text, "generate"))
    for name in GENERATE_OPTIONS & options.keys():
        raise InputError(f"generate: {name} is the workflow's to say; leave it out")
    n = options.get("vertices") or 1 << min(max(options.get("scale") or 0, 0), 31)
    if not 2 <= n < 2**31:
        raise InputError(f"generate: {n} vertices; 2 to 2^31 - 1 are allowed")
    if not 1 <= options.get("edges", 1) <= n * (n - 1):
        raise InputError(f"generate: {options['edges']} edges on {n} vertices; 1 to {n * (n - 1)} are possible")
    return int(n)


def check_weights(entry: dict[str, Any], config: dict[str, Any], places: Sequence[Path]) -> None:
    """Check that a graph has probabilities if a system needs them, and that these suit the model."""
    systems = [config["paper"]] if config["paper"] else entry["systems"]
    spread = [system for system in systems if system in ("gim", "imgpu", "merit")]
    if entry["weights"] == "none" and spread:
        raise InputError(
            f"weights is none, but {spread[0]} needs edge probabilities; choose wc, const:P, "
            "trivalency, uniform:LO:HI or file"
        )
    if "kpar" in systems and config["kpar"]["weighted"] and (weights_of_none := _no_weights(entry)):
        raise InputError(
            f"kpar.weighted is true, but {weights_of_none}, which is nothing of an edge; say weights: file, of counts "
            "with scale: max, or kpar.weighted: false"
        )
    _check_probabilities(entry, config, places)


def _no_weights(entry: Mapping[str, Any]) -> str:
    """Return the setting that makes probabilities no weights of edges, for a message.

    It is an empty text if they are weights.
    """
    if entry["scale"] == "in-sum":
        return "scale is in-sum"
    return "" if entry["weights"].startswith(("file", "trivalency", "uniform")) else f"weights is {entry['weights']}"


def _check_probabilities(entry: dict[str, Any], config: dict[str, Any], places: Sequence[Path]) -> None:
    """Check in an edge list itself that it has probabilities, and that these suit the linear threshold model.

    The start of the list is enough for the first check. The second needs the whole list; for a long list the rules do
    it.
    """
    weights, systems = entry["weights"], [config["paper"]] if config["paper"] else entry["systems"]
    threshold = "lt" in entry["models"] and weights not in ("wc", "none") and entry["scale"] != "in-sum"
    threshold = threshold and not {"gim", "merit"}.isdisjoint(systems)
    path = find_edges(entry, places) if entry["edges"] else None
    if path is None or not (threshold or weights == "file"):
        return
    from gpukit.api.edges import parallel_of, read_options
    from gpukit.graph.build import build_graph
    from gpukit.graph.probabilities import above_one, parse_weights
    from gpukit.graph.read.formats import read_edges

    highest, options = _highest(entry), read_options(_text(entry))
    try:
        listed = read_edges(path, highest, options=options, limit=1)
        if listed.share < 1 and threshold and path.stat().st_size <= LOOKED_THROUGH:
            listed = read_edges(path, highest, options=options)
    except UsageError:  # a file of another library tells nothing by its start
        return
    except InputError as error:
        raise InputError(f"weights is {weights}: {error}") from None
    if not threshold or listed.share < 1:
        return
    graph = build_graph(
        listed.u, listed.v, w=listed.w, weights=parse_weights(weights, config["seed"]),
        undirected=entry["undirected"] or bool(listed.undirected), ids=True if listed.ids is None else listed.ids,
        labels=listed.labels, scale=entry["scale"] or None, transpose=False,
        parallel=parallel_of(entry["parallel_edges"] or None, entry["scale"] or None),
    )  # fmt: skip
    if broken := above_one(graph):
        raise InputError(
            f"models has lt, but {broken}; say scale: in-sum (with weights: file), weights: wc, or leave lt out"
        )


def vertices_in(entry: dict[str, Any], needed: int, places: Sequence[Path]) -> int | None:
    """Return an upper bound on the number of vertices of a graph.

    It is None if the graph has ``needed`` vertices, or nothing is known yet.
    """
    if entry["generate"]:
        return check_generator(entry["generate"])
    if entry["fetch"]:
        from gpukit.datasets.catalogue import find_dataset

        dataset = find_dataset(entry["fetch"])
        return None if dataset.approximate else dataset.n
    if entry["edges"] in _shipped():
        return _shipped()[entry["edges"]]
    path = find_edges(entry, places)
    return None if path is None else _listed(path, needed, entry)


def _highest(entry: Mapping[str, Any]) -> float:
    """Return the highest weight that the file of an entry of ``graphs`` may have; 0: none is read."""
    from gpukit.graph.lines import COUNTS, PROBABILITIES

    return (COUNTS if entry["scale"] else PROBABILITIES) if entry["weights"] == "file" else 0


def _text(entry: Mapping[str, Any]) -> Text:
    """Return the options in an entry of ``graphs`` about its file."""
    return Text(**{name: entry[name] for name in declared(Text) if name in entry})


def find_edges(entry: Mapping[str, Any], places: Sequence[Path]) -> Path | None:
    """Return the path of the edge list of a graph; None if none of these folders has it."""
    return find_file(entry["edges"], places)


def find_file(name: str, places: Sequence[Path]) -> Path | None:
    """Return the path of a file, for an address that of its copy here; None if none of these folders has it."""
    if address_of(name) is not None:
        copy = Path(local(name))
        return copy if copy.is_file() else None
    return next((place / name for place in places if (place / name).is_file()), None)


def _listed(path: Path, needed: int, entry: Mapping[str, Any]) -> int | None:
    """Return the number of vertices of an edge list; None if it has at least ``needed``, which its start may show.

    Raises
    ------
    InputError
        If the file cannot be read as an edge list.
    """
    import numpy as np

    n = 0
    for limit in (1, None):
        try:
            listed = read_listed(path, entry, limit)
        except UsageError:  # a file of another library tells nothing by its start
            if limit is None:
                raise
            continue
        ids = listed.n if listed.ids is None else len(listed.ids)
        n = len(np.union1d(listed.u, listed.v)) if ids is None else ids
        if n >= needed:
            return None
        if listed.share == 1:
            break
    return n


def read_listed(path: Path, entry: Mapping[str, Any], limit: int | None = None) -> "EdgeList":
    """Return the edge list of an entry of ``graphs``, or blocks of its start; errors are those of ``read_edges``."""
    from gpukit.api.edges import read_options
    from gpukit.graph.read.formats import read_edges

    return read_edges(path, _highest(entry), options=read_options(_text(entry)), limit=limit)


@cache  # reading the catalogue takes longer than all other checks
def _shipped() -> dict[str, int]:
    """Return the vertices of the graphs that ship with gpukit, by the path of the edge list."""
    from gpukit.datasets.catalogue import load_catalogue

    return {one.shipped: one.n for one in load_catalogue().values() if one.shipped}


def words(text: str, key: str) -> list[str]:
    """Return the words of a command, split as by a shell, but without any expansion.

    Raises
    ------
    InputError
        If quotes are not closed, or there are control characters.
    """
    if not text.isprintable():
        raise InputError(f"{key}: {text[:80]!r} has control characters; one line of words is needed")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"{key}: {text[:80]!r}: {str(error).lower()}") from None


def command_options(key: str, path: Sequence[str], given: Sequence[str]) -> dict[str, Any]:
    """Return the options and arguments of a command of ``gpukit``, converted, without running it.

    Raises
    ------
    InputError
        If there is no such command or option, or a value is of the wrong kind.
    """
    import typer
    from typer.main import get_command

    from gpukit.cli.app import app

    command, context, rest = get_command(app), None, [*path, *given]
    try:
        while hasattr(command, "resolve_command"):
            context = type(command).context_class(command, info_name="gpukit", parent=context)
            if not rest or rest[0].startswith("-"):
                raise InputError(f"{key}: a command of gpukit is needed, as {' '.join(path)} …")
            _, command, rest = command.resolve_command(context, rest)
        context = type(command).context_class(command, info_name="gpukit", parent=context)
        found, more, _ = command.make_parser(context).parse_args(list(rest))
        if more:
            raise InputError(f"{key}: {more[0][:60]!r} is no option; options begin with --")
        for parameter in command.params:
            if parameter.name in found:
                found[parameter.name] = parameter.process_value(context, found[parameter.name])
            elif parameter.required and parameter.name != "out":
                raise InputError(f"{key}: {max(parameter.opts, key=len)} is missing")
    except typer.TyperException as error:
        raise InputError(f"{key}: {' '.join(error.format_message().split())[:300]}") from None
    return found
