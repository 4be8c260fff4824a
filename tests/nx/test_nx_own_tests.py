"""NetworkX's own tests of the functions that the backend has, run with the backend in place of NetworkX's code."""

import json
import subprocess
import sys

import pytest

from gpukit.nx.info import FUNCTIONS

TESTED = [
    "networkx.algorithms.link_analysis.tests.test_pagerank",
    "networkx.algorithms.tests.test_core",
    "networkx.algorithms.tests.test_cluster",
]

CALLING = [
    "networkx.algorithms.approximation.tests.test_approx_clust_coeff",
    "networkx.algorithms.approximation.tests.test_kcomponents",
    "networkx.algorithms.connectivity.tests.test_connectivity",
    "networkx.algorithms.isomorphism.tests.test_isomorphism",
    "networkx.algorithms.tests.test_smallworld",
    "networkx.algorithms.tests.test_threshold",
]
"""Those of functions that call them; no other of NetworkX's tests reaches the backend."""


def run(modules, environment, calls):
    """Run tests of NetworkX under the backend; return the process, and the functions that each test called."""
    switched_on = {"NETWORKX_TEST_BACKEND": "gpukit", "NETWORKX_FALLBACK_TO_NX": "True", "NX_CALLS": str(calls)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "nx_calls", "--pyargs", *modules]
    done = subprocess.run(command, env={**environment, **switched_on}, cwd=calls.parent, capture_output=True, text=True)
    return done, json.loads(calls.read_text())


def test_they_pass_and_reach_every_function(environment, tmp_path):
    done, calls = run(TESTED, environment, tmp_path / "calls.json")
    assert done.returncode == 0, done.stdout[-4000:]
    assert set().union(*calls.values()) == set(FUNCTIONS)
    assert len(calls) > 50  # the others test NetworkX's other ways, directed or weighted clustering, onions, squares


@pytest.mark.long
def test_so_do_those_that_call_them(environment, tmp_path):
    done, calls = run(CALLING, environment, tmp_path / "calls.json")
    assert done.returncode == 0, done.stdout[-4000:]
    assert {test.partition("::")[0] for test in calls} == set(CALLING)
