# What jobs are made of, and options that follow from their wildcards.


def edges(wildcards):
    """Return the edge list of a graph: fetched, as configured, or beside the Snakefile if it is not there."""
    if GRAPHS[wildcards.graph]["fetch"]:
        return f"<results>/fetched/{GRAPHS[wildcards.graph]['fetch']}.gz"
    path = Path(GRAPHS[wildcards.graph]["edges"])
    return str(path if path.is_file() else CHECKOUT / path)


def import_options(wildcards):
    """Return the options that `graph import` needs for a graph; the catalogue knows those of what it fetches."""
    entry = GRAPHS[wildcards.graph]
    fetched = ["--dataset", entry["fetch"]] if entry["fetch"] else []
    scaled = ["--scale", entry["scale"]] if entry["scale"] else []
    return ["--weights", entry["weights"], *scaled, *fetched, *["--undirected"] * entry["undirected"]]


def seeds(wildcards):
    """Return the seed set that a method, of a paper a measure, chose; gIM's choice depends on the diffusion model."""
    if PAPER:
        return f"<results>/measures/{wildcards.graph}/{wildcards.method}.h5"
    suffix = f"-{wildcards.model}" if wildcards.method == "gim" else ""
    return f"<results>/seeds/{wildcards.graph}/{wildcards.method}{suffix}.h5"


def simulated(wildcards):
    """Return the options that say when a simulation ends: with a small error, or after so many runs."""
    error, runs = config["evaluate"]["error"], config["evaluate"]["runs"]
    return f"--error {error} --max-runs {runs}" if error else f"--runs {runs}"


def directions(wildcards):
    """Return the option that makes a directed graph undirected, for systems that need it so."""
    return "" if GRAPHS[wildcards.graph]["undirected"] else "--undirected"


def parts(pattern):
    """Return the parts of one answer, with their numbers in place of ``{part}``."""
    return [pattern.replace("{part}", str(part)) for part in range(1, config["shards"]["count"] + 1)]


def labelled(labels, paths):
    """Return LABEL=FILE arguments, so that a table need not guess from file names what it reads."""
    return [f"{label}={path}" for label, path in zip(labels, paths, strict=True)]
