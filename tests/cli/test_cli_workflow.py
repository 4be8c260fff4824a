"""The workflow outside a checkout, and the demo."""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import yaml

from gpukit import __version__
from gpukit.cli.workflow import commands as workflow
from gpukit.cli.workflow import demo
from gpukit.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_folder_gets_the_whole_workflow(record, tmp_path):
    found = record("workflow", "init", tmp_path / "a" / "new one")
    folder = tmp_path / "a" / "new one"
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
    tops = ("Snakefile", "config/", "data/", "envs/", "profiles/", "workflow/")
    left_out = ("workflow/schemas/describe.py", "config/datasets.yaml")  # `make schema`; the package has the catalogue
    wanted = {path for path in tracked if path.startswith(tops)} - {left_out[0]}
    wanted |= {part for part in workflow.PARTS if part.startswith("docs/")} | {workflow.MADE, "README.md"}
    assert listing(folder) == wanted and found["files"] == len(listing(folder)) - 1 > 40
    assert (folder / "Snakefile").read_bytes() == (ROOT / "Snakefile").read_bytes()
    first = (folder / "README.md").read_text()
    own = yaml.safe_load(first.partition("```yaml\n")[2].partition("```")[0])
    assert own == {"graphs": [{"name": "friends", "edges": "friends.csv"}]}
    assert all((folder / page).is_file() for page in re.findall(r"\]\((.*?)\)", first))
    for name in ("cpu", "cuda12", "cuda13"):
        *_, pip = yaml.safe_load((folder / f"envs/{name}.yaml").read_text())["dependencies"]
        assert pip["pip"][-1] == f"gpukit=={__version__}"
    tops = {part.partition("/")[0] for part in workflow.PARTS} | {workflow.MADE, "README.md"}
    assert sorted(os.listdir(folder)) == sorted(tops), "nothing is left"


def test_links_of_the_pages_in_a_folder_have_ends(run, tmp_path):
    """In the folder, or in the repository by their whole address."""
    run("workflow", "init", tmp_path)
    links = [
        (page, link)
        for page in (tmp_path / "docs").iterdir()
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
        if link.startswith(workflow.REPOSITORY) or "://" not in link
    ]
    assert len(links) > 5
    for page, link in links:
        target = link.partition("#")[0]
        place = (
            ROOT / target.removeprefix(workflow.REPOSITORY) if "://" in target else page.parent / (target or page.name)
        )
        assert place.is_file(), (page.name, link)


def test_an_update_renews_what_nobody_changed(record, run, tmp_path):
    """The state that an older version left: another rule, a file that no longer exists, and a missing new file."""
    folder = tmp_path / "flow"
    run("workflow", "init", folder)
    now = {name: (folder / name).read_bytes() for name in listing(folder)}
    (folder / "mine.yaml").write_text("seed: 2\n")
    assert record("workflow", "init", folder, "--update")["renewed"] == 0
    for name in ("workflow/rules/gim.smk", "workflow/rules/gone.smk", "config/config.yaml"):
        (folder / name).write_text("# older\n")
    made = json.loads((folder / workflow.MADE).read_text())
    older = hashlib.sha256(b"# older\n").hexdigest()
    for name in ("workflow/rules/gim.smk", "workflow/rules/gone.smk"):
        made["files"][name] = older
    (folder / workflow.MADE).write_text(json.dumps(made))
    (folder / "docs/howto-rule.md").unlink()
    found = record("workflow", "init", folder, "--update")
    assert (found["renewed"], found["kept"]) == (4, ["config/config.yaml"])
    assert {name: (folder / name).read_bytes() for name in now} == now
    assert listing(folder) - now.keys() == {"mine.yaml", "config/config.yaml.before"}
    assert (folder / "config/config.yaml.before").read_text() == "# older\n"


def test_an_update_of_a_folder_without_a_list_keeps_what_differs(record, run, tmp_path):
    run("workflow", "init", tmp_path)
    (tmp_path / workflow.MADE).unlink()
    (tmp_path / "Snakefile").write_text("# older\n")
    found = record("workflow", "init", tmp_path, "--update")
    assert (found["renewed"], found["kept"]) == (1, ["Snakefile"]) and (tmp_path / "Snakefile.before").exists()
    code, _, err = run("workflow", "init", tmp_path / "docs", "--update")
    assert code == 2 and "holds no workflow of gpukit; leave --update out to write one" in err


def test_without_snakemake_the_next_step_is_to_install_it(run, tmp_path, monkeypatch):
    assert "pip install" not in run("workflow", "init", tmp_path / "with")[1]
    monkeypatch.setattr(workflow.importlib.util, "find_spec", lambda name: None if name == "snakemake" else 1)
    assert "pip install 'gpukit[workflow]', then snakemake --cores all" in run("workflow", "init", tmp_path / "new")[1]


def test_an_empty_folder_is_taken_and_a_full_one_is_not(run, tmp_path):
    assert run("workflow", "init", tmp_path)[0] == 0
    before = listing(tmp_path)
    code, _, err = run("workflow", "init", tmp_path)
    assert code == 2 and "no empty folder; name a new one" in err and err.count("\n") == 1
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "file").write_text("")
    for name in ("link", "file"):
        assert run("workflow", "init", tmp_path / name)[0] == 2
    assert listing(tmp_path) == before | {"file"}


def test_what_cannot_be_written_leaves_nothing(run, tmp_path, monkeypatch):
    def full(source, target):
        if "rules" in str(target):
            raise OSError(28, "No space left on device")
        Path(target).write_text("")

    monkeypatch.setattr(workflow.shutil, "copyfile", full)
    code, _, err = run("workflow", "init", tmp_path / "new")
    assert code == 3 and "no space left" in err.lower() and err.count("\n") == 1
    assert os.listdir(tmp_path / "new") == []


def test_a_wheel_carries_what_is_written():
    """Each part at the place where `source_of` looks for it."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    places = {part: workflow._CARRIED.get(part, ROOT / "gpukit/cli/carried" / part) for part in workflow.PARTS}
    carried = {part: ROOT / place for part, place in build["force-include"].items() if part in places}
    assert carried == places


def test_the_demo_says_what_is_missing(run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None if name == "snakemake" else 1)
    code, _, err = run("demo", tmp_path / "new")
    assert (code, err) == (2, "gpukit: error: the demo needs the package snakemake; install gpukit[workflow]\n")
    assert not (tmp_path / "new").exists()


def test_the_demo_runs_no_other_workflow(run, tmp_path):
    (tmp_path / "Snakefile").write_text("rule all:\n    shell: 'touch ran'\n")
    code, _, err = run("demo", tmp_path)
    assert code == 2 and "holds another workflow" in err and listing(tmp_path) == {"Snakefile"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--undirected",), 2, "--undirected is said of an edge list; name it by --graph"),
        (("--scale", "max"), 2, "--scale is said of an edge list; name it by --graph"),
        (("--graph", "nothing.csv"), 3, "nothing.csv is no file; name a table of edges"),
        (("--graph", "odd.txt"), 3, "odd.txt"),
    ],
)
def test_the_demo_refuses_before_it_writes(run, tmp_path, monkeypatch, words, code, said):
    monkeypatch.chdir(tmp_path)
    Path("odd.txt").write_text("1 2\n3\n")
    found, _, err = run("demo", "new", *words)
    lines = [
        line
        for line in err.splitlines()
        if not line.startswith(("gpukit: step", "gpukit: device", "gpukit: compiling"))
    ]
    assert found == code and said in err and len(lines) == 1 and not Path("new").exists()


def test_the_demo_on_a_graph_of_ones_own_asks_the_four_questions(record, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e.csv").write_text("from,to,mails\nann,bob,3\nbob,cy,1\ncy,ann,1\n")
    found = record("demo", "new", "--graph", "e.csv", "--undirected", "--scale", "max")
    assert found["report"] == "new/answers.html" and Path("new/answers.html").is_file() and found["jobs"] == 8
    assert found["commands"][0].split()[3:] == (
        "e.csv --undirected --scale max --weights file --out new/files/graph.h5".split()
    )
    asked = record("ask", "e.csv", "--undirected", "--scale", "max", "--out", "new")
    assert asked["made"] == [] and asked["seeds"] == found["seeds"]


STEPS = """
rule all:
    input: "b.txt"
rule first:
    output: "a.txt"
    message: "Making the first"
    shell: "echo 1 > {output}"
rule second:
    input: "a.txt"
    output: "b.txt"
    shell: "%s"
"""


def test_every_step_is_a_line_and_the_rest_is_in_the_log(tmp_path, capfd):
    """As Snakemake itself says it, in the version that is installed."""
    (tmp_path / "Snakefile").write_text(STEPS % "cp {input} {output}")
    assert demo.run_snakemake(tmp_path, ["--cores", "1"]) == 3
    said = [re.sub(r"[\d.]+ s\b", "T s", line) for line in capfd.readouterr().err.splitlines()]
    steps = ["1 of 3  first: 1 job, T s", "2 of 3  second: 1 job, T s"]
    assert said[:-1] == ["3 jobs in 3 steps", *steps, "Done: 3 jobs in T s"]
    assert said[-1].startswith("The log: ") and "Finished jobid" in (tmp_path / "demo.log").read_text()


def test_a_dry_run_says_each_step_and_why_in_a_line(tmp_path):
    """And with -p all that Snakemake says of it."""
    (tmp_path / "Snakefile").write_text(STEPS % "cp {input} {output}")

    def plan(*words):
        command = [sys.executable, "-m", "snakemake", "--logger", "gpukit", "--cores", "1", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    end = "Nothing was run: -n only plans. With -p it says every job and its command"
    made = ["first: 1 job, since a.txt is missing", "second: 1 job, since b.txt is missing"]
    first, *said = plan("-n")
    assert first == "3 jobs in 3 steps" and sorted(said) == sorted([*made, end]) and said[-1] == end
    assert any("cp a.txt b.txt" in line for line in plan("-n", "-p"))
    plan()
    (tmp_path / "b.txt").unlink()
    assert plan("-n") == ["2 jobs in 2 steps", made[1], end]
    assert plan("-n", "-R", "first")[1:] == ["first: 1 job, since it is asked for", made[1], end]
    plan()
    assert [line for line in plan("-n") if "Nothing" in line] == [
        "Nothing to be done (all requested files are present and up to date)."
    ]


def test_a_dry_run_gives_no_advice_about_reasons(tmp_path):
    """Of a changed command, for which Snakemake advises to look at times alone, and to wipe what it knows."""
    for command in ("cp {input} {output}", "cat {input} > {output}"):
        (tmp_path / "Snakefile").write_text(STEPS % command)
        words = [sys.executable, "-m", "snakemake", "--logger", "gpukit", "--cores", "1"]
        said = subprocess.run([*words, "-n"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=120, check=True)
    assert "second: 1 job, since its command changed" in said.stdout
    assert "provenance" not in said.stdout + said.stderr and "--rerun-triggers" not in said.stdout + said.stderr


def test_a_locked_folder_says_in_a_line_how_to_unlock_it(tmp_path):
    (tmp_path / "Snakefile").write_text(STEPS % "cp {input} {output}")
    (tmp_path / "my own.yaml").write_text("{}")
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.output.lock").write_text("a.txt\nb.txt\n")
    command = [sys.executable, "-m", "snakemake", "--logger", "gpukit", "--cores", "1", "--configfile", "my own.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if "unlock" in line]
    assert done.returncode == 1 and line.endswith("if it was killed: snakemake --unlock --configfile 'my own.yaml'")
    assert "LockException" not in done.stdout + done.stderr


def test_a_run_that_fails_says_which_job_and_why(tmp_path, capfd):
    (tmp_path / "Snakefile").write_text(STEPS % "echo 'no such luck' > {log}; exit 3")
    text = (tmp_path / "Snakefile").read_text().replace('output: "b.txt"', 'output: "b.txt"\n    log: "b.log"')
    (tmp_path / "Snakefile").write_text(text)
    with pytest.raises(InputError):
        demo.run_snakemake(tmp_path, ["--cores", "1"])
    said = capfd.readouterr().err.splitlines()
    at = said.index("Failed: second")
    assert said[at : at + 3] == ["Failed: second", "no such luck", "Its log: b.log"] and len(said) <= 8


def test_on_a_terminal_a_bar_moves_and_goes(tmp_path):
    (tmp_path / "Snakefile").write_text(STEPS % "cp {input} {output}")
    above, below = os.openpty()
    command = [sys.executable, "-m", "snakemake", "--logger", "gpukit", "--cores", "1"]
    done = subprocess.run(command, cwd=tmp_path, stdout=below, stderr=below, timeout=120)
    os.close(below)
    text = b""
    with contextlib.suppress(OSError):
        while part := os.read(above, 4096):
            text += part
    os.close(above)
    assert done.returncode == 0 and b"[################........] 2 of 3" in text
    assert b"#" not in text[text.index(b"Done: 3 jobs") :]


def test_a_step_that_fails_says_why(tmp_path):
    (tmp_path / "Snakefile").write_text(STEPS % "echo 'gpukit: error: no such luck' > {log} && exit 3")
    text = (tmp_path / "Snakefile").read_text().replace('output: "b.txt"', 'output: "b.txt"\n    log: "b.log"')
    (tmp_path / "Snakefile").write_text(text)
    with pytest.raises(InputError, match="the workflow failed: no such luck; .*demo.log says more"):
        demo.run_snakemake(tmp_path, ["--cores", "1", "--show-failed-logs"])
    (tmp_path / "Snakefile").write_text("rule all:\n    input: 'nowhere'\n")
    with pytest.raises(InputError, match="the workflow failed: .*nowhere|Missing") as caught:
        demo.run_snakemake(tmp_path, ["--cores", "1"])
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_an_interrupt_ends_the_jobs_too(tmp_path):
    (tmp_path / "Snakefile").write_text(STEPS % "touch began; sleep 60; touch {output}")
    code = (
        "from gpukit.cli.workflow import demo; from pathlib import Path; "
        f"demo.run_snakemake(Path({str(tmp_path)!r}), ['-c1'])"
    )
    quiet = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=quiet, start_new_session=True) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "began").exists() and time.monotonic() < until:
            time.sleep(0.1)
        os.kill(process.pid, 2)
        process.wait(30)
    assert not (tmp_path / "b.txt").exists()
    jobs = []
    for folder in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):  # of a process that ended, or that is not ours
            jobs += [folder] if os.path.samefile(folder, tmp_path) else []
    assert jobs == []
