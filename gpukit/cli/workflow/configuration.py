"""Check a configuration of the workflow before any rule runs: by the schema, and by the checks of the commands.

Every mistake that can be found without a graph is reported here in one line that names the key. No value of a
configuration is executed by a shell.
"""

import copy
import difflib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpukit.cli.workflow.config_file import check_file as check_source
from gpukit.cli.workflow.config_file import check_size
from gpukit.cli.workflow.config_graphs import (
    check_file,
    check_origin,
    check_weights,
    find_file,
    take_directions,
    take_real,
    vertices_in,
)
from gpukit.cli.workflow.config_vertices import wrong_vertices
from gpukit.errors import GpukitError, InputError
from gpukit.parameters import diversity, gim, graph, imgpu, kpar, merit
from gpukit.parameters.option import declared
from gpukit.wording import facing

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
FRESH_WORLDS = 2**47
SAMPLES = 2**48
PARAMS: dict[str, Any] = {"graphs": graph.Text, "gim": gim.Params, "imgpu": imgpu.Params, "kpar": kpar.Params}
PARAMS |= {"merit": merit.Params, "diversity": diversity.Params}
"""The declared parameters of the sections of a configuration, and of the entries of ``graphs``."""
ERRORS_SHOWN = 20
SIZES = ("gim.k", "evaluate.prefixes", "kpar.k", "merit.eta", "merit.batch", "diversity.t")
"""Keys whose default values depend on the graphs."""
PASSED = "GPUKIT_SIZES"
"""The variable that passes their values to jobs on other machines; the Snakefile declares it to Snakemake."""
ENOUGH = 1000
"""From this number of vertices on, all sizes have their usual values."""


@facing("workflow")
def check_configuration(
    config: dict[str, Any],
    schema: Path,
    files: Sequence[str | Path] = (),
    places: Sequence[Path] = (),
    sizes: Mapping[str, Any] | None = None,
) -> None:
    """Check a configuration, and fill in the defaults of its schema and the sizes that fit the graphs.

    Parameters
    ----------
    config : dict
        The configuration; changed in place.
    schema : Path
        Its JSON schema.
    files : sequence of paths
        The files that it was read from; they are checked for errors that reading hides.
    places : sequence of paths
        Folders in which edge lists are searched; if empty, they are not searched.
    sizes : mapping, optional
        The sizes that fit, as :func:`sizes_of` returned them on a machine that has the files.

    Raises
    ------
    InputError
        With one line per error: the key, the value, and the allowed values.
    """
    for path in files:
        check_source(Path(path))
    check_size(config)
    written = copy.deepcopy(config)  # the schema fills in defaults, which hides which keys were left out
    found = _Faults()
    _check_schema(config, schema, found)
    found.end()
    paper = config["paper"]
    if paper and config["scale"] not in config["scales"]:
        raise InputError(
            f"paper is {paper}, but scales has no {config['scale']}; add --configfile config/paper/{paper}.yaml"
        )
    scale = config["scales"][config["scale"]] if paper else {}
    where = f"scales.{config['scale']}.graphs" if paper else "graphs"
    graphs = scale.get("graphs", config["graphs"])
    asked = written["scales"][config["scale"]]["graphs"] if paper else written.get("graphs", graphs)
    names = [entry["name"] for entry in graphs]
    with found.at():
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InputError(
                f"{where}: two graphs have the same name, {twice}; names are file names, so each must be its own"
            )
    _check_questions(config, places, found)
    files_there = not found.lines
    sound = []
    for number, entry in enumerate(graphs):
        with found.at(f"{where}[{number}] ({entry['name']}): "):
            take_real(entry, wanted=config["data"] == "real")
            check_origin(entry, places)
            take_directions(entry, asked[number].get("undirected"))
            check_weights(entry, config, places)
            if not paper and sizes is None:
                vertices_in(entry, ENOUGH, places)  # checks that the file can be read
            sound.append((f"{where}[{number}] ({entry['name']}): ", entry))
    # An error in one graph does not hide errors in other graphs.
    _fit_sizes(config, [entry for _, entry in sound], places, sizes)
    _check_numbers(config, found)
    for place, entry in sound:
        with found.at(place):
            _check_fit(entry, config, places)
        if places and files_there and not paper:
            found.lines += [f"{place}{line}" for line in wrong_vertices(entry, config, places)]
    found.end()


class _Faults:
    """The errors in a configuration, one line each."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextmanager
    def at(self, where: str = "") -> Iterator[None]:
        """Record the error that the ``with`` body raises, with its place; the rest of the body does not run."""
        try:
            yield
        except GpukitError as error:
            self.lines.append(f"{where}{error}")

    def end(self) -> None:
        """Raise InputError with all lines, if there are any."""
        if more := self.lines[ERRORS_SHOWN:]:
            self.lines[ERRORS_SHOWN:] = [f"and {len(more)} more"]
        if self.lines:
            raise InputError("\n".join(dict.fromkeys(self.lines)))


def _check_schema(config: dict[str, Any], schema: Path, found: _Faults) -> None:
    """Check a configuration against the schema as written: whole numbers are integers, patterns fit from end to end."""
    import jsonschema  # Snakemake installs it

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
        if "$ref" in field:  # a workflow that uses this one as a module may omit the section
            config.setdefault(section, {})
    kind = jsonschema.validators.extend(base, {"properties": properties, "pattern": pattern}, type_checker=types)
    for error in kind(whole).iter_errors(config):
        key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        text = " ".join(error.message.split())
        text = text if len(text) < 200 else f"{text[:80]} … {text[-100:]}"
        if error.validator == "additionalProperties":
            text = _unknown(error.instance, error.schema["properties"])
        found.lines.append(f"{key.lstrip('.') or 'top level'}: {text}")


def _unknown(section: dict[str, Any], known: dict[str, Any]) -> str:
    """Return the message about an unknown key of a section, with the most similar key and all known keys."""
    name = next(key for key in section if key not in known)
    near = difflib.get_close_matches(name, known, 1)
    nearest = f"did you mean {near[0]}? " if near else ""
    return f"there is no key {name[:60]!r}; {nearest}Known: {', '.join(known)}"


def _check_questions(config: dict[str, Any], places: Sequence[Path], found: _Faults) -> None:
    """Check the keys about vertices, weights, costs and seeds: files exist, and names of seed sets are not taken."""
    from gpukit.report.style import SIMULATORS

    asked = config["gim"]
    with found.at("gim: "):
        gim.check_limits(None if asked["budget"] is not None else asked["k"] or 1, asked["budget"], asked["costs"])
    for name, path in config["seeds"].items():
        with found.at(f"seeds.{name[:60]}: "):
            if not re.fullmatch(NAME, name):
                raise InputError("a name of letters, digits, dots, - and _ is needed; tables and files have it")
            if name in SIMULATORS:
                raise InputError(f"{name} is a method of gpukit; choose another name")
            _check_file(path, places)
    named = {"gim.targets": asked["targets"], "gim.costs": asked["costs"], "kpar.sources": config["kpar"]["sources"]}
    named["merit.costs"] = None if config["merit"]["costs"] in ("degree", "uniform") else config["merit"]["costs"]
    for key, path in named.items():
        with found.at(f"{key}: "):
            if isinstance(path, str):
                _check_file(path, places)
    for source in config["kpar"]["sources"] if isinstance(config["kpar"]["sources"], list) else []:
        with found.at("kpar.sources: "):
            if not str(source).isprintable() or not str(source).strip():
                raise InputError(f"{str(source)[:40]!r} is no vertex, and no set ID:WEIGHT,ID:WEIGHT")


def _check_file(name: str, places: Sequence[Path]) -> None:
    """Check that a file exists, if files are searched, and that Snakemake reads its name as the name of a file."""
    if places:
        check_file(name, find_file(name, places), "file")


def _check_numbers(config: dict[str, Any], found: _Faults) -> None:
    """Check numbers against each other."""
    k, prefixes = config["gim"]["k"], config["evaluate"]["prefixes"]
    worlds = config["imgpu"]["worlds"]
    with found.at():
        if max(prefixes) > k and config["gim"]["budget"] is None:
            raise InputError(
                f"evaluate.prefixes goes up to {max(prefixes)} seeds, but gim.k is {k}; lower the one or raise the "
                "other"
            )
    with found.at():
        if "fresh" in config["imgpu"]["modes"] and k * worlds > FRESH_WORLDS:
            raise InputError(f"imgpu.worlds is {worlds}, times gim.k more than 2^47 fresh worlds; lower one of them")
    with found.at():
        if config["shards"]["count"] * config["shards"]["sets"] > SAMPLES:
            raise InputError("shards: count times sets is more than 2^48, the number of sample ids; lower one of them")


def _fit_sizes(
    config: dict[str, Any], graphs: Sequence[dict[str, Any]], places: Sequence[Path], known: Mapping[str, Any] | None
) -> None:
    """Fill in the sizes that a configuration leaves out: the usual ones, or smaller ones for a small graph."""
    if known is None:
        known = _fitting(config, [] if config["paper"] else graphs, places)
    for key, size in known.items():
        section, _, name = key.partition(".")
        if config[section][name] is None:
            config[section][name] = size
    if config["evaluate"]["prefixes"] is None:
        k = config["gim"]["k"]
        usual = [5, 10, 20, 30, 40, 50] + [1] * (k < 10) + _listed_seeds(config, places)
        config["evaluate"]["prefixes"] = sorted({one for one in usual if one < k} | {k})


def passed_sizes(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the sizes that another machine passed to this job, by the folder of results; None if there are none."""
    found: dict[str, Any] | None = json.loads(os.environ.get(PASSED, "{}")).get(config.get("results", "results"))
    return found


def pass_sizes(config: Mapping[str, Any]) -> None:
    """Pass the sizes of a checked configuration to jobs on other machines, in an environment variable."""
    before = json.loads(os.environ.get(PASSED, "{}"))
    os.environ[PASSED] = json.dumps(before | {config["results"]: sizes_of(config)})


def sizes_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes of a checked configuration, for a machine that cannot read the graphs."""
    return {key: config[key.partition(".")[0]][key.partition(".")[2]] for key in SIZES}


def _fitting(config: Mapping[str, Any], graphs: Sequence[dict[str, Any]], places: Sequence[Path]) -> dict[str, Any]:
    """Return the sizes that fit the smallest graph of each system."""

    def room(key: str, *systems: str) -> int:
        section, _, name = key.partition(".")
        if config[section][name] is not None:
            return ENOUGH
        own = [entry for entry in graphs if not set(systems).isdisjoint(entry["systems"])]
        known = (vertices_in(entry, ENOUGH, places) for entry in own)
        return min((n for n in known if n is not None), default=ENOUGH)

    walks, targets = room("kpar.k", "kpar"), room("merit.eta", "merit")
    return {
        "gim.k": max(1, min(50, room("gim.k", "gim", "imgpu") // 10)),
        "kpar.k": [one for one in (10, 100, 1000) if one <= walks] or [max(1, walks)],
        "merit.eta": [one for one in (50, 200) if one <= targets // 4] or [max(1, targets // 4)],
        "merit.batch": max(1, min(16, room("merit.batch", "merit") // 30)),
        "diversity.t": max(1, min(100, room("diversity.t", "diversity"))),
    }


def _listed_seeds(config: Mapping[str, Any], places: Sequence[Path]) -> list[int]:
    """Return the numbers of seeds in the files of ``seeds`` that are texts; gIM is also evaluated at these numbers."""
    paths = [find_file(name, places) for name in config["seeds"].values()]
    texts = [path.read_bytes() for path in paths if path is not None]
    lines = [text.decode("utf-8", "replace").splitlines() for text in texts if not text.startswith(b"\x89HDF")]
    return [sum(1 for line in own if line.strip() and not line.lstrip().startswith("#")) for own in lines]


def _check_fit(entry: dict[str, Any], config: dict[str, Any], places: Sequence[Path]) -> None:
    """Check that a graph has as many vertices as are requested."""
    paper = config["paper"]
    wanted = {
        "gim": {"gim.k": config["gim"]["k"] if config["gim"]["budget"] is None or config["baselines"] else 1},
        "imgpu": {"gim.k": config["gim"]["k"]},
        "kpar": {"kpar.k": max(config["kpar"]["k"])},
        "merit": {"merit.eta": max(config["merit"]["eta"]), "merit.batch": config["merit"]["batch"]},
        "diversity": {"diversity.t": config["diversity"]["t"]},
    }
    if paper:  # other papers are rebuilt by separate commands
        runs = {f"experiments.{name}.k": max(one["k"]) for name, one in config["experiments"].items()}
        wanted = {"kpar": wanted["kpar"], "gim": runs}
    systems = [paper] if paper else entry["systems"]
    sizes = {key: value for system in systems for key, value in wanted.get(system, {}).items()}
    n = vertices_in(entry, max(sizes.values()), places) if sizes else None
    if n is not None and (large := [f"{key} is {value}" for key, value in sizes.items() if value > n]):
        raise InputError(
            f"{', '.join(large)}, but the graph has {n} vertices; lower {'it' if len(large) == 1 else 'them'}"
        )


def options_of(config: Mapping[str, Any], section: str, *only: str) -> list[str]:
    """Return the command-line options for the parameters of a section: for all declared parameters, or for some.

    Parameters
    ----------
    config : mapping
        A checked configuration, or for ``graphs`` one entry.
    section : str
        A key of :data:`PARAMS`.
    only : str
        Names of parameters; all if empty.
    """
    from gpukit.cli.options import words_of

    asked = config if section == "graphs" else config[section]
    known = [one for name, one in declared(PARAMS[section]).items() if one.option.workflow]
    return [word for one in known if not only or one.name in only for word in words_of(one, asked[one.name])]
