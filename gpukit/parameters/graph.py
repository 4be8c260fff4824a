"""What an import of edges is asked."""

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
BothWays = Annotated[bool, Option("Each edge stands for both directions.")]
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
    """What the user says of a file; None is found by looking.

    Attributes
    ----------
    sep, header, columns, ids, format, comment, skip_bad, decimal, sheet, encoding, fold_case, strip
        As :class:`gpukit.graph.read.edgelist.ReadOptions` has them, with ``sep`` for the separator.
    """

    sep: Annotated[
        str | None,
        Option(
            "What stands between columns; found by looking by default.",
            metavar="space|tab|comma|semicolon|C",
            workflow=True,
        ),
    ] = None
    header: Annotated[
        bool | None,
        Option(
            "The first line names the columns; found by looking by default.",
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
            "The format, of those that `gpukit graph import --format list` shows; found by looking by default.",
            command=False,
            workflow=True,
        ),
    ] = None
    comment: Annotated[
        str | None, Option("What a comment begins with; # and % by default.", metavar="C|none", workflow=True)
    ] = None
    skip_bad: Annotated[
        int | None,
        Option(
            "Skip up to N lines that are no edges, and say which; none by default.", metavar="N", ge=0, workflow=True
        ),
    ] = None
    decimal: Annotated[
        Decimal | None,
        Option("What the decimals of weights begin with; a point by default.", metavar=".|,", workflow=True),
    ] = None
    sheet: Annotated[
        str | None, Option("The sheet of a workbook; its only one that holds something by default.", metavar="NAME")
    ] = None
    encoding: Annotated[
        str | None, Option("The encoding of a text, as cp1252; UTF-8 by default.", metavar="NAME", workflow=True)
    ] = None
    fold_case: Annotated[bool, Option("Join names that differ only in case.", workflow=True)] = False
    strip: Annotated[bool, Option("Read runs of blanks inside names as one blank.", workflow=True)] = False


@dataclass(frozen=True)
class Import(Parameters):
    """What is asked of edges.

    Attributes
    ----------
    undirected : bool or None
        Whether each edge stands for both directions; None: as the file says, else not.
    weights : str
        Edge probabilities: ``wc``, ``const:P``, ``trivalency``, ``uniform:LO:HI``, ``file`` or ``none``.
    parallel_edges : str or None
        What becomes of parallel edges (:func:`gpukit.api.edges.parallel_of`).
    scale : str or None
        ``max`` or ``in-sum``: make probabilities of counts.
    vertices : int or None
        The ids are 0 … N-1, also those without edges.
    dataset : str or None
        The file is this one of the catalogue.
    transpose : bool
        Whether to keep the in-edges.
    text : Text
        What the user says of the file.
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
        str | None, Option("The file is this one of `gpukit data list`; it says the rest.", metavar="NAME")
    ] = None
    transpose: Transpose = True
    text: Text = Text()
