"""If a run that `auto` began on the CPU takes long, it moves to the GPU with the same seeds."""

import json

import pytest

from gpukit.api import seeds, session
from gpukit.artifacts import read_header
from gpukit.cli.app import main
from gpukit.device.select import choose
from gpukit.gim import twofold
from gpukit.worlds import candidates_cuda, collection_cuda


@pytest.fixture
def shown(tmp_path, monkeypatch, capsys):
    """Return a function that runs `gim run`; auto gives small work to the CPU, other work to the simulated GPU."""
    (tmp_path / "edges").write_text("".join(f"{v} {v * v % 7}\n{v} {(v + 1) % 12}\n" for v in range(12)))
    monkeypatch.setattr(twofold, "START", 64)
    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 1000)
    monkeypatch.setattr(candidates_cuda, "MAX_CANDIDATES", 256)
    assert main(["graph", "import", str(tmp_path / "edges"), "--out", str(tmp_path / "G.h5")]) == 0

    def found(requested="auto", gpus=1, threads=None, *, work=None):
        small = requested == "cpu" or work is not None
        return choose("cpu" if small else "cuda", gpus, threads)

    monkeypatch.setattr(session, "choose", found)

    def run(*words):
        capsys.readouterr()
        given = [
            str(tmp_path / "G.h5"),
            "-k",
            "2",
            "--epsilon",
            ".9",
            "--optimism",
            ".9",
            "--max-members",
            "40",
            "--json",
        ]
        assert main(["gim", "run", *given, "--out", str(tmp_path / "S.h5"), *words]) == 0
        return json.loads(capsys.readouterr().out), read_header(tmp_path / "S.h5").payload

    return run


@pytest.mark.long
@pytest.mark.parametrize(("words", "patience", "kind"), [
    ((), 0.0, "cuda"),
    ((), 1000.0, "cpu"),
    (("--device", "cpu"), 0.0, "cpu"),
])  # fmt: skip
def test_a_long_run_moves_and_gives_the_same(simulator, shown, monkeypatch, words, patience, kind):
    answer, payload = shown("--device", "cpu")
    monkeypatch.setattr(seeds, "PATIENCE_S", patience)
    record, same = shown(*words)
    assert (record["device"]["kind"], same) == (kind, payload)
    assert ("the CPU has taken over 0 s" in record["device"]["reason"]) == (kind == "cuda")
    assert record["history"] == answer["history"]
