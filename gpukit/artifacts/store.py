"""The store: how any artifact is written, opened and checked. The layout of each kind is in ``layout.py``.

A file holds no time, host, path or device: equal content gives equal bytes.
"""

import hashlib
import importlib.util
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from secrets import token_hex
from typing import Any

import h5py
import numpy as np

from gpukit import __version__, pending
from gpukit.artifacts.artifact import Artifact, Header, canonical_json
from gpukit.artifacts.bounds import BOUNDS
from gpukit.artifacts.checks import BESIDE, CHECKS, check_descriptors
from gpukit.artifacts.labels import check_labels
from gpukit.artifacts.layout import KINDS, Kind
from gpukit.artifacts.patient import Patient
from gpukit.artifacts.precheck import check_file, stored
from gpukit.artifacts.remembered import FROM, is_settled, recall, remember
from gpukit.artifacts.structure import Shapes, check_arrays, check_attributes, check_values, need
from gpukit.artifacts.sums import has_tree, plain_sums, tree_sums
from gpukit.device.memory import check_budget, host_free_bytes
from gpukit.errors import GpukitError, InputError
from gpukit.files import PathLike, reason, replacing, state_of

AT_ONCE = 64 << 20
"""Bytes of arrays up to which checksums are tested before anything else (about 45 ms), of more beside the work."""

# HDF5 1.8 objects carry checksums of their metadata; the upper bound keeps the bytes equal across HDF5 releases.
_LIBVER = ("v108", "v110")
_CHUNK = 1 << 18


def _payload(kind: Kind, version: int, attributes: Mapping[str, Any], shapes: Shapes, sums: Mapping[str, str]) -> str:
    """Return the digest of what an artifact says: kind, layout, and the attributes and arrays that are not derived."""
    said = {name: attributes[name] for name in attributes if name not in kind.derived_attributes()}
    content = {}
    for path, (dtype, shape) in shapes.items():
        row = kind.array(path)
        if row is not None and not row.derived:
            content[path] = [dtype.str, list(shape), sums[path]]
    text = canonical_json({"kind": kind.name, "version": version, "attributes": said, "arrays": content})
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
    kind_name, arrays, attributes, params, seed, inputs
        See :func:`make`.
    groups, compress
        See :func:`put`.

    Returns
    -------
    str
        The payload digest.

    Raises
    ------
    InputError
        If the content does not fit the layout, or the file cannot be written (no permission, full disk, …).
    """
    blank = _blank(kind_name, arrays, attributes, params, seed, inputs)
    with replacing(path) as temporary:
        # The sums are made beside the writing of what they are of, which a core can do alone.
        summed: list[Artifact] = []
        # A daemon, so that an interrupted command need not wait for it.
        summing = threading.Thread(target=lambda: summed.append(_summed(blank)), daemon=True)
        summing.start()
        root = _root(blank)
        _store(temporary, root, blank.arrays, groups, compress)
        summing.join()
        artifact = summed[0] if summed else _summed(blank)  # the thread can have told nobody what went wrong
        _exchange(temporary, root, _root(artifact))
    return artifact.payload


def make(
    kind_name: str,
    arrays: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    *,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Artifact:
    """Return an artifact in memory: what :func:`put` writes and :func:`read` reads.

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
    return _summed(_blank(kind_name, arrays, attributes, params, seed, inputs))


def _blank(
    kind_name: str,
    arrays: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    params: Mapping[str, Any] | None,
    seed: int | None,
    inputs: Mapping[str, str] | None,
) -> Artifact:
    """Return the artifact that :func:`make` does with random texts, each another one, in place of the sums."""
    kind = KINDS[kind_name]
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    said: dict[str, Any] = json.loads(canonical_json(dict(attributes)))
    check_attributes(kind, said)
    check_arrays(kind, _shapes(arrays), said)
    return Artifact(
        kind=kind.name,
        version=kind.version_of(arrays),
        producer=f"gpukit {__version__}",
        params=json.loads(canonical_json(dict(params or {}))),
        seed=seed,
        inputs=dict(inputs or {}),
        attributes=said,
        payload=token_hex(32),
        checksums={name: token_hex(32) for name in arrays},
        trees={name: token_hex(32) for name, array in arrays.items() if has_tree(array)},
        arrays=arrays,
    )


def _summed(blank: Artifact) -> Artifact:
    """Return the artifact with its sums."""
    sums = plain_sums(blank.arrays)
    payload = _payload(KINDS[blank.kind], blank.version, blank.attributes, _shapes(blank.arrays), sums)
    return replace(blank, payload=payload, checksums=sums, trees=tree_sums(blank.arrays))


def _shapes(arrays: Mapping[str, np.ndarray]) -> Shapes:
    return {name: (array.dtype, array.shape) for name, array in arrays.items()}


def put(
    path: PathLike,
    artifact: Artifact,
    *,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    compress: bool = False,
) -> str:
    """Write an artifact that was made, atomically, and return its payload digest.

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
    with replacing(path) as temporary:
        _store(temporary, _root(artifact), artifact.arrays, groups, compress)
    return artifact.payload


def _root(artifact: Artifact) -> dict[str, Any]:
    """Return the root attributes of an artifact."""
    root: dict[str, Any] = {
        "gpukit_kind": artifact.kind,
        "gpukit_version": np.int64(artifact.version),
        "gpukit_producer": artifact.producer,
        "gpukit_params": canonical_json(artifact.params),
        "gpukit_inputs": canonical_json(artifact.inputs),
        "gpukit_attributes": canonical_json(artifact.attributes),
        "gpukit_checksums": canonical_json(artifact.checksums),
        "gpukit_payload_sha256": artifact.payload,
    }
    if artifact.seed is not None:
        root["gpukit_seed"] = np.uint64(artifact.seed)
    if artifact.trees:
        root["gpukit_trees"] = canonical_json(artifact.trees)
    root["gpukit_header_sha256"] = _header_sum(root)
    return root


def _store(
    path: str,
    root: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    groups: Mapping[str, Mapping[str, str]] | None,
    compress: bool,
) -> None:
    """Write a file of HDF5 with these root attributes and arrays."""
    filters = _compression() if compress else {}
    target = Patient(path)  # not in a `with`: interrupted, HDF5 may write to it once more when it lets go
    with h5py.File(target, "w", libver=_LIBVER) as file:
        # Attributes first: their text then lies at the start of the file, where `precheck` finds it.
        for key, value in root.items():
            file.attrs[key] = value
        for group, texts in (groups or {}).items():
            place = file.require_group(group) if group else file
            for key, text in texts.items():
                place.attrs[key] = text
        for name, array in arrays.items():
            packed = filters and array.size
            chunks = {"chunks": (min(len(array), _CHUNK), *array.shape[1:]), **filters} if packed else {}
            file.create_dataset(name, data=array, track_times=False, **chunks)
    target.close()
    target.check()


def _exchange(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Put texts of root attributes in the place of others as long: heaps, where texts are, have no checksum in HDF5."""
    size = sum(len(text.encode()) for text in old.values() if isinstance(text, str))
    with open(path, "r+b") as file:
        start = file.read(2 * size + (1 << 20))  # what precedes the data: each text once, and where it is
        for name in old:
            if new[name] != old[name]:
                before, after = old[name].encode(), new[name].encode()
                assert len(before) == len(after)
                file.seek(start.index(before))
                file.write(after)


def _compression() -> dict[str, Any]:
    try:
        import hdf5plugin
    except ImportError:
        line = "compression needs the package hdf5plugin; install gpukit[compress] or leave --compress out"
        raise InputError(line) from None
    # The checksum of a chunk is tested before the decompressor sees it, which can crash on damaged data.
    return {**hdf5plugin.Bitshuffle(cname="lz4"), "fletcher32": True}


# --- reading ---------------------------------------------------------------------------------------------------------


@contextmanager
def opened(path: PathLike, kind_name: str | None = None) -> Iterator[tuple[h5py.File, Header, dict[str, h5py.Dataset]]]:
    """Open an artifact for reading, check its header and how it is stored, and give both and its datasets by path.

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
    state = check_file(path)
    try:
        with h5py.File(path, "r", driver="sec2", locking=False) as file:
            same = state_of(file.id.get_vfd_handle()) == state
            need(same, f"{path} was replaced or written to while it was read; try again")
            header = _header(path, file, kind_name)
            try:
                present = stored(file)
            except InputError as error:
                raise InputError(f"{path}: {error}") from None
            yield file, header, present
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
        raise InputError(f"{path} holds the unknown kind {name!r}; {this} knows {', '.join(sorted(KINDS))}")
    known = f"{this} reads layouts up to {kind.newest}; update gpukit"
    need(1 <= version <= kind.newest, f"{path} has layout {version} of kind {name}; {known}")
    need(kind_name in (None, name), f"{path} is of kind {name}, but {kind_name} is needed here")
    try:
        header = Header(
            name,
            int(version),
            str(attrs["gpukit_producer"]),
            _object(attrs["gpukit_params"]),
            None if "gpukit_seed" not in attrs else int(attrs["gpukit_seed"]),
            _texts(attrs["gpukit_inputs"]),
            json.loads(attrs["gpukit_attributes"]),
            str(attrs["gpukit_payload_sha256"]),
            _texts(attrs["gpukit_checksums"]),
            _texts(attrs.get("gpukit_trees", "{}")),
        )
        canonical_json(header.attributes)  # raises for numbers that are not finite
        if header.seed is not None and not 0 <= header.seed < 1 << 64:
            raise ValueError(f"seed {header.seed}")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} has a missing or broken root attribute ({error}); make it again") from error
    check_attributes(kind, header.attributes, f"{path}: ")
    return header


def _object(text: str) -> dict[str, Any]:
    """Return a JSON object; raises ValueError for any other text."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"an object is needed, not {text[:40]!r}")
    return found


def _texts(text: str) -> dict[str, str]:
    """Return a JSON object of texts; raises ValueError for any other text."""
    found = _object(text)
    if not all(isinstance(value, str) for value in found.values()):
        raise ValueError(f"texts are needed in {text[:40]!r}")
    return found


def read(path: PathLike, kind_name: str | None = None, skip: tuple[str, ...] = (), full: bool = False) -> Artifact:
    """Read an artifact and check it.

    Structure, value ranges and row starts are checked always; every checksum and what the numbers mean once a file, see
    :mod:`gpukit.artifacts.remembered`. Checksums of large arrays may be tested beside the work, see
    :mod:`gpukit.pending`.

    Parameters
    ----------
    path : path
        The file.
    kind_name : str, optional
        The kind that is needed; any otherwise.
    skip : tuple of str
        Paths or groups (ending in ``/``) to leave unread.
    full : bool
        Whether to check everything now, whatever is remembered.

    Raises
    ------
    InputError
        If the file is missing, unreadable or broken; the line says which.
    DeviceError
        If its arrays do not fit into the memory.
    """
    with opened(path, kind_name) as (file, header, present):
        state = state_of(file.id.get_vfd_handle())
        lasting = is_settled(state)
        kind = KINDS[header.kind]
        shapes = {name: (item.dtype, item.shape or ()) for name, item in present.items()}
        # The layout, before any array is read: names, types and lengths.
        lengths = check_arrays(kind, shapes, header.attributes, f"{path}: ")
        listed = shapes.keys() == header.checksums.keys()
        need(listed, f"{path}: the datasets and the list of checksums differ; make or copy it again")
        wanted = {
            n: d for n, d in present.items() if not any(n == s or (s.endswith("/") and n.startswith(s)) for s in skip)
        }
        # Nothing is read that does not fit; what was checked in full before need not be again.
        size = sum(item.nbytes for item in wanted.values())
        if size > AT_ONCE:
            check_budget({str(path): size}, host_free_bytes(), "this machine", "use a larger one")
        known = not full and size >= FROM and recall(state, wanted, shapes)
        arrays = {name: load(item) for name, item in wanted.items()}
        texts = {group: file[f"/{group}"].attrs.get("binsparse") for group in ("", "transpose") if f"/{group}" in file}
        same = state_of(file.id.get_vfd_handle()) == state
        need(same, f"{path} was written to while it was read; try again")
    artifact = Artifact(**vars(header), arrays=arrays)
    # Small files are compared with their checksums at once, large ones beside the work.
    early = full or (size <= AT_ONCE and not known)
    if early:
        _check_sums(path, artifact, shapes, plain=full)
    with _about(path):
        # What a kernel relies on is checked at every read, what the numbers mean once.
        check_values(kind, arrays, lengths, header.attributes)
        check_labels(artifact)
        BOUNDS.get(kind.name, _no_check)(artifact)
        if known:
            return artifact
        CHECKS.get(kind.name, _no_check)(artifact)
        if full:
            check_descriptors(texts, artifact)

    def rest() -> None:
        if not early:
            _check_sums(path, artifact, shapes, plain=False)
        with _about(path):
            BESIDE.get(kind.name, _no_check)(artifact)
        if lasting and size >= FROM:
            remember(state, wanted)

    if full:
        rest()
    else:
        pending.later(rest, after="numba" if kind.name in BESIDE else None)
    return artifact


def _no_check(artifact: Artifact) -> None:
    """Stand for the check of a kind that has none."""


@contextmanager
def _about(path: PathLike) -> Iterator[None]:
    """Let an error within name the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}; make the file again") from None


def load(item: h5py.Dataset) -> np.ndarray:
    """Return a dataset as an array; registers the compression filters where chunks need them."""
    if item.chunks is not None:
        with suppress(ImportError):
            importlib.import_module("hdf5plugin")
    array = np.empty(item.shape, item.dtype)
    if array.size:
        item.read_direct(array)
    return array


def _check_sums(path: PathLike, artifact: Artifact, shapes: Shapes, plain: bool) -> None:
    """Compare the arrays with their checksums: where there is a tree sum with that alone, unless ``plain``."""
    trees = tree_sums({name: array for name, array in artifact.arrays.items() if name in artifact.trees})
    rest = plain_sums({name: array for name, array in artifact.arrays.items() if plain or name not in trees})
    for found, wanted in ((trees, artifact.trees), (rest, artifact.checksums)):
        for name, digest in found.items():
            need_sum(path, f"checksum of dataset {name}", digest == wanted[name])
    payload = _payload(KINDS[artifact.kind], artifact.version, artifact.attributes, shapes, artifact.checksums)
    need_sum(path, "payload checksum", payload == artifact.payload)


def need_sum(path: PathLike, what: str, right: bool) -> None:
    """Raise InputError about a damaged file unless a checksum is right."""
    need(right, f"{path}: the {what} is wrong; the file is damaged, make or copy it again")


def read_header(path: PathLike, kind_name: str | None = None) -> Header:
    """Return the header of an artifact without reading its arrays; raises InputError like :func:`read`."""
    with opened(path, kind_name) as (_, header, _):
        return header
