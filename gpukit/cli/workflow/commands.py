"""``gpukit workflow``: write the Snakemake workflow into a folder, without a checkout."""

import hashlib
import importlib.util
import json
import posixpath
import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from gpukit import __version__
from gpukit.cli.command import group, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument, option
from gpukit.errors import InputError, UsageError
from gpukit.files import read_text, reason, write_text
from gpukit.wording import counted, spelled

PARTS = (
    "config",
    "data",
    "envs",
    "profiles",
    "workflow/paper",
    "workflow/profiles",
    "workflow/report",
    "workflow/rules",
    "workflow/schemas/config.schema.json",
    "workflow/Snakefile",
    *(f"docs/{page}.md" for page in ("workflow", "configuration", "howto-rule", "howto-container", "howto-notebook")),
    *(f"docs/{page}.md" for page in ("command-line", "python", "artifacts", "numbers")),
    "Snakefile",
)
"""Files and folders of the workflow. The Snakefile is the last, so a folder that has it has all of them."""

# They are inside the package in a wheel, and at the root of a checkout.
_PACKAGE = Path(__file__).resolve().parents[2]
_CARRIED = {"data": _PACKAGE / "datasets/data"}
REPOSITORY = "https://github.com/gpukit/gpukit/blob/main/"
MADE = ".gpukit-workflow.json"
"""The file that records what was written into a folder: the version, and the SHA-256 of each file by path."""

README = """# The workflow of gpukit

`snakemake --cores all` here makes the demo. For a table of your own, such as friends.csv with the
columns `source` and `target`, write mine.yaml:

```yaml
graphs:
  - name: friends
    edges: friends.csv
```

Then `snakemake --cores all --configfile mine.yaml` writes results/report.html. Every option is in
[docs/configuration.md](docs/configuration.md), and [docs/workflow.md](docs/workflow.md) says more.
"""
"""The README of a folder with the workflow."""

app = group("The Snakemake workflow, in a folder of your own.")


@app.callback()
def _group() -> None:
    """Without this callback Typer would turn a group of one command into that command."""


@app.command("init")
@with_run()
def init(
    run: Run,
    folder: Annotated[Path, argument("DIR", "The folder: a new one, or an empty one.")],
    update: Annotated[
        bool,
        option(
            "--update", "Bring a folder of another version to this one; files that you changed stay as NAME.before."
        ),
    ] = False,
) -> None:
    """Write the workflow into a folder: rules, configurations, data, documentation; `snakemake` runs it there."""
    with run.phase("write"):
        if update:
            renewed, kept = update_workflow(folder)
        else:
            files = write_workflow(folder)
    if update:
        summary = {"workflow": f"version {__version__} in {folder}: {counted(renewed, 'file')} renewed"}
        summary |= {"yours": ", ".join(f"{one}.before" for one in kept)} if kept else {}
        run.finish({"folder": str(folder), "renewed": renewed, "kept": kept}, summary)
        return
    install = "" if importlib.util.find_spec("snakemake") else "pip install 'gpukit[workflow]', then "
    following = f"{install}snakemake --cores all   (in that folder)"
    summary = {"workflow": f"{files} files in {folder}", "next": following}
    summary |= {"to read": f"{folder / 'docs'}: workflow, configuration; command-line, python, artifacts, numbers"}
    run.finish({"folder": str(folder), "files": files}, summary)


def write_workflow(folder: Path) -> int:
    """Write the workflow into a folder that is new or empty; return how many files it has.

    Raises
    ------
    UsageError
        If the folder is not empty.
    InputError
        If it cannot be written, or the installation lacks a part.
    """
    try:
        if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
            raise UsageError(f"{folder} is there, and no empty folder; name a new one")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".gpukit-", dir=folder) as unfinished:
            files = _write(Path(unfinished))
            for part in dict.fromkeys([MADE, "README.md", *(part.partition("/")[0] for part in PARTS)]):
                (Path(unfinished) / part).rename(folder / part)
    except OSError as error:
        raise InputError(f"cannot write the workflow into {folder}: {reason(error)}") from None
    return files


def update_workflow(folder: Path) -> tuple[int, list[str]]:
    """Update a folder with the workflow of another version to this version.

    Returns
    -------
    int
        Number of files that were replaced, or removed because this version does not have them.
    list of str
        Files that somebody had changed; they are kept next to the new ones as ``NAME.before``.

    Raises
    ------
    UsageError
        If the folder holds no workflow of gpukit.
    InputError
        If it cannot be written, or the installation lacks a part.
    """
    if not (folder / "workflow/Snakefile").is_file() or not (folder / "Snakefile").is_file():
        raise UsageError(f"{folder} holds no workflow of gpukit; leave {spelled('update', True)} out to write one")
    try:
        before = json.loads(read_text(folder / MADE))["files"] if (folder / MADE).exists() else {}
        renewed, kept = 0, []
        with tempfile.TemporaryDirectory(prefix=".gpukit-", dir=folder) as unfinished:
            _write(Path(unfinished))
            made = json.loads(read_text(Path(unfinished) / MADE))["files"]
            for name in sorted({*before, *made}):
                old, found = folder / name, _digest(folder / name)
                if found is not None and found == made.get(name):
                    continue
                if found not in (None, before.get(name)):
                    old.replace(f"{old}.before")
                    kept.append(name)
                if name in made:
                    old.parent.mkdir(parents=True, exist_ok=True)
                    (Path(unfinished) / name).replace(old)
                elif found == before[name]:
                    old.unlink()
                renewed += name in made or found is not None
            (Path(unfinished) / MADE).replace(folder / MADE)
    except OSError as error:
        raise InputError(f"cannot write the workflow into {folder}: {reason(error)}") from None
    return renewed, kept


def _write(folder: Path) -> int:
    """Write the parts of the workflow and the record of them into a folder; return the number of files."""
    files = sum(_copy(source_of(part), folder / part) for part in PARTS)
    for environment in (folder / "envs").glob("*.yaml"):
        _add_package(environment)
    pages = {page.name for page in (folder / "docs").iterdir()}
    for page in (folder / "docs").iterdir():
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"\]\((?!https?:)([^)#:\s]+)", lambda link: _leave(link, pages), text), encoding="utf-8")
    write_text(folder / "README.md", README)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    made = {path.relative_to(folder).as_posix(): _digest(path) for path in paths}
    write_text(folder / MADE, json.dumps({"version": __version__, "files": made}, indent=1) + "\n")
    return files + 1


def _leave(link: re.Match[str], pages: set[str]) -> str:
    """Return a link of a page of docs/; the full address if the folder does not have its target."""
    target = posixpath.normpath(posixpath.join("docs", link[1]))
    return link[0] if link[1] in pages else f"]({REPOSITORY}{target}"


def _digest(path: Path) -> str | None:
    """Return the SHA-256 of a file, or None if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def source_of(part: str) -> Path:
    """Return the path of a part of the workflow in the installation.

    Raises
    ------
    InputError
        If it is missing.
    """
    for place in (_CARRIED.get(part, _PACKAGE / "cli/carried" / part), _PACKAGE.parent / part):
        if place.exists():
            return place
    raise InputError(f"{part} of the workflow is missing from the installation; install gpukit again")


def _copy(source: Path, target: Path) -> int:
    """Copy a file, or all files of a folder, with the permissions of new files; return their number."""
    if source.is_dir():
        return sum(_copy(one, target / one.name) for one in sorted(source.iterdir()) if one.name != "__pycache__")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return 1


def _add_package(environment: Path) -> None:
    """Make a conda environment install gpukit; in a checkout, jobs take gpukit from the checkout."""
    with environment.open("a", encoding="utf-8") as stream:
        stream.write(f"      - gpukit=={__version__}\n")
