"""The workflow's configuration: one description, a schema that refuses typos, and pins that agree."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from gpukit import __version__
from gpukit.cli.workflow.configuration import check_configuration
from gpukit.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "workflow/schemas/config.schema.json"


def dry_run(directory: Path, *options: str, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        str(ROOT / "Snakefile"),
        "--directory",
        str(directory),
        "-n",
        "-p",
    ]
    command += ["--cores", "1", *options]
    # Without GPUs, also where there are some.
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""} | changes
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, env=environment
    )


def test_schema_and_its_page_are_up_to_date():
    done = subprocess.run(
        [sys.executable, str(ROOT / "workflow/schemas/describe.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def config():
    return yaml.safe_load((ROOT / "config/config.yaml").read_text())


def test_defaults_are_what_is_in_force(config):
    """The page shows the schema's defaults, but config.yaml is read before anything else."""
    whole = json.loads(SCHEMA.read_text())
    for key, value in config.items():
        field = whole["properties"][key]
        if "$ref" in field:
            part = whole["$defs"][field["$ref"].rsplit("/", 1)[1]]
            usual = {name: one["default"] for name, one in part["properties"].items()}
            assert usual | value == usual, key
        elif key != "graphs":
            assert field["default"] == value, key


@pytest.mark.parametrize(
    ("section", "override", "complaint"),
    [
        ("", {"devise": "cuda"}, "there is no key 'devise'; did you mean "),
        ("gim", {"epsilom": 0.2}, "there is no key 'epsilom'; did you mean "),
        ("evaluate", {"run": 10}, "there is no key 'run'; did you mean "),
        (
            "",
            {"graphs": [{"name": "x", "edges": "x.txt", "wieghts": "wc"}]},
            "there is no key 'wieghts'; did you mean ",
        ),
        ("", {"graphs": [{"name": "x", "edges": "x.txt", "weights": "cascade"}]}, "'cascade' does not match"),
        ("", {"graphs": [{"name": "../x", "edges": "x.txt"}]}, "'../x' does not match"),
        ("", {"graphs": []}, "should be non-empty"),
        ("gim", {"epsilon": 1}, "1 is greater than or equal to the maximum of 1"),
        ("gim", {"k": 0}, "0 is less than the minimum of 1"),
        ("", {"device": "gpu"}, "'gpu' is not one of"),
        ("", {"baselines": ["pagerank"]}, "'pagerank' is not one of"),
        ("", {"graphs": [{"name": "x", "edges": "x.txt", "systems": ["pagerank"]}]}, "'pagerank' is not one of"),
        ("kpar", {"epsilon": 0.6}, "0.6 is greater than the maximum of 0.5"),
        ("merit", {"epsilon": 1e-7}, "1e-07 is less than the minimum of 1e-06"),
        ("kpar", {"k": []}, "should be non-empty"),
        ("kpar", {"source": 5}, "there is no key 'source'; did you mean "),
        ("diversity", {"models": ["clique"]}, "'clique' is not one of"),
        ("diversity", {"k": 1}, "1 is less than the minimum of 2"),
        ("imgpu", {"worlds": 1}, "1 is less than the minimum of 2"),
        ("imgpu", {"baselines": ["greedy"]}, "'greedy' is not one of"),
        ("imgpu", {"modes": ["fresh"]}, "does not contain"),
        ("merit", {"eta": [0]}, "0 is less than the minimum of 1"),
        ("merit", {"policies": ["anew"]}, "does not contain"),
        ("", {"gim": None}, "None is not of type 'object'"),
        ("", {"scales": {"smoke": None}}, "None is not of type 'object'"),
        ("", {"graphs": ["wiki-Vote"]}, "'wiki-Vote' is not of type 'object'"),
    ],
)
def test_a_wrong_value_is_refused(config, section, override, complaint):
    check_configuration(config, SCHEMA)
    (config[section] if section else config).update(override)
    with pytest.raises(InputError) as caught:
        check_configuration(config, SCHEMA)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ({"gim": {"epsilom": 0.2}}, "there is no key 'epsilom'; did you mean "),
        ({"graphs": [{"name": "x", "edges": "x.txt"}, {"name": "x", "edges": "y.txt"}]}, "same name"),
        ({"gim": {"k": 20}, "evaluate": {"prefixes": [50]}}, "goes up to 50 seeds, but gim.k is 20"),
        ({"paper": "gim"}, "paper is gim, but scales has no smoke; add --configfile config/paper/gim.yaml"),
    ],
    ids=["typo", "names", "prefixes", "scales"],
)
def test_a_wrong_file_stops_the_workflow(tmp_path, override, complaint):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(override))
    done = dry_run(tmp_path, "--configfile", str(tmp_path / "mine.yaml"))
    assert done.returncode != 0
    assert complaint in done.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--cores", "2"], "--device cpu --gpus 0 --threads 2"),
        (["--resources", "gpu=4"], "--device auto --gpus 1 --threads 2"),
        (["--resources", "gpu=0"], "--device cpu --gpus 0 --threads 1"),
        (["--resources", "gpu=4", "--config", "device=cpu"], "--device cpu --gpus 0 --threads 1"),
        (["--resources", "gpu=2", "--config", "device=cuda", "gpus=4"], "--device cuda --gpus 2 --threads 2"),
    ],
    ids=["cpu", "gpus", "no gpus", "gpus unwanted", "cuda"],
)
def test_gpus_are_used_when_they_are_granted(tmp_path, options, expected):
    (tmp_path / "mine.yaml").write_text("threads: 2")
    done = dry_run(tmp_path, *options, "--configfile", str(tmp_path / "mine.yaml"))
    assert done.returncode == 0, done.stdout
    wanted = ("gim run", "evaluate spread", "kpar rank", "kpar index", "kpar query", "diversity search")
    single = ("imgpu run", "imgpu reach", "merit run")
    commands = [line for line in done.stdout.splitlines() if any(one in line for one in wanted)]
    # The runs of gIM, what seeds reach by graph and model; rank, index and queries of kPAR; searches; the warm-ups.
    assert len(commands) == 7 + 7 + 2 * (1 + 1 + 1) + 3 + 4
    assert all(expected in line for line in commands)
    commands = [line for line in done.stdout.splitlines() if any(one in line for one in single)]
    # IMGPU with fixed and fresh worlds and its reach; MERIT for two models and two ways; the warm-ups.
    assert len(commands) == 3 + 4 + 2
    assert all(expected.replace("--gpus 2", "--gpus 1") in line for line in commands), "these know one GPU"


@pytest.mark.parametrize("paper", ["", "kpar"])
def test_warm_ups_and_papers_take_the_gpu_that_is_there(tmp_path, driver, paper):
    """To `auto` their graphs are work for the CPU; all else is left to it."""
    options = ["--configfile", str(ROOT / f"config/paper/{paper}.yaml")] if paper else []
    (tmp_path / "packages/cupy").mkdir(parents=True)
    (tmp_path / "packages/cupy/__init__.py").touch()  # is looked for, and not used by a plan
    paths = os.pathsep.join([str(tmp_path / "packages"), os.environ.get("PYTHONPATH", "")])
    shown = {"LD_LIBRARY_PATH": str(driver), "CUDA_VISIBLE_DEVICES": "0,1", "PYTHONPATH": paths}
    done = dry_run(tmp_path, "--resources", "gpu=2", *options, **shown)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if "--device" in line and "--device cpu" not in line]
    warm = [line for line in lines if "warm-up" in line]
    others = [line for line in lines if "warm-up" not in line]
    assert len(warm) == (1 if paper else 6) and len(others) > 10
    assert all("--device cuda" in line for line in warm)
    assert all(("--device cuda" if paper else "--device auto") in line for line in others)


def test_a_file_replaces_the_list_of_graphs(tmp_path):
    (tmp_path / "e.txt").write_text("".join(f"{v} {v + 1} 3\n" for v in range(6000, 0, -1)))  # enough for all k, η
    (tmp_path / "mine.yaml").write_text(
        yaml.safe_dump({"graphs": [{"name": "mine", "edges": "e.txt", "weights": "file", "scale": "max"}]})
    )
    done = dry_run(tmp_path, "--configfile", str(tmp_path / "mine.yaml"))
    assert done.returncode == 0, done.stdout
    text = done.stdout
    assert "graph import --out results/graphs/mine.h5 --weights file --scale max" in text and "-- e.txt >" in text
    assert "wiki-Vote" not in text


def pins():
    """Return the exact versions that `make` installs, by package."""
    lines = (line.partition(" ")[0] for line in (ROOT / "requirements.lock").read_text().splitlines())
    return dict(line.split("==") for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("name", ["cpu", "cuda12", "cuda13"])
def test_conda_environments_have_what_make_installs(name):
    """Versions of the lock file, of all that the package and its workflow need; what an extra pins stays as it says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {}
    for one in [*project["dependencies"], *extras["report"], *extras["workflow"], *extras.get(name, [])]:
        package = re.match(r"[\w.-]+(\[[\w,]+\])?", one)[0]
        locked = pins().get(package.replace("cuda12x", "cuda13x"))  # CuPy has one version for both
        if not package.startswith("gpukit"):
            wanted.setdefault(package, one if "==" in one else f"{package}=={locked}")
    *_, pip = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())["dependencies"]
    assert set(pip["pip"]) == set(wanted.values())


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
    needs = {re.sub(" ", "", one) for one in recipe["requirements"]["run"][1:]}
    assert needs == set(project["dependencies"]) and recipe["context"]["version"] == __version__
    also = {re.sub(" |-base", "", one) for one in recipe["requirements"]["run_constraints"]}
    extras = project["optional-dependencies"]
    assert also == {one for one in (*extras["report"], *extras["workflow"]) if not one.startswith("gpukit")}


def test_the_lock_file_is_within_the_ranges():
    """`make lock` renews it; pip refuses to install what is not."""
    read = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = read["project"], read["dependency-groups"]
    listed = chain.from_iterable([*project["optional-dependencies"].values(), *groups.values()])
    for one in [*project["dependencies"], *(one for one in listed if isinstance(one, str))]:  # else a group in a group
        asked = Requirement(one)
        if asked.name in pins() and not one.startswith("cuda-"):  # those of CUDA 12 are not in it
            assert asked.specifier.contains(pins()[asked.name]), one


@pytest.mark.parametrize("name", ["slurm", "kubernetes"])
def test_a_profile_has_options_that_there_are(name):
    """As far as can be known without the executor: what begins with its name is its own."""
    from snakemake.cli import get_argument_parser

    known = {word for action in get_argument_parser()._actions for word in action.option_strings}
    keys = yaml.safe_load((ROOT / f"workflow/profiles/{name}/profile.yaml").read_text())
    assert keys["executor"] == name
    assert [key for key in keys if f"--{key}" not in known and not key.startswith((f"{name}-", "__"))] == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("slurm", "pip install 'gpukit[slurm]'"),
        (
            "kubernetes",
            "pip install 'gpukit[workflow]' snakemake-executor-plugin-kubernetes snakemake-storage-plugin-s3",
        ),
    ],
)
def test_a_profile_without_its_executor_says_how_to_install_it(name, remedy):
    if importlib.util.find_spec(f"snakemake_executor_plugin_{name}"):
        pytest.skip("it is installed")
    command = [sys.executable, "-m", "snakemake", "-n", "--profile", f"workflow/profiles/{name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [f"profile: the executor {name} is not installed; {remedy}"]
