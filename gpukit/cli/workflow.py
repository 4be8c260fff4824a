"""``gpukit workflow``: the Snakemake workflow in a folder of its own, without a checkout."""

import importlib.util
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from gpukit import __version__
from gpukit.cli.command import group, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument
from gpukit.errors import InputError, UsageError
from gpukit.files import reason

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
    "Snakefile",
)
"""Files and folders of the workflow; the Snakefile last, so that a folder that has it has all."""

# A wheel carries them inside the package; a checkout has them at its root.
_PACKAGE = Path(__file__).resolve().parents[1]
_CARRIED = {"data": _PACKAGE / "datasets/data"}

app = group("The Snakemake workflow, in a folder of your own.")


@app.callback()
def _group() -> None:
    """Without it a group of one command would be that command."""


@app.command("init")
@with_run()
def init(run: Run, folder: Annotated[Path, argument("DIR", "The folder: a new one, or an empty one.")]) -> None:
    """Write the workflow into a folder: rules, configurations, data, environments; `snakemake` runs it there."""
    with run.phase("write"):
        files = write_workflow(folder)
    install = "" if importlib.util.find_spec("snakemake") else "pip install 'gpukit[workflow]', then "
    following = f"{install}snakemake --cores all   (in that folder)"
    summary = {"workflow": f"{files} files in {folder}", "next": following}
    run.finish({"folder": str(folder), "files": files}, summary)


def write_workflow(folder: Path) -> int:
    """Write the workflow into a folder that is new or empty; return how many files it has.

    Raises
    ------
    UsageError
        If there is something in it.
    InputError
        If it cannot be written, or the installation lacks a part.
    """
    try:
        if folder.is_symlink() or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
            raise UsageError(f"{folder} is there, and no empty folder; name a new one")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".gpukit-", dir=folder) as unfinished:
            files = sum(_copy(source_of(part), Path(unfinished) / part) for part in PARTS)
            for environment in (Path(unfinished) / "envs").glob("*.yaml"):
                _add_package(environment)
            for part in dict.fromkeys(part.partition("/")[0] for part in PARTS):
                (Path(unfinished) / part).rename(folder / part)
    except OSError as error:
        raise InputError(f"cannot write the workflow into {folder}: {reason(error)}") from None
    return files


def source_of(part: str) -> Path:
    """Return where the installation has a part of the workflow.

    Raises
    ------
    InputError
        If it is nowhere.
    """
    for place in (_CARRIED.get(part, _PACKAGE / "cli/carried" / part), _PACKAGE.parent / part):
        if place.exists():
            return place
    raise InputError(f"{part} of the workflow is missing from the installation; install gpukit again")


def _copy(source: Path, target: Path) -> int:
    """Copy a file, or all in a folder, with the permissions of new files; return how many there were."""
    if source.is_dir():
        return sum(_copy(one, target / one.name) for one in sorted(source.iterdir()) if one.name != "__pycache__")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return 1


def _add_package(environment: Path) -> None:
    """Let a conda environment install gpukit, which jobs of a checkout have from there."""
    with environment.open("a", encoding="utf-8") as stream:
        stream.write(f"      - gpukit=={__version__}\n")
