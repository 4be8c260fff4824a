"""Commands where memory is short, and where the environment is odd: they do their work, or end with one line."""

import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpukit

ROOT = Path(gpukit.__file__).parents[1]
NAMES = {"AS": resource.RLIMIT_AS, "DATA": resource.RLIMIT_DATA}

COMMANDS = (
    "doctor",
    "data list",
    "graph generate er --vertices 300 --edges 2000 --out OUT",
    "graph generate rmat --scale 8 --out OUT",
    "graph generate ba --vertices 300 --attach 3 --out OUT",
    "graph generate holme-kim --vertices 300 --attach 3 --triad 0.4 --out OUT",
    "graph generate affiliation --vertices 400 --edges 2000 --triangles 3000 --out OUT",
    "graph import edges.txt --out OUT",
    "graph info G",
    "gim run G --out OUT -k 2",
    "gim sample G --out OUT --first 0 --count 2000",
    "gim select RR --out OUT -k 2",
    "imgpu run G --out OUT -k 2 --worlds 8",
    "kpar rank G --out OUT",
    "kpar index G --rank PR --out OUT",
    "kpar query G --index IRW --source 1 -k 5 --out OUT",
    "kpar truth G --source 1 -k 5 --out OUT",
    "merit run G --out OUT --eta 20",
    "merit start G --out OUT --eta 20",
    "diversity egos G --out OUT",
    "diversity search G --out OUT --model truss -k 3 -t 5",
    "evaluate spread G --seeds S --runs 100",
    "inspect G",
    "verify G",
    "diff G G",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an edge list and artifacts of each kind that the commands read."""
    from gpukit.cli.app import main

    folder = tmp_path_factory.mktemp("starved")
    (folder / "edges.txt").write_text("".join(f"{v} {v * v % 97}\n" for v in range(200)))
    for words in (
        "graph generate ba --vertices 300 --attach 3 --out G",
        "gim run G --out S -k 2",
        "gim sample G --out RR --first 0 --count 2000",
        "kpar rank G --out PR",
        "kpar index G --rank PR --out IRW",
    ):
        assert main([str(folder / word) if word.isupper() else word for word in words.split()]) == 0
    return folder


def gpukit_with(
    words: str, folder: Path, limit: tuple[str, int] | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """Run a command in a folder under a limit in MiB; a process that waits for ever fails the test."""

    def starve() -> None:
        if limit is not None:
            resource.setrlimit(NAMES[limit[0]], (limit[1] << 20, limit[1] << 20))

    (folder / "OUT").unlink(missing_ok=True)
    base = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.run(
        [sys.executable, "-m", "gpukit", *words.split()],
        cwd=folder, env={**base, "PYTHONPATH": str(ROOT), **environment}, preexec_fn=starve,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("limit", [("AS", 180), ("AS", 500), ("DATA", 100)], ids=lambda limit: f"{limit[0]}-{limit[1]}")
def test_too_little_memory_is_one_line(folder: Path, words: str, limit: tuple[str, int]) -> None:
    run = gpukit_with(words, folder, limit)
    lines = [line for line in run.stderr.splitlines() if not line.startswith("gpukit: device ")]
    assert run.returncode in (0, 4), run.stderr
    if run.returncode == 4:
        assert len(lines) == 1 and lines[0].startswith("gpukit: error: the work needs "), run.stderr
        assert run.stdout == "" and not (folder / "OUT").exists()


@pytest.mark.parametrize("limit", [("AS", 400), ("AS", 800), ("DATA", 250)], ids=lambda limit: f"{limit[0]}-{limit[1]}")
def test_doctor_says_what_it_had_no_memory_to_test(folder: Path, limit: tuple[str, int]) -> None:
    run = gpukit_with("doctor --json", folder, limit)
    assert (run.returncode, run.stderr) == (0, "")
    checks = {check["name"].partition(":")[0]: check for check in json.loads(run.stdout)["checks"]}
    assert [checks[name]["status"] for name in ("cpu", "hdf5")] == ["skipped", "ok"]
    assert checks["cuda"]["status"] == "skipped"
    assert checks["cpu"]["detail"].startswith("not tested: the work needs ")
    assert "--threads" not in checks["cpu"]["detail"]  # which doctor does not have


def test_doctor_tells_a_test_without_memory_from_a_broken_one(monkeypatch, capsys) -> None:
    from gpukit.cli.app import main

    def take_much() -> bool:
        raise MemoryError

    monkeypatch.setattr("gpukit.cli.doctor._philox_cpu", take_much)
    assert main(["doctor"]) == 0
    assert (
        "  skipped  cpu: Philox known answers (not tested: out of memory (on this machine))\n"
        in capsys.readouterr().out
    )


LARGE = """
import sys, types
import numpy as np
from gpukit.cli import app
from gpukit.cli.common import Run
from gpukit.device import memory

def large():
    Run().use_device(threads=1)
    np.empty(size)

memory.host_free_bytes = lambda: 1 << 30
sys.modules["large"] = types.SimpleNamespace(large=large)
app.COMMANDS += (("large", "large:large", "Take much memory."),)
size, sys.argv[1:] = int(sys.argv[1]), ["large"]
sys.exit(app.main())
"""


@pytest.mark.parametrize(("size", "code"), [(1 << 29, 4), (1 << 20, 0)])
def test_what_nobody_predicted_is_refused_too(size: int, code: int) -> None:
    """4 GiB, on a machine where 1 GiB is said to be free."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", LARGE, str(size)], env=environment, capture_output=True, text=True)
    assert run.returncode == code, run.stderr
    assert code == 0 or "gpukit: error: out of memory (Unable to allocate 4.00 GiB" in run.stderr


def called(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run a program that calls gpukit in a folder; the error that it meets is printed as a command's."""
    lines = ["import gpukit as gk", "try:", f"    print({code})", "except gk.errors.GpukitError as error:"]
    lines.append("    raise SystemExit(f'{error.exit_code} {error}')")
    base = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=folder, env={**base, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


USELESS = {
    "NUMBA_DISABLE_JIT=1": "NUMBA_DISABLE_JIT is set, and gpukit runs compiled code only; unset it",
    "NUMBA_THREADING_LAYER=bogus": "The threading layer requested 'bogus' is unknown to Numba; "
    "change or unset NUMBA_THREADING_LAYER",
    "NUMBA_THREADING_LAYER=tbb": "No threading layer could be loaded. HINT: Intel TBB is required, try: "
    "$ conda/pip install tbb; change or unset NUMBA_THREADING_LAYER",
    "NUMBA_THREADING_LAYER_PRIORITY=omp omp tbb": "THREADING_LAYER_PRIORITY invalid: ['omp', 'omp', 'tbb']. It must be "
    "a permutation of {'tbb', 'omp', 'workqueue'}; change or unset NUMBA_THREADING_LAYER_PRIORITY",
}
"""Settings for Numba in the environment with which nothing runs, and the messages about them."""


@pytest.mark.parametrize("asked", USELESS)
def test_what_makes_numba_useless_is_one_line(folder: Path, asked: str) -> None:
    if asked.endswith("tbb") and importlib.util.find_spec("tbb"):
        pytest.skip("TBB is here")
    more = dict([asked.split("=")])
    for words in ("graph generate er --vertices 30 --edges 50 --out OUT", "gim run G --out OUT -k 2", "doctor"):
        run = gpukit_with(words, folder, **more)
        lines = [line for line in run.stderr.splitlines() if not line.startswith("gpukit: device ")]
        if words == "doctor" and "LAYER" in asked:
            assert run.returncode == 1 and f"Philox known answers (UsageError: {USELESS[asked]})" in run.stdout
        else:
            assert (run.returncode, run.stdout, lines) == (2, "", [f"gpukit: error: {USELESS[asked]}"])
    for code in ("gk.from_edges([1, 2], [2, 3])", "gk.influence_maximization(gk.read_graph('G'), 2)"):
        run = called(code, folder, **more)
        assert (run.stdout, run.stderr) == ("", f"2 {USELESS[asked]}\n")


@pytest.mark.long
def test_where_nothing_can_be_written_all_works(folder: Path, tmp_path: Path) -> None:
    """But ``warm-up``. A file instead of a folder for compiled code cannot be written by root either."""
    shutil.copytree(ROOT / "gpukit", tmp_path / "gpukit", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (tmp_path / "gpukit").rglob("*.py"):
        (path.parent / "__pycache__").touch()
    bare = {"PYTHONPATH": str(tmp_path), "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}
    run = gpukit_with("graph import edges.txt --out OUT", folder, **bare)
    assert run.returncode == 0 and "some seconds, in every process, since there is no place" in run.stderr, run.stderr
    run = called("gk.read_edges('edges.txt')", folder, **bare)
    assert (run.returncode, run.stderr) == (0, "")
    run = gpukit_with("warm-up", folder, **bare)
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.startswith("gpukit: error: there is no place to keep compiled code (")


def test_no_place_for_compiled_code_is_one_line() -> None:
    from gpukit.cli.app import explain

    code, line = explain(RuntimeError("cannot cache function 'f': no locator available for file 'x.py'"))
    assert code == 3 and line.endswith("set NUMBA_CACHE_DIR to a folder that can")


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "MPLCONFIGDIR": "/nonexistent"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
        {"OMP_NUM_THREADS": "0", "NUMBA_NUM_THREADS": "many", "PYTHONDONTWRITEBYTECODE": "1"},
    ],
)
def test_an_odd_environment_changes_nothing(folder: Path, environment: dict[str, str]) -> None:
    run = gpukit_with("gim run G --out OUT -k 2", folder, **environment)
    assert run.returncode == 0 and run.stderr == ""
    assert (folder / "OUT").read_bytes() == (folder / "S").read_bytes()
