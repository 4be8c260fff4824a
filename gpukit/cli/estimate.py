"""``--estimate``: predict the memory and time of a command on a graph, without running or writing anything."""

from collections.abc import Mapping
from typing import Any

from gpukit.api.needs import Estimate, size_of, whole
from gpukit.cli.common import Run
from gpukit.device.memory import host_free_bytes, readable
from gpukit.device.select import available_threads
from gpukit.wording import counted


def show_needs(run: Run, estimate: Estimate, values: Mapping[str, Any]) -> None:
    """Print the needs of a command, estimated from the header of its graph and its options."""
    with run.phase("read"):
        size = size_of(values["graph_file"], run.threads or available_threads())
    needs = whole(estimate(size, values))
    total, free = sum(needs.parts.values()), host_free_bytes()
    found = {
        "vertices": size.n,
        "edges": size.m,
        "memory_bytes": total,
        "parts": needs.parts,
        "on_top": needs.on_top,
        "time_s": None if needs.seconds is None else round(needs.seconds, 2),
    }
    parts = ", ".join(f"{name} {readable(part)}" for name, part in needs.parts.items())
    about = "about" if needs.on_top is None else "at least"
    summary = {
        "graph": f"{counted(size.n, 'vertex')}, {counted(size.m, 'edge')}",
        "memory": f"{about} {readable(total)} of the {readable(free)} that are free ({parts})",
    }
    if needs.on_top is not None:
        summary["on top"] = needs.on_top
    time = "how long, only the edges tell" if needs.seconds is None else f"roughly {needs.seconds:.1f} s on the CPU"
    summary["expected"] = f"{time}; nothing was run or written"
    run.out = None
    run.finish({"estimate": found, "free_bytes": free}, summary)
