"""Messages about this machine: the report of ``doctor``, the chosen device, and progress on a terminal."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from gpukit.api import session
from gpukit.cli import app, doctor

ROOT = Path(__file__).parents[2]


def test_doctor_says_which_extra_brings_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """The extras are those of the package, and none is left out."""
    monkeypatch.setattr(doctor, "versions", lambda: {"gpukit": "1", **dict.fromkeys(doctor.EXTRAS)})
    monkeypatch.setattr(doctor, "kernels", lambda: None)
    monkeypatch.setattr(doctor, "checks", lambda problem: [{"name": "a", "status": "ok", "detail": ""}])
    assert app.main(["doctor"]) == 0
    assert "openpyxl      not installed; gpukit[excel] brings it\n" in capsys.readouterr().out
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, extra in doctor.EXTRAS.items():
        assert any(re.match(rf"{package}(?![\w-])", one) for one in extras[extra]), package
    assert extras.keys() - {"slurm", "all"} == {*doctor.EXTRAS.values()}


def test_of_several_commands_in_a_process_the_device_is_said_once(tmp_path: Path, capsys) -> None:
    (tmp_path / "e.txt").write_text("1 2\n2 3\n")
    line = f"graph import {tmp_path}/e.txt --weights none --out {tmp_path}/g.h5 --threads 1 -v\n"
    (tmp_path / "lines.txt").write_text(line * 3)
    for _ in range(2):
        assert app.main(["batch", str(tmp_path / "lines.txt")]) == 0
        assert capsys.readouterr().err.count("device cpu: ") == 1


def test_progress_in_a_notebook_needs_no_second_package(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    class Console:
        is_jupyter = True

        def __init__(self, **more) -> None: ...

    monkeypatch.setattr("rich.console.Console", Console)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with session.bar("walks") as update:
        for done in (0, 1, 1, 2, 400):
            update(done, 400)
    assert capsys.readouterr().err == "\rwalks: 0 %\rwalks: 100 %\n"
