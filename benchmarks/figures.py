"""Write the measured figures of README and docs from the records in results/: `make figures`.

    python benchmarks/figures.py            writes the pages
    python benchmarks/figures.py --check    exit code 1, and the names of the pages, where they are not what it writes
    python benchmarks/figures.py --older    names the figures by kernels that changed since their record

A page has lines `<!-- figures NAME -->` and `<!-- /figures -->`; what stands between them is made by the function of
that name in tables.py. Below each such block stand machines, versions, days and names of its records. A figure by
kernels that changed since its record, or of a record that names no kernels, is marked with †, or the whole block is.
"""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # as a program, before gpukit is imported

from records import DATES, record  # noqa: E402

from gpukit.papers.bench.machine import kernels_of  # noqa: E402

OLDER = "†"
_MARK = "\0"
NAMES = re.compile(r"<!-- figures (\S+) -->")
_BLOCK = re.compile(r"<!-- figures (\S+) -->\n.*?<!-- /figures -->", re.DOTALL)


class Used(NamedTuple):
    """A record, or one line of a record of held.py, of which a block shows a figure."""

    record: str
    line: str = ""


class Block:
    """What stands between two lines of a page, while it is made.

    Attributes
    ----------
    used : dict
        Whether the kernels of each figure changed since; None where it is no figure of a GPU.
    """

    def __init__(self) -> None:
        self.used: dict[Used, bool | None] = {}
        self.parts: list[str] = []

    def of(self, name: str, form: str, *values: Any, line: str = "") -> str:
        """Return figures of a record as text; ``line`` names one of a record of held.py."""
        used = Used(name, line)
        self.used[used] = older(used)
        return form.format(*values) + (_MARK if self.used[used] else "")

    def say(self, text: str) -> None:
        """Add a paragraph."""
        self.parts.append(text)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table; the columns behind the first are figures, and aligned as such."""
        rule = ["---"] + ["---:"] * (len(head) - 1)
        self.parts.append("\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows)))

    def text(self) -> str:
        """Return the block as it stands in the page."""
        parts = [*self.parts, f"<sub>{self._sources()}</sub>"] if self.used else self.parts
        found = "\n" + "\n\n".join(parts) + "\n\n"
        states = {state for state in self.used.values() if state is not None}
        return found.replace(_MARK, OLDER if states == {True, False} else "")

    def _sources(self) -> str:
        """Return where the figures come from, in a line."""
        states = {state for state in self.used.values() if state is not None}
        names = list(dict.fromkeys(used.record for used in self.used))
        by_machine: dict[str, list[str]] = {}
        for name in names:
            by_machine.setdefault(f"{made(name)}, {day_of(name)}", []).append(f"`{name}.json`")
        said = "; ".join(f"{machine}: {', '.join(files)}" for machine, files in by_machine.items())
        if states == {True}:
            return (
                f"{said}. {OLDER} All of ours by earlier kernels than today's, or by ones that the records do not name."
            )
        return said + (
            f". {OLDER} By earlier kernels than today's, or by ones that the record does not name."
            if True in states
            else "."
        )


def older(used: Used) -> bool | None:
    """Say whether figures are of kernels that changed since, or that nobody noted; None where no GPU was used."""
    found = record(used.record)
    if not on_gpu(used.record):
        return None
    digests = found.get("kernels")
    if not isinstance(digests, dict):
        return True
    rooms = digests
    if used.line:
        (rooms,) = (line["rooms"] for line in found["lines"] if line["name"] == used.line)
    return any(digests[room] != _now(room) for room in rooms)


@cache
def _now(room: str) -> str:
    return kernels_of(room)


def on_gpu(name: str) -> bool:
    """Say whether a record is of a GPU; those of older programs say it in their names alone."""
    device = record(name).get("device")
    kind = device.get("kind") if isinstance(device, dict) else device if device in ("cpu", "cuda") else None
    return kind == "cuda" if kind else bool(re.search(r"-h[12]00", name))


def made(name: str) -> str:
    """Return the machine and the version of a record."""
    found = record(name)
    device, versions = found.get("device"), found.get("versions", {})
    if found.get("benchmark") == "held":
        about = list(versions.values())[-1]
        kind, versions = device, about["versions"]
        device = next(one for one in about["devices"] if one["kind"] == kind)
    where = device.get("name") if isinstance(device, dict) else found.get("gpu")
    where = where or next((f"NVIDIA {part.upper()}" for part in name.split("-") if re.fullmatch("h[12]00", part)), "")
    version = versions.get("gpukit") if isinstance(versions, dict) else None
    return ", ".join([one for one in (where, f"gpukit {version}" if version else "") if one]) or "no machine noted"


def day_of(name: str) -> str:
    """Return the day of a record."""
    day = date.fromisoformat(record(name).get("date") or DATES[name])
    return f"{day.day} {day:%B %Y}"


def blocks() -> dict[str, Callable[[Block], None]]:
    """Return what makes each block, by name."""
    from tables import BLOCKS

    return BLOCKS


def filled(text: str) -> str:
    """Return a page with its blocks made anew."""

    def make(found: re.Match[str]) -> str:
        block = Block()
        blocks()[found[1]](block)
        return f"<!-- figures {found[1]} -->\n{block.text()}<!-- /figures -->"

    return _BLOCK.sub(make, text)


def pages() -> list[Path]:
    """Return the pages with blocks."""
    return [
        page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) if "<!-- figures " in page.read_text()
    ]


def names_of_older() -> list[str]:
    """Return the figures by kernels that changed since their record."""
    found = set()
    for make in blocks().values():
        block = Block()
        make(block)
        found |= {f"{used.record}: {used.line}".rstrip(": ") for used, state in block.used.items() if state}
    return sorted(found)


def main() -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--older", action="store_true")
    asked = parser.parse_args()
    if asked.older:
        print("\n".join(names_of_older()))
        return 0
    other = [page for page in pages() if filled(page.read_text("utf-8")) != page.read_text("utf-8")]
    for page in other:
        if asked.check:
            print(f"{page.relative_to(ROOT)} is not what the records give; run `make figures`")
        else:
            page.write_text(filled(page.read_text("utf-8")), "utf-8")
    return int(asked.check and bool(other))


if __name__ == "__main__":
    import figures  # tables.py makes its blocks

    sys.exit(figures.main())
