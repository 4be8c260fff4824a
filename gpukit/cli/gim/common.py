"""The code that the commands of ``gpukit gim`` share: checks of options, and the display of a result."""

from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError
from gpukit.report.words import compared
from gpukit.wording import with_error

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph


def summary_of(record: dict[str, Any], n: int, under: str) -> dict[str, Any]:
    """Return the summary; ``n`` is the number of vertices, ``under`` the model that the guarantee assumes."""
    lines = {"seeds": record["seeds"]}
    if "rounds" in record:
        lines["rounds"] = record["rounds"]
    if record["spread_estimate"] is None:
        lines["spread"] = f"{record['selection_estimate']:,.2f} (on the sets it was chosen from, too high)"
    else:
        spread, stderr = record["spread_estimate"], record["stderr"]
        known = f"{spread:,.2f}" if stderr is None else f"{with_error(spread, 2 * stderr)} (two standard errors)"
        lines["spread"] = known
    if record["optimism"] is not None:
        lines["optimism"] = f"at most {100 * record['optimism']:.2g} % of the spread where it was chosen"
    if record["rules"]:
        lines["simple rules"] = "; ".join(f"{name} {reached}" for name, reached in compared(record).items())
        lines["chosen by"] = record["chosen_by"]
    lines["RR sets"] = f"{record['rr_sets']:,}"
    if record["guarantee"] is None:
        lines["guarantee"] = "none"
    else:
        kept = f"{record['guarantee']:.4f} of the best possible under {under}, {record['guarantee_kind']}"
        lines["guarantee"] = f"{kept}, except with probability 1 in {n:,}"
    return lines


def need_edges(graph: "Graph") -> None:
    """Refuse a graph without edges; raises InputError."""
    if graph.m == 0:
        raise InputError("the graph has no edges, so there is no influence to maximise; give one with edges")
