# Inputs of jobs, and options that follow from their wildcards.
from gpukit.cli.workflow.config_graphs import find_edges
from gpukit.cli.graph.edge_lists import digest_of, is_made_of

GRAPH_FOLDER = Path(config["results"]) / "graphs"


def edges(wildcards):
    """Return the edge list of a graph: fetched, at the configured path, or next to the Snakefile if it is not there.

    Where it is newer than the graph, and yet what that was made of, as after a copy, its time does not count.
    """
    entry, graph = GRAPHS[wildcards.graph], GRAPH_FOLDER / f"{wildcards.graph}.h5"
    if entry["fetch"]:
        return f"<results>/fetched/{entry['fetch']}.gz"
    path = find_edges(entry, PLACES) or CHECKOUT / entry["edges"]
    newer = path.exists() and graph.exists() and path.stat().st_mtime > graph.stat().st_mtime
    return ancient(str(path)) if newer and is_made_of(graph, edges_digest(wildcards)) else str(path)


def edges_digest(wildcards):
    """Return the SHA-256 of an edge list that is not fetched; a new list may be older than the previous one."""
    path = find_edges(GRAPHS[wildcards.graph], PLACES)
    return digest_of(path, GRAPH_FOLDER / f".{wildcards.graph}.edges") if path else ""


def import_options(wildcards):
    """Return the options that `graph import` needs for a graph; for a fetched graph they are in the catalogue."""
    entry = GRAPHS[wildcards.graph]
    fetched = ["--dataset", entry["fetch"]] if entry["fetch"] else []
    scaled = ["--scale", entry["scale"]] if entry["scale"] else []
    scaled += ["--parallel-edges", entry["parallel_edges"]] if entry["parallel_edges"] else []
    scaled += options_of(entry, "graphs")
    return ["--weights", entry["weights"], *scaled, *fetched, *["--undirected"] * entry["undirected"]]


def given(section, *names):
    """Return the options of a section that name vertices or files, and these files."""
    asked = {name: value for name in names if (value := config[section][name]) is not None}
    found = {name: find_file(value, PLACES) for name, value in asked.items() if isinstance(value, str)}
    files = {name: str(path) for name, path in found.items() if path is not None}
    texts = {name: vertices_of(value) for name, value in asked.items()} | files
    return [word for name, text in texts.items() for word in (f"--{name}", text)], list(files.values())


def sharded_seeds(wildcards):
    """Return seeds that are chosen from shards; raise WorkflowError if the configuration limits the choice of seeds."""
    if GIM_LIMITS:
        limits = ", ".join(f"gim.{word[2:]}" for word in GIM_LIMITS[::2])
        raise WorkflowError(f"`sharded` chooses among all vertices, and the configuration has {limits}; leave it out")
    return [f"<results>/seeds/{graph}/sharded-{model}.h5" for graph, model in INSTANCES]


def sharded_rankings(wildcards):
    """Return rankings of parts of the queries; raise WorkflowError if there are more parts than queries."""
    count, asked = config["shards"]["count"], len(SOURCES) if isinstance(SOURCES, list) else SOURCES
    if RANKED and isinstance(asked, int) and count > asked:
        raise WorkflowError(f"shards.count is {count}, but kpar.sources has {asked} queries; lower shards.count")
    return [f"<results>/kpar/{graph}/gathered-{k}.h5" for graph in RANKED for k in config["kpar"]["k"]]


def seeds(wildcards, method, model=""):
    """Return the seed set that a method chose; gIM's choice depends on the diffusion model."""
    suffix = f"-{model or wildcards.model}" if method == "gim" else ""
    return f"<results>/seeds/{wildcards.graph}/{method}{suffix}.h5"


def until():
    """Return the options that end a simulation: at a small error, or after a number of runs."""
    error, runs = config["evaluate"]["error"], config["evaluate"]["runs"]
    return ["--error", error, "--max-runs", runs] if error else ["--runs", runs]


def spread_commands(wildcards, input, output):
    """Return the lines that simulate the spread of each set of seeds; IMGPU supports no targets."""
    model, targets = wildcards.get("model", "ic"), TARGETS if "model" in wildcards.keys() else []
    return lines(
        [
            [
                "evaluate",
                "spread",
                input.graph,
                "--seeds",
                chosen,
                "--model",
                model,
                *SPREAD_OPTIONS,
                *targets,
                "--out",
                out,
                "--json",
            ]
            for chosen, out in zip(input.seeds, output.metrics, strict=True)
        ],
        output.records,
    )


def directions(wildcards):
    """Return the option that makes a directed graph undirected, for systems that need undirected graphs."""
    return [] if GRAPHS[wildcards.graph]["undirected"] else ["--undirected"]


def query_commands(wildcards, input, output):
    """Return the lines that query an index for the top k of all sources, or of a part of them, for each k."""
    part = ["--part", f"{wildcards.part}/{config['shards']['count']}"] if wildcards.get("part") else []
    ablation = shlex.split(ABLATIONS[wildcards.ablation]) if wildcards.get("ablation") else []
    command = [*["papers"] * bool(ablation), "kpar", "query"]
    return lines(
        [
            [*command, input.graph, "--index", input.index, *QUERY_OPTIONS, *ablation, *part]
            + ["-k", k, "--out", out, "--json"]
            for k, out in zip(config["kpar"]["k"], output.answers, strict=True)
        ],
        output.records,
    )


def search_commands(wildcards, input, output):
    """Return the lines that search a graph under each model: all its vertices, or a part of them."""
    part = ["--part", f"{wildcards.part}/{config['shards']['count']}"] if wildcards.get("part") else []
    asked = [*SEARCH_OPTIONS, *directions(wildcards), *part, "--json"]
    return lines(
        [
            ["diversity", "search", input.graph, "--out", out, "--model", circle, *asked]
            for circle, out in zip(config["diversity"]["models"], output.answers, strict=True)
        ],
        output.records,
    )


def parts(pattern):
    """Return the parts of one answer, with their numbers instead of ``{part}``."""
    return [pattern.replace("{part}", str(part)) for part in range(1, config["shards"]["count"] + 1)]


def labelled(labels, paths):
    """Return LABEL=FILE arguments, so that a table need not guess labels from file names."""
    return [f"{label}={path}" for label, path in zip(labels, paths, strict=True)]
