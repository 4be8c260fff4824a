"""The layout of every kind of artifact: the table behind writing, reading, ``verify``, ``inspect`` and the docs.

A new kind is a new row of :data:`KINDS`. An incompatible change of a layout increments the ``version`` of the kind.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

INT32, INT64, UINT8, UINT32, UINT64 = ("int32",), ("int64",), ("uint8",), ("uint32",), ("uint64",)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")

_DRAWN = ("trivalency", "uniform")
_EXPLICIT = (*_DRAWN, "file")
_KEPT, _ROWS, _UPDATABLE = ("sets", ("kept",)), ("light", (False,)), ("sized_for", None)
_COUNT, _COUNTED = (0, math.inf), (-1, math.inf)
SAMPLE_IDS = 1 << 48
"""Number of possible samples; their ids start at 0."""

TABLES = 1
"""Version of the sampling tables in a graph; increment it with every change of the result of ``build_tables``."""


@dataclass(frozen=True)
class Array:
    """One dataset of a kind.

    Attributes
    ----------
    path : str
        Path in the file; a last part ``*`` stands for any number of datasets with arbitrary names.
    dtypes : tuple of str
        The allowed types; the first is the usual one.
    shape : tuple of str
        The length of each axis: a number, a name (``n``) or a name plus one (``n+1``). Equal names mean equal lengths.
        ``("*",)`` allows one or two axes of any length.
    meaning : str
        One line for readers.
    required : bool
        Whether every file of the kind has it.
    derived : bool
        Whether it follows from other arrays. Derived arrays do not enter the payload digest, so a graph has the same
        digest with and without its transpose.
    high : str or None
        Values lie in [0, high); high is a name from shapes or attributes.
    ends : str or None
        The array holds row starts: non-decreasing, from 0 to the length of this name.
    since : int
        The least layout version of a file with this array.
    within : tuple of two numbers, or None
        The smallest and the largest allowed value.
    only : tuple of str and tuple, or None
        An attribute, and its values: the array is present exactly for these values. None means any value.
    rises : str or None
        Values rise strictly: within the rows whose starts are in the dataset of this path, or in the whole array
        (``""``).
    """

    path: str
    dtypes: tuple[str, ...]
    shape: tuple[str, ...]
    meaning: str
    required: bool = True
    derived: bool = False
    high: str | None = None
    ends: str | None = None
    since: int = 1
    within: tuple[float, float] | None = None
    only: tuple[str, tuple | None] | None = None
    rises: str | None = None


@dataclass(frozen=True)
class Attribute:
    """One content attribute of a kind: its name, type and meaning.

    The type is ``int``, ``float``, ``str``, ``bool``, ``object`` or ``any``. An attribute with the name of a length
    must equal that length. A derived attribute does not enter the payload digest. ``allowed`` lists its allowed values,
    ``inside`` is an open interval of allowed values, and ``only`` is as in :class:`Array`.
    """

    name: str
    type: str
    meaning: str
    required: bool = True
    derived: bool = False
    allowed: tuple[str, ...] = ()
    inside: tuple[float, float] | None = None
    only: tuple[str, tuple | None] | None = None


@dataclass(frozen=True)
class Kind:
    """One kind of artifact: name, layout version, meaning, arrays and content attributes.

    ``version`` applies to a file without optional arrays that were added later. ``open_attributes`` allows additional
    attributes.
    """

    name: str
    version: int
    meaning: str
    arrays: tuple[Array, ...]
    attributes: tuple[Attribute, ...] = ()
    open_attributes: bool = False

    @property
    def newest(self) -> int:
        """The highest layout version of the kind."""
        return max(self.version, *(row.since for row in self.arrays))

    def version_of(self, paths: Iterable[str]) -> int:
        """Return the layout version of a file with these arrays."""
        return max(self.version, *(row.since for path in paths if (row := self.array(path)) is not None))

    def array(self, path: str) -> Array | None:
        """Return the row that describes the dataset at ``path``, or None."""
        parent = path.rpartition("/")[0]
        for row in self.arrays:
            if row.path == path or (row.path.endswith("/*") and row.path[:-2] == parent):
                return row
        return None


def _csr(group: str, rows: str, columns: str) -> tuple[Array, ...]:
    """Return the table rows of a Binsparse CSR matrix with an iso value of one, and optional probabilities of edges."""
    derived, required = bool(group), not group
    return (
        Array(f"{group}pointers_to_1", INT64, ("n+1",), f"row starts: {rows}", required, derived, ends="m"),
        Array(
            f"{group}indices_1",
            INT32,
            ("m",),
            f"{columns}, ascending in a row",
            required,
            derived,
            high="n",
            rises=f"{group}pointers_to_1",
        ),
        Array(f"{group}values", ("int8",), ("1",), "the Binsparse value of every edge: 1", required, derived),
        Array(
            f"{group}probabilities",
            UINT32,
            ("m",),
            "p = (x + 1) / 2^32 of each edge",
            False,
            derived,
            only=None if group else ("scheme", _EXPLICIT),
        ),
    )


def _all_labels(since: int) -> tuple[Array, ...]:
    """Return the table rows for the labels of all vertices."""
    return (
        Array(
            "labels/offsets", INT64, ("n+1",), "start of each vertex's label; absent if vertices have ids", False,
            ends="bytes", since=since,
        ),
        Array("labels/bytes", UINT8, ("bytes",), "distinct labels in UTF-8, ascending", False, since=since),
    )  # fmt: skip


def _some_labels(since: int) -> tuple[Array, ...]:
    """Return the table rows for the labels of the vertices named in a result."""
    return (
        Array(
            "labels/vertices", INT32, ("named",),
            "internal ids of the vertices with a label here; absent without labels", False,
            high="n", since=since, rises=""
        ),
        Array("labels/offsets", INT64, ("named+1",), "start of each label", False, ends="bytes", since=since),
        Array("labels/bytes", UINT8, ("bytes",), "distinct labels in UTF-8, ascending", False, since=since),
    )  # fmt: skip


def _nested(model: str) -> tuple[Array, ...]:
    """Return the table rows for the contexts of a model, for every k."""
    meaning = "largest k at which it shares a context with the preceding member; 0 if none"
    return (
        Array(
            f"{model}/members",
            INT32,
            ("m",),
            "neighbours; each context is a contiguous run, that of the lowest member first",
            high="n",
        ),
        Array(f"{model}/links", INT32, ("m",), meaning),
    )


def _lists(model: str) -> tuple[Array, ...]:
    """Return the table rows for a model's score lists: vertices and numbers of contexts, for every k."""
    size = f"{model}_size"
    return (
        Array(f"{model}/first", INT64, (f"{model}_ks+1",), "start of the list of k = 0, 1, …", ends=size),
        Array(f"{model}/vertices", INT32, (size,), "internal ids, by falling score, then by id", high="n"),
        Array(f"{model}/scores", INT32, (size,), "number of contexts: 1 or more", within=(1, math.inf)),
    )


_WEIGHTED = Attribute("weighted", "bool", "true if edges count by their weight; absent if all edges count alike", False)
_ALPHA = Attribute("alpha", "float", "probability that a walk stops at a vertex with out-edges", inside=(0, 1))
_CASCADE = Attribute("model", "str", "ic or lt", allowed=("ic", "lt"))
_SCHEMES = ("wc", "const", *_EXPLICIT, "none")
_IDS = Array(
    "ids", INT64, ("n",), "original vertex ids, ascending; absent when 0 … n-1", False, within=_COUNT, rises=""
)  # fmt: skip
_VERTICES = Attribute("n", "int", "number of vertices of the graph")
_GRAPH_DIGEST = Attribute("graph", "str", "payload digest of the graph")


def _kind(name: str, version: int, meaning: str, *rows: Array | Attribute, open_attributes: bool = False) -> Kind:
    """Return a kind with these arrays and attributes."""
    arrays = tuple(row for row in rows if isinstance(row, Array))
    attributes = tuple(row for row in rows if isinstance(row, Attribute))
    return Kind(name, version, meaning, arrays, attributes, open_attributes)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        _kind(
            "graph", 1, "a directed simple graph as a Binsparse CSR matrix, with original ids and edge probabilities",
            *_csr("", "out-edges of each vertex", "heads of the out-edges"),
            _IDS,
            *_all_labels(since=2),
            *_csr("transpose/", "in-edges of each vertex", "tails of the in-edges"),
            Array("tables/*", INTEGERS + FLOATS, ("*",), "sampling tables, built at import", False, True),
            Attribute("n", "int", "number of vertices"),
            Attribute("m", "int", "number of directed edges"),
            Attribute(
                "scheme", "str", "edge probabilities: wc, const, trivalency, uniform, file or none", allowed=_SCHEMES
            ),
            Attribute("p", "float", "probability of every edge; scheme const only", False, only=("scheme", ("const",))),
            Attribute(
                "weights_seed", "int", "seed of drawn probabilities; schemes trivalency and uniform only", False,
                only=("scheme", _DRAWN)
            ),
            Attribute(
                "low", "float", "lower end of the range of drawn probabilities; scheme uniform only", False,
                only=("scheme", ("uniform",))
            ),
            Attribute(
                "high", "float", "upper end of the range of drawn probabilities; scheme uniform only", False,
                only=("scheme", ("uniform",))
            ),
            Attribute("undirected", "bool", "whether import added every edge in both directions"),
            Attribute("tables", "int", "version of the sampling tables; 1 if absent", False, derived=True),
            Attribute("facts", "object", "what the import found: self_loops_dropped, …", derived=True),
        ),
        _kind(
            "rrsets", 1, "reverse-reachable sets with consecutive sample ids, packed end to end in id order",
            Array("offsets", INT64, ("count+1",), "start of each set in members", ends="size"),
            Array(
                "members", INT32, ("size",), "elements of the sets, ascending in a set", high="elements",
                rises="offsets"
            ),
            _IDS,
            *_all_labels(since=2),
            Array(
                "own", UINT64, ("n",),
                "probability that no in-edge of a vertex is live, in units of 2^-63; kept sets only",
                False, since=2, within=(0, 1 << 63), only=_KEPT
            ),
            Array(
                "weights", INT64, ("n",), "weight of each vertex, in units of 10^-decimals; 1 each if absent",
                False, since=2, within=_COUNT, only=("decimals", None)
            ),
            _VERTICES,
            Attribute("m", "int", "number of directed edges of the graph", False),
            Attribute(
                "sets", "str", "kept: sets that hold only their root are left out; plain (or absent): all sets", False,
                allowed=("kept", "plain")
            ),
            Attribute("drawn", "int", "number of sample ids drawn; kept sets only", False, only=_KEPT),
            Attribute(
                "gamma", "int", "Γ: factor of the share of kept sets that seeds hit, in units of 2^-63", False,
                only=_KEPT
            ),
            Attribute("decimals", "int", "of the weights", False, inside=(-1, 10)),
            Attribute("elements", "int", "bound of the members: n · rounds; element = round · n + vertex"),
            Attribute("first", "int", "sample id of the first set", inside=_COUNTED),
            Attribute("count", "int", "number of sets"),
            Attribute("stream", "str", "name of the random stream the sets were drawn from"),
            _CASCADE,
            Attribute("sampler", "str", "skip or scan", allowed=("skip", "scan")),
            Attribute("rounds", "int", "rounds T of multi-round influence; 1 otherwise", inside=(0, 256)),
            _GRAPH_DIGEST,
        ),
        _kind(
            "seeds", 1, "chosen vertices in order of choice, with their expected spread",
            Array("seeds", INT64, ("k",), "original ids, in order of choice"),
            Array("internal", INT32, ("k",), "the same vertices as internal ids", high="n"),
            Array(
                "gains", INT64, ("k",), "marginal coverage: sets (or vertices over all worlds) that each seed added",
                False,
                within=_COUNT
            ),
            Array(
                "spread_gains", ("float64",), ("k",), "spread that each seed adds, estimated from the gains", False,
                since=2,
                within=_COUNT
            ),
            Array(
                "degrees", INT64, ("k",), "out-degree of each seed; absent if no graph was available", False, since=2,
                within=_COUNT
            ),
            Array("rounds", INT32, ("k",), "round of each seed; multi-round influence only", False, within=(0, 254)),
            *_some_labels(since=2),
            _VERTICES,
            Attribute("method", "str", "how the seeds were found"),
            Attribute(
                "spread_estimate", "float", "expected vertices reached, from samples that the choice did not use",
                False,
                inside=_COUNTED
            ),
            Attribute("selection_estimate", "float", "the same from the samples used for the choice: too high", False),
            Attribute("rr_sets", "int", "number of RR sets used, all collections together", False, inside=_COUNTED),
            Attribute("guarantee", "any", "the approximation guarantee that holds", False),
            _GRAPH_DIGEST,
        ),
        _kind(
            "pagerank", 1, "global PageRank with absorbing dangling vertices, and the PRO-rank list",
            Array("pagerank", UINT64, ("n",), "PageRank in units of 2^-62"),
            Array("order", INT32, ("ranked",), "vertices with out-edges, by falling PageRank / d_out", high="n"),
            _VERTICES,
            _ALPHA,
            Attribute("rounds", "int", "synchronous rounds done", inside=_COUNTED),
            Attribute("remaining", "int", "mass not yet spread, in units of 2^-62", inside=_COUNTED),
            _WEIGHTED,
            _GRAPH_DIGEST,
        ),
        _kind(
            "irw",
            1,
            "inverted random walks as a doubled CSR: who starts the walks that end at a vertex, and how many",
            Array("walks", UINT32, ("n",), "walks from each vertex; 0 without out-edges"),
            Array("arrivals", INT64, ("n",), "walks that end at each vertex", within=_COUNT),
            Array(
                "src_begin", INT64, ("n+1",), "start of each start list; absent if light", False, ends="entries",
                only=_ROWS
            ),
            Array("starts", INT32, ("entries",), "start lists: frequent starts first", False, high="n", only=_ROWS),
            Array("frequent_begin", INT64, ("n+1",), "start of the frequencies", False, ends="frequent", only=_ROWS),
            Array(
                "frequencies", UINT32, ("frequent",), "walks of each frequent start: 2 or more", False,
                within=(2, math.inf), only=_ROWS
            ),
            Array("hubs", INT32, ("hubs",), "vertices where more than 8ψ walks end", False, high="n", rises=""),
            Array(
                "factors", ("uint8",), ("n",), "factor a(v) of the number of walks", False, since=2,
                within=(1, math.inf), only=_UPDATABLE
            ),
            Array(
                "moves", ("uint16",), ("count",), "steps of each walk, by start and number", False, since=2,
                only=_UPDATABLE
            ),
            Array(
                "paths", INT32, ("steps",), "vertex after each step; all walks packed end to end", False, high="n",
                since=2,
                only=_UPDATABLE
            ),
            Array(
                "names", UINT64, ("n",), "ids that key the draws of walks; only if vertices were added or removed",
                False, since=3
            ),
            _VERTICES,
            _ALPHA,
            Attribute("epsilon", "float", "relative error the index is made for", inside=(0, 1)),
            Attribute("light", "bool", "whether only the counts are stored, so that queries draw the walks again"),
            Attribute(
                "sized_for", "int", "number of edges that the numbers of walks are sized for; layout 2", False,
                inside=_COUNTED
            ),
            Attribute(
                "sized_n", "int",
                "number of vertices that they are sized for, if vertices were added or removed; layout 3", False,
                inside=_COUNTED
            ),
            _WEIGHTED,
            _GRAPH_DIGEST,
        ),
        _kind(
            "topk", 1, "answers of top-k personalised PageRank queries, packed end to end",
            Array("offsets", INT64, ("queries+1",), "start of each answer", ends="size"),
            Array("nodes", INT64, ("size",), "original ids, best first"),
            Array("internal", INT32, ("size",), "the same vertices as internal ids", high="n"),
            Array("scores", UINT64, ("size",), "estimated PageRank in units of 2^-62"),
            Array("source_offsets", INT64, ("queries+1",), "start of each query", ends="starts"),
            Array(
                "sources", INT32, ("starts",), "internal ids of the sources, ascending", high="n",
                rises="source_offsets"
            ),
            Array("source_mass", UINT64, ("starts",), "probability of each source, in units of 2^-62"),
            Array(
                "certain", UINT8, ("size",), "1: certainly one of the k best; refined answers", False, since=3,
                within=(0, 1)
            ),
            *_some_labels(since=2),
            _VERTICES,
            Attribute("k", "int", "length of an answer; shorter if fewer vertices have a score", inside=(0, math.inf)),
            _ALPHA,
            Attribute("epsilon", "float", "relative error of Definition 1; absent for the truth", False, inside=(0, 1)),
            Attribute("method", "str", "how the answers were found"),
            _WEIGHTED,
            _GRAPH_DIGEST,
        ),
        _kind(
            "campaign", 2,
            "campaigns of minimum-cost seeding, round by round, or the state of a real campaign between rounds",
            Array(
                "worlds", INT64, ("campaigns",), "number of each hidden world; -1: observed, not simulated",
                within=(-1, math.inf)
            ),
            Array("first_round", INT64, ("campaigns+1",), "first round of each campaign", ends="rounds"),
            Array("batch_begin", INT64, ("rounds+1",), "start of each round's seeds", ends="chosen"),
            Array("seeds", INT64, ("chosen",), "original ids, in order of choice", within=_COUNT),
            Array(
                "activated_begin", INT64, ("rounds+1",), "start of the vertices that each round activated",
                ends="reached"
            ),
            Array(
                "activated", INT64, ("reached",), "original ids, ascending in a round; seeds included", within=_COUNT,
                rises="activated_begin"
            ),
            Array("cost", INT64, ("rounds",), "cost of the seeds of each round, in units", within=_COUNT),
            Array(
                "sets", INT64, ("rounds",), "mRR sets the seeds were chosen from; 0 in the end game",
                within=(0, SAMPLE_IDS)
            ),
            Array("covered", INT64, ("rounds",), "number of these sets that the seeds hit", within=_COUNT),
            Array(
                "most", INT64, ("rounds",), "upper bound on the sets that seeds of the same cost can hit",
                within=(0, SAMPLE_IDS)
            ),
            Array(
                "hits", INT64, ("rounds",), "number of judging sets that the seeds hit; -1: no judging sets",
                within=(-1, math.inf)
            ),
            Array("refused", INT64, ("rounds",), "number of batches that the judging sets refused", within=(0, 1024)),
            Array(
                "judged", INT64, ("rounds",), "number of ids of judging sets that earlier rounds used",
                within=(0, SAMPLE_IDS)
            ),
            Array(
                "stops", ("int8",), ("rounds",),
                "why the round drew no more sets: 0 certified, 1 at the limit, 2 end game", within=(0, 2)
            ),
            Array(
                "prices", INT64, ("n",), "cost of each vertex, in units; costs from a file", False,
                within=(1, math.inf), only=("costs", ("file",))
            ),
            *_some_labels(since=3),
            _VERTICES,
            Attribute("eta", "int", "vertices to activate", inside=(0, math.inf)),
            Attribute("batch", "int", "most seeds of a round", inside=(0, math.inf)),
            _CASCADE,
            Attribute("epsilon", "float", "accuracy of each round's choice", inside=(0, 1)),
            Attribute("update", "str", "coupled, paper or regenerate", allowed=("coupled", "paper", "regenerate")),
            Attribute("ids", "str", "sample ids from round to round: kept or fresh", allowed=("kept", "fresh")),
            Attribute("certificate", "str", "fresh or paper", allowed=("fresh", "paper")),
            Attribute("lt_residual", "str", "renormalised or raw", allowed=("renormalised", "raw")),
            Attribute("costs", "str", "degree, uniform or file", allowed=("degree", "uniform", "file")),
            Attribute("unit", "str", "cost that one unit stands for, as a decimal number"),
            Attribute("pending", "bool", "whether the outcome of the last round is still unknown"),
            _GRAPH_DIGEST,
        ),
        _kind(
            "egonets",
            1,
            "ego-networks (the subgraphs that the neighbours of each centre induce) in CSR, packed end to end",
            Array("centres", INT64, ("count",), "original ids of the centres", within=_COUNT, rises=""),
            Array("node_begin", INT64, ("count+1",), "start of each ego-network in nodes", ends="rows"),
            Array(
                "nodes", INT64, ("rows",), "original ids of the neighbours, ascending in an ego-network",
                rises="node_begin"
            ),
            Array("indptr", INT64, ("rows+1",), "row starts: edges of each node", ends="size"),
            Array(
                "indices", INT32, ("size",), "heads as positions in the ego-network, ascending in a row", within=_COUNT
            ),
            *_some_labels(since=2),
            _VERTICES,
            Attribute("count", "int", "number of ego-networks"),
            _GRAPH_DIGEST,
        ),
        _kind(
            "diversity", 1, "the vertices with the most social contexts, and these contexts",
            Array("vertices", INT64, ("t",), "original ids, by falling score, then by id"),
            Array("internal", INT32, ("t",), "the same vertices as internal ids", high="n"),
            Array("scores", INT32, ("t",), "number of contexts of each vertex"),
            Array("first", INT64, ("t+1",), "first context of each vertex", ends="contexts"),
            Array("offsets", INT64, ("contexts+1",), "start of each context in members", ends="size"),
            Array("members", INT64, ("size",), "original ids, ascending in a context", rises="offsets"),
            *_some_labels(since=2),
            _VERTICES,
            Attribute("model", "str", "comp, core or truss", allowed=("comp", "core", "truss")),
            Attribute("k", "int", "threshold of the model", inside=(0, math.inf)),
            _GRAPH_DIGEST,
        ),
        _kind(
            "contexts", 1,
            "the social contexts of every vertex for every k, and the vertices by number of contexts; internal ids",
            Array("offsets", INT64, ("n+1",), "start of the neighbours of each vertex", ends="m"),
            *_lists("comp"),
            *_nested("core"),
            *_lists("core"),
            *_nested("truss"),
            *_lists("truss"),
            _VERTICES,
            Attribute("m", "int", "number of edges of the graph, each in both directions"),
            _GRAPH_DIGEST,
        ),
        _kind(
            "decomposition", 1, "cores and trusses of an undirected graph",
            Array("coreness", INT32, ("n",), "largest k whose k-core has the vertex, by internal id", within=_COUNT),
            Array("tails", INT64, ("edges",), "original ids of the edges' lower ends"),
            Array("heads", INT64, ("edges",), "original ids of their higher ends; edges ascend"),
            Array("trussness", INT32, ("edges",), "largest k whose k-truss has the edge", within=(2, math.inf)),
            *_some_labels(since=2),
            _VERTICES,
            _GRAPH_DIGEST,
        ),
        _kind(
            "metrics", 1, "a table of numbers: named columns of equal length",
            Array("columns/*", ("int64", "float64"), ("rows",), "one column"),
            Attribute("columns", "any", "names of the columns, in order"),
            open_attributes=True,
        ),
    )
}  # fmt: skip
