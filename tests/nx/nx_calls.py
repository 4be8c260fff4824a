"""A plugin for runs of NetworkX's own tests: writes which test called which functions of the backend."""

import functools
import json
import os
from collections import defaultdict
from pathlib import Path

from gpukit.nx import backend
from gpukit.nx.info import FUNCTIONS

CALLS: dict[str, set[str]] = defaultdict(set)
RUNNING = [""]


def _counted(name):
    function = getattr(backend, name)

    @functools.wraps(function)
    def call(*args, **kwargs):
        CALLS[RUNNING[0]].add(name)
        return function(*args, **kwargs)

    return call


def pytest_configure():
    for name in FUNCTIONS:
        setattr(backend, name, _counted(name))


def pytest_runtest_setup(item):
    RUNNING[0] = f"{item.module.__name__}::{item.nodeid.partition('::')[2]}"


def pytest_unconfigure():
    Path(os.environ["NX_CALLS"]).write_text(json.dumps({test: sorted(names) for test, names in CALLS.items()}))
