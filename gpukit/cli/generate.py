"""``gpukit graph generate``: random graphs."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from gpukit.cli.common import CompressOption, JsonOption, OutOption, Run, SeedOption, ThreadsOption, VerboseOption
from gpukit.cli.graph_output import TransposeOption, UndirectedOption, WeightsOption, write_graph_file
from gpukit.errors import UsageError

generate = typer.Typer(
    help="Generate a random graph, a function of its options and seed.", no_args_is_help=True, add_completion=False
)

VerticesOption = Annotated[int, typer.Option("--vertices", metavar="N", help="Number of vertices.")]
EdgesOption = Annotated[int, typer.Option("--edges", metavar="M", help="Number of distinct edges.")]
AttachOption = Annotated[int, typer.Option("--attach", metavar="R", help="Edges of each new vertex.")]
CliqueOption = Annotated[
    int | None, typer.Option("--clique", metavar="R0", help="Vertices of the first clique; max(R, 2) by default.")
]


class _Common(NamedTuple):
    """The options of every model, in the order of the commands below."""

    weights: str
    transpose: bool
    compress: bool
    threads: int | None
    seed: int
    as_json: bool
    verbose: int


def _generate(model: str, options: dict[str, Any], out: Path, *values: Any) -> None:
    """Run a generator; ``options`` are its arguments, and undirected ones list each edge once."""
    common = _Common(*values)
    params = {"model": model, **options, "weights": common.weights}
    run = Run(params, seed=common.seed, out=out, as_json=common.as_json, verbose=common.verbose)
    run.use_device(threads=common.threads)
    from gpukit.graph import generators
    from gpukit.graph.build import build_graph
    from gpukit.graph.probabilities import parse_weights

    scheme = parse_weights(common.weights, common.seed)
    if scheme.scheme == "file":
        raise UsageError(
            "--weights file: generated graphs have no third column; choose wc, const:P, trivalency or none"
        )
    given = {name: value for name, value in options.items() if value is not None}
    with run.phase("generate"):
        u, v, n = getattr(generators, model.replace("-", "_"))(**options, seed=common.seed)
    with run.phase("build"):
        graph = build_graph(
            u,
            v,
            weights=scheme,
            undirected=options.get("undirected", True),
            ids=False,
            n=n,
            transpose=common.transpose,
            facts={"generator": {"model": model, **given, "seed": common.seed}},
        )
        del u, v
    write_graph_file(run, graph, common.compress, {}, common.seed)


@generate.command("rmat")
def rmat(
    out: OutOption,
    scale: Annotated[int | None, typer.Option("--scale", metavar="S", help="2^S vertices.")] = None,
    vertices: Annotated[
        int | None, typer.Option("--vertices", metavar="N", help="N vertices, instead of --scale.")
    ] = None,
    edge_factor: Annotated[
        float | None, typer.Option("--edge-factor", metavar="F", help="Draws a vertex; 16 by default.")
    ] = None,
    draws: Annotated[int | None, typer.Option("--draws", metavar="D", help="Draws, instead of --edge-factor.")] = None,
    edges: Annotated[
        int | None, typer.Option("--edges", metavar="M", help="Draw until M are distinct, instead of --edge-factor.")
    ] = None,
    a: Annotated[float, typer.Option("-a", help="Probability of the upper left quadrant.")] = 0.57,
    b: Annotated[float, typer.Option("-b", help="Probability of the upper right quadrant.")] = 0.19,
    c: Annotated[float, typer.Option("-c", help="Probability of the lower left quadrant.")] = 0.19,
    undirected: UndirectedOption = False,
    weights: WeightsOption = "wc",
    transpose: TransposeOption = True,
    compress: CompressOption = False,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """R-MAT, as in Graph500: a skewed graph without clustering."""
    sizes = {"edges": edges, "draws": draws, "edge_factor": edge_factor}
    given = {name: value for name, value in sizes.items() if value is not None}
    if len(given) > 1:
        raise UsageError("--edges, --draws and --edge-factor exclude each other; give one")
    options: dict[str, Any] = {"scale": scale, "vertices": vertices, "a": a, "b": b, "c": c, "undirected": undirected}
    options |= given or {"edge_factor": 16.0}
    _generate("rmat", options, out, weights, transpose, compress, threads, seed, as_json, verbose)


@generate.command("er")
def er(
    out: OutOption,
    vertices: VerticesOption,
    edges: EdgesOption,
    undirected: UndirectedOption = False,
    weights: WeightsOption = "wc",
    transpose: TransposeOption = True,
    compress: CompressOption = False,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Erdős–Rényi: exactly M edges, all sets of them equally likely."""
    options = {"vertices": vertices, "edges": edges, "undirected": undirected}
    _generate("er", options, out, weights, transpose, compress, threads, seed, as_json, verbose)


@generate.command("ba")
def ba(
    out: OutOption,
    vertices: VerticesOption,
    attach: AttachOption,
    clique: CliqueOption = None,
    weights: WeightsOption = "wc",
    transpose: TransposeOption = True,
    compress: CompressOption = False,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Barabási–Albert, undirected: preferential attachment, as in section 4.6 of gIM."""
    options = {"vertices": vertices, "attach": attach, "clique": clique}
    _generate("ba", options, out, weights, transpose, compress, threads, seed, as_json, verbose)


@generate.command("holme-kim")
def holme_kim(
    out: OutOption,
    vertices: VerticesOption,
    attach: AttachOption,
    triad: Annotated[float, typer.Option("--triad", metavar="P", help="Probability that an edge closes a triangle.")],
    clique: CliqueOption = None,
    weights: WeightsOption = "wc",
    transpose: TransposeOption = True,
    compress: CompressOption = False,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Holme–Kim, undirected: preferential attachment with triangles."""
    options = {"vertices": vertices, "attach": attach, "triad": triad, "clique": clique}
    _generate("holme-kim", options, out, weights, transpose, compress, threads, seed, as_json, verbose)


@generate.command("affiliation")
def affiliation(
    out: OutOption,
    vertices: VerticesOption,
    edges: EdgesOption,
    triangles: Annotated[int, typer.Option("--triangles", metavar="T", help="Number of triangles to aim at.")],
    weights: WeightsOption = "wc",
    transpose: TransposeOption = True,
    compress: CompressOption = False,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Affiliation, undirected: overlapping communities, for the triangles and cliques of social networks."""
    options = {"vertices": vertices, "edges": edges, "triangles": triangles}
    _generate("affiliation", options, out, weights, transpose, compress, threads, seed, as_json, verbose)
