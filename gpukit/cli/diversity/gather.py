"""``gpukit diversity gather``: join the answers of ranges of vertices into the vertices with the most circles."""

from typing import Any

from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.options import PartsArgument
from gpukit.cli.parts import join_offsets, read_parts
from gpukit.wording import counted, tied

SHOWN = 10
"""Most vertices of an answer in the summary."""


@with_run("out", writes="diversity")
def gather(run: Run, files: PartsArgument) -> None:
    """Choose the best from the results of `diversity search --part`.

    The file equals that of one search over all vertices.
    """
    parts = read_parts(run, files, "diversity")
    with run.phase("write"):
        import numpy as np

        from gpukit.diversity.problem import take_contexts

        whole = {
            name: np.concatenate([part.arrays[name] for part in parts])
            for name in ("vertices", "internal", "scores", "members")
        }
        whole |= {name: join_offsets(parts, name) for name in ("first", "offsets")}
        best = np.lexsort((whole["internal"], -whole["scores"]))[: run.params["t"]]
        arrays = {name: whole[name][best] for name in ("vertices", "internal", "scores")}
        found = take_contexts(whole["first"], whole["offsets"], whole["members"], best)
        arrays |= {"first": found.first, "offsets": found.offsets, "members": found.members}
        run.save("diversity", arrays, parts[0].attributes)
    vertices = arrays["vertices"] if run.labels is None else run.labels.texts(arrays["vertices"])
    top = [
        {"vertex": vertex, "score": score}
        for vertex, score in zip(vertices.tolist(), arrays["scores"].tolist(), strict=True)
    ]
    run.finish({"top": top}, found_lines(top, parts[0].attributes["n"]))


def found_lines(top: list[dict[str, Any]], n: int) -> dict[str, str]:
    """Return the summary of the best of n vertices: the first ones, ties, and the number of further ones."""
    lines = {f"vertex {one['vertex']}": counted(one["score"], "circle") for one in top[:SHOWN]}
    if equal := tied([one["score"] for one in top], SHOWN, n, "circle"):
        lines["equal"] = equal
    return lines | ({"not shown": f"{len(top) - SHOWN:,} more (--json has all)"} if len(top) > SHOWN else {})
