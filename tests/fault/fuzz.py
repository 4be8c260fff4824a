"""``python -m fault.fuzz NAME``: give readers odd content.

A reader must return the right answer or one of gpukit's errors, in bounded time. A fuzzer has a check of one example
and a hypothesis strategy that draws examples. By default hypothesis draws them from the seed. With ``--coverage``
atheris, if installed, searches for examples that reach new lines of Python.
"""

import argparse
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisWarning

from fault import counts
from fault.fuzz_artifacts import artifacts
from fault.fuzz_config import configurations
from fault.fuzz_text import costs, edges, observed, seeds, sources

Fuzzer = tuple[Any, Callable[[Any], None]]
FUZZERS: dict[str, Callable[[Path], Fuzzer]] = {
    "edges": edges,
    "artifacts": artifacts,
    "observed": observed,
    "seeds": seeds,
    "costs": costs,
    "sources": sources,
    "configurations": configurations,
}
"""For each fuzzer, the function that makes its strategy and the check of one example, in a separate folder."""
ROUND = 100
HANGS_S = 60


def hang(number: int, frame: object) -> None:
    """End an example that takes too long."""
    raise TimeoutError(f"an example took more than {HANGS_S} s")


def cpu_seconds() -> float:
    """Return the CPU time of this process and its children so far."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def fuzz(name: str, budget_s: float, first_seed: int, most: int, folder: Path) -> tuple[int, list[str]]:
    """Draw examples in rounds with different seeds until the CPU time is used; return their number and the failures."""
    strategy, check = FUZZERS[name](folder)
    tried = 0
    signal.signal(signal.SIGALRM, hang)
    warnings.simplefilter("ignore", HypothesisWarning)  # one word is 5,000 digits long

    def one(example: Any) -> None:
        nonlocal tried
        tried += 1
        signal.alarm(HANGS_S)
        try:
            check(example)
        finally:
            signal.alarm(0)

    failures = []
    for number in itertools.count(first_seed):
        test = seed(number)(
            settings(
                max_examples=min(ROUND, most), database=None, deadline=None, suppress_health_check=list(HealthCheck),
                phases=(Phase.generate, Phase.shrink), print_blob=False, report_multiple_bugs=False,
            )(given(strategy)(one))
        )  # fmt: skip
        try:
            test()
        except Exception as error:
            text = "".join([*traceback.format_exception_only(error), *getattr(error, "__notes__", [])])
            failures.append(f"{name}, seed {number}: {' '.join(text.split())}")
            print("FAILED", failures[-1], flush=True)
        if cpu_seconds() > budget_s or tried >= most:
            return tried, failures
    raise AssertionError


def cover(name: str, budget_s: float, folder: Path) -> None:
    """Let atheris draw the examples; it also ends the process."""
    import atheris

    with atheris.instrument_imports(include=["gpukit"]):
        import gpukit.cli.vertices.read
        import gpukit.graph.read.formats  # noqa: F401
    strategy, check = FUZZERS[name](folder)
    test = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))(given(strategy)(check))
    atheris.Setup([sys.argv[0], f"-max_total_time={budget_s:.0f}", "-max_len=4096"], test.hypothesis.fuzz_one_input)
    atheris.Fuzz()


def main() -> int:
    """Parse the options and begin."""
    parser = argparse.ArgumentParser(prog="python -m fault.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FUZZERS))
    parser.add_argument("--minutes", type=float, default=30.0, help="CPU time of each")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first round; each round has the next")
    parser.add_argument("--examples", type=int, default=10**9, help="end a round after as many, too")
    parser.add_argument("--coverage", action="store_true", help="by coverage of Python lines (needs atheris)")
    parser.add_argument("--record", type=Path, help="JSON file to add the counts to")
    asked = parser.parse_args()
    failed = False
    for name in asked.names or FUZZERS:
        began = cpu_seconds()
        folder = Path(tempfile.mkdtemp(prefix="gpukit-fuzz-"))
        if asked.coverage:
            cover(name, 60 * asked.minutes, folder)
        tried, failures = fuzz(name, began + 60 * asked.minutes, asked.seed, asked.examples, folder)
        shutil.rmtree(folder)
        spent = round(cpu_seconds() - began)
        one = {"fuzzer": name, "seed": asked.seed, "tried": tried, "failed": len(failures), "seconds": spent}
        print(json.dumps(one), flush=True)
        if asked.record:
            counts.add(asked.record, "fuzzing", one)
        failed |= bool(failures)
    return int(failed)


if __name__ == "__main__":
    from fault.process import serve

    sys.exit(serve(main))
