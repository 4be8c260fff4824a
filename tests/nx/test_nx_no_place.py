"""Where compiled code has no place, as in a container with a read-only home, NetworkX does the work itself."""

import subprocess
import sys

NO_PLACE = """
import networkx as nx
import numba.core.caching as caching
from gpukit.nx.info import FUNCTIONS
for kind in (caching.CacheImpl, caching.CompileResultCacheImpl, caching.CodeLibraryCacheImpl):
    kind._locator_classes = []
nx.config.warnings_to_ignore.add("cache")
graphs = nx.gnm_random_graph(300, 900, seed=1), nx.gnm_random_graph(300, 900, seed=2, directed=True)

def results(**settings):
    found = []
    for name in sorted(FUNCTIONS):
        for graph in graphs[: 1 if name in ("k_truss", "onion_layers", "triangles", "generalized_degree") else 2]:
            result = getattr(nx, name)(graph, *([2] if name in ("k_corona", "k_truss") else []), **settings)
            found.append(result.adj if isinstance(result, nx.Graph) else result)
    return found

"""
PRIORITY = """
expected = results(backend="networkx")
nx.config.backend_priority.algos = nx.config.backend_priority.generators = ["gpukit"]
for _ in range(2):
    found = results()
    assert len(found) == len(expected) == 22
    for ours, theirs in zip(found, expected):
        assert ours == theirs or max(abs(ours[node] - theirs[node]) for node in theirs) < 1e-12
"""
ASKED = """
for graph in graphs:
    try:
        nx.pagerank(graph, backend="gpukit")
    except NotImplementedError as error:
        assert str(error.__cause__) and "\\n" not in f"{error}{error.__cause__}"
"""


def run(program, environment):
    command = [sys.executable, "-c", NO_PLACE + program]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_networkx_does_it_itself(environment):
    done = run(PRIORITY, environment)
    assert done.returncode == 0, done.stderr


def test_who_asks_for_the_backend_is_told_why(environment):
    """Unless it works there."""
    done = run(ASKED, environment)
    assert done.returncode == 0, done.stderr
