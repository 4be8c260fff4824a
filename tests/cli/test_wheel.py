"""The wheel: its contents, all of which work without a checkout."""

import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from gpukit import __version__

pytest.importorskip("build", reason="needs the package build")
pytest.importorskip("hatch_fancy_pypi_readme", reason="needs what builds the package")

ROOT = Path(__file__).resolve().parents[2]


def call(*words: str | Path, **more) -> str:
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel, built from a source distribution as for a release."""
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return a function that runs a program of a fresh environment: the wheel, and libraries from this one."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    call(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin/python"
    call(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", wheel)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (folder / "bin/snakemake").write_text(f"#!{python}\nfrom snakemake.cli import main\nmain()\n")
    (folder / "bin/snakemake").chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "NUMBA_ENABLE_CUDASIM")}
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"

    def run(program, *words, cwd):
        return call(folder / "bin" / program, *words, cwd=cwd, env=environment)

    run.site = site
    return run


def test_it_carries_the_workflow_and_the_data_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    carried = "gpukit/cli/carried/"
    wanted = {
        "Snakefile",
        "config/config.yaml",
        "docs/artifacts.md",
        "docs/command-line.md",
        "docs/numbers.md",
        "docs/python.md",
        "profiles/default/profile.yaml",
        "workflow/rules/gim.smk",
    }
    assert {carried + one for one in wanted} | {"gpukit/datasets/data/NetHEPT.txt.gz"} <= set(names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"gpukit", "snakemake_logger_plugin_gpukit"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc") or "/tests/" in name]
    assert wheel.stat().st_size < 15_000_000


def test_it_lists_the_data_sets_that_it_carries(wheel):
    """With their sources, and digests of the files as they are in the wheel."""
    with zipfile.ZipFile(wheel) as file:
        listed = json.loads(file.read(f"gpukit-{__version__}.dist-info/sboms/gpukit.cdx.json"))
        parts = {one["bom-ref"]: one for one in listed["components"] if one["type"] in ("data", "file")}
        assert listed["bomFormat"] == "CycloneDX" and set(listed["dependencies"][0]["dependsOn"]) == parts.keys()
        places = {one["properties"][0]["value"]: one["hashes"][0]["content"] for one in parts.values()}
        assert all(hashlib.sha256(file.read(place)).hexdigest() == digest for place, digest in places.items())
        carried = re.compile(r"gpukit/(datasets/data/.*\.(gz|xz)|kernels/.*\.zip)")
        assert {name for name in file.namelist() if carried.fullmatch(name)} == places.keys()
    assert {"type": "website", "url": "https://snap.stanford.edu/data/wiki-Vote.html"} in (
        parts["data/wiki-Vote.txt.gz"]["externalReferences"]
    )


def test_links_of_its_page_lead_into_the_repository(wheel):
    """README.md has relative links, which lead nowhere on the page of the package."""
    text = zipfile.ZipFile(wheel).read(f"gpukit-{__version__}.dist-info/METADATA").decode()
    own = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    found = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", text)
    assert len(found) == len(own) > 10
    for (image, target), (_, before) in zip(found, own, strict=True):
        assert target.startswith(("https://", "#")), target
        place = (
            "https://raw.githubusercontent.com/gpukit/gpukit/main/"
            if image
            else "https://github.com/gpukit/gpukit/blob/main/"
        )
        if not before.startswith(("https://", "#")):
            assert target == place + before and (ROOT / before.partition("#")[0]).exists()
    assert "Project-URL: Documentation, https://" in text and "Requires-Dist: snakemake" in text


def test_what_is_installed_is_the_wheel_and_has_its_data(installed, tmp_path):
    assert str(installed.site) in installed("python", "-c", "import gpukit; print(gpukit.__file__)", cwd=tmp_path)
    assert "wiki-Vote" in installed("gpukit", "data", "fetch", "wiki-Vote", "--out", "w.txt.gz", cwd=tmp_path)


def test_a_workflow_is_written_and_planned(installed, tmp_path):
    installed("gpukit", "workflow", "init", "mine", cwd=tmp_path)
    plan = installed("snakemake", "-n", "-p", "--cores", "1", cwd=tmp_path / "mine")
    assert re.search(r"^gim_run +7$", plan, re.MULTILINE) and "python -m gpukit graph import" in plan
    assert str(ROOT) not in plan
    installed("snakemake", "-n", "--cores", "1", "--configfile", "config/paper/kpar.yaml", cwd=tmp_path / "mine")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_questions_are_answered_about_a_graph_of_ones_own(installed, tmp_path):
    """With names, which stand in its tables; the second time nothing is left to do."""
    friends = [(f"n{i}", f"n{(i * j) % 40}") for i in range(40) for j in (2, 3, 7) if (i * j) % 40 != i]
    (tmp_path / "friends.csv").write_text("from,to\n" + "".join(f"{a},{b}\n" for a, b in friends))
    said = installed("gpukit", "ask", "friends.csv", "--undirected", "--explain", "--out", "here", cwd=tmp_path)
    assert "here/answers.html" in said and "step 8 of 8" in said and "±: Two standard errors" in said
    page = (tmp_path / "here/answers.html").read_text()
    assert "friends.csv" in page and "What the numbers mean" in page and page.count("<svg") == 2
    assert "0 circles" in said, "of which there is no picture"
    assert re.search(r'"n[0-9]+"', (tmp_path / "here/seeds.csv").read_text()), "names, not numbers"
    assert "step" not in installed("gpukit", "demo", "here", "--graph", "friends.csv", "--undirected", cwd=tmp_path)
