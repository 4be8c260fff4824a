"""Commands that divide worlds among GPUs write the same bytes for any number of (simulated) GPUs."""

import json
from dataclasses import replace

import pytest

from gpukit.api import session
from gpukit.cli.app import main
from gpukit.device.select import choose

pytestmark = pytest.mark.long


@pytest.fixture
def written(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command on some GPUs (0: the CPU), and returns its file and its record."""
    (tmp_path / "edges").write_text("".join(f"{v} {(3 * v + 1) % 14}\n{v} {(v + 5) % 14}\n" for v in range(14)))
    graph, out = tmp_path / "G.h5", tmp_path / "out.h5"
    assert main(["graph", "import", str(tmp_path / "edges"), "--weights", "const:0.3", "--out", str(graph)]) == 0

    def found(requested="auto", gpus=1, threads=None, *, work=None):
        device = choose(requested, gpus, threads)
        return replace(device, gpus=(0,) * gpus) if requested == "cuda" else device

    monkeypatch.setattr(session, "choose", found)

    def run(gpus, *words):
        capsys.readouterr()
        where = ("--device", "cuda", "--gpus", str(gpus)) if gpus else ("--device", "cpu")
        system, *options = words
        assert main([system, "run", str(graph), *options, *where, "--seed", "3", "--json", "--out", str(out)]) == 0
        return out.read_bytes(), json.loads(capsys.readouterr().out)

    return run


@pytest.mark.parametrize("way", ["--fixed", "--fresh"])
def test_imgpu(simulator, written, way):
    words = ("imgpu", "-k", "2", "--worlds", "3", way)
    expected, record = written(0, *words)
    for gpus in (1, 2, 3, 5):
        found, told = written(gpus, *words)
        assert found == expected, gpus
        assert told["seeds"] == record["seeds"] and told["device"]["gpus"] == [0] * gpus


def test_merit(simulator, written, monkeypatch):
    from gpukit.merit import cover_cuda, policy, state_cuda

    def fewer(*args):
        return replace(plans(*args), sizes=(5, 10))

    plans = policy.plan
    monkeypatch.setattr(policy, "plan", fewer)
    for name, value in (("BLOCK", 32), ("MAX_CANDIDATES", 32), ("WANTED", 2), ("EPOCHS", 2)):
        monkeypatch.setattr(cover_cuda, name, value)
    monkeypatch.setattr(state_cuda, "COVERED", 200)
    words = ("merit", "--eta", "8", "--batch", "3", "--epsilon", "0.9", "--worlds", "2")
    expected, record = written(0, *words)
    for gpus in (1, 3):
        found, told = written(gpus, *words)
        assert found == expected, gpus
        assert [one["world"] for one in told["campaigns"]] == [0, 1]
        assert [one["cost"] for one in told["campaigns"]] == [one["cost"] for one in record["campaigns"]]
        assert ("campaigns" in told["time_s"]) == (gpus > 1)
