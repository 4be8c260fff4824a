"""The contents of an artifact, as data and as text."""

from typing import Any

from gpukit.artifacts import store
from gpukit.artifacts.artifact import canonical_json
from gpukit.artifacts.layout import KINDS
from gpukit.artifacts.store import PathLike


def describe(path: PathLike) -> dict[str, Any]:
    """Return the header and the datasets of an artifact as JSON values; raises InputError like ``store.read``."""
    with store.opened(path) as (_, header, present):
        kind = KINDS[header.kind]
        entries = []
        for name, item in present.items():
            row = kind.array(name)
            entries.append(
                {
                    "path": name,
                    "dtype": item.dtype.name,
                    "shape": list(item.shape or ()),
                    "stored_bytes": item.id.get_storage_size(),
                    "compressed": item.chunks is not None,
                    "meaning": row.meaning if row else "unknown",
                }
            )
    return {"file": str(path), **vars(header), "datasets": entries}


def tree(description: dict[str, Any]) -> list[str]:
    """Return the lines of text for a description."""
    d = description
    lines = [f"{d['file']}: {d['kind']}, layout {d['version']}, by {d['producer']}"]
    plain = {name: d[name] for name in ("payload", "seed", "params", "inputs")}
    lines += [f"├─ {name}: {_text(value)}" for name, value in plain.items() if value not in (None, {})]
    lines += [f"├─ @{name}: {_text(value)}" for name, value in d["attributes"].items()]
    entries = d["datasets"]
    width = max((len(entry["path"]) for entry in entries), default=0)
    for position, entry in enumerate(entries):
        shape = " × ".join(f"{size:,}" for size in entry["shape"])
        packed = f", {entry['stored_bytes']:,} bytes compressed" if entry["compressed"] else ""
        branch = "└─" if position == len(entries) - 1 else "├─"
        lines.append(f"{branch} {entry['path']:<{width}}  {entry['dtype']} [{shape}]{packed}  {entry['meaning']}")
    return lines


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)
