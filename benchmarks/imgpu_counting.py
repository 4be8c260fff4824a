"""Time ``imgpu run`` with fixed worlds on a GPU, and the parts of it that count worlds, with a digest of the answer.

    python benchmarks/imgpu_counting.py amazon-size.h5 --worlds 20000 --out imgpu-h100.json
    PYTHONPATH=/other/checkout python benchmarks/imgpu_counting.py amazon-size.h5 --worlds 20000 --out other.json

Checkouts are compared by such runs in turn on one machine: their digests must be equal. A call is cold where it is the
first of its graph, and compiles kernels that no cache has; others are warm. Times of methods are of one more call, in
which the GPU is waited for before and after each, so that they add up to a little more; ``keep`` and ``gains`` contain
the methods that count, and ``_launch`` is a part of these. Memory is the most that was taken in the process.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.device.timing import PhaseTimer, synchroniser
from gpukit.files import replacing
from gpukit.imgpu import Params, Result, maximise
from gpukit.imgpu.worlds_cuda import CudaWorlds
from gpukit.papers.bench.machine import peak_memory, timed, timed_phases
from gpukit.papers.cli.bench_record import command_line, graph_facts

PHASES = ("worlds", "selection")
METHODS = "keep", "gains", "count", "count_kept", "_launch", "_index", "evaluate", "choose", "reached"


def main() -> int:
    """Measure, print the record, and write it after each graph if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="+", type=Path)
    parser.add_argument("--worlds", type=int, default=20_000)
    parser.add_argument("-k", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    device = choose("cuda", 1)
    sync = synchroniser(device)
    record: dict[str, Any] = {
        "benchmark": "imgpu-counting",
        "command": command_line("python benchmarks/imgpu_counting.py", sys.argv[1:]),
        "device": device.record(),
        "versions": versions(),
        "runs": [],
    }
    for path in asked.graphs:
        graph, digest, _ = read_graph_file(path)
        params, answers = Params(asked.k, asked.worlds, False, seed=asked.seed), set()

        def run(timer: Any, graph: Any = graph, params: Params = params, answers: set[str] = answers) -> Result:
            result = maximise(graph, params, device, timer=timer)
            answers.add(digest_of(result))
            return result

        times, found = timed_phases(run, device, asked.repeat, PHASES)
        with methods_timed(sync) as methods:
            run(PhaseTimer(sync))
        assert len(answers) == 1, answers
        record["runs"].append({
            "graph": graph_facts(path, graph, digest),
            "params": {"k": asked.k, "worlds": asked.worlds, "fresh": False, "seed": asked.seed},
            **times,
            "methods": methods,
            "evaluations": found.evaluations,
            "streamed": found.streamed,
            "spread_estimate": found.spread_estimate,
            "peak_memory": peak_memory(device),
            "answer": answers.pop(),
        })  # fmt: skip
        print(json.dumps(record["runs"][-1], indent=1), flush=True)
        if asked.out:
            with replacing(asked.out) as temporary:
                Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
    return 0


def digest_of(result: Result) -> str:
    """Return a digest of seeds, gains and estimate."""
    numbers = (result.spread_estimate, result.stderr, result.worlds)
    return hashlib.sha256(result.seeds.tobytes() + result.gains.tobytes() + repr(numbers).encode()).hexdigest()


@contextmanager
def methods_timed(sync: Callable[[], None]) -> Iterator[dict[str, dict[str, float]]]:
    """Give calls and milliseconds of each method of the worlds on a GPU while this is entered.

    Not all checkouts have all of them.
    """
    spent: dict[str, dict[str, float]] = {}
    plain = {name: getattr(CudaWorlds, name) for name in METHODS if hasattr(CudaWorlds, name)}

    def wrapped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            def wait() -> Any:
                result = function(*arguments, **more)
                sync()
                return result

            sync()
            seconds, result = timed(wait)
            one = spent.setdefault(name, {"calls": 0, "ms": 0.0})
            one["calls"] += 1
            one["ms"] += 1e3 * seconds
            return result

        return call

    for name, function in plain.items():
        setattr(CudaWorlds, name, wrapped(name, function))
    try:
        yield spent
    finally:
        for name, function in plain.items():
            setattr(CudaWorlds, name, function)


if __name__ == "__main__":
    sys.exit(main())
