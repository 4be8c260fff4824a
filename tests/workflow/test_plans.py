"""Snakemake's plan in a finished folder after a change of a key of the configuration: all necessary steps."""

import base64
import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import yaml
from snakemake.api import SnakemakeApi
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    ExecutionSettings,
    OutputSettings,
    Quietness,
    ResourceSettings,
)

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "workflow/schemas/config.schema.json").read_text(encoding="utf-8"))

DEMO = {
    "graphs": [
        {"name": "tiny", "edges": "tiny.txt", "undirected": True, "weights": "file", "models": ["ic", "lt"]},
    ],
    "gim": {"k": 3},
    "baselines": ["degree", "random"],
    "evaluate": {"prefixes": [1, 3]},
    "imgpu": {"baselines": ["celf", "random"]},
    "kpar": {"k": [2, 10]},
    "merit": {"eta": [15], "batch": 2},
    "diversity": {"t": 4},
    "shards": {"count": 2},
}
CELLS = {
    "paper": "gim",
    "experiments": {"table-2": {"methods": ["imm", "gim"], "k": [3, 4, 5]}, "figure-3": {"methods": ["gim"]}},
    "scales": {
        "smoke": {
            "graphs": [
                {"name": "soc-Epinions1", "real": "soc-Epinions1", "generate": "er --vertices 60 --edges 300"},
                {"name": "ba-2", "generate": "ba --vertices 60 --attach 2"},
            ]
        },
        "small": {"graphs": [{"name": "higgs-twitter", "generate": "er --vertices 60 --edges 300"}]},
    },
}
MEASURES = {
    "paper": "diversity",
    "scales": {
        "smoke": {
            "graphs": [
                {"name": "Gowalla", "generate": "er --vertices 60 --edges 300 --undirected", "weights": "none"},
                {"name": "Orkut", "generate": "er --vertices 70 --edges 300 --undirected", "weights": "none"},
            ],
            "measures": {
                "sizes": {"command": "diversity decompose --egos", "items": ["table-1"], "graphs": ["Gowalla"]},
                "one": {"command": "papers bench diversity --methods extract --repeat 2", "items": ["table-4"]},
            },
        }
    },
}
MEASURE = {"command": "papers bench diversity --methods extract --repeat 3", "items": ["table-4"]}
OWN = {"evaluate_own", "evaluate_own_worlds"}
CONFIGURATIONS = {"demo": DEMO, "cells": CELLS, "measures": MEASURES}

NAMED = {"name": "tiny", "edges": "named.txt", "undirected": True, "weights": "file", "models": ["ic", "lt"]}
WARM_UPS = {
    *("warm_up", "imgpu_warm_up", "imgpu_baseline_warm_up", "kpar_warm_up", "merit_warm_up", "diversity_warm_up"),
    "evaluate_warm_up",
}
FIRST = {"import_graph", "warm_up_graph"}
SHORTER = {"table", "table_artifacts"}
"""A list lost an entry: only the tables that showed it are made again."""

EXPECTED = {
    "Config.results": ("demo", "results", "else where", FIRST),
    "Config.seed": ("demo", "seed", 2, {"import_graph"}),
    "Config.device": ("demo", "device", "cpu", set()),
    "Config.gpus": ("demo", "gpus", 2, set()),
    "Config.threads": ("demo", "threads", 2, set()),
    "Config.cuda_env": ("demo", "cuda_env", "cuda12", set()),
    "Config.graphs": ("demo", "graphs", [*DEMO["graphs"], {"name": "more", "edges": "other.txt"}], {"import_graph"}),
    "Config.baselines": ("demo", "baselines", ["degree"], {"evaluate_spread"}),
    "Config.seeds": ("demo", "seeds", {"mine": "list.txt"}, {"evaluate_spread", "evaluate_worlds"} | OWN),
    "Config.paper": ("cells", "paper", "", {"import_graph"} | WARM_UPS - {"warm_up", "evaluate_warm_up"}),
    "Config.scale": ("cells", "scale", "small", {"generate_graph"}),
    "Config.data": ("cells", "data", "real", {"fetch_graph"}),
    "Config.scales": ("cells", "scales.smoke.graphs.0.weights", "const:0.1", {"generate_graph"}),
    "Config.directed": ("measures", "directed", True, {"generate_graph"}),
    "Config.experiments": ("cells", "experiments", {"table-2": CELLS["experiments"]["table-2"]}, {"table"}),
    "GraphEntry.name": ("demo", "graphs.0.name", "other", {"import_graph"}),
    "GraphEntry.edges": ("demo", "graphs.0.edges", "other.txt", {"import_graph"}),
    "GraphEntry.generate": (
        "cells",
        "scales.smoke.graphs.0.generate",
        "ba --vertices 60 --attach 2",
        {"generate_graph"},
    ),
    "GraphEntry.fetch": ("demo", "graphs.0", {"name": "tiny", "fetch": "com-Orkut"}, {"fetch_graph"}),
    "GraphEntry.real": ("cells", "scales.smoke.graphs.0.real", "com-Orkut", set()),
    "GraphEntry.undirected": ("demo", "graphs.0.undirected", False, {"import_graph"}),
    "GraphEntry.weights": ("demo", "graphs.0.weights", "const:0.1", {"import_graph"}),
    "GraphEntry.scale": ("demo", "graphs.0.scale", "in-sum", {"import_graph"}),
    "GraphEntry.parallel_edges": ("demo", "graphs.0.parallel_edges", "combine", {"import_graph"}),
    "GraphEntry.sep": ("demo", "graphs.0.sep", "space", {"import_graph"}),
    "GraphEntry.header": ("demo", "graphs.0.header", False, {"import_graph"}),
    "GraphEntry.columns": ("demo", "graphs.0.columns", "1,2,3", {"import_graph"}),
    "GraphEntry.ids": ("demo", "graphs.0.ids", "text", {"import_graph"}),
    "GraphEntry.format": ("demo", "graphs.0.format", "edges", {"import_graph"}),
    "GraphEntry.comment": ("demo", "graphs.0.comment", "none", {"import_graph"}),
    "GraphEntry.skip_bad": ("demo", "graphs.0.skip_bad", 2, {"import_graph"}),
    "GraphEntry.decimal": ("demo", "graphs.0.decimal", ".", {"import_graph"}),
    "GraphEntry.encoding": ("demo", "graphs.0.encoding", "cp1252", {"import_graph"}),
    "GraphEntry.fold_case": ("demo", "graphs.0", NAMED | {"fold_case": True}, {"import_graph"}),
    "GraphEntry.strip": ("demo", "graphs.0", NAMED | {"strip": True}, {"import_graph"}),
    "GraphEntry.systems": ("demo", "graphs.0.systems", ["kpar"], {"figures", "table_artifacts"}),
    "GraphEntry.models": ("demo", "graphs.0.models", ["ic"], SHORTER),
    "Gim.k": ("demo", "gim.k", 4, {"gim_baseline", "gim_run", "gim_select", "imgpu_baseline", "imgpu_run"}),
    "Gim.epsilon": ("demo", "gim.epsilon", 0.2, {"gim_run"}),
    "Gim.bound": ("demo", "gim.bound", "imm", {"gim_run"}),
    "Gim.min_sets": ("demo", "gim.min_sets", 1, {"gim_run"}),
    "Gim.sampler": ("demo", "gim.sampler", "scan", {"gim_run", "gim_sample"}),
    "Gim.include": ("demo", "gim.include", [0, 4], {"gim_run"}),
    "Gim.exclude": ("demo", "gim.exclude", "list.txt", {"gim_run"}),
    "Gim.targets": ("demo", "gim.targets", "told.txt", {"gim_run"}),
    "Gim.costs": ("demo", "gim", {"k": 3, "costs": "told.txt", "budget": 5}, {"gim_run", "evaluate_worlds"}),
    "Gim.budget": ("demo", "gim.budget", 5, {"gim_run", "evaluate_worlds"}),
    "Evaluate.prefixes": ("demo", "evaluate.prefixes", [1, 2], {"evaluate_spread", "evaluate_worlds"}),
    "Evaluate.error": ("demo", "evaluate.error", 0, {"evaluate_spread", "evaluate_worlds"}),
    "Evaluate.runs": ("demo", "evaluate.runs", 7, {"evaluate_spread", "evaluate_worlds"}),
    "Imgpu.worlds": ("demo", "imgpu.worlds", 9, {"imgpu_baseline", "imgpu_reach", "imgpu_run", "imgpu_switches"}),
    "Imgpu.modes": ("demo", "imgpu.modes", ["fixed"], {"evaluate_worlds"} | SHORTER),
    "Imgpu.baselines": ("demo", "imgpu.baselines", ["celf"], {"evaluate_worlds"}),
    "Kpar.k": ("demo", "kpar.k", [2], {"evaluate_ppr", "kpar_truth", "table_artifacts"}),
    "Kpar.alpha": ("demo", "kpar.alpha", 0.3, {"kpar_baseline", "kpar_rank", "kpar_truth"}),
    "Kpar.epsilon": ("demo", "kpar.epsilon", 0.3, {"kpar_baseline", "kpar_index"}),
    "Kpar.sources": ("demo", "kpar.sources", 9, {"kpar_baseline", "kpar_query", "kpar_query_part", "kpar_truth"}),
    "Kpar.weighted": ("demo", "kpar.weighted", True, {"kpar_baseline", "kpar_rank", "kpar_truth"}),
    "Kpar.baselines": ("demo", "kpar.baselines", ["fora", "monte-carlo"], {"kpar_baseline"}),
    "Merit.eta": ("demo", "merit.eta", [14], {"merit_run"}),
    "Merit.batch": ("demo", "merit.batch", 3, {"merit_run"}),
    "Merit.costs": ("demo", "merit.costs", "told.txt", {"merit_run"}),
    "Merit.epsilon": ("demo", "merit.epsilon", 0.3, {"merit_run"}),
    "Merit.worlds": ("demo", "merit.worlds", 4, {"merit_run"}),
    "Merit.policies": ("demo", "merit.policies", ["coupled"], SHORTER),
    "Diversity.models": ("demo", "diversity.models", ["comp"], {"diversity_egos", "evaluate_diversity"} | SHORTER),
    "Diversity.k": ("demo", "diversity.k", 5, {"diversity_part", "diversity_search"}),
    "Diversity.t": ("demo", "diversity.t", 5, {"diversity_part", "diversity_search"}),
    "Diversity.check": ("demo", "diversity.check", 9, {"evaluate_diversity"}),
    "Shards.count": ("demo", "shards.count", 3, {"diversity_part", "gim_sample", "kpar_query_part"}),
    "Shards.sets": ("demo", "shards.sets", 9, {"gim_sample"}),
    "Experiment.methods": ("cells", "experiments.figure-3.methods", ["imm"], {"paper_cell"}),
    "Experiment.models": ("cells", "experiments.figure-3.models", ["lt"], {"paper_cell"}),
    "Experiment.k": ("cells", "experiments.figure-3.k", [7], {"paper_cell"}),
    "Experiment.epsilon": ("cells", "experiments.figure-3.epsilon", [0.3], {"paper_cell"}),
    "Experiment.rounds": ("cells", "experiments.figure-3.rounds", 2, {"paper_cell"}),
    "Experiment.sampler": ("cells", "experiments.figure-3.sampler", "skip", {"paper_cell"}),
    "Experiment.block": ("cells", "experiments.figure-3.block", [64], {"paper_cell"}),
    "Experiment.grid": ("cells", "experiments.figure-3.grid", [64], {"paper_cell"}),
    "Experiment.graphs": ("cells", "experiments.figure-3.graphs", "density", {"paper_cell"}),
    "Scale.graphs": ("cells", "scales.smoke.graphs.0.name", "com-Orkut", {"generate_graph"}),
    "Scale.repeats": ("cells", "scales.smoke.repeats", 2, {"paper_cell"}),
    "Scale.thin": ("cells", "scales.smoke.thin", True, {"table"}),
    "Scale.sources": ("cells", "scales.smoke.sources", 9, set()),
    "Scale.baselines": ("cells", "scales.smoke.baselines", ["fora"], set()),
    "Scale.measures": ("measures", "scales.smoke.measures.more", MEASURE, {"paper_measure"}),
    "Measure.command": ("measures", "scales.smoke.measures.one", MEASURE, {"paper_measure"}),
    "Measure.items": ("measures", "scales.smoke.measures.one.items", ["table-4", "table-2"], {"table"}),
    "Measure.graphs": ("measures", "scales.smoke.measures.sizes.graphs", ["Orkut"], {"paper_run"}),
    "Measure.gpus": ("measures", "scales.smoke.measures.one.gpus", 2, set()),
}
"""For each key of the schema: the folder, what is changed, and the rules with jobs that have a reason of their own."""


def changed(config, path, value):
    """Return a configuration in which the value at a path, such as ``gim.k`` or ``graphs.0.name``, is another one."""
    config = copy.deepcopy(config)
    *way, last = path.split(".")
    part = config
    for step in way:
        part = part[int(step)] if isinstance(part, list) else part.setdefault(step, {})
    part[int(last) if isinstance(part, list) else last] = value
    return config


class Folder:
    """A folder in which everything was made, by an empty file each, and what Snakemake plans there."""

    def __init__(self, path, config):
        self.path, self.config = path, config
        for name in ("tiny.txt", "other.txt"):
            (path / name).write_text("".join(f"{v} {v + 1} 0.5\n" for v in range(20)))
        (path / "told.txt").write_text("".join(f"{v} 0.5\n" for v in range(20)))
        (path / "list.txt").write_text("19\n20\n")
        (path / "named.txt").write_text("".join(f"a{v} a{v + 1} 0.5\n" for v in range(20)))
        _, outputs, _ = self.plan(config)
        for output in outputs:
            (path / output).parent.mkdir(parents=True, exist_ok=True)
            (path / output).touch()
        self.plan(config, "touch")

    def plan(self, config, executor="dryrun"):
        """Return the rules with a reason of their own to run, all outputs, and the rules left out that follow."""
        limited = {"include", "exclude", "targets", "costs", "budget"} & config.get("gim", {}).keys()
        targets = {"all"} if config.get("paper") or limited else {"all", "sharded"}
        dag = self.dag(config, targets, executor)
        run = set(dag.needrun_jobs(exclude_finished=False))
        own = {
            job.rule.name for job in run if not run.intersection(dag.dependencies[job]) and job.rule.name not in targets
        }
        left = {job.rule.name for job in set(dag.jobs) - run if run.intersection(dag.dependencies[job])}
        return own, {str(output) for job in dag.jobs for output in job.output}, left

    def dag(self, config, targets, executor="dryrun"):
        """Return Snakemake's graph of the jobs behind some targets, planned, and in it which of them would run."""
        (self.path / "mine.yaml").write_text(yaml.safe_dump(config))
        with SnakemakeApi(OutputSettings(dryrun=True, quiet={Quietness.ALL})) as api:
            planned = api.workflow(
                resource_settings=ResourceSettings(cores=1),
                config_settings=ConfigSettings(configfiles=[self.path / "mine.yaml"]),
                snakefile=ROOT / "Snakefile",
                workdir=self.path,
            ).dag(DAGSettings(targets=targets, forceall=executor == "touch", force_incomplete=True))
            planned.execute_workflow(executor=executor, execution_settings=ExecutionSettings(lock=False))
            return planned.workflow_api._workflow.dag


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return a finished folder for each of the configurations; Snakemake goes into the last one used."""
    before = os.getcwd()
    yield {name: Folder(tmp_path_factory.mktemp(name), config) for name, config in CONFIGURATIONS.items()}
    os.chdir(before)


def test_every_key_has_an_expectation():
    sections = {"Config": SCHEMA} | SCHEMA["$defs"]
    keys = {
        f"{name}.{key}"
        for name, section in sections.items()
        for key, field in section["properties"].items()
        if "$ref" not in field
    }
    assert set(EXPECTED) == keys


@pytest.mark.parametrize("key", EXPECTED)
def test_a_changed_key_plans_what_it_must(folders, key):
    name, path, value, expected = EXPECTED[key]
    own, _, left = folders[name].plan(changed(CONFIGURATIONS[name], path, value))
    assert own == expected
    assert not left, "jobs are left out, though what they depend on is made again"


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_finished_folder_plans_nothing(folders, name):
    own, _, left = folders[name].plan(CONFIGURATIONS[name])
    assert own == left == set()


@pytest.mark.long
def test_each_result_deleted_in_turn_is_made_again(folders):
    """One at a time: what is asked for only because others need it would stay away while those are there."""
    folder, config = folders["demo"], changed(DEMO, "graphs.0.models", ["ic"])
    folder.dag(config, {"all"}, "touch")
    # What a warm-up wrote is no result: nobody reads it, and to make it again would make all anew.
    makers = {
        str(output): job.rule.name
        for job in folder.dag(config, {"all"}).jobs
        for output in job.output
        if "/warm-up/" not in output
    }
    assert len(makers) > 80 and len(set(makers.values())) > 20
    lost = []
    for output, rule in makers.items():
        path, aside = folder.path / output, folder.path / "aside"
        path.rename(aside)
        dag = folder.dag(config, {"all"})
        if rule not in {job.rule.name for job in dag.needrun_jobs(exclude_finished=False) if output in job.output}:
            lost.append(output)
        aside.rename(path)
    assert not lost, "would not be made again"


def test_a_killed_warm_up_with_the_rest_absent_plans_all(folders, tmp_path):
    """As the kill leaves it: the file is there, and Snakemake's mark that it is not finished."""
    config = changed(DEMO, "results", str(tmp_path))
    _, outputs, _ = folders["demo"].plan(config)
    killed = f"{tmp_path}/warm-up/seeds.h5"
    assert killed in outputs
    Path(killed).parent.mkdir()
    Path(killed).touch()
    mark = folders["demo"].path / ".snakemake/incomplete" / base64.b64encode(killed.encode()).decode()
    mark.touch()
    own, _, left = folders["demo"].plan(config)
    mark.unlink()
    assert own == FIRST and not left


@pytest.mark.long
def test_a_run_that_leaves_something_out_fails(folders):
    """Snakemake 9.27 plans nothing behind an input that it takes for ancient, whatever else is missing."""
    path = folders["demo"].path
    (path / "mine.yaml").write_text(yaml.safe_dump(DEMO))
    command = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--cores", "1", "--touch"]
    command += ["--configfile", "mine.yaml", "-R", "warm_up"]
    ancient = ["--consider-ancient", "gim_run=warm"]

    def run(*options):
        done = subprocess.run([*command, *options], cwd=path, capture_output=True, text=True, timeout=200)
        return done.returncode, done.stderr

    code, text = run(*ancient)
    assert code == 1 and "results/seeds/tiny/gim-" in text and "is older than what it is made of" in text
    assert run() == (0, mock.ANY)
    (path / "results/report.html").unlink()
    code, text = run(*ancient)
    assert code == 1 and "results/report.html is missing, though all planned jobs are done" in text
