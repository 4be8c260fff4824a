"""A parameter is declared once: commands, Python, the workflow's schema and its page show the declaration in
``Params``."""

import importlib.util
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.main import get_command

import gpukit as gk
from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.workflow import configuration
from gpukit.errors import BadValue, InputError, UsageError, WrongType
from gpukit.parameters import diversity, gim, graph, imgpu, kpar, merit
from gpukit.parameters.option import ABLATIONS, Option, Parameters, Seed, declared, length_of, parameter
from gpukit.wording import facing

ROOT = Path(gk.__file__).parents[1]


@dataclass(frozen=True)
class Dummy(Parameters):
    """What nobody asks."""

    width: Annotated[int, Option("How wide, {range}.", metavar="W", ge=1, le=7, workflow=True)]
    shape: Annotated[Literal["round", "flat"], Option("Its shape.", workflow=True)] = "round"
    share: Annotated[float | None, Option("A share, {range}, or not.", metavar="S|off", none="off", gt=0, lt=1)] = 0.5
    deep: Annotated[bool, Option("As in the paper.", panel=ABLATIONS)] = False
    seed: Seed = 0


@pytest.fixture(scope="module")
def describe():
    spec = importlib.util.spec_from_file_location("describe_configuration", ROOT / "workflow/schemas/describe.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(*words: str, annotation: Any = Dummy) -> Any:
    """Return the arguments that a command gets for these words, or its help."""
    seen = []

    def function(run: Run, params: Dummy) -> None:
        seen.append(params)

    function.__annotations__["params"] = annotation
    app = typer.Typer(add_completion=False)
    app.command("one")(with_run("seed")(function))
    command = get_command(app)
    with command.make_context("one", [*words]) as context:
        if not words:
            return command.get_help(context)
        command.invoke(context)
    return seen[0]


def test_a_command_has_the_options_and_checks_them() -> None:
    assert asked("--width", "3", "--seed", "5") == Dummy(3, seed=5)
    assert asked("--width", "3", "--share", "off", "--shape", "flat") == Dummy(3, "flat", None)
    assert asked("--width", "3", "--deep", annotation=Annotated[Dummy, ABLATIONS]) == Dummy(3, deep=True)
    assert asked("--width", "3", annotation=Annotated[Dummy, "width"]) == Dummy(3)
    for words, line in (
        (("--width", "9"), "^--width is 9; 1 to 7 are allowed$"),
        (("--width", "3", "--share", "2"), r"^--share is 2.0; it must lie in \(0, 1\)$"),
        (("--width", "3", "--share", "x"), r"^--share: 'x' is neither a number in \(0, 1\) nor off$"),
    ):
        with pytest.raises(UsageError, match=line):
            asked(*words)
    with pytest.raises(typer.TyperException, match="deep"):
        asked("--width", "3", "--deep")


def test_the_help_shows_them() -> None:
    app = typer.Typer(add_completion=False)

    @app.command("one")
    @with_run()
    def function(run: Run, params: Annotated[Dummy, ABLATIONS]) -> None:
        """Do nothing."""

    found = {one.name: one for one in get_command(app).params}
    assert [*found] == ["width", "shape", "share", "deep", "as_json", "verbose"]
    assert (found["width"].help, found["width"].metavar, found["width"].required) == ("How wide, 1 to 7.", "W", True)
    assert (found["share"].default, found["share"].help) == ("0.5", "A share, in (0, 1), or not.")
    assert (found["deep"].rich_help_panel, found["shape"].rich_help_panel) == (ABLATIONS, None)


def test_python_checks_them_under_their_own_names() -> None:
    with facing("python"):
        for given, kind, line in (
            ({"width": 9}, BadValue, "^width is 9; 1 to 7 are allowed$"),
            ({"width": 2.0}, WrongType, "^width is '2.0', a float; a whole number is needed$"),
            ({"width": None}, WrongType, "^width is 'None', a NoneType"),
            ({"width": 1, "shape": "odd"}, UsageError, "^shape 'odd' is unknown; choose round or flat$"),
            ({"width": 1, "share": float("nan")}, BadValue, "^share is nan; it must lie"),
            ({"width": 1, "deep": 1}, WrongType, "^deep is '1', an int; True or False is needed$"),
            ({"width": 1, "seed": 2**64}, BadValue, "^seed is 18446744073709551616; 0 to 2.64 - 1 are allowed$"),
        ):
            with pytest.raises(kind, match=line):
                Dummy(**given)


def test_one_error_is_spelled_by_who_prints_it() -> None:
    error = BadValue("max_members", 0, "at least 1 is needed")
    for face, name in (("python", "max_members"), ("command", "--max-members"), ("workflow", "max_members")):
        with facing(face):
            assert str(error) == f"{name} is 0; at least 1 is needed"
    assert (error.field, error.value, error.allowed) == ("max_members", 0, "at least 1 is needed")


def test_the_schema_and_its_page_have_those_of_the_workflow(describe, monkeypatch: pytest.MonkeyPatch) -> None:
    @describe.asks(Dummy)
    class Section(describe.Section):
        """Parameters of nothing."""

    found = Section.model_json_schema()["properties"]
    assert [*found] == ["width", "shape"] and found["shape"]["enum"] == ["round", "flat"]
    assert (found["width"]["minimum"], found["width"]["maximum"]) == (1, 7)
    assert found["width"]["description"] == "How wide."
    whole = json.loads(describe.SCHEMA.read_text())
    whole["$defs"]["Diversity"] = {"description": "None.", "properties": found}
    monkeypatch.setattr(describe, "schema", lambda: whole)
    assert "| `width` | integer ≥ 1, ≤ 7 |" in describe.page() and "How wide. |" in describe.page()


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Annotated[int, Option(ge=1, le=255)], "1 to 255"),
        (Annotated[int, Option(ge=0, lt=2**40)], "0 to 2^40 - 1"),
        (Annotated[int, Option(ge=2)], "at least 2"),
        (Annotated[float, Option(ge=1e-6, lt=1)], "in [1e-6, 1)"),
        (Annotated[float, Option(gt=0, le=0.5)], "in (0, 0.5]"),
    ],
)
def test_ranges_in_words(annotation: Any, words: str) -> None:
    assert parameter("one", annotation).range == words


def test_the_length_of_an_answer_fits_the_graph() -> None:
    assert (length_of("k", None, 100, 7), length_of("k", 3, 100, 7)) == (7, 3)
    for given in (0, 8):
        with pytest.raises(UsageError, match=f"^-k is {given}; 1 to 7, the number of vertices, are allowed$"):
            length_of("k", given, 100, 7)
    with pytest.raises(UsageError, match="^-k is 3; 1 to 2, the vertices that answers may name, are allowed$"):
        length_of("k", 3, 100, 2, "the vertices that answers may name")
    with pytest.raises(InputError, match="^the graph has no vertices"):
        length_of("k", None, 100, 0)


PUBLIC: list[tuple[Callable[..., object], type[Parameters]]] = [
    (gk.influence_maximization, gim.Params),
    (gk.simulated_seeds, imgpu.Params),
    (gk.PageRankIndex, kpar.Params),
    (gk.personalized_pagerank, kpar.Params),
    (gk.Campaign, merit.Params),
    (gk.seed_minimization, merit.Params),
    (gk.structural_diversity, diversity.Params),
    (gk.DiversityIndex.search, diversity.Params),
]
ELSEWHERE = {"selection", "ids"}
"""Parameters that Python lacks, or has under another name."""


@pytest.mark.parametrize(("function", "params"), PUBLIC, ids=[one.__qualname__ for one, _ in PUBLIC])
def test_python_says_what_params_say(function: Callable[..., object], params: type[Parameters]) -> None:
    """Names and defaults in the signature, ranges in the docstring."""
    known = inspect.signature(function).parameters
    described = dict(re.findall(r"^ {4,8}(\w+) : .*\n((?: {8,12}\S.*\n)+)", str(function.__doc__), re.MULTILINE))
    for name, one in declared(params).items():
        if name == "seed" and "seed" not in known:
            continue
        if name in ELSEWHERE:
            assert name not in known
            continue
        usual = inspect.Parameter.empty if one.default is MISSING else one.default
        assert known[name].default == usual, name
        if "{range}" in one.option.help and name in described:
            assert one.range in " ".join(described[name].split()), name


def test_the_workflow_passes_them_to_a_command(monkeypatch) -> None:
    """Rules name no parameter: those declared for the workflow, and no others, are options of the command."""
    monkeypatch.setitem(configuration.PARAMS, "dummy", Dummy)
    asked_of = {"dummy": {"width": 3, "shape": "flat"}}
    words = configuration.options_of(asked_of, "dummy")
    assert words == ["--width", "3", "--shape", "flat"] and asked(*words) == Dummy(3, "flat")
    assert configuration.options_of(asked_of, "dummy", "shape") == ["--shape", "flat"]
    text = {name: None for name in declared(graph.Text)} | {
        "header": False,
        "fold_case": True,
        "strip": False,
        "sep": "tab",
    }
    assert configuration.options_of(text, "graphs") == ["--sep", "tab", "--no-header", "--fold-case"]
    scan = {"gim": {"k": None, "epsilon": 0.1, "bound": "opim", "sampler": "scan", "min_sets": 0}}
    assert configuration.options_of(scan, "gim")[-4:] == ["--sampler", "scan", "--min-sets", "0"]
    skip = {"gim": scan["gim"] | {"sampler": "skip", "k": 7}}
    assert configuration.options_of(skip, "gim") == "-k 7 --epsilon 0.1 --bound opim --min-sets 0".split()
