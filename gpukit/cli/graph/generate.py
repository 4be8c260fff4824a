"""``gpukit graph generate``: random graphs."""

from dataclasses import dataclass
from typing import Annotated, Any

from gpukit.cli.command import group, with_run
from gpukit.cli.common import Run
from gpukit.cli.graph.common import write_graph_file
from gpukit.cli.options import CompressOption, option
from gpukit.errors import UsageError
from gpukit.parameters.graph import BothWays, Transpose, Weights

generate = group("Generate a random graph, a function of its options and seed.")

VerticesOption = Annotated[int, option("--vertices N", "Number of vertices.")]
EdgesOption = Annotated[int, option("--edges M", "Number of distinct edges.")]
AttachOption = Annotated[int, option("--attach R", "Edges of each new vertex.")]
CliqueOption = Annotated[int | None, option("--clique R0", "Vertices of the first clique; max(R, 2) by default.")]


@dataclass(frozen=True)
class Built:
    """Options of all models: how the edges become a graph."""

    weights: Weights = "wc"
    transpose: Transpose = True
    compress: CompressOption = False


def _generate(run: Run, model: str, built: Built, **options: Any) -> None:
    """Run a generator with the arguments ``options``; generators of undirected graphs list each edge once."""
    run.params = {"model": model, **options, "weights": built.weights}
    run.use_device()
    from gpukit.graph import generators
    from gpukit.graph.build import build_graph
    from gpukit.graph.probabilities import parse_weights

    scheme = parse_weights(built.weights, run.seed)
    if scheme.scheme == "file":
        raise UsageError(
            "--weights file: generated graphs have no third column; choose wc, const:P, trivalency, "
            "uniform:LO:HI or none"
        )
    given = {name: value for name, value in options.items() if value is not None}
    with run.phase("generate"):
        u, v, n = getattr(generators, model.replace("-", "_"))(**options, seed=run.seed)
    with run.phase("build"):
        graph = build_graph(
            u, v, weights=scheme, undirected=options.get("undirected", True), ids=False, n=n, transpose=built.transpose,
            facts={"generator": {"model": model, **given, "seed": run.seed}},
        )  # fmt: skip
        del u, v
    write_graph_file(run, graph, built.compress, run.seed)


@generate.command("rmat")
@with_run("out", "threads", "seed", writes="graph")
def rmat(
    run: Run,
    *,
    scale: Annotated[int | None, option("--scale S", "2^S vertices.")] = None,
    vertices: Annotated[int | None, option("--vertices N", "N vertices, instead of --scale.")] = None,
    edge_factor: Annotated[float | None, option("--edge-factor F", "Draws a vertex; 16 by default.")] = None,
    draws: Annotated[int | None, option("--draws D", "Draws, instead of --edge-factor.")] = None,
    edges: Annotated[int | None, option("--edges M", "Draw until M are distinct, instead of --edge-factor.")] = None,
    a: Annotated[float, option("-a", "Probability of the upper left quadrant.")] = 0.57,
    b: Annotated[float, option("-b", "Probability of the upper right quadrant.")] = 0.19,
    c: Annotated[float, option("-c", "Probability of the lower left quadrant.")] = 0.19,
    undirected: BothWays = False,
    no_dangling: Annotated[
        bool, option("--no-dangling", "Give each vertex an out-edge first; of an undirected graph, an edge.")
    ] = False,
    built: Built,
) -> None:
    """R-MAT, as in Graph500: a skewed graph without clustering."""
    sizes = {"edges": edges, "draws": draws, "edge_factor": edge_factor}
    given = {name: value for name, value in sizes.items() if value is not None}
    if len(given) > 1:
        raise UsageError("--edges, --draws and --edge-factor exclude each other; give one")
    options: dict[str, Any] = {"scale": scale, "vertices": vertices, "a": a, "b": b, "c": c, "undirected": undirected}
    options |= given or {"edge_factor": 16.0}
    if no_dangling:
        options["no_dangling"] = True
    _generate(run, "rmat", built, **options)


@generate.command("er")
@with_run("out", "threads", "seed", writes="graph")
def er(run: Run, *, vertices: VerticesOption, edges: EdgesOption, undirected: BothWays = False, built: Built) -> None:
    """Erdős–Rényi: exactly M edges, all sets of them equally likely."""
    _generate(run, "er", built, vertices=vertices, edges=edges, undirected=undirected)


@generate.command("ba")
@with_run("out", "threads", "seed", writes="graph")
def ba(run: Run, *, vertices: VerticesOption, attach: AttachOption, clique: CliqueOption = None, built: Built) -> None:
    """Barabási–Albert, undirected: preferential attachment, as in section 4.6 of gIM."""
    _generate(run, "ba", built, vertices=vertices, attach=attach, clique=clique)


@generate.command("holme-kim")
@with_run("out", "threads", "seed", writes="graph")
def holme_kim(
    run: Run,
    *,
    vertices: VerticesOption,
    attach: AttachOption,
    triad: Annotated[float, option("--triad P", "Probability that an edge closes a triangle.")],
    clique: CliqueOption = None,
    built: Built,
) -> None:
    """Holme–Kim, undirected: preferential attachment with triangles."""
    _generate(run, "holme-kim", built, vertices=vertices, attach=attach, triad=triad, clique=clique)


@generate.command("affiliation")
@with_run("out", "threads", "seed", writes="graph")
def affiliation(
    run: Run,
    *,
    vertices: VerticesOption,
    edges: EdgesOption,
    triangles: Annotated[int, option("--triangles T", "Number of triangles to aim at.")],
    built: Built,
) -> None:
    """Affiliation, undirected: overlapping communities, for the triangles and cliques of social networks."""
    _generate(run, "affiliation", built, vertices=vertices, edges=edges, triangles=triangles)
