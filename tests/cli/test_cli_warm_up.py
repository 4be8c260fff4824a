"""``gpukit warm-up``: all of its commands exist, and code that it compiled is not compiled again."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_cli_core import check_understood, understood

import gpukit
from gpukit.cli import app, warm_up

ROOT = Path(gpukit.__file__).parents[1]
LINES = warm_up.COMMANDS.strip().split("\n")

LATER = """
graph import data/NetHEPT.txt.gz --undirected --weights wc --out G.h5
gim run G.h5 --out S.h5 -k 20
gim run G.h5 --out S.h5 -k 20 --model lt --bound imm --min-sets 1000 --epsilon 0.5
merit run G.h5 --eta 200 --out C.h5
"""


@pytest.mark.parametrize("line", LINES)
def test_commands_are_understood(line: str) -> None:
    command(line)


def test_a_name_is_of_one_kind_of_file() -> None:
    """A command replaces files of its own kind alone."""
    kinds: dict[str, set[str]] = {}
    for line in LINES:
        _, rest = line.partition("--out ")[::2]
        if rest:
            kinds.setdefault(rest.split()[0], set()).add(command(line).callback.writes)
    assert len(kinds) > 20 and all(len(kind) == 1 for kind in kinds.values()), kinds


def command(line: str) -> Any:
    """Return the command that a line calls, once it has understood its words."""
    words = line.split()
    check_understood(words)
    return understood(words).command


def test_progress_record_and_devices(monkeypatch, capsys) -> None:
    monkeypatch.setattr(warm_up, "COMMANDS", "\n--version\ngraph generate er --vertices 9 --edges 9 --out e.h5\n")
    assert app.main(["warm-up", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out).items() >= {"commands": 2, "params": {"devices": ["cpu"]}}.items()
    assert [line.partition(": gpukit")[0] for line in err.splitlines()] == ["gpukit: 1 of 2", "gpukit: 2 of 2"]


def test_a_command_that_fails_is_one_line(monkeypatch, capsys) -> None:
    monkeypatch.setattr(warm_up, "COMMANDS", "\ngraph info none.h5\n")
    assert app.main(["warm-up"]) == 4
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("gpukit: error: `gpukit graph info none.h5` ended with 3: ") and "does not exist" in last


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_nothing_is_compiled_later(tmp_path: Path) -> None:
    """Of two systems; all would take minutes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    (tmp_path / "data").symlink_to(ROOT / "data")

    def call(line: str) -> str:
        command = [sys.executable, "-m", "gpukit", *line.split()]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stderr

    first, *others = LATER.strip().split("\n")
    assert "gpukit: compiling " in call(first)
    chosen = [line for line in warm_up.COMMANDS.strip().split("\n") if line.split()[0] in ("graph", "gim", "merit")]
    script = f"import sys; from gpukit.cli import app, warm_up; warm_up.COMMANDS = {chr(10).join(chosen)!r}; " + (
        "sys.exit(app.main(['warm-up']))"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True)
    for line in (first, *others):
        assert "compiling" not in call(f"{line} --device cpu" if "import" not in line else line)
