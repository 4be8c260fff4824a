"""Show at which instructions of a kernel its warps wait on a GPU, and for what, by Nsight Compute (``ncu``).

    python benchmarks/kernel_stalls.py sample --skip 3 -- \
        python -m gpukit papers bench gim rmat22.h5 --device cuda --bounds opim --models ic --out /dev/null --force

The command after ``--`` is run, and one launch of the kernel is sampled, of which ``--skip`` came before it. A line has
an instruction's place, its share of all samples and of those so far, how many warps ran it and how many of their
threads, the reason why most of these waited, and the instruction. Threads that go on one by one after a loop show as
many warps with few threads; a loop that one thread of a warp prolongs, as more warps than came to it. Barriers wait for
what other warps do. The last line has the reasons of all samples.
"""

import argparse
import csv
import math
import sys
from collections import Counter
from typing import NamedTuple

from gpukit.errors import DeviceError
from gpukit.papers.bench.counters import find_ncu, number, run_profiler

SAMPLES = "Warp Stall Sampling (All Samples)"
WARPS, THREADS = "Instructions Executed", "Thread Instructions Executed"
REASON = "stall_"


class Instruction(NamedTuple):
    """An instruction: samples of warps there, warps and threads that ran it, samples by reason, and its text."""

    samples: int
    warps: int
    threads: int
    reasons: Counter[str]
    text: str


def parsed(text: str) -> list[Instruction]:
    """Return the instructions of the profiler's page ``source``, as CSV with other lines before and in between."""
    found: list[Instruction] = []
    head: list[str] = []
    for row in csv.reader(text.splitlines()):
        if row[:1] == ["Address"]:
            head = row
        elif head and len(row) == len(head):
            line = dict(zip(head, row, strict=True))
            # Each reason stands there twice, once for the samples in which the scheduler issued nothing.
            reasons = {name.removeprefix(REASON): name for name in head if name.startswith(REASON) and " " not in name}
            found.append(
                Instruction(
                    *(count(line[name]) for name in (SAMPLES, WARPS, THREADS)),
                    Counter({reason: count(line[name]) for reason, name in reasons.items()}),
                    line["Source"].strip(),
                )
            )
    return found


def count(word: str) -> int:
    """Return a count of the profiler's; 0 where there is none."""
    value = number(word)
    return int(value) if math.isfinite(value) else 0


def table(instructions: list[Instruction], least: float) -> list[str]:
    """Return a line for each instruction with at least so many hundredths of all samples, and one for all reasons."""
    total = sum(one.samples for one in instructions)
    lines = ["  place  samples   so far      warps  threads  reason"]
    so_far, reasons = 0, Counter[str]()
    for place, one in enumerate(instructions):
        so_far += one.samples
        reasons += one.reasons
        if one.samples and 100 * one.samples >= least * total:
            reason = max(one.reasons, key=one.reasons.__getitem__)
            lines.append(
                f"{place:7} {100 * one.samples / total:6.1f} % {100 * so_far / total:6.1f} % {one.warps:10,}"
                f" {one.threads / max(1, one.warps):8.1f}  {reason:16} {one.text}"
            )
    shares = (f"{reason} {100 * found / max(1, total):.1f} %" for reason, found in reasons.most_common(8) if found)
    return [*lines, f"{total:,} samples: " + ", ".join(shares)]


def main() -> int:
    """Profile a command and print the table; 1 where the profiler or the command fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", help="its name, or a regular expression that finds it")
    parser.add_argument("--skip", type=int, default=0, help="launches of the kernel before the one that is sampled")
    parser.add_argument("--least", type=float, default=1.0, help="the least share of the samples to show, in per cent")
    parser.add_argument("command", nargs="+", help="what to run")
    asked = parser.parse_args()
    what = ["--kernel-name", f"regex:{asked.kernel}", "--launch-skip", str(asked.skip), "--launch-count", "1"]
    how = ["--section", "SourceCounters", "--page", "source", "--csv", "--clock-control", "none"]
    try:
        status, said = run_profiler([find_ncu(), *what, *how, *asked.command])
    except DeviceError as error:
        print(error, file=sys.stderr)
        return 1
    instructions = parsed(said)
    if status or not instructions:
        last = "\n".join(said.splitlines()[-5:])
        print(f"no launch of {asked.kernel!r} was sampled; the profiler's last words:\n{last}", file=sys.stderr)
        return 1
    print(*table(instructions, asked.least), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
