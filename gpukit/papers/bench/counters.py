"""Hardware counters of campaigns, read by NVIDIA's profiler Nsight Compute (``ncu``).

The profiler starts ``gpukit papers bench merit`` in a separate process. It records the measured campaign, without the
warm-up campaign before it. It runs every kernel several times with the same input, because a GPU can count only some
events at once, and empties the caches before each run. So the times differ from those of an undisturbed campaign.
"""

import csv
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpukit.errors import DeviceError, GpukitError, InputError, UsageError

DURATION = "gpu__time_duration.sum"
"""Nanoseconds that a kernel ran."""

SUMS = {
    "global_atomics": (
        "smsp__inst_executed_op_generic_atom_dot_alu.sum",
        "smsp__inst_executed_op_generic_atom_dot_cas.sum",
        "smsp__inst_executed_op_global_red.sum",
    ),
    "shared_atomics": ("smsp__inst_executed_op_shared_atom.sum",),
    "atomic_sectors": ("lts__t_sectors_op_atom.sum", "lts__t_sectors_op_red.sum"),
}
"""Counts, and the metrics whose sum each count is: warp-level atomic instructions (with or without a result) in global
and in shared memory, and sectors of 32 bytes that atomics touched in the L2 cache."""

RATES = {
    "occupancy_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "instructions_per_cycle": "sm__inst_executed.avg.per_cycle_active",
    "sm_throughput_pct": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
}
"""Rates: active warps on a multiprocessor relative to the maximum; instructions of a multiprocessor per cycle;
utilisation of the busiest unit of the multiprocessors."""

METRICS = (DURATION, *(name for names in SUMS.values() for name in names), *RATES.values())

# Only counts, and rates per cycle, are read. So the clocks of the GPU, which others may share, need not be fixed.
OPTIONS = ("--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--profile-from-start", "off")

KEPT = ("graph", "method", "device", "params", "groups", "cost", "rounds", "sets", "probes")
"""Entries of the campaign's record that are kept; times are meaningless under a profiler."""

Kernel = Mapping[str, float]
"""One launch of a kernel: its metrics, nan if the profiler has no value."""


def find_ncu() -> str:
    """Return the path of the profiler.

    Raises
    ------
    DeviceError
        If it is neither on PATH nor in the folders of CUDA.
    """
    folders = [f"{home}/bin" for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]
    found = shutil.which("ncu", path=os.pathsep.join([os.environ.get("PATH", os.defpath), *folders]))
    if found is None:
        raise DeviceError(
            "NVIDIA's profiler ncu is not on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; "
            "install Nsight Compute, or add its folder to PATH"
        )
    return found


def measure(ncu: str, words: Sequence[str], launches: int) -> dict[str, Any]:
    """Count the events on the GPU in the only campaign of a command.

    Parameters
    ----------
    ncu : str
        The profiler.
    words : sequence of str
        Words of a ``gpukit papers bench merit`` for one graph, method and world, without ``--out``.
    launches : int
        Most launches to count, at least 1.

    Returns
    -------
    dict
        The entries :data:`KEPT` of the campaign's record, and the result of :func:`totals`.

    Raises
    ------
    UsageError, InputError, DeviceError
        If the command or the profiler fails.
    """
    with tempfile.TemporaryDirectory(prefix="gpukit-") as folder:
        record, log = Path(folder) / "record.json", Path(folder) / "ncu.csv"
        # One additional launch shows whether there were more.
        command = [ncu, *OPTIONS, "--metrics", ",".join(METRICS), "--launch-count", str(launches + 1)]
        command += ["--log-file", str(log), sys.executable, "-m", "gpukit", *words, "--out", str(record)]
        status, said = run_profiler(command)
        named = log.read_text(errors="replace") if log.exists() else ""
        kernels = read_kernels(named)
        if status or not kernels or not record.exists() or "==ERROR==" in named + said:
            raise _failure(status, f"{named}\n{said}")
        (campaign,) = json.loads(record.read_text())["runs"]
    return {name: campaign[name] for name in KEPT} | totals(kernels, launches)


def read_kernels(text: str) -> list[Kernel]:
    """Return the launches in the output of ``ncu --csv --page raw``, in order.

    Parameters
    ----------
    text : str
        Messages, a line of names, a line of units, and one line per launch.
    """
    lines = text.splitlines()
    begin = next((place for place, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    rows = csv.DictReader(lines[begin:])
    return [{name: number(row.get(name)) for name in METRICS} for row in rows if (row["ID"] or "").isdigit()]


def number(text: str | None) -> float:
    """Return a value, or nan for ``n/a`` and anything else that is no number."""
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return math.nan


def totals(kernels: Sequence[Kernel], launches: int) -> dict[str, Any]:
    """Add up the first ``launches`` launches.

    Returns
    -------
    dict
        ``launches`` that were counted; ``cut``: whether there were more; ``kernel_s``, their time in seconds; the
        counts of :data:`SUMS`; the rates of :data:`RATES`, means weighted by the time. None if a value of a launch is
        missing.
    """
    counted = kernels[:launches]
    total = math.fsum(kernel[DURATION] for kernel in counted)
    found = {"kernel_s": total / 1e9}
    # One missing value, a nan, makes its sum nan.
    for name, metrics in SUMS.items():
        found[name] = math.fsum(kernel[metric] for kernel in counted for metric in metrics)
    for name, metric in RATES.items():
        weighted = math.fsum(kernel[metric] * kernel[DURATION] for kernel in counted)
        found[name] = weighted / total if total else math.nan
    known = {name: value if math.isfinite(value) else None for name, value in found.items()}
    return {"launches": len(counted), "cut": len(kernels) > launches, **known}


def run_profiler(command: Sequence[str]) -> tuple[int, str]:
    """Run a command; return its exit status and its output. An interrupt also ends the processes that it started."""
    # In other languages ncu writes numbers differently.
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment,
        start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return process.returncode, said


def _failure(status: int, text: str) -> GpukitError:
    """Return why there are no counters: the message of the profiler, or of the command under it, or the exit status."""
    ended = re.search(r"==ERROR== The application returned an error code \((\d+)\)", text)
    if found := re.search(r"^==ERROR== (?!The application returned)(.*(?:(?<=:)\n.+)?)", text, re.MULTILINE):
        cause = " ".join(found[1].replace("==ERROR==", "").split())
        return DeviceError(f"the profiler ncu failed: {cause}")
    if found := re.search(r"^gpukit: error: (.*)", text, re.MULTILINE):
        kind = {2: UsageError, 3: InputError}.get(int(ended[1]) if ended else status, DeviceError)
        return kind(found[1])
    if status or ended:
        last = (text.strip().splitlines() or ["it said nothing"])[-1]
        return DeviceError(f"the campaign failed under the profiler ncu (exit code {status}): {last}")
    return DeviceError(
        "the profiler ncu saw no kernel; see whether `gpukit papers bench merit --device cuda` runs without it"
    )
