"""Short runs of the fuzzers, of some seconds each."""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
from hypothesis import given, settings

from fault.fuzz import FUZZERS
from fault.fuzz_config import CONTAINERS, _changed

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FUZZERS)
def test_fuzz(name: str) -> None:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    examples = "8" if name == "configurations" else "400"  # a plan takes seconds
    command = [sys.executable, "-m", "fault.fuzz", name, "--minutes", "0.05", "--examples", examples]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_example_does_not_change_the_next_ones() -> None:
    """A change of a key inside a drawn value must not change the strategy's own value."""
    before = repr(CONTAINERS)

    @settings(max_examples=500, database=None, derandomize=True)
    @given(_changed())
    def draw(_: str) -> None:
        assert repr(CONTAINERS) == before

    draw()


JUDGE = """
import sys
from pathlib import Path
from fault.fuzz_artifacts import _read_in_child, judge
judge(Path(sys.argv[1]), "damaged")
print(_read_in_child(Path(sys.argv[1]), "verify")[1])
print(_read_in_child(Path(sys.argv[1]), "read")[1])
"""


def test_verify_may_refuse_what_only_other_programs_read(tmp_path: Path) -> None:
    path = tmp_path / "G.h5"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])

    def judged() -> list[str]:
        """Judge in a separate process: a child counts as large as the process that forked it."""
        command = [sys.executable, "-c", JUDGE, str(path)]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    command = ["gpukit", "graph", "generate", "er", "--vertices", "30", "--edges", "90", "--out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    with h5py.File(path, "r+") as file:
        del file["transpose"].attrs["binsparse"]
    full, quick = judged()
    assert "descriptor" in full and not quick
    with h5py.File(path, "r+") as file:
        del file.attrs["binsparse"], file["indices_1"]
    full, quick = judged()
    assert "indices_1" in quick
