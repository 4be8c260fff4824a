"""NetworkX knows the backend by the entry points in pyproject.toml, also where gpukit was installed without them."""

import os
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[2]
POINTS = {
    group: points["gpukit"]
    for group, points in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"].items()
}


@pytest.fixture(autouse=True, scope="session")
def _registered():
    dispatch = nx.utils.backends
    info = EntryPoint("gpukit", POINTS["networkx.backend_info"], "networkx.backend_info").load()()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            dispatch.backends, "gpukit", EntryPoint("gpukit", POINTS["networkx.backends"], "networkx.backends")
        )
        patch.setitem(dispatch.backend_info, "gpukit", info)
        if hasattr(dispatch._dispatchable, "_call_if_any_backends_installed"):  # since 3.5
            patch.setattr(dispatch._dispatchable, "__call__", dispatch._dispatchable._call_if_any_backends_installed)
        nx.config.warnings_to_ignore.add("cache")
        yield


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """Return the environment of a process in which gpukit is installed as pyproject.toml says."""
    place = tmp_path_factory.mktemp("installed")
    facts = place / "gpukit-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: gpukit\nVersion: 0.1.0\n")
    (facts / "entry_points.txt").write_text("".join(f"[{group}]\ngpukit = {to}\n" for group, to in POINTS.items()))
    there = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(map(str, filter(None, [place, ROOT, ROOT / "tests" / "nx", *there])))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NETWORKX_")}
    kept.pop("NUMBA_ENABLE_CUDASIM", None)
    return {**kept, "PYTHONPATH": path}
