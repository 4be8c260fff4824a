"""``gpukit data``: list the graphs of the papers, and fetch them."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from gpukit.cli.command import group, with_run
from gpukit.cli.common import Run, print_json
from gpukit.cli.options import argument, option
from gpukit.errors import UsageError

app = group("List and fetch data sets.")


@app.command("list")
@with_run()
def list_datasets(run: Run) -> None:
    """List the graphs that the papers use: size, direction, location."""
    from gpukit.datasets import load_catalogue

    catalogue = load_catalogue().values()
    if run.as_json:
        print_json({"datasets": [asdict(dataset) for dataset in catalogue]})
        return
    rows = [("name", "vertices", "edge lines", "directed", "available", "used by")]
    for dataset in catalogue:
        sign = "≈ " if dataset.approximate else ""
        available = "shipped" if dataset.shipped else "download" if dataset.url else "stand-in only"
        sizes = (f"{sign}{dataset.n:,}", f"{sign}{dataset.m:,}")
        rows.append((dataset.name, *sizes, "yes" if dataset.directed else "no", available, " ".join(dataset.used_by)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    signs = "<>><<<"
    for row in rows:  # one line per data set, even on a narrow terminal: nothing is cut off, and grep works
        print("  ".join(f"{text:{sign}{width}}" for text, sign, width in zip(row, signs, widths, strict=True)).rstrip())


@app.command("fetch")
@with_run(writes="data")
def fetch_dataset(
    run: Run,
    name: Annotated[str, argument("NAME", "A name from `gpukit data list`.")],
    out: Annotated[Path, option("--out FILE.gz", "The edge list to write, packed by gzip.")],
) -> None:
    """Copy a shipped graph, or download one; an interrupted download is continued."""
    run.params = {"name": name}
    if out.suffix != ".gz":
        raise UsageError(
            f"--out {out}: the edge list is packed by gzip, and its name has to say so; name {out.name}.gz"
        )
    from gpukit.datasets import fetch, find_dataset

    dataset = find_dataset(name)
    with run.phase("fetch"), run.progress(dataset.name) as update:
        got = fetch(dataset, out, update)
    record = {"name": dataset.name, "n": dataset.n, "m": dataset.m, "licence": dataset.licence, **asdict(got)}
    options = ["--dataset", dataset.name]
    new = got.source == dataset.url and not got.verified
    checked = f"{got.sha256} (not known before; recorded for later)" if new else got.sha256
    run.finish(
        {**record, "import_options": options},
        {
            "data set": f"{dataset.name}: {dataset.title}",
            "source": got.source,
            "SHA-256": checked,
            "licence": dataset.licence,
            "next": shlex.join(["gpukit", "graph", "import", str(out), *options, "--out", "G.h5"]),
        },
    )
