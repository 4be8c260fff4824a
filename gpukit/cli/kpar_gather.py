"""``gpukit kpar gather``: the answers of all queries out of those of parts of them."""

from gpukit.cli.common import JsonOption, OutOption, Run, VerboseOption
from gpukit.cli.parts import PartsArgument, read_parts


def gather(files: PartsArgument, out: OutOption, as_json: JsonOption = False, verbose: VerboseOption = 0) -> None:
    """Join answers that `kpar query --part` wrote: the same file as of one run over all queries."""
    run = Run(out=out, as_json=as_json, verbose=verbose)
    with run.phase("read"):
        parts, run.params = read_parts(files, "topk")
        run.seed = parts[0].seed
    with run.phase("write"):
        import numpy as np

        from gpukit.artifacts import write

        arrays = {}
        # In the order in which `kpar query` writes them: the bytes of a file follow it.
        for name in ("offsets", "nodes", "internal", "scores", "source_offsets", "sources", "source_mass"):
            rows = [part.arrays[name] for part in parts]
            if name.endswith("offsets"):
                rows = [np.cumsum(np.concatenate([np.zeros(1, np.int64), *map(np.diff, rows)]))]
            arrays[name] = np.concatenate(rows)
        write(out, "topk", arrays, parts[0].attributes, params=run.params, seed=run.seed, inputs=parts[0].inputs)
    run.finish(record={"queries": len(arrays["offsets"]) - 1, "nodes": len(arrays["nodes"])})
