"""``gpukit kpar all``: query from every vertex, and write the answers as a table of edges."""

from pathlib import Path
from typing import Annotated

from gpukit.api import needs
from gpukit.api.everybody import KIND, write_all
from gpukit.api.parts import part_of
from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.kpar.common import read_index
from gpukit.cli.options import ForceOption, GraphArgument, IndexOption, PartOption, option
from gpukit.parameters.kpar import USUAL_K, Length, StopParameter
from gpukit.parameters.option import length_of


@with_run(*DEVICE, estimate=needs.answers)
def everybody(
    run: Run,
    graph_file: GraphArgument,
    index_file: IndexOption,
    out: Annotated[Path, option("--out P.parquet", "The table to write: source, target, weight.")],
    k: Length = None,
    depth: StopParameter = "refined",
    part: PartOption = None,
    force: ForceOption = False,
) -> None:
    """Find the k vertices with the largest personalised PageRank of every vertex; a repeated run resumes a killed one.

    The table lists edges from source to target, by falling weight: the edge_index and edge_weight of PyTorch Geometric.
    Finished batches are in a folder next to it until all are finished.
    """
    from gpukit.artifacts.batches import check_called_parquet, check_parquet, check_table_replaced

    check_parquet()
    if not force:
        check_table_replaced(out, KIND, "`kpar all`")
    check_called_parquet(out)
    with run.phase("read"):
        graph, _ = run.read_graph(graph_file, transpose=False)
        found, run.inputs["index"] = read_index(index_file, run.inputs["graph"])
        run.labels = graph.labels
    length = length_of("k", k, USUAL_K, graph.n)
    run.params = {"k": length, "depth": depth, **found.params.record()}
    in_part, first, last = part_of(part, graph.n, "vertices")
    run.params |= in_part
    device = run.use_device(run.requested, work=float(graph.m) * (last - first))
    with run.phase("prepare"):
        from gpukit.kpar.run import prepare_on

        prepared = prepare_on(device, graph, found)
    rows, resumed = write_all(run, device, prepared, out, length, first, last, refine=depth == "refined")
    run.finish({"vertices": last - first, "rows": rows, "resumed": resumed})
