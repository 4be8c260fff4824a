"""Counts of faults and of fuzzing over several runs, and their tables in docs/reliability.md."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parents[2] / "docs" / "reliability.json"
PAGE = RECORD.with_suffix(".md")
OUTCOMES = ("tried", "survived", "failed", "late", "skipped")


def _outcome(verdict: dict[str, Any]) -> str:
    if verdict["skipped"]:
        return "skipped"
    if verdict["wrong"]:
        return "failed"
    return "late" if verdict["late"] else "survived"


def sitting(seed: int, first: int, verdicts: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Return the counts of one run of the harness."""
    from gpukit import __version__

    by: dict[str, dict[str, Counter[str]]] = {"fault": {}, "command": {}}
    for verdict in verdicts:
        for what, table in by.items():
            table.setdefault(verdict[what], Counter())[_outcome(verdict)] += 1
    total: Counter[str] = Counter(map(_outcome, verdicts))
    return {
        "gpukit": __version__,
        "seed": seed,
        "first": first,
        "last": first + len(verdicts) - 1,
        "seconds": round(seconds),
        "tried": len(verdicts),
        "failed": total["failed"],
        **{what: {name: dict(counter) for name, counter in sorted(table.items())} for what, table in by.items()},
    }


def lines(sitting: dict[str, Any]) -> str:
    """Return the counts of a run as text for people."""
    rows = []
    for name, counter in sitting["fault"].items():
        rows.append(f"{name:20}" + "".join(f"  {counter[key]} {key}" for key in OUTCOMES if counter.get(key)))
    return "\n".join([*rows, f"{sitting['tried']} faults in {sitting['seconds']} s: {sitting['failed']} failed"])


def add(path: Path, what: str, one: dict[str, Any]) -> None:
    """Add a run to the list ``what`` of the record; it replaces an older run with the same numbers."""
    record = json.loads(path.read_text()) if path.exists() else {"faults": [], "fuzzing": []}
    key = ("seed", "first", "last") if what == "faults" else ("fuzzer", "seed")
    kept = [old for old in record[what] if [old[name] for name in key] != [one[name] for name in key]]
    record[what] = sorted([*kept, one], key=lambda old: [old[name] for name in key])
    path.write_text(json.dumps(record, indent=1) + "\n")


def table(record: dict[str, Any]) -> str:
    """Return the tables of the page in Markdown."""
    text = []
    for what in ("fault", "command"):
        total: dict[str, Counter[str]] = {}
        for one in record["faults"]:
            for name, counter in one[what].items():
                total.setdefault(name, Counter()).update(counter)
        text += [f"| {what} | tried | survived | failed | too late | skipped |", "| --- |" + 5 * " ---: |"]
        rows = [*sorted(total.items()), ("**all**", sum(total.values(), Counter()))]
        for name, counter in rows:
            cells = [sum(counter.values()), *(counter[key] for key in OUTCOMES[1:])]
            text.append(f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
        text.append("")
    text += ["| fuzzer | examples | failed | CPU minutes |", "| --- | ---: | ---: | ---: |"]
    names = sorted({one["fuzzer"] for one in record["fuzzing"]})
    for name in names:
        own = [one for one in record["fuzzing"] if one["fuzzer"] == name]
        sums = [sum(one[key] for one in own) for key in ("tried", "failed", "seconds")]
        text.append(f"| {name} | {sums[0]:,} | {sums[1]:,} | {sums[2] / 60:.1f} |")
    ranges = ", ".join(f"{one['seed']}/{one['first']}–{one['last']}" for one in record["faults"]) or "none yet"
    return "\n".join([*text, "", f"Faults made so far (seed/numbers): {ranges}.", ""])


def page(text: str, record: dict[str, Any]) -> str:
    """Return the page with the tables of a record."""
    before, begin, rest = text.partition("<!-- counts: make reliability -->\n")
    _, end, after = rest.partition("<!-- end of counts -->")
    return before + begin + table(record) + end + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), json.loads(RECORD.read_text())))
