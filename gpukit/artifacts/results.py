"""RR sets, seed sets and metrics as artifacts."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpukit.artifacts import store
from gpukit.artifacts.artifact import Artifact, given
from gpukit.artifacts.labels import Texts, labels_of, packed, packed_of, some_labels_of
from gpukit.artifacts.store import PathLike
from gpukit.graph.labels import Labels


@dataclass(frozen=True, eq=False)
class RRSets:
    """Reverse-reachable sets of the sample ids first … first + drawn - 1: all, or without trivial sets.

    Attributes
    ----------
    offsets : int64 array, shape (count + 1,)
        Start of each set in ``members``.
    members : int32 array
        Elements ascending in a set: round · n + vertex.
    n : int
        Number of vertices of the graph.
    first : int
        Sample id of the first set.
    stream, model, sampler : str
        Random stream, ``ic`` or ``lt``, ``skip`` or ``scan``.
    rounds : int
        Rounds T of multi-round influence; 1 otherwise.
    graph : str
        Payload digest of the graph.
    seed : int
        The user's seed.
    ids : int64 array, shape (n,), or None
        Original vertex ids; None if they are 0 … n-1.
    labels : Labels or None
        Names of the vertices, instead of ids.
    m : int or None
        Number of directed edges of the graph.
    own : uint64 array, shape (n,), or None
        If trivial sets are left out: the probability that no in-edge of a vertex is live, in units of 2^-63.
    gamma : int or None
        If trivial sets are left out: the estimate multiplies the share of hit sets by this factor, in units of 2^-63.
    kept_of : int or None
        If trivial sets are left out: the number of sample ids.
    weights : int64 array, shape (n,), or None
        Weight of each vertex, in units of 10^-decimals; 1 each if not given.
    decimals : int
        Number of decimals of the weights.
    params : dict
        Parameters of the command.
    inputs : dict
        Digests of further inputs besides the graph.
    digest : str
        Payload digest of the file.
    """

    offsets: np.ndarray
    members: np.ndarray
    n: int
    first: int
    stream: str
    model: str
    sampler: str
    rounds: int
    graph: str
    seed: int
    ids: np.ndarray | None = None
    labels: Labels | None = None
    m: int | None = None
    own: np.ndarray | None = None
    gamma: int | None = None
    kept_of: int | None = None
    weights: np.ndarray | None = None
    decimals: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    digest: str = ""

    @property
    def count(self) -> int:
        """Number of sets."""
        return len(self.offsets) - 1

    @property
    def drawn(self) -> int:
        """Number of sample ids."""
        return self.count if self.kept_of is None else self.kept_of

    @property
    def targets(self) -> str:
        """The digest of the weights, or ``none`` if all vertices count 1."""
        if self.weights is None:
            return "none"
        return f"{hashlib.sha256(self.weights.tobytes()).hexdigest()[:12]} with {self.decimals} decimals"

    @property
    def sets(self) -> str:
        """``kept`` or ``plain``."""
        return "plain" if self.own is None else "kept"


_RRSETS = ("n", "m", "first", "stream", "model", "sampler", "rounds", "graph", "gamma")
"""The fields of :class:`RRSets` that are attributes of the file under the same name."""


def rrsets_artifact(sets: RRSets) -> Artifact:
    """Return RR sets as an artifact."""
    attributes = {name: getattr(sets, name) for name in _RRSETS}
    attributes |= {"elements": sets.n * sets.rounds, "count": sets.count, "drawn": sets.kept_of}
    attributes |= {"sets": None if sets.own is None else "kept"}
    attributes |= {"decimals": None if sets.weights is None else sets.decimals}
    arrays = {"offsets": sets.offsets, "members": sets.members, "ids": sets.ids, **packed(sets.labels)}
    arrays |= {"own": sets.own, "weights": sets.weights}
    inputs = {"graph": sets.graph, **sets.inputs}
    return store.make("rrsets", given(arrays), given(attributes), params=sets.params, seed=sets.seed, inputs=inputs)


def write_rrsets(path: PathLike, sets: RRSets, *, compress: bool = False) -> str:
    """Write RR sets and return the payload digest; raises like ``store.write``."""
    return store.put(path, rrsets_artifact(sets), compress=compress)


def read_rrsets(path: PathLike) -> RRSets:
    """Read RR sets; raises InputError like :func:`gpukit.artifacts.store.read`."""
    artifact = store.read(path, "rrsets")
    arrays, attributes = artifact.arrays, artifact.attributes
    said: dict[str, Any] = {name: attributes.get(name) for name in _RRSETS}
    said |= {name: arrays.get(name) for name in ("offsets", "members", "ids", "own", "weights")}
    said |= {"kept_of": attributes.get("drawn"), "decimals": attributes.get("decimals", 0), "labels": labels_of(arrays)}
    return RRSets(**said, **_known(artifact))


def _known(artifact: Artifact) -> dict[str, Any]:
    """Return the fields that every artifact has in its header."""
    return {name: getattr(artifact, name) for name in ("seed", "params", "inputs")} | {"digest": artifact.payload}


@dataclass(frozen=True, eq=False)
class SeedSet:
    """Chosen vertices in order of choice.

    Attributes
    ----------
    seeds : int64 array, shape (k,)
        Original ids; internal ids if the graph has labels.
    internal : int32 array, shape (k,)
        Internal ids.
    gains : int64 array, shape (k,), or None
        Marginal coverage of each seed: RR sets newly covered, or vertices newly reached over all worlds.
    spread_gains : float64 array, shape (k,), or None
        Spread that each seed adds, estimated by the samples of ``gains``.
    degrees : int64 array, shape (k,), or None
        Out-degree of each seed.
    rounds : int32 array, shape (k,), or None
        Round of each seed; multi-round influence only.
    labels : array of str, shape (k,), or None
        Labels of the seeds, if the graph has labels.
    n : int
        Number of vertices of the graph.
    method : str
        How the seeds were found.
    spread_estimate : float or None
        Expected number of vertices reached, from samples that were not used for the choice.
    selection_estimate : float or None
        The same, from the samples used for the choice, so it is too high; given instead of ``spread_estimate``.
    rr_sets : int or None
        RR sets used, all collections together.
    guarantee : JSON value or None
        The approximation guarantee that holds.
    graph : str
        Payload digest of the graph.
    seed : int or None
        The user's seed.
    params : dict
        Parameters of the command.
    inputs : dict
        Digests of the inputs of the choice.
    digest : str
        Payload digest of the file.
    """

    seeds: np.ndarray
    internal: np.ndarray
    n: int
    method: str
    graph: str
    gains: np.ndarray | None = None
    spread_gains: np.ndarray | None = None
    degrees: np.ndarray | None = None
    rounds: np.ndarray | None = None
    spread_estimate: float | None = None
    selection_estimate: float | None = None
    rr_sets: int | None = None
    guarantee: Any = None
    labels: np.ndarray | None = None
    seed: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    digest: str = ""


_SEEDS = ("n", "method", "graph", "spread_estimate", "selection_estimate", "rr_sets", "guarantee")
_OF_SEEDS = {
    "seeds": np.int64, "internal": np.int32, "gains": np.int64, "spread_gains": np.float64, "degrees": np.int64,
    "rounds": np.int32,
}  # fmt: skip
"""The fields of :class:`SeedSet` that are attributes and arrays of the file under the same name."""


def seeds_artifact(found: SeedSet, labels: Texts | None = None) -> Artifact:
    """Return a seed set as an artifact; ``labels`` are those of the graph, whose digest is added to the inputs."""
    arrays = given({name: getattr(found, name) for name in _OF_SEEDS})
    arrays = {name: np.asarray(values, _OF_SEEDS[name]) for name, values in arrays.items()}
    arrays |= packed_of("seeds", arrays, labels)
    attributes = given({name: getattr(found, name) for name in _SEEDS})
    inputs = {"graph": found.graph, **found.inputs}
    return store.make("seeds", arrays, attributes, params=found.params, seed=found.seed, inputs=inputs)


def write_seeds(path: PathLike, *found: Any, labels: Texts | None = None, **known: Any) -> str:
    """Write a seed set, given by the fields of :class:`SeedSet`, and return its payload digest."""
    return store.put(path, seeds_artifact(SeedSet(*found, **known), labels))


def read_seeds(path: PathLike) -> SeedSet:
    """Read a seed set; raises InputError like :func:`gpukit.artifacts.store.read`."""
    artifact = store.read(path, "seeds")
    said: dict[str, Any] = {name: artifact.attributes.get(name) for name in _SEEDS}
    said |= {name: artifact.arrays.get(name) for name in _OF_SEEDS}
    known = some_labels_of([artifact])
    said["labels"] = None if known is None else known.texts(artifact.arrays["internal"])
    return SeedSet(**said, **_known(artifact))


def metrics_artifact(
    columns: Mapping[str, Any],
    attributes: Mapping[str, Any] | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    seed: int | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Artifact:
    """Return a table of numbers as an artifact.

    Parameters
    ----------
    columns : mapping of str to sequence of int or float
        Columns of equal length; integers are stored as int64, anything else as float64.
    attributes : mapping, optional
        JSON values by name.
    params, seed, inputs
        See :func:`gpukit.artifacts.store.make`.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, values in columns.items():
        array = np.asarray(values)
        arrays[f"columns/{name}"] = array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)
    merged = {**(attributes or {}), "columns": list(columns)}
    return store.make("metrics", arrays, merged, params=params, seed=seed, inputs=inputs)


def write_metrics(path: PathLike, columns: Mapping[str, Any], *about: Mapping[str, Any], **known: Any) -> str:
    """Write a table of numbers, with the arguments of :func:`metrics_artifact`, and return its payload digest."""
    return store.put(path, metrics_artifact(columns, *about, **known))


def read_metrics(path: PathLike) -> Artifact:
    """Read a table: ``arrays`` holds the columns by plain name, in the order of writing.

    Raises InputError like :func:`gpukit.artifacts.store.read`.
    """
    artifact = store.read(path, "metrics")
    columns = {name: artifact.arrays[f"columns/{name}"] for name in artifact.attributes["columns"]}
    attributes = {key: value for key, value in artifact.attributes.items() if key != "columns"}
    return replace(artifact, arrays=columns, attributes=attributes)
