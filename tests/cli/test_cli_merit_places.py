"""``gpukit merit run --gpus N``: campaigns of several worlds at once, with threads of the CPU for GPUs."""

import numpy as np
import pytest

from gpukit.artifacts import write_graph
from gpukit.device.select import Device
from gpukit.errors import InputError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.worlds.tables import build_tables

pytestmark = pytest.mark.long

GROUP = ("merit",)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    u, v = 10 * np.random.default_rng(1).integers(1, 80, (2, 300))
    graph = build_graph(u, v, weights=Weights())
    write_graph(tmp_path / "G.h5", graph, build_tables(graph))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("places", [1, 2, 3, 6])
def test_campaigns_in_several_places_at_once_write_the_same_file(record, folder, monkeypatch, places):
    """Threads of the CPU stand for GPUs: four worlds, also with more places than worlds."""
    from gpukit.api import session
    from gpukit.device import on_each

    def found(requested="auto", gpus=1, threads=None, *, work=None):
        return Device("cpu", "several", tuple(range(gpus)), 1, "test")

    options = ["--eta", 30, "--batch", 3, "--seed", 4, "--worlds", 4]
    expected = record("run", "G.h5", "--out", "C.h5", *options)
    monkeypatch.setattr(session, "choose", found)
    monkeypatch.setattr(on_each, "_call", lambda function, gpu, *arguments: function(*arguments))
    told = record("run", "G.h5", "--out", "D.h5", *options, "--gpus", places)
    assert (folder / "C.h5").read_bytes() == (folder / "D.h5").read_bytes()
    for one, other in zip(expected["campaigns"], told["campaigns"], strict=True):
        assert {**one, "time_s": {}} == {**other, "time_s": {}} and set(one["time_s"]) == set(other["time_s"])
    assert ("campaigns" in told["time_s"]) == (places > 1)


def test_an_error_in_one_place_ends_the_campaigns(run, folder, monkeypatch):
    """No other world starts, and the first error is reported."""
    from gpukit.api import session
    from gpukit.device import on_each
    from gpukit.merit.world import SimulatedWorld

    def fails(self, seeds):
        begun.append(1)
        raise InputError("the second world is broken")

    begun = []
    monkeypatch.setattr(session, "choose", lambda *_, **__: Device("cpu", "several", (0, 1), 1, "test"))
    monkeypatch.setattr(on_each, "_call", lambda function, gpu, *arguments: function(*arguments))
    monkeypatch.setattr(SimulatedWorld, "diffuse", fails)
    monkeypatch.setattr("gpukit.api.campaign_run._load", lambda *_: None)
    code, _, err = run("run", "G.h5", "--out", "C.h5", "--eta", 30, "--batch", 3, "--worlds", 50, "--gpus", 2)
    assert code == 3 and "the second world is broken" in err and len(begun) <= 2 and not (folder / "C.h5").exists()


def test_a_real_campaign_has_one_gpu(run, folder):
    code, _, err = run("start", "G.h5", "--out", "C.h5", "--eta", 30, "--gpus", 2)
    assert code == 2 and "--gpus is 2; a real campaign runs on one GPU" in err
