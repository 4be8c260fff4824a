"""``gpukit diversity gather``: the vertices of most contexts out of the answers of ranges of vertices."""

from gpukit.cli.common import JsonOption, OutOption, Run, VerboseOption
from gpukit.cli.parts import PartsArgument, read_parts


def gather(files: PartsArgument, out: OutOption, as_json: JsonOption = False, verbose: VerboseOption = 0) -> None:
    """Choose the best out of what `diversity search --part` found: the same file as of one search over all vertices."""
    run = Run(out=out, as_json=as_json, verbose=verbose)
    with run.phase("read"):
        parts, run.params = read_parts(files, "diversity")
    with run.phase("write"):
        import numpy as np

        from gpukit.artifacts import write
        from gpukit.diversity.problem import take_contexts

        whole = {
            name: np.concatenate([part.arrays[name] for part in parts])
            for name in ("vertices", "internal", "scores", "members")
        }
        for name in ("first", "offsets"):
            sizes = np.concatenate([np.diff(part.arrays[name]) for part in parts])
            whole[name] = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        best = np.lexsort((whole["internal"], -whole["scores"]))[: run.params["t"]]
        arrays = {name: whole[name][best] for name in ("vertices", "internal", "scores")}
        found = take_contexts(whole["first"], whole["offsets"], whole["members"], best)
        arrays |= {"first": found.first, "offsets": found.offsets, "members": found.members}
        write(out, "diversity", arrays, parts[0].attributes, params=run.params, inputs=parts[0].inputs)
    top = [
        {"vertex": int(vertex), "score": int(score)}
        for vertex, score in zip(arrays["vertices"], arrays["scores"], strict=True)
    ]
    run.finish(record={"top": top}, summary={f"vertex {one['vertex']}": f"{one['score']} contexts" for one in top[:10]})
