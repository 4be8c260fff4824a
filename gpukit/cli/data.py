"""``gpukit data``: the graphs of the papers, what is known of them and how to get them."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gpukit.cli.common import JsonOption, Run, VerboseOption, print_json, set_logging

app = typer.Typer(help="List and fetch data sets.", no_args_is_help=True, add_completion=False)


@app.command("list")
def list_datasets(as_json: JsonOption = False, verbose: VerboseOption = 0) -> None:
    """List the graphs that the papers use: size, direction, where they are."""
    set_logging(verbose)
    from gpukit.datasets import load_catalogue

    catalogue = load_catalogue().values()
    if as_json:
        print_json({"datasets": [asdict(dataset) for dataset in catalogue]})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "vertices", "edge lines", "directed", "available", "used by", box=None)
    for column in table.columns:
        column.no_wrap = column.header != "used by"
        column.justify = "right" if column.header in ("vertices", "edge lines") else "left"
    for dataset in catalogue:
        sign = "≈ " if dataset.approximate else ""
        available = "shipped" if dataset.shipped else "download" if dataset.url else "stand-in only"
        table.add_row(
            dataset.name,
            f"{sign}{dataset.n:,}",
            f"{sign}{dataset.m:,}",
            "yes" if dataset.directed else "no",
            available,
            " ".join(dataset.used_by),
        )
    Console().print(table)


@app.command("fetch")
def fetch_dataset(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `gpukit data list`.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The edge list to write.")],
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Copy a shipped graph, or download one; a download that broke off goes on where it stopped."""
    run = Run({"name": name}, out=out, as_json=as_json, verbose=verbose)
    from gpukit.datasets import fetch
    from gpukit.datasets.catalogue import find_dataset

    dataset = find_dataset(name)
    with run.phase("fetch"), run.progress(dataset.name) as update:
        got = fetch(dataset, out, update)
    record = {"name": dataset.name, "n": dataset.n, "m": dataset.m, "licence": dataset.licence, **asdict(got)}
    options = " ".join(["gpukit graph import", str(out), *dataset.options, "--out G.h5"])
    checked = got.sha256 if got.verified else f"{got.sha256} (not known before; note it)"
    run.finish(
        record={**record, "import_options": dataset.options},
        summary={
            "data set": f"{dataset.name}: {dataset.title}",
            "source": got.source,
            "SHA-256": checked,
            "licence": dataset.licence,
            "next": options,
        },
    )
