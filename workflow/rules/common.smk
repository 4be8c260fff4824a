# Shared by the rules: the instances of the configuration, the device, and the paths of commands.
import json
import os
import shlex
from functools import cache

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from gpukit.cli.workflow.config_graphs import find_file, lacking
from gpukit.cli.workflow.config_vertices import vertices_of
from gpukit.cli.workflow.configuration import options_of
from gpukit.cli.workflow.graph_sizes import size_of
from gpukit.device.select import detect, package_problem

PAPER = config["paper"]
REPORT = "papers report" if PAPER else "report"  # the group of commands that knows the tables
SCALE = config["scales"][config["scale"]] if PAPER else {}


def thinned(values):
    """Return the first and the last item of a list if the scale requests this, otherwise all items."""
    return list(dict.fromkeys((values[0], values[-1]))) if SCALE["thin"] else values


PLACES = [Path(), CHECKOUT]  # in which edge lists are looked for
GRAPHS = {entry["name"]: entry for entry in SCALE.get("graphs", config["graphs"])}
if PAPER and config["directed"]:
    for entry in GRAPHS.values():
        entry |= {"undirected": False, "generate": entry["generate"].replace(" --undirected", "")}
# Data sets that `data: real` cannot get, and why; a job on another machine need not report it again.
LACKING = {name: lacking(entry) for name, entry in GRAPHS.items() if config["data"] == "real" and lacking(entry)}
if workflow.is_main_process:
    for name, reason in LACKING.items():
        logger.warning(f"{name} stays a stand-in: {reason}")
if PAPER == "kpar":  # a scale may ask for less; to ask again changes nothing
    config["kpar"]["sources"] = SCALE["sources"] or config["kpar"]["sources"]
    config["kpar"]["k"] = thinned(config["kpar"]["k"])
    config["kpar"]["baselines"] = SCALE["baselines"] or config["kpar"]["baselines"]
REPEATS = range(SCALE.get("repeats", 1))
OWN_SEEDS = {name: str(find_file(path, PLACES) or path) for name, path in config["seeds"].items()}
METHODS = ["gim", *config["baselines"]]
SIMULATORS = [*config["imgpu"]["modes"], *config["imgpu"]["baselines"]]


def on(system):
    """Return the graphs that a system works on; of the papers, only kPAR's is rebuilt by the rules of the demo."""
    if PAPER:
        return list(GRAPHS) if system == PAPER == "kpar" else []
    return [name for name, entry in GRAPHS.items() if system in entry["systems"]]


def by_label(path, places, prefix=""):
    """Return files by label: for a place such as (graph, model), the label GRAPH/MODEL and the filled-in path."""
    return {f"{prefix}{'/'.join(place)}": path.format(*place) for place in places}


INSTANCES = [(name, model) for name in on("gim") for model in GRAPHS[name]["models"]]
SIMULATED = on("imgpu")
RANKED = on("kpar")
CAMPAIGNS = [(name, model) for name in on("merit") for model in GRAPHS[name]["models"]]
CIRCLES = [(name, model) for name in on("diversity") for model in config["diversity"]["models"]]


def again(record):
    """Return the records of all repeats of a run: the first has the plain name, the others also have their number."""
    return [record, *(f"{record.removesuffix('.json')}.{repeat + 1}.json" for repeat in REPEATS[1:])]


def by_repeat(records):
    """Return records by label; labels of repeats have a number after a #."""
    return {
        f"{label}#{repeat}" if repeat else label: path
        for label, record in records.items()
        for repeat, path in enumerate(again(record))
    }


# The inputs of the report, by label; the rules of each system add theirs.
TABLES = {}
FIGURES = {}
ARTIFACTS = [f"<results>/graphs/{name}.h5" for name in GRAPHS]
# Results that no table needs, but that are made again if somebody deletes them.
ASIDE = [f"<results>/graphs/{name}.json" for name in GRAPHS]

# GPU jobs declare no threads: they are counted by `--resources gpu=N`, and wait for a GPU instead of for a core. On the
# CPU the same jobs are counted by their threads. Without the limit Snakemake would start them all at once, so `auto`
# uses GPUs only if a limit is given.
granted = workflow.global_resources["gpu"].value if "gpu" in workflow.global_resources else 0
ON_GPU = config["device"] == "cuda" or (config["device"] == "auto" and granted > 0)
# `auto` gives small work to the CPU; a warm-up, which loads the GPU's code, and a paper's runs must not do so.
ASKED = config["device"] if ON_GPU else "cpu"
GPU_DEVICE = "cuda" if ON_GPU and detect()[0] and not package_problem() else ASKED
DEVICE = GPU_DEVICE if PAPER else ASKED
GPUS = config["gpus"] if ON_GPU else 0
ONE_GPU = min(GPUS, 1)  # of what has one GPU, or has work for one
THREADS = 0 if ON_GPU else config["threads"]
# Without a GPU FORA+ runs on the CPU anyway.
RANKINGS = ["kpar", *(one for one in config["kpar"]["baselines"] if ON_GPU or one != "fora-cpu")]
# Competitors that the papers run on several CPU threads get the same number, or the number of cores if that is less.
PRINTED_THREADS = {"imm-16": 16, "pasti": 16, "pasti-4": 4, "mcpu-div": 6, "fora-cpu": 80, "topppr": 80}
# Some rules run several commands in one process, because its start takes longer than the commands.
BATCH = "printf '%s\\n' {params.commands:q} | python -m gpukit batch -"
WHERE = "-- --device {resources.device} --gpus {resources.gpu} --threads {resources.workers}"
CPU_ENV = "../../envs/cpu.yaml"
DEVICE_ENV = f"../../envs/{config['cuda_env']}.yaml" if ON_GPU else CPU_ENV


# `python -m gpukit` has to be the package of the Python that runs Snakemake (its environment need not be activated), and in
# a checkout that of the checkout, also under the Python of `--sdm conda`, which drops PYTHONPATH: hence the prefix. Other
# packages may be found by PYTHONPATH, too.
os.environ.update(PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]))
kept = "${{PYTHONPATH:+:$PYTHONPATH}}"  # Snakemake takes braces that are not doubled for its own
own = f"export PYTHONPATH={shlex.quote(str(CHECKOUT))}{kept}; " if (CHECKOUT / "gpukit").is_dir() else ""
shell.prefix(f"set -euo pipefail; {own}")


wildcard_constraints:
    graph="|".join(map(re.escape, GRAPHS)),
    model="ic|lt",
    method="|".join(map(re.escape, dict.fromkeys([*METHODS, *SIMULATORS, *SCALE.get("measures", [])]))),
    shard="[0-9]+",
    part="[0-9]+",
    own="|".join(map(re.escape, OWN_SEEDS)) or "-",
    k="[0-9]+",
    ranking="kpar|fora|fora-16|fora-cpu|topppr|monte-carlo",
    circle="comp|core|truss",
    simulator="celf|mixgreedy|newgreedy|esmce|pmia",
    mode="fixed|fresh",
    policy="coupled|regenerate|anew",
    eta="[0-9]+",


def workers(wildcards, threads):
    """Return the CPU threads that a job may start; a GPU job is not counted by them, but may fall back to the CPU."""
    return threads or config["threads"]


@cache
def size(graph):
    """Return the size of a graph, as far as the configuration determines it."""
    return size_of(GRAPHS[graph], PLACES)


def memory(floor, building=False, copies=3):
    """Return the MB that a job on a graph requests, by the graph's size; more if the job is tried again.

    The power method needs four copies: 91 GB where there are 1.5 billion edges.
    """

    def asked(wildcards, attempt):
        found = size(wildcards.graph)
        return attempt * (floor + (found.build_mb if building else copies * found.graph_mb))

    return asked


def lines(commands, records=()):
    """Return commands (lists of words) as lines for `gpukit batch`, each with the file for its output, if any.

    They name files, so Snakemake does not look at them for changes; what a configuration says in them is a parameter, too.
    """
    ends = [f" > {shlex.quote(path)}" for path in records] or [""] * len(commands)
    return [f"{shlex.join(map(str, words))}{end}" for words, end in zip(commands, ends, strict=True)]


def check_made(workflow):
    """Raise WorkflowError if a result is missing: Snakemake itself succeeds as soon as all planned jobs are done."""
    if left := unmade(workflow):
        raise WorkflowError(f"{left}, though all planned jobs are done; run snakemake again")


def unmade(workflow):
    """Return a result that is missing or out of date after a run; an empty value if there is none.

    A file that is missing, or one that was left alone although something that it is made of was made anew.
    """
    dag = workflow.dag
    jobs = list(dag.bfs(dag.dependencies, *dag.targetjobs))
    for path in (path for job in jobs for path in job.output):
        if not workflow.async_run(path.exists()):
            return f"{path} is missing"
    for job in jobs:
        if job.output and not dag.finished(job) and any(map(dag.finished, dag.dependencies[job])):
            return f"{job.output[0]} is older than what it is made of"
    return ""
