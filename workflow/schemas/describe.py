"""The one description of the workflow's configuration; writes its JSON schema and its page in the docs.

Usage: ``python workflow/schemas/describe.py [--check]``; with ``--check`` it only says whether both are up to date.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from gpukit.parameters import diversity, gim, graph, imgpu, kpar, merit
from gpukit.parameters.option import Parameters, declared

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow/schemas/config.schema.json"
PAGE = ROOT / "docs/configuration.md"

_NUMBER = r"[0-9]*\.?[0-9]+([eE]-?[0-9]+)?"

Positive = Annotated[int, Field(ge=1, lt=2**31)]
Vertices = Annotated[
    str | int | list[int | str] | None,
    WithJsonSchema({"type": ["string", "integer", "array", "null"], "items": {"type": ["string", "integer"]}}),
]
"""Vertices by their ids: one, a list, or a text as on the command line, which may name a file."""


class Section(BaseModel):
    """A mapping in which every key is known, so that a misspelt one is refused."""

    model_config = ConfigDict(extra="forbid")


def of(params: type[Parameters], name: str, default: Any = ..., **more: Any) -> Any:
    """Return the field of a parameter of a system, as that declares it, with another default if one is given."""
    one = declared(params)[name]
    bounds = {key: bound for key in ("ge", "gt", "le", "lt") if (bound := getattr(one.option, key)) is not None}
    bounds = {"ge": 1, "lt": 2**31} if one.option.vertices else bounds
    default = one.default if default is ... and one.default is not MISSING else default
    return Field(**{"default": default, "description": one.option.help.replace(", {range}", ""), **bounds, **more})


def asks(params: type[Parameters]) -> Callable[[type[Section]], Any]:
    """Return a decorator that adds the parameters of a system which the workflow has, too, to a section."""

    def add(section: type[Section]) -> Any:
        fields: dict[str, Any] = {
            name: (one.kind | None if one.optional else one.kind, of(params, name))
            for name, one in declared(params).items()
            if one.option.workflow and name not in section.model_fields
        }
        return create_model(section.__name__, __base__=section, __doc__=section.__doc__, **fields)

    return add


@asks(graph.Text)
class GraphEntry(Section):
    """One graph to work on."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Name in file names, tables and the report; unique. Letters, digits, `.`, `_`, `-`; at most 100.",
    )
    edges: str = Field(
        default="",
        description="Edge list; a relative path is looked up in the working directory, then beside the Snakefile. Any "
        "name but `-`, and but for those with `{…}` or `<…>`.",
    )
    generate: str = Field(
        default="",
        description="Instead of `edges`: model and options of `gpukit graph generate`, a stand-in for a graph that is "
        "not at hand. Every table says so.",
    )
    fetch: str = Field(
        default="", description="Instead of `edges`: name of a data set that `gpukit data fetch` downloads."
    )
    real: str = Field(
        default="",
        description="Name of the data set that `generate` stands in for, which `data: real` fetches if it can be had.",
    )
    undirected: bool = Field(default=False, description="Whether each line stands for an edge in both directions.")
    weights: str = Field(
        default="wc",
        pattern=rf"^(wc|none|trivalency|file|const:{_NUMBER}|uniform:{_NUMBER}:{_NUMBER})$",
        description="Edge probabilities: `wc` (weighted cascade), `const:P`, `trivalency`, `uniform:LO:HI`, `file` or "
        "`none`.",
    )
    scale: Literal["", "max", "in-sum"] = Field(
        default="",
        description="With weights `file`: makes probabilities of counts, w / largest w, or w / sum of those into the "
        "same vertex.",
    )
    parallel_edges: Literal["", "sum", "max", "combine", "first"] = Field(
        default="",
        description="An edge that is listed several times: the sum of its counts (the default with `scale`), the "
        "largest weight (else), that many chances, or the first line.",
    )
    systems: list[Literal["gim", "imgpu", "kpar", "merit", "diversity"]] = Field(
        default=["gim", "imgpu", "kpar", "merit", "diversity"],
        min_length=1,
        json_schema_extra={"uniqueItems": True},
        description="What to run on it.",
    )
    models: list[Literal["ic", "lt"]] = Field(
        default=["ic"],
        min_length=1,
        json_schema_extra={"uniqueItems": True},
        description="Diffusion models to run gIM and MERIT under; IMGPU knows `ic` alone.",
    )


@asks(gim.Params)
class Gim(Section):
    """Parameters of `gpukit gim run`."""

    k: int | None = of(
        gim.Params,
        "k",
        None,
        description="Number of seeds; 50 where it is not given, or a tenth of the smallest graph. With a budget, that "
        "of the simple rules alone.",
    )
    epsilon: float = of(
        gim.Params, "epsilon", description="ε of the guarantee: (1 − 1/e − ε) times the best spread possible."
    )
    min_sets: int = of(
        gim.Params,
        "min_sets",
        0,
        description="Fewest RR sets to choose from. OPIM-C draws as many as make the choice stable; IMM does not.",
    )
    include: Vertices = Field(
        default=None, description="Vertices that must be seeds: ids, or a file of them, one a line."
    )
    exclude: Vertices = Field(
        default=None, description="Vertices that cannot be seeds: ids, or a file of them, one a line."
    )
    targets: str | None = Field(
        default=None, description="File of lines `id weight`: weights of vertices; 0 if not named."
    )
    costs: str | None = Field(
        default=None, description="File of lines `id cost` of seeds; 1 if not named. Only with a budget."
    )
    budget: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Most that the seeds may cost together; replaces `k`."
    )


class Imgpu(Section):
    """Parameters of `gpukit imgpu`; as many seeds as `gim.k`."""

    worlds: int = of(
        imgpu.Params,
        "worlds",
        2000,
        description="Live-edge worlds of each choice; simulations of an estimate of the competitors.",
    )
    modes: list[Literal["fixed", "fresh"]] = Field(
        default=["fixed", "fresh"],
        json_schema_extra={"uniqueItems": True, "contains": {"const": "fixed"}},
        description="The same worlds for all seeds, or new ones for each; `fixed` has to be among them.",
    )
    baselines: list[
        Literal["gim", "celf", "mixgreedy", "newgreedy", "esmce", "pmia", "degree", "degree-discount", "random"]
    ] = Field(
        default=["gim", "pmia", "degree-discount", "random"],
        json_schema_extra={"uniqueItems": True},
        description="Seed sets to compare with. `celf`, `newgreedy` and `esmce` take minutes on graphs of thousands of "
        "vertices, `mixgreedy` less; all four take hours where single vertices reach much.",
    )


@asks(merit.Params)
class Merit(Section):
    """Parameters of `gpukit merit run`."""

    eta: list[Positive] | None = Field(
        default=None,
        min_length=1,
        json_schema_extra={"uniqueItems": True},
        description="Vertices to activate; no graph may have fewer. 50 and 200 where it is not given, or a quarter of "
        "the smallest graph.",
    )
    batch: int | None = of(
        merit.Params,
        "batch",
        None,
        description="Seeds of a round at most; 16 where it is not given, or 1 for every 30 vertices of the smallest "
        "graph.",
    )
    costs: str = Field(
        default="degree",
        description="What seeds cost: `degree` (0.01 + 0.01 · d_out), `uniform`, or a file of lines `id cost`; 1 if "
        "not named.",
    )
    worlds: Annotated[int, Field(ge=1, le=10**6)] = Field(
        default=3, description="Hidden worlds, each with a campaign for every target."
    )
    policies: list[Literal["coupled", "regenerate", "anew"]] = Field(
        default=["coupled", "regenerate"],
        json_schema_extra={"uniqueItems": True, "contains": {"const": "coupled"}},
        description="What becomes of the sets from round to round: `coupled` (MERIT) updates them, `regenerate` draws "
        "the same ones again, `anew` draws new ones, as PASTI does on a CPU. `coupled` has to be among them.",
    )


@asks(kpar.Params)
class Kpar(Section):
    """Parameters of `gpukit kpar`."""

    k: list[Positive] | None = Field(
        default=None,
        min_length=1,
        json_schema_extra={"uniqueItems": True},
        description="Lengths of an answer; no graph may have fewer vertices. Those of 10, 100 and 1000 that fit the "
        "smallest graph where it is not given.",
    )
    sources: Annotated[
        int | str | list[int | str],
        WithJsonSchema(
            {
                "type": ["integer", "string", "array"],
                "items": {"type": ["integer", "string"]},
                "minimum": 1,
                "maximum": 10**7,
                "minItems": 1,
            }
        ),
    ] = Field(
        default=16,
        description="Where to ask from, the same for every k and method. A number: so many random vertices. A list: a "
        "query each, of a vertex, or of a set with weights as `ID:WEIGHT,ID:WEIGHT`. A text: a file of such lines.",
    )
    baselines: list[Literal["fora", "fora-16", "fora-cpu", "topppr", "monte-carlo"]] = Field(
        default=["fora"],
        json_schema_extra={"uniqueItems": True},
        description="Methods to compare with: FORA+ at δ = 1/n as in its paper, at 16/n as in kPAR's, and that on up "
        "to 80 CPU threads where other jobs take a GPU; TopPPR on up to 80 CPU threads; Monte Carlo.",
    )


class Diversity(Section):
    """Parameters of `gpukit diversity search`; directions of edges are ignored, and the report says so."""

    models: list[Literal["comp", "core", "truss"]] = Field(
        default=["comp", "core", "truss"],
        min_length=1,
        json_schema_extra={"uniqueItems": True},
        description="What counts as a circle.",
    )
    k: int = of(diversity.Params, "k", ge=2, lt=2**31)
    t: Positive | None = Field(
        default=None,
        description="Number of vertices to find; no graph may have fewer. 100 where it is not given, or all of the "
        "smallest graph.",
    )
    check: Annotated[int, Field(ge=0, lt=2**31)] = Field(
        default=1000, description="Random vertices outside an answer that its check looks into."
    )


class Evaluate(Section):
    """Parameters of `gpukit evaluate spread`."""

    prefixes: list[Positive] | None = Field(
        default=None,
        min_length=1,
        json_schema_extra={"uniqueItems": True},
        description="Numbers of seeds at which the spread is measured. Those of 5, 10, 20 to 50 up to `gim.k`, and as "
        "many as each file of `seeds` lists, where it is not given.",
    )
    error: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.02,
        description="Simulate until two standard errors are at most this share of each spread; 0: always `runs`.",
    )
    runs: Annotated[int, Field(ge=2, lt=2**31)] = Field(
        default=2000, description="Most cascades simulated for each spread."
    )


class Shards(Section):
    """Answers in parts, for the target `sharded`: RR sets, queries of kPAR, vertices of structural diversity."""

    count: Positive = Field(
        default=4,
        description="Number of files of an answer; at most `kpar.sources`, and no graph may have fewer vertices.",
    )
    sets: Positive = Field(default=50000, description="RR sets in each file.")


class Experiment(Section):
    """The runs of gIM behind a table or figure: every combination of the lists, with every method, on every graph."""

    methods: list[Literal["imm", "imm-16", "skim", "gim", "gim-ours"]] = Field(
        min_length=1,
        description="`imm`: IMM as printed on one CPU thread; `imm-16`: the same on up to 16; `skim`: SKIM on one, "
        "under independent cascade whatever else is asked for, with a seed for each repeat; `gim`: IMM as printed on "
        "the device of the workflow, on a GPU by the paper's sampler; `gim-ours`: our IMM there.",
    )
    models: list[Literal["ic", "lt"]] = Field(default=["ic"], min_length=1, description="Diffusion models.")
    k: list[Positive] = Field(default=[50], min_length=1, description="Numbers of seeds.")
    epsilon: list[Annotated[float, Field(ge=1e-6, lt=1)]] = Field(
        default=[0.05], min_length=1, description="Values of ε."
    )
    rounds: Annotated[int, Field(ge=1, le=255)] = Field(default=1, description="Rounds of seeding.")
    sampler: Literal["skip", "scan"] = Field(
        default="scan", description="`scan`: the paper's sampler and sets; `skip`: ours."
    )
    block: list[Annotated[int, Field(ge=32, le=1024, multiple_of=32)]] = Field(
        default=[32], min_length=1, description="Threads of a block of the scan sampler."
    )
    grid: list[Annotated[int, Field(ge=0, lt=2**31)]] = Field(
        default=[0], min_length=1, description="Blocks; 0: as many as fit."
    )
    graphs: Literal["all", "density"] = Field(
        default="all", description="Which graphs of the scale: all but those named `ba-R`, or these alone."
    )


class Measure(Section):
    """A command whose record goes into tables and figures of a paper, run on some of its graphs."""

    command: str = Field(
        description="Command of `gpukit` and its options; graph, device and `--json` are added, the options last.",
    )
    items: list[str] = Field(min_length=1, description="The tables and figures that it is for.")
    graphs: list[str] = Field(default=[], description="Names of the graphs to run on; none: all of them.")
    gpus: Annotated[int, Field(ge=0, lt=2**31)] = Field(
        default=0, description="GPUs that it needs, without which it is left out; 0: `gpus` of the top level."
    )


class Scale(Section):
    """How much of a paper's experiments to run."""

    graphs: list[GraphEntry] = Field(min_length=1, description="The graphs, under the names that the paper prints.")
    repeats: Positive = Field(default=1, description="Timed runs of each setting.")
    thin: bool = Field(
        default=False,
        description="Whether lists of settings, and kPAR's k, shrink to first and last, the scan sampler to one graph.",
    )
    sources: Annotated[int, Field(ge=0, le=10**7)] = Field(
        default=0, description="Sources of kPAR's queries; 0: as many as `kpar.sources`."
    )
    baselines: list[Literal["fora", "fora-16", "fora-cpu", "topppr", "monte-carlo"]] = Field(
        default=[], description="Rivals of kPAR's paper; none: those of `kpar.baselines`."
    )
    measures: dict[str, Measure] = Field(default={}, description="What to run, by a name for it.")


class Config(Section):
    """Configuration of the gpukit workflow."""

    results: str = Field(
        default="results",
        pattern=r"^([^-~/\x00-\x1f\x7f{}<>]|[^-~\x00-\x1f\x7f{}<>][^\x00-\x1f\x7f{}<>]*[^/\x00-\x1f\x7f{}<>])$",
        description="Folder for everything the workflow makes; without braces, `<`, `>`, `-` or `~` first, `/` last.",
    )
    seed: int = Field(default=1, ge=0, lt=2**64, description="The seed of every random choice.")
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto",
        description="`cuda` runs on GPUs or fails; `auto` does so if `--resources gpu=N` grants some, and else takes "
        "the CPU. On a cluster say `cuda`: the limit of the submitting machine does not travel with the job.",
    )
    gpus: Positive = Field(default=1, description="GPUs that one job asks for when GPUs are used.")
    threads: Positive = Field(default=1, description="CPU threads of one job that runs on the CPU.")
    cuda_env: Literal["cuda12", "cuda13"] = Field(
        default="cuda13", description="Conda environment of GPU jobs under `--sdm conda`."
    )
    graphs: list[GraphEntry] = Field(
        min_length=1, description="The graphs; those of `scales` where a paper is rebuilt."
    )
    gim: Gim
    baselines: list[Literal["degree", "degree-discount", "random"]] = Field(
        default=["degree", "degree-discount", "random"],
        json_schema_extra={"uniqueItems": True},
        description="Simple seed sets to compare gIM with.",
    )
    seeds: dict[str, str] = Field(
        default={},
        description="Seeds of your own to judge as one more method: a name, and a file of vertices in their order, one "
        "a line, or a seeds artifact. For every graph of gIM and IMGPU.",
    )
    evaluate: Evaluate
    imgpu: Imgpu
    kpar: Kpar
    merit: Merit
    diversity: Diversity
    shards: Shards
    paper: Literal["", "gim", "imgpu", "kpar", "diversity", "merit"] = Field(
        default="", description="The paper whose tables and figures to rebuild, as in `config/paper`; none by default."
    )
    scale: Literal["smoke", "small", "full"] = Field(default="smoke", description="Which of `scales` to run.")
    data: Literal["stand-ins", "real"] = Field(
        default="stand-ins",
        description="`real` takes the data set that a graph's `real` names, instead of `generate`: a copy in the "
        "folder `GPUKIT_DATA`, or a download; what cannot be had stays a stand-in, and log and page say why.",
    )
    directed: bool = Field(
        default=False, description="Whether a paper's undirected graphs are read as directed, as their files list them."
    )
    scales: dict[Literal["smoke", "small", "full"], Scale] = Field(
        default={}, description="How much of the paper to run at each scale."
    )
    experiments: dict[str, Experiment] = Field(
        default={}, description="The runs of gIM behind each of its tables and figures."
    )


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of the configuration."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | _typed(Config.model_json_schema())


def _typed(part: Any) -> Any:
    """Return a part of the schema with types where they help.

    Every section says first that it is a mapping, since Snakemake fails to fill defaults into what is none; what may
    be left out has two types.
    """
    if isinstance(part, list):
        return [_typed(value) for value in part]
    if not isinstance(part, dict):
        return part
    first = {"type": "object"} if "$ref" in part else {}
    if "anyOf" in part and part["anyOf"][-1] == {"type": "null"}:  # one type, so that a message names both
        kind, _ = part["anyOf"]
        part = kind | {key: value for key, value in part.items() if key != "anyOf"} | {"type": [kind["type"], "null"]}
        part |= {"enum": [*kind["enum"], None]} if "enum" in kind else {}
    return first | {key: _typed(value) for key, value in part.items()}


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"] if value is not None)
    if isinstance(field["type"], list):
        kinds = [kind for kind in field["type"] if kind != "null"]
        return " or ".join(_type(field | {"type": kind}) for kind in kinds)
    if "const" in field:
        return f"`{field['const']}`"
    if field["type"] == "object":
        return "mapping, see below" if "$ref" in field["additionalProperties"] else "mapping of names to files"
    if field["type"] == "array":
        return f"list of: {_type(field['items'])}" if "$ref" not in field["items"] else "list, see below"
    limits = [
        f"{sign} {field[key]}"
        for key, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
        if key in field
        and field["type"] in ("integer", "number")
        and field[key] != 2**31  # no more vertices fit; nothing to say to people
    ]
    limits += [f"a multiple of {field['multipleOf']}"] if "multipleOf" in field else []
    return " ".join([field["type"], ", ".join(limits)]).strip()


def page() -> str:
    """Return docs/configuration.md."""
    whole = schema()
    lines = [
        "# Configuration",
        "",
        "Written by `make schema` out of `workflow/schemas/describe.py`; do not edit. A key that is not listed here is",
        "refused.",
        "",
        "`config/config.yaml` is always read first; `--configfile FILE` and `--config KEY=VALUE` change it key by key.",
        "A list replaces the list before it, so a file with its own `graphs` works on those alone.",
    ]
    sections = [("Top level", "", whole)]
    sections += [
        (
            f"`{key}`{' entries' if key in ('graphs', 'scales', 'measures', 'experiments') else ''}",
            whole["$defs"][name]["description"],
            whole["$defs"][name],
        )
        for key, name in (
            ("graphs", "GraphEntry"),
            ("gim", "Gim"),
            ("evaluate", "Evaluate"),
            ("imgpu", "Imgpu"),
            ("kpar", "Kpar"),
            ("merit", "Merit"),
            ("diversity", "Diversity"),
            ("shards", "Shards"),
            ("scales", "Scale"),
            ("measures", "Measure"),
            ("experiments", "Experiment"),
        )
    ]
    for title, text, part in sections:
        lines += ["", f"## {title}", ""]
        lines += [text, ""] if text else []
        lines += ["| key | values | default | meaning |", "| --- | --- | --- | --- |"]
        for key, field in part["properties"].items():
            if "$ref" in field:
                part_below = whole["$defs"][field["$ref"].rsplit("/", 1)[1]]
                lines.append(f"| `{key}` | see below | required | {part_below['description']} |")
                continue
            given = "none" if field.get("default") is None else f"`{json.dumps(field['default'])}`"
            default = given if "default" in field else "required"
            lines.append(f"| `{key}` | {_type(field)} | {default} | {field['description']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write both files, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    wanted = {SCHEMA: json.dumps(schema(), indent=2, ensure_ascii=False) + "\n", PAGE: page()}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is out of date: run `make schema`", file=sys.stderr)
        else:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
