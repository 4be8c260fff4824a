"""The workflow on a real SLURM of one node: two jobs at once, one of them killed and retried, and equal bytes."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        any(shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None for name in NEEDED)
        or importlib.util.find_spec("snakemake_executor_plugin_slurm") is None,
        reason="needs Debian's slurm-wlm and munge, and gpukit[slurm]",
    ),
]
CONFIG = {
    "graphs": [{"name": "tiny", "edges": "tiny.txt", "undirected": True, "systems": ["gim", "kpar", "diversity"]}],
    "gim": {"k": 3},
    "evaluate": {"prefixes": [1, 3]},
    "kpar": {"k": [5], "sources": 6},
    "diversity": {"k": 2, "t": 4, "models": ["truss"]},
    "shards": {"count": 2, "sets": 500},
    "threads": 1,
    "device": "cpu",
}
GATHERED = ("seeds/tiny/sharded-ic.h5", "kpar/tiny/gathered-5.h5", "diversity/tiny/truss-gathered.h5")


@pytest.fixture
def cluster(tmp_path):
    """Start a cluster; yield the environment that finds it."""
    script = str(ROOT / "tests/slurm/cluster.sh")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"}
    # A file: the daemons keep the output that they inherit.
    with (tmp_path / "exports").open("w+") as stream:
        done = subprocess.run([script, "start", str(tmp_path / "slurm")], stdout=stream, env=environment, timeout=120)
        stream.seek(0)
        words = shlex.split(stream.read())
    try:
        assert done.returncode == 0
        yield environment | dict(word.split("=", 1) for word in words if "=" in word)
    finally:
        subprocess.run([script, "stop", str(tmp_path / "slurm")], env=environment, check=True)


def folder(path: Path) -> Path:
    path.mkdir()
    ring = [(v, (v + 1) % 30) for v in range(30)] + [(7, v) for v in range(12, 28)]
    (path / "tiny.txt").write_text("".join(f"{100 + u} {100 + v}\n" for u, v in ring))
    (path / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    return path


def command(*options: str) -> list[str]:
    asked = ["-s", str(ROOT / "Snakefile"), "sharded", "--configfile", "mine.yaml", *options]
    return [sys.executable, "-m", "snakemake", *asked]


def running(environment: dict[str, str]) -> list[str]:
    asked = ["squeue", "-h", "-t", "RUNNING", "-o", "%A"]
    return subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_two_jobs_at_once_and_one_killed(tmp_path, cluster):
    far = folder(tmp_path / "far")
    profile = str(ROOT / "workflow/profiles/slurm")
    options = ("--profile", profile, "--jobs", "2", "--latency-wait", "5")
    options += ("--slurm-init-seconds-before-status-checks", "2")
    with (tmp_path / "log").open("w") as stream:
        process = subprocess.Popen(command(*options), cwd=far, env=cluster, stdout=stream, stderr=subprocess.STDOUT)
        try:
            killed, end = "", time.monotonic() + 300
            while not killed and process.poll() is None and time.monotonic() < end:
                if len(jobs := running(cluster)) == 2:
                    killed = jobs[0]
                    subprocess.run(["scancel", "--full", "--signal=KILL", killed], env=cluster, check=True)
                time.sleep(0.5)
            assert process.wait(timeout=800) == 0, (tmp_path / "log").read_text()[-4000:]
        finally:
            process.kill()
    assert killed, "two jobs never ran at once"
    text = (tmp_path / "log").read_text()
    assert re.search(rf"SLURM jobid '?{killed}'?", text)
    assert "Trying to restart job" in text
    near = folder(tmp_path / "near")
    done = subprocess.run(command("--cores", "2"), cwd=near, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr[-4000:]
    for name in GATHERED:
        assert (far / "results" / name).read_bytes() == (near / "results" / name).read_bytes(), name
