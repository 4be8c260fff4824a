"""The store: how any artifact is written, opened and checked. The layout of each kind is in ``layout.py``.

A file holds no time, host, path or device: equal content gives equal bytes.
"""

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import h5py
import numpy as np

from gpukit import __version__
from gpukit.artifacts.layout import KINDS, Kind
from gpukit.artifacts.patient import Patient
from gpukit.artifacts.precheck import check_file
from gpukit.artifacts.structure import Shapes, check_arrays, check_attributes, check_values
from gpukit.errors import InputError
from gpukit.files import PathLike, reason, replacing

# Small files are hashed at every read (64 MiB: about 45 ms); larger ones only by `gpukit verify`.
CHECKSUM_ON_READ = 64 << 20
# HDF5 1.8 objects carry checksums of their metadata; the upper bound keeps the bytes equal across HDF5 releases.
_LIBVER = ("v108", "v110")
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Header:
    """What the root attributes of an artifact say.

    Attributes
    ----------
    kind, version : str, int
        Kind and layout version.
    producer : str
        Name and version of the program that wrote it.
    params : dict
        Parameters of the command that made it.
    seed : int or None
        The user's seed in [0, 2**64), where there is one.
    inputs : dict of str to str
        Role and SHA-256 of each input: the payload digest of an artifact, the file digest of anything else.
    attributes : dict
        Content attributes, described in the layout table.
    payload : str
        SHA-256 of kind, version, content attributes and arrays, derived ones left out; hexadecimal.
    checksums : dict of str to str
        SHA-256 of the bytes of each dataset.
    """

    kind: str
    version: int
    producer: str
    params: dict[str, Any]
    seed: int | None
    inputs: dict[str, str]
    attributes: dict[str, Any]
    payload: str
    checksums: dict[str, str] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Artifact(Header):
    """A header with the arrays that were read, by their path in the file."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, NumPy scalars as numbers, no NaN."""

    def plain(item: Any) -> Any:
        if isinstance(item, np.generic | np.ndarray):
            return item.tolist()
        if isinstance(item, os.PathLike):
            raise TypeError("a path must not go into an artifact")
        raise TypeError(f"{type(item).__name__} cannot be written as JSON")

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=plain)


def sha256_array(array: np.ndarray) -> str:
    """Return the SHA-256 of the little-endian bytes of an array in C order, hexadecimal."""
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()


def _payload(kind: Kind, attributes: Mapping[str, Any], shapes: Shapes, sums: Mapping[str, str]) -> str:
    """Return the digest of what an artifact says: kind, layout, and the attributes and arrays that are not derived."""
    said = {name: attributes[name] for name in attributes if name not in kind.derived_attributes()}
    content = {}
    for path, (dtype, shape) in shapes.items():
        row = kind.array(path)
        if row is not None and not row.derived:
            content[path] = [dtype.str, list(shape), sums[path]]
    text = canonical_json({"kind": kind.name, "version": kind.version, "attributes": said, "arrays": content})
    return hashlib.sha256(text.encode()).hexdigest()


def _header_sum(root: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the root attributes that begin with ``gpukit_``, this sum left out."""
    kept = {k: v for k, v in root.items() if k.startswith("gpukit_") and k != "gpukit_header_sha256"}
    return hashlib.sha256(canonical_json(kept).encode(errors="surrogateescape")).hexdigest()


# --- writing ---------------------------------------------------------------------------------------------------------


def write(
    path: PathLike,
    kind_name: str,
    arrays: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    *,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    inputs: Mapping[str, str] | None = None,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    compress: bool = False,
) -> str:
    """Write an artifact atomically.

    Parameters
    ----------
    path : path
        The target; replaced if it exists.
    kind_name : str
        A key of :data:`gpukit.artifacts.layout.KINDS`.
    arrays : mapping of str to array
        The datasets by path; names, types and shapes are checked against the table.
    attributes : mapping
        Content attributes (JSON values).
    params, seed, inputs
        See :class:`Header`.
    groups : mapping of str to mapping of str to str, optional
        String attributes of groups (``""`` is the root), such as Binsparse descriptors.
    compress : bool
        Store chunks with Bitshuffle and LZ4 (needs hdf5plugin) instead of contiguous arrays.

    Returns
    -------
    str
        The payload digest.

    Raises
    ------
    InputError
        If the content does not fit the layout, or the file cannot be written (no permission, full disk, …).
    """
    kind = KINDS[kind_name]
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    attributes = json.loads(canonical_json(dict(attributes)))
    check_attributes(kind, attributes)
    check_arrays(kind, {name: (array.dtype, array.shape) for name, array in arrays.items()}, attributes)
    sums = {name: sha256_array(array) for name, array in arrays.items()}
    payload = _payload(kind, attributes, {name: (array.dtype, array.shape) for name, array in arrays.items()}, sums)
    root: dict[str, Any] = {
        "gpukit_kind": kind.name,
        "gpukit_version": np.int64(kind.version),
        "gpukit_producer": f"gpukit {__version__}",
        "gpukit_params": canonical_json(dict(params or {})),
        "gpukit_inputs": canonical_json(dict(inputs or {})),
        "gpukit_attributes": canonical_json(attributes),
        "gpukit_checksums": canonical_json(sums),
        "gpukit_payload_sha256": payload,
    }
    if seed is not None:
        root["gpukit_seed"] = np.uint64(seed)
    root["gpukit_header_sha256"] = _header_sum(root)
    filters = _compression() if compress else {}
    with replacing(path) as temporary, Patient(temporary) as target:
        with h5py.File(target, "w", libver=_LIBVER) as file:
            # Attributes first: their text then lies at the start of the file, where `precheck` finds it.
            for key, value in root.items():
                file.attrs[key] = value
            for group, texts in (groups or {}).items():
                place = file.require_group(group) if group else file
                for key, text in texts.items():
                    place.attrs[key] = text
            for name, array in arrays.items():
                chunks = (
                    {"chunks": (min(len(array), _CHUNK), *array.shape[1:]), **filters} if filters and array.size else {}
                )
                file.create_dataset(name, data=array, track_times=False, **chunks)
        target.check()
    return payload


def _compression() -> dict[str, Any]:
    try:
        import hdf5plugin
    except ImportError:
        raise InputError(
            "compression needs the package hdf5plugin; install gpukit[compress] or leave --compress out"
        ) from None
    # The checksum of a chunk is tested before the decompressor sees it, which can crash on damaged data.
    return {**hdf5plugin.Bitshuffle(cname="lz4"), "fletcher32": True}


# --- reading ---------------------------------------------------------------------------------------------------------


@contextmanager
def opened(path: PathLike, kind_name: str | None = None) -> Iterator[tuple[h5py.File, Header]]:
    """Open an artifact for reading and check its header.

    Parameters
    ----------
    path : path
        The file.
    kind_name : str, optional
        The kind that is needed; any known kind otherwise.

    Raises
    ------
    InputError
        If there is no such file, or it is not an artifact of that kind that this version can read.
    """
    check_file(path)
    try:
        with h5py.File(path, "r", locking=False) as file:
            yield file, _header(path, file, kind_name)
    except (OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        text = str(error)
        if "truncated" in text:
            raise InputError(f"{path} is truncated; make or copy it again") from error
        if "required filter" in text and importlib.util.find_spec("hdf5plugin") is None:
            raise InputError(
                f"{path} is compressed; install gpukit[compress] (package hdf5plugin) to read it"
            ) from error
        raise InputError(f"{path} is damaged, HDF5 says: {reason(error)}; make or copy it again") from error


def _header(path: PathLike, file: h5py.File, kind_name: str | None) -> Header:
    attrs = dict(file.attrs)
    name, version = attrs.get("gpukit_kind"), attrs.get("gpukit_version")
    if not isinstance(name, str) or not isinstance(version, np.integer):
        raise InputError(
            f"{path} is an HDF5 file but no gpukit artifact; make one with gpukit (e.g. `gpukit graph import`)"
        )
    if attrs.get("gpukit_header_sha256") != _header_sum(attrs):
        raise InputError(f"{path} is damaged (the checksum of its root attributes is wrong); make or copy it again")
    kind = KINDS.get(name)
    if kind is None:
        raise InputError(
            f"{path} holds the unknown kind {name!r}; gpukit {__version__} knows {', '.join(sorted(KINDS))}"
        )
    if not 1 <= version <= kind.version:
        raise InputError(
            f"{path} has layout {version} of kind {name}; gpukit {__version__} reads layouts up to {kind.version}; "
            "update gpukit"
        )
    if kind_name not in (None, name):
        raise InputError(f"{path} is of kind {name}, but {kind_name} is needed here")
    try:
        attributes = json.loads(attrs["gpukit_attributes"])
        seed = attrs.get("gpukit_seed")
        header = Header(
            name,
            int(version),
            str(attrs["gpukit_producer"]),
            json.loads(attrs["gpukit_params"]),
            None if seed is None else int(seed),
            json.loads(attrs["gpukit_inputs"]),
            attributes,
            str(attrs["gpukit_payload_sha256"]),
            json.loads(attrs["gpukit_checksums"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} has a missing or broken root attribute ({error}); make it again") from error
    check_attributes(kind, attributes, f"{path}: ")
    return header


def datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Return every dataset of a file by its path, in order of path."""
    found: dict[str, h5py.Dataset] = {}
    file.visititems(lambda name, item: found.__setitem__(name, item) if isinstance(item, h5py.Dataset) else None)
    return dict(sorted(found.items()))


def read(
    path: PathLike, kind_name: str | None = None, skip: tuple[str, ...] = (), checksum: bool | None = None
) -> Artifact:
    """Read an artifact and check it.

    Structure, value ranges and row starts are checked always, the checksums when the arrays are small.

    Parameters
    ----------
    path : path
        The file.
    kind_name : str, optional
        The kind that is needed; any otherwise.
    skip : tuple of str
        Paths or groups (ending in ``/``) to leave unread.
    checksum : bool, optional
        Whether to check every checksum; by default when the arrays take at most 64 MiB.

    Raises
    ------
    InputError
        If the file is missing, unreadable or broken; the line says which.
    """
    with opened(path, kind_name) as (file, header):
        kind = KINDS[header.kind]
        present = datasets(file)
        shapes = {name: (item.dtype, item.shape or ()) for name, item in present.items()}
        lengths = check_arrays(kind, shapes, header.attributes, f"{path}: ")
        if shapes.keys() != header.checksums.keys():
            raise InputError(f"{path}: the datasets and the list of checksums differ; make or copy it again")
        wanted = {
            n: d for n, d in present.items() if not any(n == s or (s.endswith("/") and n.startswith(s)) for s in skip)
        }
        arrays = {name: load(item) for name, item in wanted.items()}
        if checksum or (checksum is None and sum(array.nbytes for array in arrays.values()) <= CHECKSUM_ON_READ):
            _check_sums(path, kind, header, shapes, arrays)
    check_values(kind, arrays, lengths, f"{path}: ")
    return Artifact(**vars(header), arrays=arrays)


def load(item: h5py.Dataset) -> np.ndarray:
    """Return a dataset as an array; registers the compression filters where chunks need them."""
    if item.chunks is not None:
        with suppress(ImportError):
            importlib.import_module("hdf5plugin")
    array = np.empty(item.shape, item.dtype)
    if array.size:
        item.read_direct(array)
    return array


def _check_sums(path: PathLike, kind: Kind, header: Header, shapes: Shapes, arrays: Mapping[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if sha256_array(array) != header.checksums[name]:
            raise InputError(
                f"{path}: the checksum of dataset {name} is wrong; the file is damaged, make or copy it again"
            )
    if _payload(kind, header.attributes, shapes, header.checksums) != header.payload:
        raise InputError(f"{path}: the payload checksum is wrong; the file is damaged, make or copy it again")


def read_header(path: PathLike, kind_name: str | None = None) -> Header:
    """Return the header of an artifact without reading its arrays; raises InputError like :func:`read`."""
    with opened(path, kind_name) as (_, header):
        return header


def digest(path: PathLike) -> str:
    """Return the stored payload digest of an artifact (64 hexadecimal digits); raises InputError like :func:`read`."""
    return read_header(path).payload
