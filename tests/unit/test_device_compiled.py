"""Compiled code on disk is used while all sources are what they were that can be in it, and not a moment longer."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpukit
from gpukit.device.select import simulated

ROOT = Path(gpukit.__file__).parent

USES = """
from gpukit.device.compiled import njit
from gpukit.kpar.rule import FACTOR, raised


@njit
def answer(x):
    return FACTOR * raised(x)
"""
RULE = """
import numba

FACTOR = {factor}


@numba.njit
def raised(x):
    return x + {step}
"""


@pytest.fixture
def answer(tmp_path):
    """Return a function that writes a small package and asks a process of its own for 10 · (x + 1) with x = 4."""
    room = tmp_path / "gpukit" / "kpar"
    room.mkdir(parents=True)
    shutil.copytree(ROOT / "device", tmp_path / "gpukit" / "device", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "errors.py"):
        shutil.copy(ROOT / name, tmp_path / "gpukit")
    (room / "__init__.py").touch()
    (room / "step_cpu.py").write_text(USES)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    code = "from gpukit.kpar.step_cpu import answer; print(answer(4), len(answer.stats.cache_hits))"

    def ask(factor: int = 10, step: int = 1) -> tuple[int, int]:
        (room / "rule.py").write_text(RULE.format(factor=factor, step=step))
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        value, hits = done.stdout.split()
        return int(value), int(hits)

    return ask


@pytest.mark.long
def test_code_of_other_files_that_is_inlined_counts(answer):
    assert answer() == (50, 0)
    assert answer() == (50, 1)
    assert answer(factor=11) == (55, 0)
    assert answer(factor=11, step=2) == (66, 0)
    assert answer(factor=11, step=2) == (66, 1)


def test_all_compiled_code_is_stamped():
    """A decorator of Numba's own with ``cache=True`` would look at one file."""
    if simulated():
        pytest.skip("the simulator keeps no code")
    pytest.importorskip("numba_cuda", reason="needs numba-cuda (pip install gpukit[dev])")
    from gpukit.device.compiled import stamp

    seen = 0
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        if "\n@njit" not in text and "\n@kernel" not in text:
            continue
        name = ".".join(("gpukit", *path.relative_to(ROOT).with_suffix("").parts))
        for one in vars(importlib.import_module(name)).values():
            cached = getattr(getattr(one, "_cache", None), "_cache_file", None)
            if cached is not None and one.py_func.__module__ == name:
                assert cached._source_stamp == stamp(path.relative_to(ROOT).parts[0]), one
                seen += 1
    assert seen > 150
