"""The workflow as others use it: from the catalogue, as a module with a partial configuration, on a cluster's GPUs."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PARTIAL = {
    "graphs": [{"name": "tiny", "edges": "tiny.txt", "systems": ["gim", "merit"]}],
    "gim": {"k": 3},
    "evaluate": {"prefixes": [1, 3]},
    "merit": {"eta": [5], "batch": 2},
    "results": "inner",
}
OUTER = """
configfile: "outer.yaml"

module gpukit:
    snakefile: "{root}/workflow/Snakefile"
    config: config["gpukit"]

use rule * from gpukit as gpukit_*

rule all:
    default_target: True
    input: rules.gpukit_all.input
    output: "done.txt"
    shell: "touch {{output}}"
"""


def plan(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "1"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)


def test_a_module_takes_a_partial_configuration(tmp_path):
    """What it leaves out has its default; configfile statements of a module count for nothing."""
    (tmp_path / "tiny.txt").write_text("".join(f"{v} {v + 1}\n" for v in range(12)))
    (tmp_path / "Snakefile").write_text(OUTER.format(root=ROOT))
    (tmp_path / "outer.yaml").write_text(yaml.safe_dump({"gpukit": PARTIAL}))
    done = plan(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = dict(re.findall(r"^gpukit_(\w+) +(\d+)$", done.stdout, flags=re.MULTILINE))
    assert jobs["import_graph"] == jobs["gim_run"] == jobs["report_page"] == "1" and jobs["merit_run"] == "2"
    assert not any(rule.startswith(("kpar", "imgpu", "diversity")) for rule in jobs)
    assert "inner/report.html" in done.stdout and "results/report.html" not in done.stdout
    (tmp_path / "outer.yaml").write_text(yaml.safe_dump({"gpukit": PARTIAL | {"gim": {"q": 3}}}))
    done = plan(tmp_path)
    *_, last = (done.stdout + done.stderr).strip().split("\n")
    assert done.returncode != 0 and last.startswith("config: gim: there is no key 'q'")


def test_the_catalogue_finds_what_it_asks_for():
    """The files that https://snakemake.github.io/snakemake-workflow-catalog wants of a standardised workflow."""
    for name in ("README.md", "LICENSE", "workflow/Snakefile", "config/config.yaml", "config/README.md"):
        assert (ROOT / name).read_text(encoding="utf-8").strip(), name
    assert 'include: "workflow/Snakefile"' in (ROOT / "Snakefile").read_text()
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["mandatory-flags"].keys() == {"desc", "flags"}
    assert all(value in (True, False) for value in usage["software-stack-deployment"].values())
    assert usage["software-stack-deployment"]["conda"] and usage["report"]
    text = "".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    assert "conda:" in text and "report(" in text
    shown = yaml.safe_load(re.search(r"```yaml\n(.*?)```", (ROOT / "config/README.md").read_text(), re.DOTALL)[1])
    known = yaml.safe_load((ROOT / "workflow/schemas/config.schema.json").read_text())["$defs"]["GraphEntry"]
    assert shown["graphs"][0].keys() <= known["properties"].keys()


def test_the_catalogue_can_test_it():
    """By the command that the head of the configuration names."""
    text = (ROOT / ".test/config/config.yaml").read_text()
    (words,) = re.findall(r"^#   snakemake (.*)$", text, re.MULTILINE)
    command = [sys.executable, "-m", "snakemake", *words.split(), "-n", "-p", "--nolock"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "gim run results/graphs/ring.h5 --out results/seeds/ring/gim-ic.h5 -k 3" in done.stdout
    assert "--seeds data/mine.txt --model ic --prefixes 1,3 --clip" in done.stdout


@pytest.mark.skipif(importlib.util.find_spec("snakemake_executor_plugin_slurm") is None, reason="needs gpukit[slurm]")
def test_a_job_with_two_gpus_is_one_task():
    """Older executors asked for a task a GPU, and started the job twice unless `tasks=0` was said."""
    from snakemake_executor_plugin_slurm.submit_string import get_submit_command
    from snakemake_executor_plugin_slurm.utils import set_gres_string

    class Resources(dict):
        __getattr__ = dict.__getitem__

    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/profile.yaml").read_text())
    assert all("tasks" not in path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    resources = Resources({"gpu": 2, "mem_mb": 8000, "runtime": 60} | profile["default-resources"])
    job = SimpleNamespace(resources=resources, threads=0, is_group=lambda: False)
    asked = dict.fromkeys(("run_uuid", "slurm_logfile", "comment_str", "account", "partition", "workdir"), "x")
    command = get_submit_command(job, asked) + set_gres_string(job)
    assert "--gpus=2" in command and "--cpus-per-gpu=4" in command and "--cpus-per-task" not in command
    assert "--ntasks-per-gpu" not in command and not re.search(r"--ntasks[= ](?!1\b)", command)
