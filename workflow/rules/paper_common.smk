# The inputs of a paper's items, its tables and figures.
from gpukit.papers.bench.counters import find_ncu
from gpukit.errors import DeviceError

TITLES = {
    "gim": ["table-1", *config["experiments"]],
    "kpar": ["table-2", "table-3", "figure-3", "figure-6", "figure-7", "figure-8", "figure-9"],
}
# Measures that need more GPUs than are granted are left out with a message; without GPUs, everything that can run on a
# CPU does.
SCARCE = {name: one["gpus"] for name, one in SCALE["measures"].items() if 0 < granted < one["gpus"]}
if workflow.is_main_process:
    for name, needed in SCARCE.items():
        logger.warning(f"{name} is left out: it needs {needed} GPUs, and --resources gpu={granted} grants {granted}")
MEASURES = {name: one for name, one in SCALE["measures"].items() if name not in SCARCE}
MEASURED = "kpar-repeats" if PAPER == "kpar" else f"{PAPER}-measures"  # the kind of the tables of measures
MADE = {"table-1"} | {item for one in MEASURES.values() for item in one["items"]}
ITEMS = TITLES.get(
    PAPER, sorted(MADE, key=lambda item: (not item.startswith("table"), not item.startswith("figure"), len(item), item))
)
NEEDS = {
    "figure-3": ["kpar-arrivals"],
    "figure-7": ["kpar-quality"],
    "figure-8": ["kpar-quality"],
}
ONE_THREAD = {"kpar-times": "one-thread-times", "kpar-queries": "one-thread-fora"}
"""The tables of kPAR's table 3, whose preprocessing is that of one CPU thread, by their kinds."""
ABLATIONS = {"kpar-i": "--balance none", "kpar-ip1": "--balance push", "kpar-ip": "--balance both"}
CELL = "{graph}/{method}/{model}/{k}/{epsilon}/{rounds}/{sampler}/{block}/{grid}"


def no_profiler():
    """Return why the counters of a GPU cannot be read here, or an empty text."""
    if not ON_GPU:
        return "it needs a GPU; grant one with --resources gpu=1"
    try:
        find_ncu()
    except DeviceError as error:
        return str(error)
    return ""


# A job that parses this again, perhaps on another machine, was requested where there is a profiler.
if PAPER == "merit" and "figure-13" in ITEMS and workflow.is_main_process and no_profiler():
    ITEMS.remove("figure-13")
    logger.warning(f"figure-13 is left out: {no_profiler()}")


def measured(item):
    """Return the records of a table or figure, by graph and measure; for spreads, those of the simulations."""
    if PAPER == "kpar" and item in ("figure-6", "figure-9"):
        return {
            f"{graph}/{method}/{k}": f"<results>/kpar/{graph}/{method}-{k}.json"
            for graph in RANKED
            for method in (RANKINGS if item == "figure-6" else (*ABLATIONS, "kpar"))
            for k in sorted(config["kpar"]["k"])
        }
    names = [
        (graph, name) for name, one in MEASURES.items() if item in one["items"] for graph in one["graphs"] or GRAPHS
    ]
    if (PAPER, item) == ("imgpu", "figure-8"):
        return {f"{graph}/{name}": f"<results>/spread/{graph}/ic/{name}.json" for graph, name in names}
    once = {f"{graph}/{name}": f"<results>/measures/{graph}/{name}.json" for graph, name in names}
    return once | by_repeat(
        {f"{graph}/{name}": once[f"{graph}/{name}"] for graph, name in names if not repeats_itself(name)}
    )


def repeats_itself(measure):
    """Return whether a measure writes only a record, like benchmarks, which repeat runs themselves."""
    return MEASURES[measure]["command"].startswith(("papers bench ", "papers imgpu shape"))


def command_of(wildcards):
    """Return the words of a measure's command, and its options."""
    words = shlex.split(MEASURES[wildcards.measure]["command"])
    own = 3 if words[0] == "papers" else 2
    seed = ["--seed", str(config["seed"])] if alone(wildcards) or PAPER == "imgpu" else []
    return words[:own], [*seed, *words[own:]]


def measure_commands(wildcards, input, output):
    """Return the lines that run a measure once per record; all write the same artifact, if any."""
    words, options = command_of(wildcards)
    out = ["--out", output.artifact] if "artifact" in output.keys() else []
    return lines([[*words, input.graph, *out, *options, "--json"]] * len(output.records), output.records)


def one_thread_commands(wildcards, input, output):
    """Return the lines that prepare queries by kPAR and by FORA+, with a record of each step of each repeat."""
    asked = ["--alpha", config["kpar"]["alpha"]]
    exact = [*asked, "--epsilon", config["kpar"]["epsilon"], "--seed", config["seed"]]
    steps = (
        ["kpar", "rank", input.graph, "--out", output.rank, *asked, "--json"],
        ["kpar", "index", input.graph, "--rank", output.rank, "--out", output.index, *exact, "--json"],
        [
            "papers",
            "kpar",
            "baseline",
            input.graph,
            *RANKING_WORDS["fora-16"],
            "--random",
            1,
            "-k",
            1,
            *exact,
            "--json",
        ],
    )
    return lines([step for step in steps for _ in REPEATS], output.records)


def alone(wildcards):
    """Return whether a measure runs on one CPU thread, without options to change this."""
    commands = ("papers merit once", "papers imgpu shape", "papers imgpu baseline", "gim baseline")
    return MEASURES[wildcards.measure]["command"].startswith(commands)


def on_cpu(wildcards):
    """Return whether a measure runs on the CPU whatever the device of the workflow is."""
    return not ON_GPU or "--device cpu" in MEASURES[wildcards.measure]["command"] or alone(wildcards)


def threads_of_measure(wildcards):
    """Return the number of threads that a measure declares: that of its competitors, if it has any."""
    words = re.split("[ ,]", MEASURES[wildcards.measure]["command"])
    several = max((PRINTED_THREADS[word] for word in words if word in PRINTED_THREADS), default=0)
    return 1 if alone(wildcards) else several or (config["threads"] if on_cpu(wildcards) else THREADS)


def gpus_of_measure(wildcards):
    """Return the number of GPUs of a measure."""
    wanted = MEASURES[wildcards.measure]["gpus"] or (ONE_GPU if PAPER == "imgpu" else GPUS)
    return 0 if on_cpu(wildcards) else wanted


def where(wildcards, threads):
    """Return the device options of a measure, except those that are in its command."""
    if alone(wildcards):
        return ""
    device = "cpu" if on_cpu(wildcards) else DEVICE
    place = {"--device": device, "--gpus": gpus_of_measure(wildcards), "--threads": workers(wildcards, threads)}
    own = command_of(wildcards)[1]
    return " ".join(f"{option} {value}" for option, value in place.items() if option not in own)


def one_of(names):
    """Return a pattern for a wildcard that is one of some names; without names it matches no requested file."""
    return "|".join(map(re.escape, names)) or "-"


def kind_of(table):
    """Return the kind of a table; tables of cells and measures exist once per item."""
    known = {"cells": "gim-cells", "reached": "gim-spread", "measures": MEASURED} | {
        name: kind for kind, name in ONE_THREAD.items()
    }
    return known.get(table) or known.get(table.partition("-")[0], table)


def cells(item):
    """Return the runs of gIM behind a table or figure, as labels."""
    experiment = config["experiments"][item]
    dense = experiment["graphs"] == "density"
    graphs = [name for name in GRAPHS if name.startswith("ba-") == dense]
    if SCALE["thin"] and len(experiment["block"] + experiment["grid"]) > 2:
        graphs = graphs[:1]  # on a CPU the shape of a launch changes nothing
    return expand(
        f"{CELL}/{{repeat}}",
        graph=graphs,
        method=experiment["methods"],
        model=experiment["models"],
        k=thinned(experiment["k"]),
        epsilon=thinned(experiment["epsilon"]),
        rounds=experiment["rounds"],
        sampler=experiment["sampler"],
        block=thinned(experiment["block"]),
        grid=thinned(experiment["grid"]),
        repeat=REPEATS,
    )


def reached():
    """Return the runs behind gIM's table 2 whose seeds are simulated, by graph, method and repeat: each of SKIM, the
    first of gIM, whose seeds are IMM's, too."""
    labels = cells("table-2") if "table-2" in config["experiments"] else []
    wanted = [label for label in labels if "/skim/" in label or "/gim/" in label and label.endswith("/0")]
    return {"/".join([*label.split("/")[:2], label.rpartition("/")[2]]): label for label in wanted}


# Sets and sampler as in gIM's paper; they are not ours, and not sound.
AS_PRINTED = "--samples original --sets plain --sentinels off --sampler scan".split()


def cell_words(wildcards, repeat=0):
    """Return the command of a run behind a table or figure of gIM, and its options; SKIM has a seed for each repeat."""
    asked = ["-k", wildcards.k, "--seed", config["seed"] + repeat * (wildcards.method == "skim")]
    if wildcards.method == "skim":
        return ["papers", "gim", "skim", *asked]
    ours = wildcards.method == "gim-ours" or wildcards.sampler == "skip"
    way = [] if ours else [*AS_PRINTED, "--block", wildcards.block, "--grid", wildcards.grid]
    return [
        *(["papers"] if way else []),
        *("gim", "run", "--bound", "imm", "--min-sets", "0", "--model", wildcards.model),
        *("--epsilon", wildcards.epsilon, "--rounds", wildcards.rounds, *way, *asked),
    ]


def where_of_cell(wildcards, threads):
    """Return the device options of a run of gIM; SKIM runs on one CPU thread and has none."""
    if wildcards.method == "skim":
        return ""
    place = f"{DEVICE} --gpus {GPUS}" if wildcards.method.startswith("gim") else "cpu --gpus 0"
    return f"--device {place} --threads {workers(wildcards, threads)}"


def item_tables(wildcards):
    """Return the tables of an item by kind."""
    if PAPER == "gim" and wildcards.item != "table-1":
        spread = {"gim-spread": "reached"} if wildcards.item == "table-2" else {}
        return {"graphs": "graphs", "gim-cells": f"cells-{wildcards.item}", **spread}
    if measured(wildcards.item):
        return {"graphs": "graphs", MEASURED: f"measures-{wildcards.item}"}
    if (PAPER, wildcards.item) == ("kpar", "table-3"):
        return {"graphs": "graphs", "kpar-index": "kpar-index", **ONE_THREAD}
    return {kind: kind for kind in ["graphs", *(NEEDS.get(wildcards.item, []) if PAPER == "kpar" else [])]}
