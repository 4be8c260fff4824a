"""Parameters of an import of edges."""

from dataclasses import dataclass
from typing import Annotated, Literal

from gpukit.parameters.option import Option, Parameters

Parallel = Literal["sum", "max", "combine", "first", "merge"]
Scale = str
"""``max``, ``in-sum``, or the number that weights are divided by."""

Decimal = Literal[".", ","]
Ids = Literal["integer", "text"]

Weights = Annotated[
    str,
    Option(
        "Edge probabilities: 1/in-degree, constant, 0.1/0.01/0.001 by chance, uniform in [LO, HI], third column, none.",
        metavar="wc|const:P|trivalency|uniform:LO:HI|file|none",
    ),
]
Transpose = Annotated[
    bool, Option("Keep the in-edges and the sampling tables too.", names="--transpose/--no-transpose")
]
BothWays = Annotated[bool, Option("Each listed edge is an edge in both directions.")]
ScaleParameter = Annotated[
    Scale | None,
    Option(
        "Make probabilities of counts: w / largest w, w / sum of those into the same vertex, or w / a number, the "
        "largest weight that may come later.",
        metavar="max|in-sum|NUMBER",
    ),
]


@dataclass(frozen=True)
class Text(Parameters):
    """The user's options for a file; None means that the value is detected.

    Attributes
    ----------
    sep, header, columns, ids, format, comment, skip_bad, decimal, sheet, encoding, fold_case, strip
        As in :class:`gpukit.graph.read.edgelist.ReadOptions`, with ``sep`` for the separator.
    """

    sep: Annotated[
        str | None,
        Option(
            "The separator of columns; detected by default.",
            metavar="space|tab|comma|semicolon|C",
            workflow=True,
        ),
    ] = None
    header: Annotated[
        bool | None,
        Option(
            "The first line names the columns; detected by default.",
            names="--header/--no-header",
            workflow=True,
        ),
    ] = None
    columns: Annotated[
        str | None,
        Option("The columns to read, by name or by number from 1.", metavar="SOURCE,TARGET[,WEIGHT]", workflow=True),
    ] = None
    ids: Annotated[Ids | None, Option("Whole numbers or names; as in the first edge by default.", workflow=True)] = None
    format: Annotated[
        str | None,
        Option(
            "The format, one of those that `gpukit graph import --format list` shows; detected by default.",
            command=False,
            workflow=True,
        ),
    ] = None
    comment: Annotated[
        str | None, Option("The character that starts a comment; # and % by default.", metavar="C|none", workflow=True)
    ] = None
    skip_bad: Annotated[
        int | None,
        Option(
            "Skip up to N lines that are no edges, and report them; none by default.", metavar="N", ge=0, workflow=True
        ),
    ] = None
    decimal: Annotated[
        Decimal | None,
        Option("The decimal mark of weights; a point by default.", metavar=".|,", workflow=True),
    ] = None
    sheet: Annotated[
        str | None, Option("The sheet of a workbook; by default the only one with content.", metavar="NAME")
    ] = None
    encoding: Annotated[
        str | None, Option("The encoding of a text, as cp1252; UTF-8 by default.", metavar="NAME", workflow=True)
    ] = None
    fold_case: Annotated[bool, Option("Join names that differ only in case.", workflow=True)] = False
    strip: Annotated[bool, Option("Read runs of blanks inside names as one blank.", workflow=True)] = False


@dataclass(frozen=True)
class Import(Parameters):
    """The parameters of an import.

    Attributes
    ----------
    undirected : bool or None
        Whether each listed edge is an edge in both directions; None: as the file states, or else false.
    weights : str
        Edge probabilities: ``wc``, ``const:P``, ``trivalency``, ``uniform:LO:HI``, ``file`` or ``none``.
    parallel_edges : str or None
        The treatment of parallel edges (:func:`gpukit.api.edges.parallel_of`).
    scale : str or None
        ``max``, ``in-sum`` or a number: how counts become probabilities.
    vertices : int or None
        The ids are 0 … N-1, also those without edges.
    dataset : str or None
        The file is this data set of the catalogue.
    transpose : bool
        Whether to keep the in-edges.
    text : Text
        The user's options for the file.
    """

    undirected: Annotated[
        bool | None,
        Option(
            "Edges stand for both directions, or for one; as the file says by default.",
            names="--undirected/--directed",
        ),
    ] = None
    weights: Weights = "wc"
    parallel_edges: Annotated[
        Parallel | None,
        Option(
            "Of a repeated edge: the sum of counts (the default with a scale), the largest weight (else; also called "
            "merge), that many chances, or the first line."
        ),
    ] = None
    scale: ScaleParameter = None
    vertices: Annotated[int | None, Option("The ids are 0 … N-1, also those without edges.", metavar="N", ge=1)] = None
    dataset: Annotated[
        str | None, Option("The file is this data set of `gpukit data list`, which has its options.", metavar="NAME")
    ] = None
    transpose: Transpose = True
    text: Text = Text()
