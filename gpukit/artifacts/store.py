"""The store: writes, opens and checks any artifact. The layout of each kind is in ``layout.py``.

A file holds no time, host, path or device: equal content gives equal bytes.
"""

import hashlib
import importlib.util
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import h5py
import numpy as np

from gpukit import __version__, pending, portable
from gpukit.artifacts.artifact import Artifact, Header, canonical_json
from gpukit.artifacts.bounds import BOUNDS
from gpukit.artifacts.checks import BESIDE, CHECKS, check_descriptors
from gpukit.artifacts.labels import check_labels
from gpukit.artifacts.layout import KINDS, Kind
from gpukit.artifacts.structure import Shapes, check_arrays, check_attributes, check_values, need
from gpukit.device.memory import check_host
from gpukit.errors import GpukitError, InputError
from gpukit.files import PathLike, missing, reason, replacing
from gpukit.wording import spelled

AT_ONCE = 64 << 20
"""Up to this many bytes of arrays, checksums are tested before the work (about 45 ms); above it, concurrently with
it."""

MEANING = 4 << 20
"""Up to this many bytes of arrays, every reading also checks the meaning of the numbers (milliseconds)."""

TREE_FROM, PIECE = 64 << 20, 4 << 20
"""Least bytes of an array with a tree sum (the digest of the digests of its pieces), and bytes of a piece."""

_PACKED = 1032
"""Most bytes that one compressed byte can expand to: the limit of deflate. LZ4, which gpukit writes, stays below
255."""

_OBJECTS, _TEXTS = ("params", "inputs", "attributes", "checksums"), ("inputs", "checksums", "trees")
"""Root attributes that are JSON objects, and those whose values are texts."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"

# HDF5 1.8 objects carry checksums of their metadata; the upper bound keeps the bytes equal across HDF5 releases.
_LIBVER = ("v108", "v110")
_CHUNK = 1 << 18
_OVERHEAD = 1 << 13
"""Upper bound on the bytes that HDF5 adds for a file and for each dataset, besides data and texts."""


def digests(arrays: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Return the SHA-256 of the little-endian bytes of each array (C order), in hexadecimal."""
    return {name: hashlib.sha256(array.reshape(-1).data).hexdigest() for name, array in arrays.items()}


def _tree_sum(array: np.ndarray) -> str:
    """Return the SHA-256 of the concatenated SHA-256s of an array's pieces, which programs can compute in parallel."""
    data = array.reshape(-1).view(np.uint8).data
    pieces = (data[start : start + PIECE] for start in range(0, len(data), PIECE))
    return hashlib.sha256(b"".join(hashlib.sha256(piece).digest() for piece in pieces)).hexdigest()


def _payload(kind: Kind, version: int, attributes: Mapping[str, Any], shapes: Shapes, sums: Mapping[str, str]) -> str:
    """Return the digest of an artifact's content: kind, layout, and the attributes and arrays that are not derived."""
    derived = [row.name for row in kind.attributes if row.derived]
    said = {name: value for name, value in attributes.items() if name not in derived}
    content = {}
    for path, (dtype, shape) in shapes.items():
        row = kind.array(path)
        if row is not None and not row.derived:
            content[path] = [dtype.str, list(shape), sums[path]]
    text = canonical_json({"kind": kind.name, "version": version, "attributes": said, "arrays": content})
    return hashlib.sha256(text.encode()).hexdigest()


def _header_sum(root: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the root attributes that begin with ``gpukit_``, except this sum itself."""
    kept = {k: v for k, v in root.items() if k.startswith("gpukit_") and k != "gpukit_header_sha256"}
    return hashlib.sha256(canonical_json(kept).encode(errors="surrogateescape")).hexdigest()


# --- writing ---------------------------------------------------------------------------------------------------------


def make(
    kind_name: str,
    arrays: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    *,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Artifact:
    """Return an artifact in memory; :func:`put` writes it and :func:`read` reads it.

    Parameters
    ----------
    kind_name : str
        A key of :data:`gpukit.artifacts.layout.KINDS`.
    arrays : mapping of str to array
        The datasets by path; names, types and shapes are checked against the table.
    attributes : mapping
        Content attributes (JSON values).
    params, seed, inputs
        See :class:`Header`.

    Raises
    ------
    InputError
        If the content does not fit the layout.
    """
    kind = KINDS[kind_name]
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    said: dict[str, Any] = json.loads(canonical_json(dict(attributes)))
    check_attributes(kind, said)
    check_arrays(kind, shapes, said)
    version, sums = kind.version_of(arrays), digests(arrays)
    return Artifact(
        kind=kind.name,
        version=version,
        producer=f"gpukit {__version__}",
        params=json.loads(canonical_json(dict(params or {}))),
        seed=seed,
        inputs=dict(inputs or {}),
        attributes=said,
        payload=_payload(kind, version, said, shapes, sums),
        checksums=sums,
        trees={name: _tree_sum(array) for name, array in arrays.items() if array.nbytes >= TREE_FROM},
        arrays=arrays,
    )


def put(
    path: PathLike,
    artifact: Artifact,
    *,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    compress: bool = False,
) -> str:
    """Write an artifact atomically, and return its payload digest.

    Parameters
    ----------
    path : path
        The target; replaced if it exists.
    artifact : Artifact
    groups : mapping of str to mapping of str to str, optional
        String attributes of groups (``""`` is the root), such as Binsparse descriptors.
    compress : bool
        Store chunks with Bitshuffle and LZ4 (needs hdf5plugin) instead of contiguous arrays.

    Raises
    ------
    InputError
        If the file cannot be written (no permission, full disk, …).
    """
    root = _root(artifact)
    filters = _compression() if compress else {}
    with replacing(path) as temporary:
        _reserve(temporary, root, artifact.arrays)
        # HDF5 places data differently in a Python file object than in a file that it opens itself. There is no `with`,
        # because after an interrupt HDF5 may write to the file once more when it releases the object.
        target = open(temporary, "w+b")  # noqa: SIM115
        with h5py.File(target, "w", libver=_LIBVER) as file:
            for key, value in root.items():
                file.attrs[key] = value
            for group, texts in (groups or {}).items():
                place = file.require_group(group) if group else file
                for key, text in texts.items():
                    place.attrs[key] = text
            for name, array in artifact.arrays.items():
                packed = filters and array.size
                chunks = {"chunks": (min(len(array), _CHUNK), *array.shape[1:]), **filters} if packed else {}
                file.create_dataset(name, data=array, track_times=False, **chunks)
        target.close()
    return artifact.payload


def write(path: PathLike, *content: Any, groups: Any = None, compress: bool = False, **known: Any) -> str:
    """Make an artifact with :func:`make`, which gets ``content`` and ``known``, and write it with :func:`put`."""
    return put(path, make(*content, **known), groups=groups, compress=compress)


def _root(artifact: Artifact) -> dict[str, Any]:
    """Return the root attributes of an artifact."""
    root: dict[str, Any] = {
        "gpukit_kind": artifact.kind,
        "gpukit_version": np.int64(artifact.version),
        "gpukit_producer": artifact.producer,
        **{f"gpukit_{one}": canonical_json(getattr(artifact, one)) for one in _OBJECTS},
        "gpukit_payload_sha256": artifact.payload,
    }
    if artifact.seed is not None:
        root["gpukit_seed"] = np.uint64(artifact.seed)
    if artifact.trees:
        root["gpukit_trees"] = canonical_json(artifact.trees)
    root["gpukit_header_sha256"] = _header_sum(root)
    return root


def _reserve(path: str, root: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Reserve the space of a file; raises OSError if there is too little. Otherwise HDF5 may crash later."""
    texts = sum(len(str(value).encode()) for value in root.values())
    size = _OVERHEAD * (1 + len(arrays)) + 2 * texts + sum(array.nbytes for array in arrays.values())
    with open(path, "wb") as file:
        portable.reserve(file.fileno(), size)


def _compression() -> dict[str, Any]:
    try:
        import hdf5plugin
    except ImportError:
        line = (
            "compression needs the package hdf5plugin; install gpukit[compress] or leave "
            f"{spelled('compress', True)} out"
        )
        raise InputError(line) from None
    # The checksum of a chunk is tested before decompression, because the decompressor may crash on damaged data.
    return {**hdf5plugin.Bitshuffle(cname="lz4"), "fletcher32": True}


# --- reading ---------------------------------------------------------------------------------------------------------


@contextmanager
def opened(path: PathLike, kind_name: str | None = None) -> Iterator[tuple[h5py.File, Header, dict[str, h5py.Dataset]]]:
    """Open an artifact for reading and check its header; yield the file, the header and the datasets by path.

    Parameters
    ----------
    path : path
        The file.
    kind_name : str, optional
        The required kind; any known kind if not given.

    Raises
    ------
    InputError
        If the file is missing, or is no artifact of that kind that this version can read.
    """
    _check_file(path)
    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file, _header(path, file, kind_name), _datasets(path, file)
    except GpukitError:
        raise
    except (OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        text = str(error)
        if "truncated" in text:
            raise InputError(f"{path} is truncated; make or copy it again") from error
        if "required filter" in text and importlib.util.find_spec("hdf5plugin") is None:
            line = f"{path} is compressed; install gpukit[compress] (package hdf5plugin) to read it"
            raise InputError(line) from error
        raise InputError(f"{path} is damaged, HDF5 says: {reason(error)}; make or copy it again") from error


def _check_file(path: PathLike) -> None:
    """Check that a path is a readable HDF5 file; raises InputError."""
    written = "an artifact written by gpukit is needed"
    try:
        # Opening a pipe would never end.
        need(stat.S_ISREG(os.stat(path).st_mode), f"{path} is a folder, or not a regular file; {written}")
        with open(path, "rb") as stream:
            start = stream.read(len(SIGNATURE))
    except FileNotFoundError:
        raise missing(path, " does not exist; check the path") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {os.strerror(error.errno or 0)}") from None
    need(start, f"{path} is empty; {written}")
    need(start == SIGNATURE, f"{path} is not an HDF5 file; {written}, `gpukit graph import` makes one of an edge list")


def _datasets(path: PathLike, file: h5py.File) -> dict[str, h5py.Dataset]:
    """Return the datasets of a file by path, sorted; raises InputError if one lies outside the file.

    A dataset is refused if it claims more bytes than any filter could unpack: it would use memory without holding data.
    """
    found: dict[str, h5py.Dataset] = {}
    file.visititems(lambda name, item: found.update({name: item} if isinstance(item, h5py.Dataset) else {}))
    for name, item in found.items():
        inside = not (item.external or item.is_virtual) and item.nbytes <= _PACKED * item.id.get_storage_size()
        line = f"{name} lies outside the file, or has fewer than the {item.nbytes} bytes that it claims"
        need(inside, f"{path}: {line}; make or copy it again")
    return dict(sorted(found.items()))


def _header(path: PathLike, file: h5py.File, kind_name: str | None) -> Header:
    attrs = dict(file.attrs)
    name, version = attrs.get("gpukit_kind"), attrs.get("gpukit_version")
    if not isinstance(name, str) or not isinstance(version, np.integer):
        example = "make one with gpukit (e.g. `gpukit graph import`)"
        raise InputError(f"{path} is an HDF5 file but no gpukit artifact; {example}")
    whole = attrs.get("gpukit_header_sha256") == _header_sum(attrs)
    need(whole, f"{path} is damaged (the checksum of its root attributes is wrong); make or copy it again")
    kind, this = KINDS.get(name), f"gpukit {__version__}"
    if kind is None:
        raise InputError(f"{path} has the unknown kind {name!r}; {this} knows {', '.join(sorted(KINDS))}")
    known = f"{this} reads layouts up to {kind.newest}; update gpukit"
    need(1 <= version <= kind.newest, f"{path} has layout {version} of kind {name}; {known}")
    need(kind_name in (None, name), f"{path} is of kind {name}, but {kind_name} is needed here")
    try:
        said = {one: json.loads(attrs.get(f"gpukit_{one}", "{}")) for one in (*_OBJECTS, "trees")}
        seed = int(attrs.get("gpukit_seed", 0))
        objects = all(isinstance(found, dict) for found in said.values())
        if not (objects and all(isinstance(text, str) for one in _TEXTS for text in said[one].values())):
            raise ValueError(f"one of {', '.join(said)} is no JSON object, or its values are no texts")
        if not 0 <= seed < 1 << 64:
            raise ValueError(f"seed {seed}")
        producer, payload = str(attrs["gpukit_producer"]), str(attrs["gpukit_payload_sha256"])
        header = Header(
            name, int(version), producer, seed=seed if "gpukit_seed" in attrs else None, payload=payload, **said
        )
        canonical_json(header.attributes)  # raises for numbers that are not finite
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} has a missing or broken root attribute ({error}); make it again") from error
    check_attributes(kind, header.attributes, f"{path}: ")
    return header


def read(path: PathLike, kind_name: str | None = None, skip: tuple[str, ...] = (), full: bool = False) -> Artifact:
    """Read an artifact and check it.

    Every reading checks checksums, structure, value ranges and row starts. The meaning of the numbers is checked if the
    arrays take at most 4 MiB, or on request. Checksums of large arrays may be tested concurrently with the work, see
    :mod:`gpukit.pending`.

    Parameters
    ----------
    path : path
        The file.
    kind_name : str, optional
        The required kind; any if not given.
    skip : tuple of str
        Path prefixes of datasets that are not read.
    full : bool
        Whether to check everything, before returning.

    Raises
    ------
    InputError
        If the file is missing, unreadable or damaged; the message says which.
    DeviceError
        If the arrays do not fit into memory.
    """
    with opened(path, kind_name) as (file, header, present):
        kind = KINDS[header.kind]
        shapes = {name: (item.dtype, item.shape or ()) for name, item in present.items()}
        # Check the layout before reading any array: names, types and lengths.
        lengths = check_arrays(kind, shapes, header.attributes, f"{path}: ")
        listed = shapes.keys() == header.checksums.keys()
        need(listed, f"{path}: the datasets and the list of checksums differ; make or copy it again")
        wanted = {name: item for name, item in present.items() if not name.startswith(skip)}
        size = sum(item.nbytes for item in wanted.values())
        check_host({str(path): size}, "use a larger one")
        artifact = Artifact(**vars(header), arrays={name: load(item) for name, item in wanted.items()})
        if full:
            with _about(path):
                check_descriptors(file, header)
    at_once, meaning = full or size <= AT_ONCE, full or pending.again or size <= MEANING

    def check_sums() -> None:
        wrong = [name for name, digest in digests(artifact.arrays).items() if digest != header.checksums[name]]
        what = f"checksum of dataset {wrong[0]}" if wrong else "payload checksum"
        payload = _payload(kind, header.version, header.attributes, shapes, header.checksums)
        right = not wrong and payload == header.payload
        need(right, f"{path}: the {what} is wrong; the file is damaged, make or copy it again")

    def check_rest() -> None:
        if not at_once:
            check_sums()
        if meaning and kind.name in BESIDE:
            with _about(path):
                BESIDE[kind.name](artifact)

    if at_once:
        check_sums()
    with _about(path):
        # Conditions that kernels rely on are checked at every reading.
        check_values(kind, artifact, lengths)
        check_labels(artifact, meaning)
        for table in (BOUNDS, CHECKS) if meaning else (BOUNDS,):
            if kind.name in table:
                table[kind.name](artifact)
    if full:
        check_rest()
    else:
        pending.later(check_rest, after="numba" if meaning and kind.name in BESIDE else None)
    return artifact


@contextmanager
def _about(path: PathLike) -> Iterator[None]:
    """Prefix errors raised within with the file name."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}; make the file again") from None


def load(item: h5py.Dataset) -> np.ndarray:
    """Return a dataset as an array; registers the compression filters if its chunks need them."""
    if item.chunks is not None:
        with suppress(ImportError):
            importlib.import_module("hdf5plugin")
    return item[()]


def read_header(path: PathLike, kind_name: str | None = None) -> Header:
    """Return the header of an artifact without reading its arrays; raises InputError like :func:`read`."""
    with opened(path, kind_name) as (_, header, _):
        return header
