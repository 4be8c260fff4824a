"""The decorator of commands: groups become options, common ones come last, and the run knows what was given."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.main import get_command

import gpukit
from gpukit.cli import app
from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import GraphArgument, option
from gpukit.papers.cli.options import ablation

ROOT = Path(gpukit.__file__).parents[1]


@dataclass(frozen=True)
class Group:
    """Two options."""

    least: Annotated[int, option("--least -l N", "The least.")]
    most: Annotated[int, ablation("--most N", "The most.")] = 9


def called(function, *words):
    """Return the command of a function, after a call with some words."""
    one = typer.Typer(add_completion=False)
    one.command("one")(function)
    command = get_command(one)
    if words:
        with command.make_context("one", [str(word) for word in words]) as context:
            command.invoke(context)
    return command


def test_groups_and_common_options_become_options(tmp_path):
    seen = []

    @with_run("out", *DEVICE, seed=3, threads=1)
    def function(run: Run, graph_file: GraphArgument, *, early: bool = False, group: Group, late: int = 1) -> None:
        """Tell what came."""
        seen.append((run, graph_file, early, group, late))

    words = (tmp_path / "g", "--out", tmp_path / "o", "-l", 4, "--late", 2, "--device", "cpu", "--json")
    command = called(function, *words)
    names = ["graph_file", "out", "early", "least", "most", "late", "device", "gpus", "threads", "gpu_memory", "seed"]
    assert [one.name for one in command.params] == [*names, "as_json", "verbose"]
    assert {one.name for one in command.params if one.required} == {"graph_file", "out", "least"}
    assert command.help == "Tell what came."
    ((run, graph_file, early, group, late),) = seen
    assert (graph_file, early, group, late) == (tmp_path / "g", False, Group(4, 9), 2)
    assert (run.out, run.requested, run.gpus, run.threads, run.seed) == (tmp_path / "o", "cpu", 1, 1, 3)
    assert run.as_json


def test_an_output_that_may_be_left_out_is_known_to_the_run(tmp_path):
    seen = []

    @with_run()
    def function(run: Run, out: Annotated[Path | None, option("--out FILE", "Where.")] = None) -> None:
        seen.append((run.out, out, run.requested, run.seed))

    called(function, "--out", tmp_path / "o")
    called(function, "-v")
    assert seen == [(tmp_path / "o", tmp_path / "o", None, None), (None, None, None, None)]


def test_an_option_is_written_as_in_the_help():
    @with_run()
    def function(run: Run, group: Group) -> None:
        """Do nothing."""

    options = {one.name: one for one in called(function).params}
    assert options["least"].opts == ["--least", "-l"] and options["least"].metavar == "N"
    assert (options["least"].rich_help_panel, options["most"].rich_help_panel) == (None, "Ablations")


@pytest.mark.parametrize("target", sorted({target.partition(":")[0] for _, target, _ in app.COMMANDS}))
def test_help_of_a_group_is_quick(target):
    script = f"import sys, {target}\nassert not {{'numba', 'h5py', 'pandas', 'matplotlib', 'scipy'}} & set(sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
