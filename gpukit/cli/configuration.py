"""What the workflow asks of its configuration before any rule: the schema, and what the commands would refuse.

Whatever can be known without a graph is refused here, in one line that names the key; nothing in a configuration is a
command for a shell.
"""

import copy
import difflib
import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gpukit.cli.config_file import check_file, check_size
from gpukit.errors import GpukitError, InputError, UsageError
from gpukit.files import missing
from gpukit.wording import facing

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
FRESH_WORLDS = 2**47
SAMPLES = 2**48
LOOKED_THROUGH = 64 << 20
"""Bytes of an edge list that is read to its end before any rule, about a second; of a longer one the start is."""
OWN_OPTIONS = {"out", "as_json", "verbose", "help", "force"}
"""Parameters of commands that the workflow itself gives; so are those of :data:`GENERATE_OPTIONS` when it generates."""
GENERATE_OPTIONS = OWN_OPTIONS | {"weights", "seed", "threads"}


@facing("workflow")
def check_configuration(
    config: dict[str, Any], schema: Path, files: Sequence[str | Path] = (), places: Sequence[Path] = ()
) -> None:
    """Check a configuration, and fill in the defaults of its schema.

    Parameters
    ----------
    config : dict
        The configuration; changed in place.
    schema : Path
        Its JSON schema.
    files : sequence of paths
        What it was read from; looked at for what reading hides.
    places : sequence of paths
        Folders in which edge lists are looked for; none: they are not.

    Raises
    ------
    InputError
        In one line: the key, what was found, what is allowed.
    """
    for path in files:
        check_file(Path(path))
    check_size(config)
    written = copy.deepcopy(config)  # the schema fills in defaults, which hide what was left out
    _check_schema(config, schema)
    paper = config["paper"]
    if paper and config["scale"] not in config["scales"]:
        raise InputError(
            f"paper is {paper}, but scales has no {config['scale']}; add --configfile config/paper/{paper}.yaml"
        )
    scale = config["scales"][config["scale"]] if paper else {}
    where = f"scales.{config['scale']}.graphs" if paper else "graphs"
    graphs = scale.get("graphs", config["graphs"])
    asked = written["scales"][config["scale"]]["graphs"] if paper else written.get("graphs", graphs)
    _check_numbers(config)
    names = [entry["name"] for entry in graphs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(
            f"{where}: two graphs have the same name, {twice}; names are file names, so each must be its own"
        )
    for number, entry in enumerate(graphs):
        try:
            _take_real(entry, wanted=config["data"] == "real")
            _check_origin(entry, places)
            _take_directions(entry, asked[number].get("undirected"))
            _check_use(entry, config, places)
            _check_probabilities(entry, config, places)
        except GpukitError as error:
            raise InputError(f"{where}[{number}] ({entry['name']}): {error}") from None


def _check_schema(config: dict[str, Any], schema: Path) -> None:
    """Check a configuration against the schema as written: whole numbers are integers, patterns fit from end to end."""
    import jsonschema  # comes with Snakemake

    base = jsonschema.Draft202012Validator

    def properties(validator: Any, known: Any, instance: Any, part: Any) -> Iterator[Any]:
        if isinstance(instance, dict):
            for name, below in known.items():
                if "default" in below:
                    instance.setdefault(name, copy.deepcopy(below["default"]))
        yield from base.VALIDATORS["properties"](validator, known, instance, part)

    def pattern(_: Any, wanted: str, instance: Any, field: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not re.fullmatch(wanted, instance):
            yield jsonschema.ValidationError(f"{instance[:40]!r} does not match: {field['description']}")

    types = base.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda _, value: type(value) is int or (isinstance(value, float) and math.isfinite(value)),
        }
    )
    whole = json.loads(schema.read_text(encoding="utf-8"))
    for section, field in whole["properties"].items():
        if "$ref" in field:  # a module of another workflow may say nothing of it
            config.setdefault(section, {})
    kind = jsonschema.validators.extend(base, {"properties": properties, "pattern": pattern}, type_checker=types)
    for error in kind(whole).iter_errors(config):
        key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        text = " ".join(error.message.split())
        text = text if len(text) < 200 else f"{text[:80]} … {text[-100:]}"
        if error.validator == "additionalProperties":
            text = _unknown(error.instance, error.schema["properties"])
        raise InputError(f"{key.lstrip('.') or 'top level'}: {text}")


def _unknown(section: dict[str, Any], known: dict[str, Any]) -> str:
    """Say which key of a section is none, which is nearest to it, and which there are."""
    name = next(key for key in section if key not in known)
    near = difflib.get_close_matches(name, known, 1)
    nearest = f"did you mean {near[0]}? " if near else ""
    return f"there is no key {name[:60]!r}; {nearest}Known: {', '.join(known)}"


def _check_numbers(config: dict[str, Any]) -> None:
    """Check numbers against each other."""
    k, prefixes = config["gim"]["k"], config["evaluate"]["prefixes"]
    if max(prefixes) > k:
        raise InputError(
            f"evaluate.prefixes goes up to {max(prefixes)} seeds, but gim.k is {k}; lower the one or raise the other"
        )
    worlds = config["imgpu"]["worlds"]
    if "fresh" in config["imgpu"]["modes"] and k * worlds > FRESH_WORLDS:
        raise InputError(f"imgpu.worlds is {worlds}, times gim.k more than 2^47 fresh worlds; lower one of them")
    if config["shards"]["count"] * config["shards"]["sets"] > SAMPLES:
        raise InputError("shards: count times sets is more than 2^48, the number of sample ids; lower one of them")


def _take_real(entry: dict[str, Any], *, wanted: bool) -> None:
    """Fetch the data set that a graph stands in for, if that is wanted and it can be had."""
    if not entry["real"]:
        return
    if not (entry["generate"] or entry["fetch"] == entry["real"]):
        raise InputError("real names what generate stands in for; leave it out beside edges or fetch")
    if not lacking(entry) and wanted:
        entry["fetch"], entry["generate"] = entry["real"], ""


def lacking(entry: Mapping[str, Any]) -> str:
    """Return why the data set that a graph stands in for cannot be had, or nothing.

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


def _check_origin(entry: dict[str, Any], places: Sequence[Path]) -> None:
    """Check where a graph comes from, and its edge probabilities."""
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
        _check_generator(entry["generate"])
    elif entry["fetch"]:
        from gpukit.datasets import find_dataset, local_copy

        dataset = find_dataset(entry["fetch"])
        if not (dataset.url or dataset.shipped or local_copy(dataset)):
            raise InputError(
                f"fetch: {dataset.name} cannot be downloaded; get it from {dataset.page} and name it in edges"
            )
    elif places:
        _check_edges(entry["edges"], find_edges(entry, places))


def _check_edges(edges: str, found: Path | None) -> None:
    """Check that an edge list was found, and that Snakemake and the commands take its name for a file's."""
    if found is None:
        if re.match("https?://", edges):
            raise missing(edges, "")
        raise InputError(f"there is no file {edges!r}; name an edge list that is there")
    if Path(edges) == Path("-"):
        raise InputError("edges is '-', by which commands mean standard input; rename the file")
    if re.search("{.*}|<.*>", str(found), re.DOTALL):
        raise InputError(
            f"edges is {str(found)!r}, but Snakemake puts something else for what is in braces or in < and >; "
            "rename the file, or name a link to it"
        )


def _take_directions(entry: dict[str, Any], asked: bool | None) -> None:
    """Let the catalogue say whether edges of what is fetched go both ways; refuse a configuration that denies it."""
    if not entry["fetch"]:
        return
    from gpukit.datasets.catalogue import find_dataset

    dataset = find_dataset(entry["fetch"])
    if dataset.undirected and asked is False:
        raise InputError(
            f"undirected is false, but each line of {dataset.name} is an edge in both directions; leave undirected out"
        )
    entry["undirected"] = dataset.undirected or bool(asked)


def _check_generator(text: str) -> int:
    """Check the model and options of a generated graph; return how many vertices it has."""
    options = command_options("generate", ["graph", "generate"], words(text, "generate"))
    for name in GENERATE_OPTIONS & options.keys():
        raise InputError(f"generate: {name} is the workflow's to say; leave it out")
    n = options.get("vertices") or 1 << min(max(options.get("scale") or 0, 0), 31)
    if not 2 <= n < 2**31:
        raise InputError(f"generate: {n} vertices; 2 to 2^31 - 1 are allowed")
    if not 1 <= options.get("edges", 1) <= n * (n - 1):
        raise InputError(f"generate: {options['edges']} edges on {n} vertices; 1 to {n * (n - 1)} are possible")
    return int(n)


def _check_use(entry: dict[str, Any], config: dict[str, Any], places: Sequence[Path]) -> None:
    """Check what is to be done with a graph: that it has probabilities, and as many vertices as are asked for."""
    paper = config["paper"]
    systems = [paper] if paper else entry["systems"]
    spread = [system for system in systems if system in ("gim", "imgpu", "merit")]
    if entry["weights"] == "none" and spread:
        raise InputError(
            f"weights is none, but {spread[0]} needs edge probabilities; choose wc, const:P, "
            "trivalency, uniform:LO:HI or file"
        )
    wanted = {
        "gim": {"gim.k": config["gim"]["k"]},
        "imgpu": {"gim.k": config["gim"]["k"]},
        "kpar": {"kpar.k": max(config["kpar"]["k"])},
        "merit": {"merit.eta": max(config["merit"]["eta"]), "merit.batch": config["merit"]["batch"]},
        "diversity": {"diversity.t": config["diversity"]["t"]},
    }
    if paper:  # other papers are rebuilt by commands of their own
        runs = {f"experiments.{name}.k": max(one["k"]) for name, one in config["experiments"].items()}
        wanted = {"kpar": wanted["kpar"], "gim": runs}
    sizes = {key: value for system in systems for key, value in wanted.get(system, {}).items()}
    if not sizes:
        return
    n = _vertices(entry, max(sizes.values()), places)
    for key, value in sizes.items():
        if n is not None and value > n:
            raise InputError(f"{key} is {value}, but the graph has {n} vertices; lower it")


def _check_probabilities(entry: dict[str, Any], config: dict[str, Any], places: Sequence[Path]) -> None:
    """Check by an edge list itself that it has probabilities, and that these suit the linear threshold model.

    Its start tells the first; the second needs all of it, and is left to the rules where it is long.
    """
    weights, systems = entry["weights"], [config["paper"]] if config["paper"] else entry["systems"]
    threshold = "lt" in entry["models"] and weights not in ("wc", "none") and entry["scale"] != "in-sum"
    threshold = threshold and not {"gim", "merit"}.isdisjoint(systems)
    path = find_edges(entry, places) if entry["edges"] else None
    if path is None or not (threshold or weights == "file"):
        return
    from gpukit.api.edges import parallel_of
    from gpukit.graph.build import build_graph
    from gpukit.graph.lines import COUNTS, PROBABILITIES
    from gpukit.graph.probabilities import above_one, parse_weights
    from gpukit.graph.read.formats import read_edges

    highest = (COUNTS if entry["scale"] else PROBABILITIES) if weights == "file" else 0
    try:
        listed = read_edges(path, highest, limit=1)
        if listed.share < 1 and threshold and path.stat().st_size <= LOOKED_THROUGH:
            listed = read_edges(path, highest)
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


def _vertices(entry: dict[str, Any], needed: int, places: Sequence[Path]) -> int | None:
    """Return the most vertices that a graph can have, or None where it has ``needed``, or nothing is known yet."""
    if entry["generate"]:
        return _check_generator(entry["generate"])
    if entry["fetch"]:
        from gpukit.datasets.catalogue import find_dataset

        dataset = find_dataset(entry["fetch"])
        return None if dataset.approximate else dataset.n
    if entry["edges"] in _shipped():
        return _shipped()[entry["edges"]]
    path = find_edges(entry, places)
    return None if path is None else _listed(path, needed)


def find_edges(entry: Mapping[str, Any], places: Sequence[Path]) -> Path | None:
    """Return where the edge list of a graph is, or None where none of these folders has it."""
    return next((place / entry["edges"] for place in places if (place / entry["edges"]).is_file()), None)


def _listed(path: Path, needed: int) -> int | None:
    """Return how many vertices an edge list has, or None where it has at least ``needed``: then its start tells.

    Raises
    ------
    InputError
        If it cannot be read as one.
    """
    import numpy as np

    from gpukit.graph.read.formats import read_edges

    n = 0
    for limit in (1, None):
        try:
            listed = read_edges(path, limit=limit)
        except UsageError:  # a file of another library tells nothing by its start
            continue
        ids = listed.n if listed.ids is None else len(listed.ids)
        n = len(np.union1d(listed.u, listed.v)) if ids is None else ids
        if n >= needed:
            return None
        if listed.share == 1:
            break
    return n


@cache  # to read the catalogue takes longer than all other checks
def _shipped() -> dict[str, int]:
    """Return the vertices of the graphs that ship with gpukit, by the path of the edge list."""
    from gpukit.datasets.catalogue import load_catalogue

    return {one.shipped: one.n for one in load_catalogue().values() if one.shipped}


def words(text: str, key: str) -> list[str]:
    """Return the words of a command as a shell would split them, and none of what a shell would do with them.

    Raises
    ------
    InputError
        If quotes are left open, or there are control characters.
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
