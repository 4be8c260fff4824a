"""The commands on the pages of docs/: those that run anywhere are run, and all others are parsed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_cli_core import check_understood

import gpukit

ROOT = Path(gpukit.__file__).parents[1]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
HOW_TO = ("howto-campaign", "howto-circles", "howto-ranking", "howto-seeds")
RUN = ("command-line", "imgpu", "tutorial", *HOW_TO, "README")
"""Pages whose commands need nothing but what those before them made."""

FILES = {
    "commands.txt": "graph import calls.csv --out again.h5\n",
    "calls.csv": "caller;callee\nann@example.org;bob@example.org\nbob@example.org;cy@example.org\n",
    "trust.csv": "row,from,to,strength\n0,ann,bob,0.5\n1,bob,cy,0.25\n",
    "mails.csv": "from,to\nann,bob\nbob,cy\ncy,ann\ncy,dee\n",
}
"""What readers have of their own."""

ELSEWHERE = ("com-Orkut", "gpukit demo", "gpukit papers merit once", "--gpus 2")
"""What needs the network or GPUs, and what takes long and has tests of its own."""

SMALLER = {
    "--repeat 3": "--repeat 1",
    "--eta 200 --out answers": "--eta 2 --out answers",
    "--worlds 20000 --fresh": "--worlds 500 --fresh",
    "--worlds 1000 --mixgreedy": "--worlds 50 --mixgreedy",
    "-k 50 --method mixgreedy": "-k 2 --method mixgreedy",
    "-k 100 --out all.parquet": "-k 3 --out all.parquet",
    "-k 100 --part 1/2 --out all-1.parquet": "-k 3 --part 1/50 --out all-1.parquet",
}
"""Numbers of what takes longest, and smaller ones that it is tried with."""

MAY_END = {"gpukit diff": (1,), "gpukit papers bench": (0, 1)}
"""Exit codes of commands whose exit code tells of a comparison."""


def commands(page: Path) -> list[str]:
    """Return the lines of the code blocks of a page that are commands of gpukit, continued lines as one."""
    blocks = re.findall(r"^```([^`\n]*)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    shell = (text for language, text in blocks if language in ("", "sh", "bash", "console"))
    lines = "".join(shell).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("gpukit ")]


def test_commands_are_those_of_shell_blocks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```pycon\n>>> 1\n```\ngpukit in prose\n```sh\ngpukit a \\\n  b\nls\n```\n```json\ngpukit no\n```\n"
    )
    assert commands(page) == ["gpukit a    b"]


UNDERSTOOD = [(page.stem, line) for page in PAGES for line in commands(page)]


def test_there_are_commands() -> None:
    assert len(UNDERSTOOD) > 60 and {page for page, _ in UNDERSTOOD} >= {*RUN, "gim", "kpar", "merit", "diversity"}


@pytest.mark.parametrize(("page", "line"), UNDERSTOOD)
def test_commands_are_understood(page: str, line: str) -> None:
    """Every option exists, takes what it is given, and none that is needed is missing."""
    words = shlex.split(line, comments=True)[1:]
    check_understood(words)


def test_smaller_numbers_are_those_of_the_pages() -> None:
    assert [number for number in SMALLER if not any(number in line for _, line in UNDERSTOOD)] == []


@pytest.mark.long
@pytest.mark.parametrize("page", RUN)
def test_commands_do_what_the_page_says(page: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    (tmp_path / "bin").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    program = tmp_path / "bin" / "gpukit"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gpukit "$@"\n')
    program.chmod(0o755)
    (path,) = (one for one in PAGES if one.stem == page)
    for line in commands(path):
        if any(name in line for name in ELSEWHERE) or "orkut" in line:
            continue
        for number, smaller in SMALLER.items():
            line = line.replace(number, smaller)
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True)
        allowed = next((codes for start, codes in MAY_END.items() if line.startswith(start)), (0,))
        assert done.returncode in allowed, f"{line}: {done.stderr}"
