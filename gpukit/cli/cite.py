"""``gpukit cite``: how to cite gpukit and the papers of its systems, as BibTeX."""

from pathlib import Path
from typing import Annotated, Any, Literal

from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument
from gpukit.errors import InputError

PLACES = (Path(__file__).parents[1] / "CITATION.cff", Path(__file__).parents[2] / "CITATION.cff")
"""The file of citations in an installed package, and in a checkout."""

System = Literal["gpukit", "gim", "imgpu", "kpar", "merit", "diversity"]
ORDER = ("gim", "imgpu", "kpar", "merit", "diversity")
"""The systems, in the order of their papers in that file."""


@with_run()
def cite(
    run: Run,
    system: Annotated[System | None, argument("SYSTEM", "gpukit, or a system for its paper; all by default.")] = None,
) -> None:
    """Print BibTeX entries of gpukit, and of the paper of a system."""
    entries = citations()
    asked = entries if system is None else {system: entries[system]}
    if run.as_json:
        run.finish({"citations": asked})
        return
    print("\n".join(bibtex(name, entry) for name, entry in asked.items()), end="")


def citations() -> dict[str, dict[str, Any]]:
    """Return the entries of gpukit and of the papers in CITATION.cff, by system.

    Raises InputError if the file is missing.
    """
    import yaml

    place = next((path for path in PLACES if path.is_file()), None)
    if place is None:
        raise InputError("CITATION.cff is not in this installation; install gpukit again")
    whole = yaml.safe_load(place.read_text(encoding="utf-8"))
    papers = dict(zip(ORDER, whole.pop("references"), strict=True))
    return {"gpukit": whole} | papers


def bibtex(name: str, entry: dict[str, Any]) -> str:
    """Return an entry of CITATION.cff as BibTeX."""
    authors = [
        one["name"] if "name" in one else f"{one['family-names']}, {one['given-names']}" for one in entry["authors"]
    ]
    fields: dict[str, Any] = {
        "title": f"{{{entry['title']}}}",
        "author": " and ".join(f"{{{one}}}" if "," not in one else one for one in authors),
    }
    fields |= {key: entry[key] for key in ("journal", "volume", "year", "doi", "version") if key in entry}
    if "date-released" in entry:
        fields["year"] = entry["date-released"][:4]
    other = {"issue": "number", "repository-code": "url", "notes": "note"}
    fields |= {key: entry[name] for name, key in other.items() if name in entry}
    fields |= {"pages": f"{entry['start']}--{entry['end']}"} if "start" in entry else {}
    kind = {"article": "article", "unpublished": "unpublished"}.get(entry["type"], "misc")
    lines = "".join(f"  {key} = {{{value}}},\n" for key, value in fields.items())
    return f"@{kind}{{{name},\n{lines}}}\n"
