"""Compiled code on disk is used only as long as all sources that it can contain are unchanged."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
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


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that uses the package in a folder and the private parts of Numba."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "GPUKIT_PLAIN_NUMBA")}
    return {**kept, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **more}


@pytest.fixture
def tested_numba():
    """Skip a test of what is done with private parts of Numba where its version was not tested."""
    pytest.importorskip("gpukit.device.numba_private", exc_type=ImportError)


@pytest.fixture
def answer(request, tmp_path):
    """Return a function that writes a small package and asks a process of its own for 10 · (x + 1) with x = 4.

    The function that is asked is in a system, or in ``papers``, which may use any system.
    """
    room, user = (tmp_path / "gpukit" / name for name in ("kpar", getattr(request, "param", "kpar")))
    for folder in {room, user}:
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    shutil.copytree(ROOT / "device", tmp_path / "gpukit" / "device", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "errors.py", "portable.py", "wording.py"):
        shutil.copy(ROOT / name, tmp_path / "gpukit")
    (user / "step_cpu.py").write_text(USES)
    code = f"from gpukit.{user.name}.step_cpu import answer; print(answer(4), len(answer.stats.cache_hits))"

    def ask(factor: int = 10, step: int = 1, **more: str) -> tuple[int, int]:
        (room / "rule.py").write_text(RULE.format(factor=factor, step=step))
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(tmp_path, **more), stdout=subprocess.PIPE, text=True, check=True
        )
        value, hits = done.stdout.split()
        return int(value), int(hits)

    return ask


@pytest.mark.long
@pytest.mark.parametrize("plain", ["0", "1"])
@pytest.mark.parametrize("answer", ["kpar", "papers"], indirect=True)
def test_code_of_other_files_that_is_inlined_counts(answer, plain):
    more = {"GPUKIT_PLAIN_NUMBA": plain}
    assert answer(**more) == (50, 0)
    assert answer(**more) == (50, 1)
    assert answer(factor=11, **more) == (55, 0)
    assert answer(factor=11, step=2, **more) == (66, 0)
    assert answer(factor=11, step=2, **more) == (66, 1)


def test_plain_code_lies_where_the_user_says(answer, tmp_path):
    """And the folder of other packages is theirs again."""
    code = """if True:
        import numba
        from gpukit.kpar.step_cpu import answer

        @numba.njit(cache=True)
        def others():
            return 1

        others()
        print(answer(4), numba.config.CACHE_DIR)
    """
    (tmp_path / "others.py").write_text(code.replace("if True:", "").replace("\n        ", "\n"))
    more = environment(tmp_path, GPUKIT_PLAIN_NUMBA="1", NUMBA_CACHE_DIR=str(tmp_path / "mine"))
    assert answer() == (50, 0)
    command = [sys.executable, "others.py"]
    done = subprocess.run(command, cwd=tmp_path, env=more, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == f"50 {tmp_path / 'mine'}\n"
    found = sorted(path.relative_to(tmp_path / "mine").parts[0] for path in (tmp_path / "mine").rglob("*.nbi"))
    assert found[0].startswith("gpukit-kpar-") and not found[1].startswith("gpukit-") and len(found) == 2


PAIR = """
from typing import NamedTuple

from gpukit.device.compiled import njit


class {name}(NamedTuple):
    a: int
    b: int


@njit
def add(pair):
    return pair.a + pair.b


print(add({name}(2, 3)), len(add.stats.cache_hits))
"""


def test_code_for_a_type_that_is_gone_is_compiled_anew(answer, tmp_path, tested_numba):
    """As after an update of the package, beside which the old compiled code still lies."""
    for name in ("Pair", "Couple"):
        (tmp_path / "gpukit" / "kpar" / "pair_cpu.py").write_text(PAIR.format(name=name))
        for hits in (0, 1):
            command = [sys.executable, "-c", "import gpukit.kpar.pair_cpu"]
            done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
            assert (done.stdout, done.stderr) == (f"5 {hits}\n", "")


ARRAYS = """
import numpy as np

from gpukit.device.compiled import njit


@njit
def spread_out(n):
    if n < 0:
        raise ValueError("n is below 0")
    places = {1: 0}
    found = np.empty(n)
    found[:] = 2.0
    for i in range(n):
        places[i] = i
    return np.sort(found)[: len(places)].copy(), np.argmax(found)
"""
LOADED = """
import sys
import numpy as np
import numba
from gpukit.kpar.arrays_cpu import spread_out

BEFORE
try:
    spread_out(-1)
except ValueError as error:
    assert str(error) == "n is below 0"
found, place = spread_out(1000)
assert found.tolist() == [2.0] * 1000 and place == 0
hits = len(spread_out.stats.cache_hits)
light = not {"numba.np.linalg", "scipy.linalg"} & set(sys.modules)
light = light and not numba.core.registry.cpu_target.target_context._defns.get(np.dot)

@numba.njit
def calls(n):
    found, place = spread_out(n)
    return np.dot(found, found), np.cov(np.vstack((found, found)))[0, 0], np.linalg.norm(found)

assert calls(4) == (16.0, 0.0, 4.0)
assert hasattr(sys.modules["scipy.linalg.cython_blas"], "__pyx_capi__")
print(hits, light)
"""
BROKEN = """
import logging
from gpukit.device import numba_private

logging.basicConfig(format="%(message)s", stream=sys.stdout)
logging.getLogger("gpukit").setLevel(logging.DEBUG)

class Broken:
    def initialize(self, context):
        raise AttributeError("moved")

numba_private.rtsys = Broken()
"""


@pytest.mark.long
def test_compiled_code_is_loaded_without_the_compiler(answer, tmp_path, tested_numba):
    """And does all that it would do with it; what is compiled afterwards has a compiler, and a BLAS."""
    (tmp_path / "gpukit" / "kpar" / "arrays_cpu.py").write_text(ARRAYS)

    def ask(before: str = "") -> str:
        command = [sys.executable, "-c", LOADED.replace("BEFORE", before)]
        done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert ask() == "0 False\n"
    assert ask() == "1 True\n"
    (told, *found) = ask(BROKEN).splitlines()
    assert told.endswith(" compiles in its own way, which takes more time: moved") and found == ["1 False"]


STEPS = """
import numba

from gpukit.device.compiled import njit


@numba.njit
def below(used, x):
    return used + x


@njit
def step(used, x):
    return below(used, x)


@njit
def pick(pair, i):
    return pair[i]


@njit
def total(n):
    used = 0
    for i in range(n):
        used = step(used, i)
    return used, pick((n, 2.5), 1)
"""
COUNTED = """
import logging
from gpukit.device.numba_private import _Parts

kinds = []
compile = _Parts.compile
_Parts.compile = lambda parts, *what: (kinds.append(parts.py_func.__name__), compile(parts, *what))[1]
from gpukit.kpar.steps_cpu import below, step, total

logging.basicConfig(level=logging.INFO, format="%(message)s")
assert total(5) == (10, 2.5)
print(sorted(set(kinds)), kinds.count('step'), kinds.count('below'), len(below.signatures), len(step.signatures))
assert step(3, 4) == below(3, 4) == 7 and len(step.signatures) == 1
"""


@pytest.mark.long
def test_a_number_in_a_source_is_no_kind_of_its_own(answer, tmp_path, tested_numba):
    """Numba would compile ``step`` for the 0 that ``used`` starts with, too; ``pick`` needs to know its number.

    What compiled code calls is no code of its own until Python calls it.
    """
    (tmp_path / "gpukit" / "kpar" / "steps_cpu.py").write_text(STEPS)
    command = [sys.executable, "-c", COUNTED]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
    assert done.stdout == "['below', 'pick', 'step'] 1 1 0 0\n", done.stderr
    assert done.stderr == (
        "compiling kpar.steps_cpu.total and what else this command needs: some seconds, once on this machine; "
        "`gpukit warm-up` does it for all commands\n"
    )
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


TOGETHER = """
import sys
import time
from gpukit.device import compiled
from gpukit.kpar import steps_cpu

class Slow:
    def __init__(self, compiler):
        self.compiler = compiler
    def __getattr__(self, name):
        return getattr(self.compiler, name)
    def compile(self, *what):
        time.sleep(2)
        return self.compiler.compile(*what)

steps_cpu.total._compiler = Slow(steps_cpu.total._compiler)
BESIDE
assert steps_cpu.total(5) == (10, 2.5)
print(len(steps_cpu.total.stats.cache_hits), steps_cpu.step(1, 2), len(steps_cpu.step.stats.cache_hits))
"""


@pytest.mark.long
def test_of_two_processes_one_compiles(answer, tmp_path, tested_numba):
    (tmp_path / "gpukit" / "kpar" / "steps_cpu.py").write_text(STEPS)
    command = [sys.executable, "-c", TOGETHER.replace("BESIDE", "")]
    more = {"cwd": tmp_path, "env": environment(tmp_path), "stdout": subprocess.PIPE, "text": True}
    pair = [subprocess.Popen(command, **more) for _ in "ab"]
    said = sorted(one.communicate()[0] for one in pair)
    assert [line.split()[0] for line in said] == ["0", "1"]
    kept = list((tmp_path / "gpukit" / "kpar" / "__pycache__").glob("*total*.nbc"))
    assert len(kept) == 1


@pytest.mark.long
def test_another_process_compiles_what_it_is_given(answer, tmp_path):
    """The process that asks for it waits for it, and compiles the rest; a helper that fails helps nobody."""
    (tmp_path / "gpukit" / "kpar" / "steps_cpu.py").write_text(
        STEPS + "\n\ndef ahead():\n    step(1, 2)\n\n\ndef broken():\n    raise SystemExit(3)\n"
    )

    def ask(*names: str) -> str:
        shutil.rmtree(tmp_path / "gpukit" / "kpar" / "__pycache__", ignore_errors=True)
        asked = "".join(
            f"compiled.compile_concurrently('gpukit.kpar.steps_cpu:{name}', steps_cpu.step)\n" for name in names
        )
        # By the time that the slow function is compiled, the helper has done its part.
        code = TOGETHER.replace("BESIDE", asked).replace("sleep(2)", "sleep(6)")
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
        return done.stdout + done.stderr

    assert ask("ahead") == "0 3 1\n"
    assert ask("broken", "missing") == "0 3 0\n"


def test_the_choice_is_compiled_for_what_a_run_calls():
    """Else the second process would compile what nobody needs."""
    from gpukit.api.seeds import _load
    from gpukit.device.select import choose as device
    from gpukit.gim import Params, baselines
    from gpukit.gim.run import DEFAULT
    from gpukit.gim.tiny import choose
    from gpukit.graph.build import build_graph
    from gpukit.worlds import cover_cpu

    choose()
    covers = ("invert", "cover", "_look", "coverage")
    called = [getattr(cover_cpu, name) for name in covers]
    called += [baselines.by_discount, baselines._sum_rows]
    before = [list(one.overloads) for one in called]
    assert all(before)
    graph = build_graph(np.array([0, 1, 2]), np.array([1, 2, 0]))
    _load(graph, Params(k=1), device("cpu", threads=2), DEFAULT)
    assert [list(one.overloads) for one in called] == before


def test_all_compiled_code_is_stamped():
    """A decorator of Numba's own with ``cache=True`` would look at one file."""
    if simulated():
        pytest.skip("the simulator keeps no code")
    from gpukit.device import compiled

    seen = 0
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        if "\n@njit" not in text:
            continue
        name = ".".join(("gpukit", *path.relative_to(ROOT).with_suffix("").parts))
        for one in vars(importlib.import_module(name)).values():
            cached = getattr(getattr(one, "_cache", None), "_cache_file", None)
            if cached is not None and one.py_func.__module__ == name:
                stamp = compiled.stamp(path.relative_to(ROOT).parts[0])
                if compiled._private is None:
                    assert Path(one.stats.cache_path).parent.name.endswith(stamp[:16]), one
                else:
                    assert isinstance(one._cache, compiled._private._Cache), one
                    assert cached._source_stamp == stamp, one
                seen += 1
    assert seen > 150


PLAIN = """
import logging
import sys

import numba

BEFORE
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stdout)
logging.getLogger("gpukit").setLevel(logging.DEBUG)
from gpukit.kpar.step_cpu import answer
from gpukit.kpar import other_cpu

print(answer(4), len(answer.stats.cache_hits), type(answer._cache).__module__)
"""
FAILURES = {
    "version": "numba.__version__ = '0.99.1'",
    "import": "sys.modules['numba.core.untyped_passes'] = None",
    "decoration": "from gpukit.device import numba_private; numba_private.FileLock = None",
}


@pytest.mark.parametrize("failure", FAILURES)
def test_another_numba_is_used_by_its_public_interface(answer, tmp_path, failure, tested_numba):
    """A process says it once, with ``-v``; its code is kept, too."""
    (tmp_path / "gpukit" / "kpar" / "other_cpu.py").write_text(USES)
    (tmp_path / "gpukit" / "kpar" / "rule.py").write_text(RULE.format(factor=10, step=1))
    reason = {
        "version": "gpukit was tested with 0.60 to ",
        "import": "import of numba.core.untyped_passes halted",
        "decoration": "'NoneType' object is not callable",
    }[failure]

    def ask() -> list[str]:
        command = [sys.executable, "-c", PLAIN.replace("BEFORE", FAILURES[failure])]
        done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    said = ask()
    assert said[0].startswith("DEBUG Numba ") and reason in said[0], said
    assert said[1].startswith("INFO compiling kpar.step_cpu.answer and what else "), said
    assert said[2:] == ["50 0 numba.core.caching"]
    assert ask()[1:] == ["50 1 numba.core.caching"]


@pytest.mark.parametrize("plain", ["0", "1"])
def test_without_a_place_each_process_compiles(answer, tmp_path, plain):
    """As where neither home nor installation can be written; a file instead of a folder does that for root."""
    for room in ("", "device", "kpar"):
        (tmp_path / "gpukit" / room / "__pycache__").touch()
    more = environment(tmp_path, GPUKIT_PLAIN_NUMBA=plain, HOME="/dev/null")
    more.pop("XDG_CACHE_HOME", None)
    (tmp_path / "gpukit" / "kpar" / "other_cpu.py").write_text(USES)
    (tmp_path / "gpukit" / "kpar" / "rule.py").write_text(RULE.format(factor=10, step=1))
    command = [sys.executable, "-c", PLAIN.replace("BEFORE", "from gpukit.device import compiled")]
    done = subprocess.run(command, cwd=tmp_path, env=more, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (*_, told, found) = done.stdout.splitlines()
    assert told == (
        "INFO compiling kpar.step_cpu.answer and what else this command needs: some seconds, in every process, since "
        "there is no place to keep compiled code (neither the installation nor ~/.cache/numba can be written); set "
        "NUMBA_CACHE_DIR to a folder that can"
    )
    assert found == "50 0 numba.core.caching"
    assert not list(tmp_path.rglob("*.nb?"))
