"""The answers, and their common methods: each is an artifact in memory, and shows external names and plain units."""

import html
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from gpukit.errors import InputError, UsageError, WrongType
from gpukit.parameters.values import flag, type_of
from gpukit.remote import sent
from gpukit.wording import counted, tied, with_error

if TYPE_CHECKING:
    import os

    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.graph.csr import Graph

Label = int | str
"""The external name of a vertex."""

SHOWN = 10
"""Most vertices that a printed answer names."""

_OTHER_KINDS = (
    "arrow csv feather gexf gml graphml html json jsonl mtx net npy npz parquet pdf png svg tsv txt xls xlsx yaml"
).split()
"""Suffixes of names by which other programs take a file for something other than HDF5."""


def check_name(out: Path, who: str) -> None:
    """Refuse to write an artifact under a name with the suffix of another format.

    ``who`` names the writer in the message.
    """
    kind = out.suffix.lstrip(".").lower()
    if kind in _OTHER_KINDS:
        raise UsageError(f"{who} writes HDF5, and .{kind} is the name of another kind; use .h5")


def path_of(path: "str | os.PathLike[str]") -> Path:
    """Return a path; raises WrongType if the value is none."""
    try:
        return Path(path)
    except TypeError:
        raise WrongType(f"{type_of(path)} is no path; give the name of a file") from None


def made_on(artifact: "Artifact") -> str | None:
    """Return the digest of the graph on which an artifact was made; None if the artifact does not state it."""
    digest: str | None = artifact.attributes.get("graph") or artifact.inputs.get("graph")
    return digest


def another_graph(what: object, before: str, this: str, advice: str = "give the graph it was made on") -> InputError:
    """Return the error for an object that was made on one graph and is used with another; both are given by digest."""
    return InputError(f"{what} was made on another graph ({before[:12]}…, and this one is {this[:12]}…); {advice}")


def arrow_for(who: str, otherwise: str = "") -> Any:
    """Return the package pyarrow, which ``who`` needs; raises UsageError if it is not installed."""
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise UsageError(f"{who} needs the package pyarrow; install gpukit[parquet]{otherwise}") from None


class Content:
    """Common methods of artifacts in memory: save, convert to a table, show."""

    _graph: "Graph | None"

    def _content(self) -> "Artifact":
        """Return the artifact."""
        raise NotImplementedError

    @property
    def digest(self) -> str:
        """The SHA-256 of its content, the ``digest`` of the file."""
        return self._content().payload

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and type(self) is type(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def save(self, path: "str | os.PathLike[str]", *, compress: bool = False, force: bool = False) -> None:
        """Write the artifact, as the command does.

        Parameters
        ----------
        path : path
            The target; an artifact of the same kind is replaced.
        compress : bool
            Whether to compress it (needs the package hdf5plugin).
        force : bool
            Whether to replace also a file of another kind.

        Raises
        ------
        UsageError
            If the name has the suffix of another format, or the target is a file of another kind.
        InputError
            If it cannot be written.
        """
        target, compress = path_of(path), flag("compress", compress)
        check_name(target, f"{target}: save")
        if (
            not flag("force", force) and target.exists()
        ):  # otherwise its kind is not needed; asking for it may make the artifact
            from gpukit.artifacts.kept import check_replaced

            check_replaced(target, self._content().kind, "this")
        with sent(target) as here:
            self._put(Path(here), compress)

    def _put(self, target: Path, compress: bool) -> None:
        from gpukit.artifacts import put

        put(target, self._content(), compress=compress)

    def to_pandas(self) -> Any:
        """Return the answer as a pandas DataFrame, the table of ``gpukit export --graph``."""
        import pandas as pd

        from gpukit.artifacts.tables import table_of

        pieces = [pd.DataFrame(piece) for piece in table_of(self._content(), self._graph).chunks()]
        return pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)

    def to_arrow(self) -> Any:
        """Return the answer as an Arrow table; needs the package pyarrow.

        Raises
        ------
        UsageError
            If pyarrow is not installed.
        """
        arrow = arrow_for("to_arrow", ", or use to_pandas")
        return arrow.Table.from_pandas(self.to_pandas(), preserve_index=False)

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        return [f"{type(self).__name__}: {self.digest[:12]}"]

    def __repr__(self) -> str:
        return "\n  ".join(self.lines())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the lines and the table."""
        shown = "<br>".join(map(html.escape, self.lines()))
        return f"<p>{shown}</p>{self.to_pandas()._repr_html_()}"


@dataclass(frozen=True, eq=False)
class Later:
    """An artifact that is made on first use, because the digests of its inputs may take long.

    Attributes
    ----------
    arrays, attributes : mapping
        Arrays and attributes of the artifact, without digests and labels.
    make : callable
        Makes the artifact.
    """

    arrays: "Mapping[str, np.ndarray]"
    attributes: Mapping[str, Any]
    make: "Callable[[], Artifact]"

    @cached_property
    def made(self) -> "Artifact":
        """The artifact."""
        return self.make()


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Content):
    """An answer: an artifact in memory.

    Attributes
    ----------
    artifact : Artifact
        What :meth:`save` writes.
    details : mapping
        Further entries of the command's ``--json``; empty for a loaded answer.
    """

    _said: "Artifact | Later"
    details: Mapping[str, Any] = field(default_factory=dict)
    _graph: "Graph | None" = None

    @property
    def artifact(self) -> "Artifact":
        """What :meth:`save` writes."""
        return self._said.made if isinstance(self._said, Later) else self._said

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_said": self.artifact}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def _content(self) -> "Artifact":
        return self.artifact

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the answer, as the command stores them."""
        return dict(self.artifact.params)

    @property
    def seed(self) -> int | None:
        """The seed of its random numbers, if any."""
        return self.artifact.seed

    def _check_graph(self, graph: "Graph", digest: str, what: str) -> None:
        """Check that the answer belongs to a graph with the same edges; edge probabilities may differ.

        Raises
        ------
        InputError
            If it was made on another graph, or on a graph that is known only by its digest, and the digest differs.
        """
        before = made_on(self.artifact)
        if before in (None, digest) or (self._graph is not None and _same_edges(self._graph, graph)):
            return
        advice = "give the graph it was made on, or only its vertices, as a list"
        raise another_graph(what, str(before), digest, advice)

    def _names(self, numbers: "np.ndarray") -> list[Label]:
        """Return the external names of the vertices that have these numbers in the artifact."""
        from gpukit.artifacts.labels import names_in

        if isinstance(self._said, Later):
            assert self._graph is not None
            named: list[Label] = (numbers if self._graph.labels is None else self._graph.labels.texts(numbers)).tolist()
            return named
        return names_in(self._said, numbers)


def _same_edges(one: "Graph", other: "Graph") -> bool:
    """Return whether two graphs have the same vertices and the same edges."""
    import numpy as np

    if one.m != other.m or (one.labels is None) != (other.labels is None):
        return False
    arrays = [(one.indptr, other.indptr), (one.indices, other.indices)]
    if one.labels is not None and other.labels is not None:
        arrays += [(one.labels.offsets, other.labels.offsets), (one.labels.data, other.labels.data)]
    elif one.n == other.n:
        arrays.append((one.numbers(range(one.n)), other.numbers(range(one.n))))
    return all(a is b or np.array_equal(a, b) for a, b in arrays)


def cut(items: list[Any]) -> str:
    """Return the first items of a list as text, and the number of omitted items."""
    left = len(items) - SHOWN
    return ", ".join(map(str, items[:SHOWN])) + (f", … and {left:,} more" if left > 0 else "")


@dataclass(frozen=True, eq=False, repr=False)
class Seeds(Answer):
    """Seeds in order of choice; iterating over them yields external names.

    Examples
    --------
    >>> import gpukit as gk
    >>> star = gk.from_edges(["hub"] * 4, ["a", "b", "c", "d"], weights="const:1")
    >>> found = gk.influence_maximization(star, k=1)
    >>> list(found), found.spread_estimate
    (['hub'], 5.0)
    """

    @property
    def seeds(self) -> list[Label]:
        """The seeds in order of choice."""
        return self._names(self.artifact.arrays["seeds"])

    @property
    def gains(self) -> list[int] | None:
        """The gain of each seed when it was chosen, in the unit of the file."""
        gains = self.artifact.arrays.get("gains")
        return None if gains is None else gains.tolist()

    @property
    def rounds(self) -> list[int] | None:
        """The round of each seed, from 0; only if there are several rounds."""
        rounds = self.artifact.arrays.get("rounds")
        return None if rounds is None else rounds.tolist()

    @property
    def method(self) -> str:
        """The method that found them."""
        return str(self.artifact.attributes["method"])

    @property
    def spread_estimate(self) -> float | None:
        """Expected number of vertices reached, from samples that were not used for the choice."""
        return self.artifact.attributes.get("spread_estimate")

    @property
    def selection_estimate(self) -> float | None:
        """The same from the samples used for the choice, so it is too high; only if there is no other estimate."""
        return self.artifact.attributes.get("selection_estimate")

    @property
    def guarantee(self) -> float | None:
        """The seeds reach at least this share of the best possible spread, except with probability 1/n."""
        return (self.artifact.attributes.get("guarantee") or {}).get("value")

    def __len__(self) -> int:
        return len(self.artifact.arrays["seeds"])

    @overload
    def __getitem__(self, place: int) -> Label: ...

    @overload
    def __getitem__(self, place: slice) -> list[Label]: ...

    def __getitem__(self, place: int | slice) -> Label | list[Label]:
        return self.seeds[place]

    def __iter__(self) -> Iterator[Label]:
        return iter(self.seeds)

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        shown = [f"Seeds: {len(self):,} of {counted(self.artifact.attributes['n'], 'vertex')}, by {self.method}"]
        shown.append(f"seeds      {cut(self.seeds)}")
        if self.spread_estimate is not None:
            shown.append(f"spread     {self.spread_estimate:,.2f} (estimate)")
        if self.guarantee is not None:
            shown.append(f"guarantee  {self.guarantee:.4f} of the best possible if edges have these probabilities")
        return shown


@dataclass(frozen=True, eq=False, repr=False)
class Spread(Answer):
    """The mean spread of seeds: of all seeds, and of the requested prefixes.

    Examples
    --------
    >>> import gpukit as gk
    >>> path = gk.from_edges([0, 1], [1, 2], weights="const:1")
    >>> reached = gk.estimate_spread(path, [1], runs=10)
    >>> reached.mean, reached.stderr, reached.runs
    (2.0, 0.0, 10)
    """

    @property
    def mean(self) -> float:
        """Mean number of vertices that all seeds reach."""
        return float(self._column("spread")[-1])

    @property
    def stderr(self) -> float:
        """Standard error of the mean."""
        return float(self._column("stderr")[-1])

    @property
    def runs(self) -> int:
        """Number of cascades."""
        return int(self._column("runs")[-1])

    @property
    def curve(self) -> list[tuple[int, float, float]]:
        """Number of seeds, mean and standard error, for each requested prefix and for all seeds."""
        columns = (self._column(name).tolist() for name in ("k", "spread", "stderr"))
        return list(zip(*columns, strict=True))

    def _column(self, name: str) -> "np.ndarray":
        return self.artifact.arrays[f"columns/{name}"]

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        return [f"Spread: {with_error(self.mean, 2 * self.stderr)} (two standard errors; {self.runs:,} cascades)"]


@dataclass(frozen=True, eq=False, repr=False)
class TopK(Answer):
    """The vertices with the largest personalised PageRank of each query.

    Examples
    --------
    >>> import gpukit as gk
    >>> path = gk.from_edges([0, 1], [1, 2], undirected=True)
    >>> found = gk.PageRankIndex(path).top_k(1, k=1)
    >>> found.vertices, len(found)
    ([1], 1)
    """

    @property
    def answers(self) -> list[list[tuple[Label, float]]]:
        """For each query the vertices and their scores, by falling score."""
        arrays = self._said.arrays
        names = self._names(arrays["nodes"])
        scores = (arrays["scores"] * 2.0**-62).tolist()
        pairs = list(zip(names, scores, strict=True))
        offsets = arrays["offsets"].tolist()
        return [pairs[first:last] for first, last in zip(offsets, offsets[1:], strict=False)]

    @property
    def certain(self) -> list[list[bool]] | None:
        """For each query, whether the vertex at each place is certainly one of the k best; None if it was not refined.

        Certain means: except with probability 1/n per query.
        """
        arrays = self._said.arrays
        if "certain" not in arrays:
            return None
        flags, offsets = (arrays["certain"] > 0).tolist(), arrays["offsets"].tolist()
        return [flags[first:last] for first, last in zip(offsets, offsets[1:], strict=False)]

    @property
    def best(self) -> list[tuple[Label, float]]:
        """The answer to a single query.

        Raises
        ------
        UsageError
            If there are several queries.
        """
        if len(self) != 1:
            raise UsageError(f"there are {len(self)} answers; take them one by one from answers")
        return self.answers[0]

    @property
    def vertices(self) -> list[Label]:
        """The vertices in the answer to a single query."""
        return [vertex for vertex, _ in self.best]

    @property
    def scores(self) -> list[float]:
        """Their scores."""
        return [score for _, score in self.best]

    def __len__(self) -> int:
        return len(self._said.arrays["offsets"]) - 1

    def __getitem__(self, place: int) -> list[tuple[Label, float]]:
        return self.answers[place]

    def __iter__(self) -> Iterator[list[tuple[Label, float]]]:
        return iter(self.answers)

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        a = self._said.attributes
        shown = [f"TopK: {counted(len(self), 'query')}, k = {a['k']}, α = {a['alpha']}"]
        for number, answer in enumerate(self.answers[:SHOWN], 1):
            shown.append(f"query {number}: " + cut([f"{vertex} ({score:.4g})" for vertex, score in answer]))
        return shown


@dataclass(frozen=True, eq=False, repr=False)
class Diversity(Answer):
    """The vertices with the most circles among their neighbours, best first, and these circles.

    Examples
    --------
    >>> import gpukit as gk
    >>> two = gk.from_edges(["me"] * 4 + ["a", "c"], ["a", "b", "c", "d", "b", "d"], undirected=True)
    >>> found = gk.structural_diversity(two, k=2, model="comp", t=1)
    >>> found.scores, found.circles["me"]
    ({'me': 2}, [['a', 'b'], ['c', 'd']])
    """

    @property
    def vertices(self) -> list[Label]:
        """The vertices, by falling score."""
        return self._names(self.artifact.arrays["vertices"])

    @property
    def scores(self) -> dict[Label, int]:
        """Number of circles of each vertex."""
        return dict(zip(self.vertices, self.artifact.arrays["scores"].tolist(), strict=True))

    @property
    def circles(self) -> dict[Label, list[list[Label]]]:
        """The circles of each vertex, and the vertices in each."""
        arrays = self.artifact.arrays
        members, ends = self._names(arrays["members"]), arrays["offsets"].tolist()
        rows = [members[first:last] for first, last in zip(ends, ends[1:], strict=False)]
        places = arrays["first"].tolist()
        parts = [rows[first:last] for first, last in zip(places, places[1:], strict=False)]
        return dict(zip(self.vertices, parts, strict=True))

    def __len__(self) -> int:
        return len(self.artifact.arrays["vertices"])

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        a = self.artifact.attributes
        shown = [f"Diversity: the {len(self):,} best of {counted(a['n'], 'vertex')}, {a['model']}, k = {a['k']}"]
        equal = tied(list(self.scores.values()), SHOWN, a["n"], "circle")
        return [*shown, cut([f"{vertex} ({score})" for vertex, score in self.scores.items()]), *[equal] * bool(equal)]
