"""``gpukit kpar gather``: join the answers of parts of the queries into the answers of all queries."""

from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.options import PartsArgument
from gpukit.cli.parts import join_offsets, read_parts


@with_run("out", writes="topk")
def gather(run: Run, files: PartsArgument) -> None:
    """Join answers that `kpar query --part` wrote; the file equals that of one run over all queries."""
    parts = read_parts(run, files, "topk")
    with run.phase("write"):
        import numpy as np

        arrays = {}
        # In the order of `kpar query`, because the bytes of the file depend on it.
        names = ("offsets", "nodes", "internal", "scores", "source_offsets", "sources", "source_mass", "certain")
        for name in (name for name in names if name in parts[0].arrays):
            if name.endswith("offsets"):
                arrays[name] = join_offsets(parts, name)
            else:
                arrays[name] = np.concatenate([part.arrays[name] for part in parts])
        run.save("topk", arrays, parts[0].attributes)
    run.finish({"queries": len(arrays["offsets"]) - 1, "nodes": len(arrays["nodes"])})
