"""``gpukit inspect``, ``verify`` and ``diff``: commands on any artifact, driven by the table of layouts."""

from pathlib import Path
from typing import Annotated, Any

from gpukit.cli.command import with_run
from gpukit.cli.common import Run, print_json
from gpukit.cli.options import argument
from gpukit.errors import ComparisonFailed, InputError
from gpukit.parameters.option import Option
from gpukit.wording import counted

Files = Annotated[list[Path], argument("FILE", "Artifacts.")]


@with_run()
def inspect(run: Run, files: Files) -> None:
    """Show the contents of artifacts: header, attributes, datasets with types and shapes.

    For compiled kernels, show whether they fit the sources.

    docs/artifacts.md, which `gpukit workflow init` writes, explains each of them.
    """
    from gpukit.artifacts.describe import describe, tree

    found = [_kernels(path) if path.suffix == ".zip" else describe(path) for path in files]
    if run.as_json:
        print_json({"files": found})
        return
    for one in found:
        if "architecture" in one:
            print(f"{one['file']}: kernels for {one['architecture']}, {one['fit']} of {one['wanted']} fit the sources")
        else:
            print("\n".join(tree(one)))


def _kernels(path: Path) -> dict[str, Any]:
    """Return the description of an archive of compiled kernels; raises InputError if the file is none."""
    from gpukit.device import build

    wanted = build.wanted()
    found = build.fit(path, wanted)
    if not found["kernels"]:
        raise InputError(f"{path} is no archive of compiled kernels, as gpukit/kernels/sm_90.zip is; name another file")
    return {"file": str(path), **found, "wanted": len(wanted)}


@with_run()
def verify(run: Run, files: Files) -> None:
    """Check artifacts in full: structure, every checksum, the meaning of the numbers. Exit code 3 if one is broken."""
    from gpukit.artifacts.verify import verify as check

    results, broken = [], []
    for path in files:
        try:
            header = check(path)
        except InputError as error:
            broken.append(str(error))
            results.append({"file": str(path), "ok": False, "error": str(error)})
        else:
            results.append({"file": str(path), "ok": True, "kind": header.kind, "payload": header.payload})
            if not run.as_json:
                print(f"{path}: ok ({header.kind}, payload {header.payload[:12]}…)")
    if run.as_json:
        print_json({"ok": not broken, "files": results})
    if len(broken) == 1:
        raise InputError(broken[0])
    if broken:
        raise InputError(f"{len(broken)} of {len(files)} files are broken: " + " | ".join(broken))


@with_run()
def diff(
    run: Run,
    first: Annotated[Path, argument("A", "An artifact.")],
    second: Annotated[Path, argument("B", "An artifact of the same kind.")],
    rtol: Annotated[float, Option("Relative tolerance of floating-point numbers.", metavar="R", ge=0, lt=1)] = 0.0,
) -> None:
    """Compare two artifacts by content; one line for each difference. Exit code 0 equal, 1 different."""
    from gpukit.artifacts.diff import diff as compare

    lines = compare(first, second, rtol)
    if run.as_json:
        print_json({"equal": not lines, "differences": lines})
    elif lines:
        print("\n".join(lines))
    if lines:
        raise ComparisonFailed(f"{first} and {second} differ in {counted(len(lines), 'place')}")
