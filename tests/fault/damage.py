"""Files damaged on purpose: cut off, flipped, wiped, and artifacts with false content and correct checksums."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
from mutants import seal


def truncate(path: Path, draw: Random) -> str:
    """Cut a file off."""
    keep = int(path.stat().st_size * draw.random())
    os.truncate(path, keep)
    return f"cut off after {keep} bytes"


def flip(path: Path, draw: Random) -> str:
    """Flip single bits: one, or up to a thousand."""
    content = bytearray(path.read_bytes())
    count = draw.choice((1, 1, 1, 8, 100, 1000))
    for _ in range(count if content else 0):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    return f"{count} bits flipped"


def wipe(path: Path, draw: Random) -> str:
    """Replace a stretch by zeros, ones, noise or another stretch, like a disk that loses blocks."""
    content = bytearray(path.read_bytes())
    length = min(len(content), draw.choice((1, 16, 512, 4096)))
    at, other = (draw.randrange(len(content) - length + 1) for _ in range(2))
    kind = draw.choice(("zeros", "ones", "noise", "moved"))
    content[at : at + length] = {
        "zeros": bytes(length),
        "ones": b"\xff" * length,
        "noise": draw.randbytes(length),
        "moved": content[other : other + length],
    }[kind]
    path.write_bytes(content)
    return f"{length} bytes from {at} on: {kind}"


def grow(path: Path, draw: Random) -> str:
    """Append noise or a copy of the file."""
    content = path.read_bytes()
    more = content if draw.random() < 0.5 else draw.randbytes(draw.choice((1, 100, 5000)))
    path.write_bytes(content + more)
    return f"{len(more)} bytes appended"


ANY = (truncate, flip, wipe, grow)


# --- artifacts whose checksums are right ------------------------------------------------------------------------------


def datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Return the datasets of a file by path."""
    found: dict[str, h5py.Dataset] = {}
    file.visititems(lambda name, item: found.__setitem__(name, item) if isinstance(item, h5py.Dataset) else None)
    return found


def rewrite(path: Path, change: Callable[[dict[str, np.ndarray], dict[str, Any]], str]) -> str:
    """Change arrays and attributes of an artifact, and correct every checksum.

    ``change`` gets both and changes them in place.
    """
    with h5py.File(path, "r+") as file:
        arrays = {name: np.array(item[()]) for name, item in datasets(file).items()}
        attributes = json.loads(file.attrs["gpukit_attributes"])
        before = list(arrays)
        said = change(arrays, attributes)
        for name in before:
            del file[name]
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
        file.attrs["gpukit_attributes"] = json.dumps(attributes, allow_nan=True)
    seal(path)
    return said


def _odd(array: np.ndarray, draw: Random) -> Any:
    """Return a value that the type of an array allows, but perhaps not its meaning."""
    if array.dtype.kind == "f":
        return draw.choice((0.0, -1.0, 0.5, 1e300, float("inf"), float("-inf"), float("nan"), -0.0))
    if array.dtype.kind not in "iu":
        return array.flat[0]
    least, most = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
    near = int(array.flat[draw.randrange(array.size)])
    any_value = draw.randint(least, most)
    value = draw.choice((0, 1, -1, near + 1, near - 1, array.size, array.size - 1, least, most, any_value))
    return min(max(value, least), most)


def change_value(arrays: dict[str, np.ndarray], attributes: dict[str, Any], draw: Random) -> str:
    """Set one or some entries of an array to odd values."""
    name = draw.choice([name for name, array in arrays.items() if array.size] or [""])
    if not name:
        return "nothing: no entries"
    array = arrays[name]
    for _ in range(draw.choice((1, 1, 2, 10))):
        place, value = draw.randrange(array.size), _odd(array, draw)
        array.flat[place] = value
    return f"{name}[{place}] = {value}"


def change_order(arrays: dict[str, np.ndarray], attributes: dict[str, Any], draw: Random) -> str:
    """Reorder, repeat or shift the entries of an array."""
    name = draw.choice([name for name, array in arrays.items() if array.size > 1] or [""])
    if not name:
        return "nothing: no entries"
    array, one = arrays[name], draw.randrange(arrays[name].size - 1)
    flat = array.reshape(-1)
    kind = draw.choice(("swap", "repeat", "reverse", "sort", "roll", "shuffle", "same", "step"))
    if kind == "swap":
        flat[[one, one + 1]] = flat[[one + 1, one]]
    elif kind == "repeat":
        flat[one + 1] = flat[one]
    elif kind == "same":
        flat[:] = flat[one]
    elif kind == "step":
        flat += np.ones(1, flat.dtype)[0]
    else:
        orders = {"reverse": flat[::-1], "sort": np.sort(flat), "roll": np.roll(flat, 1)}
        flat[:] = orders.get(kind, flat[draw.sample(range(flat.size), flat.size)]).copy()
    return f"{name}: {kind} at {one}"


def change_shape(arrays: dict[str, np.ndarray], attributes: dict[str, Any], draw: Random) -> str:
    """Lengthen, shorten, retype, drop, rename or add an array."""
    name = draw.choice(list(arrays))
    array = arrays[name]
    kind = draw.choice(("longer", "shorter", "empty", "other type", "other order", "drop", "rename", "add", "axes"))
    if kind == "longer":
        arrays[name] = np.concatenate([array, array[-1:]])
    elif kind in ("shorter", "empty"):
        arrays[name] = array[:-1] if kind == "shorter" else array[:0]
    elif kind == "other type":
        arrays[name] = array.astype(draw.choice(("i1", "i4", "i8", "u4", "u8", "f4", "f8", "c8")))
    elif kind == "other order":
        arrays[name] = array.astype(array.dtype.newbyteorder(">"))
    elif kind == "axes":
        arrays[name] = array.reshape(1, *array.shape)
    elif kind == "add":
        arrays[draw.choice(("more", "tables/more", "transpose/more", f"{name}-2"))] = array.copy()
    else:
        moved = arrays.pop(name)
        if kind == "rename":
            arrays[name + "x"] = moved
    return f"{name}: {kind}"


def change_attribute(arrays: dict[str, np.ndarray], attributes: dict[str, Any], draw: Random) -> str:
    """Give a content attribute another value or type, drop it or add one."""
    if not attributes:
        attributes["more"] = 1
        return "attribute more added"
    name = draw.choice(list(attributes))
    old = attributes[name]
    if isinstance(old, bool):
        values: list[Any] = [not old, 1, "true", None]
    elif isinstance(old, int):
        values = [0, -1, 1, old + 1, old - 1, 2 * old, 2**31, 2**62, 2**63, 10**30, float(old), str(old), None]
    elif isinstance(old, float):
        values = [0.0, 1.0, -1.0, 1e-300, 1e300, old / 2, 1 - old, str(old), None]
    elif isinstance(old, str):
        values = ["", old + "x", old + "\n", old.upper(), "ic", "lt", "f" * 64, "/etc/passwd", 0, None, [old]]
    else:
        values = [None, 0, [], {}, "x"]
    if draw.random() < 0.1:
        del attributes[name]
        return f"attribute {name} dropped"
    attributes[name] = draw.choice(values)
    return f"attribute {name}: {str(old)[:20]!r} → {attributes[name]!r}"


def lie(path: Path, draw: Random) -> str:
    """Change the content of an artifact, with correct checksums."""
    change = draw.choice((change_value, change_value, change_order, change_order, change_shape, change_attribute))
    return rewrite(path, lambda arrays, attributes: change(arrays, attributes, draw))


def disguise(path: Path, draw: Random) -> str:
    """Store a dataset of an artifact so that it refers to other files, or unpacks to more than the memory."""
    kind = draw.choice(("external file", "virtual", "link", "link out", "bomb", "many chunks"))
    with h5py.File(path, "r+") as file:
        items = {name: item for name, item in datasets(file).items() if item.size}
        if not items:
            return "nothing: no entries"
        name = draw.choice(list(items))
        content = items[name][()]
        shape, dtype = content.shape, content.dtype
        beside = path.with_suffix(".raw")
        if kind in ("virtual", "link out"):
            shutil.copyfile(path, path.with_suffix(".other"))
        del file[name]
        if kind == "external file":
            beside.write_bytes(content.tobytes())
            file.create_dataset(name, shape, dtype, external=[(beside.name, 0, content.nbytes)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape, dtype)
            layout[...] = h5py.VirtualSource(path.with_suffix(".other").name, name, shape=shape)
            file.create_virtual_dataset(name, layout)
        elif kind == "link":
            file[f"{name}-moved"] = content
            file[name] = h5py.SoftLink(f"/{name}-moved")
        elif kind == "link out":
            file[name] = h5py.ExternalLink(path.with_suffix(".other").name, name)
        elif kind == "bomb":
            file.create_dataset(name, (1 << 33, *shape[1:]), dtype, chunks=(1 << 20, *shape[1:]), compression="gzip")
        else:
            file.create_dataset(name, data=content, chunks=(1, *shape[1:]), fletcher32=True)
    return f"{name}: {kind}"
