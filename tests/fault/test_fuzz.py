"""The short form of the fuzzers: some seconds each."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fault.fuzz import FUZZERS

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FUZZERS)
def test_fuzz(name: str) -> None:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    examples = "8" if name == "configurations" else "400"  # a plan takes seconds
    command = [sys.executable, "-m", "fault.fuzz", name, "--minutes", "0.05", "--examples", examples]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
