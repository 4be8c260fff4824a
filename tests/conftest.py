"""Fixtures of all tests. Its place also puts ``tests/`` on the import path, for ``from oracles.worlds import …``."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights
from gpukit.wording import facing


@pytest.fixture(scope="session")
def make_graph():
    """Return a function that builds a graph on vertices 0 … n-1 from (tail, head[, probability]) tuples."""

    def make(n: int, edges, weights: Weights | None = None) -> Graph:
        rows = list(edges)
        tails = np.array([row[0] for row in rows], np.int64)
        heads = np.array([row[1] for row in rows], np.int64)
        explicit = bool(rows) and len(rows[0]) == 3
        w = np.array([row[2] for row in rows], np.float64) if explicit else None
        scheme = Weights("file") if explicit else weights or Weights()
        return build_graph(tails, heads, w=w, weights=scheme, ids=False, n=n)

    return make


@pytest.fixture(scope="session")
def random_graph(make_graph):
    """Return a function that builds a random graph of about m edges, the same for the same key."""

    def make(n: int, m: int, key: int, weights: Weights | None = None) -> Graph:
        generator = np.random.default_rng(key)
        return make_graph(n, generator.integers(0, n, (m, 2)).tolist(), weights)

    return make


@pytest.fixture(autouse=True)
def _words(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let messages be as the code has them, with options, but where Python calls it as people do."""
    with nullcontext() if request.path.parent.name in ("api", "nx") else facing("command"):
        yield


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Let processes that tests start be interrupted, also where the tests themselves run in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


FAKE_DRIVER = r"""
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int cuInit(unsigned f) { return getenv("FAKE_FAIL") ? 100 : 0; }
int cuGetErrorName(int e, const char **s) { *s = "CUDA_ERROR_NO_DEVICE"; return 0; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strcpy(s, d ? "Fake B" : "Fake A"); return 0; }
int cuDeviceTotalMem_v2(size_t *m, int d) { *m = (size_t)(d + 1) << 34; return 0; }
int cuDeviceGetUuid_v2(unsigned char *u, int d) { for (int i = 0; i < 16; i++) u[i] = i + d; return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 75 ? 9 : 0; return 0; }
volatile int made = 0, all = 0;
int cuDevicePrimaryCtxRetain(void **c, int d) {
  *c = NULL; __sync_fetch_and_or(&made, 1 << d); while ((made & all) != all) usleep(1000); return 0; }
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a libcuda.so.1 that answers like a machine with two GPUs."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "cuda.c").write_text(FAKE_DRIVER)
    try:
        command = ["cc", "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(folder / "cuda.c")]
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs a C compiler")
    return folder
