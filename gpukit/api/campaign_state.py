"""Conversion of campaigns: rounds with internal ids in memory, arrays with original ids in the artifact."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.api.results import another_graph
from gpukit.api.session import Session
from gpukit.artifacts import Artifact
from gpukit.errors import InputError, UsageError
from gpukit.merit import Costs, Round
from gpukit.merit.problem import check
from gpukit.parameters.merit import Params
from gpukit.parameters.option import declared
from gpukit.wording import facing

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

STOPS = ("certified", "cap", "end")
_NUMBERS = {
    "cost": "cost",
    "sets": "sets",
    "covered": "covered",
    "most": "coverage_upper",
    "refused": "refused",
    "judged": "judged",
}
"""Datasets of the artifact, and the field of a round that each of them holds."""


def stored(session: Session, asked: Params, costs: Costs, campaigns: Sequence[tuple[int, Sequence[Round]]]) -> Artifact:
    """Return campaigns, each with the number of its world (-1: observed), as an artifact."""
    graph = session.graph
    rounds = [one for _, listed in campaigns for one in listed]
    outcomes = [one.activated if one.activated is not None else np.zeros(0, np.int32) for one in rounds]
    arrays = {
        "worlds": np.array([number for number, _ in campaigns], np.int64),
        "first_round": _begins([len(listed) for _, listed in campaigns]),
        "batch_begin": _begins([len(one.batch) for one in rounds]),
        "seeds": graph.numbers(_joined([one.batch for one in rounds])),
        "activated_begin": _begins([len(one) for one in outcomes]),
        "activated": graph.numbers(_joined(outcomes)),
        **{name: np.array([getattr(one, field) for one in rounds], np.int64) for name, field in _NUMBERS.items()},
        "hits": np.array([-1 if one.hits is None else one.hits for one in rounds], np.int64),
        "stops": np.array([STOPS.index(one.kind) for one in rounds], np.int8),
    }
    if costs.scheme == "file":
        arrays["prices"] = costs.values
    attributes = {
        **asked.record(),
        "n": graph.n,
        "costs": costs.scheme,
        "unit": str(costs.unit),
        "graph": session.inputs["graph"],
    }
    attributes["pending"] = bool(rounds) and rounds[-1].activated is None
    return session.artifact("campaign", arrays, attributes)


def restored(path: Path, artifact: Artifact, graph: "Graph", digest: str) -> tuple[Params, list[Round]]:
    """Return the state of the one campaign in a file.

    Raises
    ------
    InputError
        If the file is broken, holds simulated campaigns, or belongs to another graph.
    """
    a, arrays = artifact.attributes, artifact.arrays
    if a["graph"] != digest:
        raise another_graph(path, a["graph"], digest, "give the graph it was started with")
    unit = Decimal(a["unit"])
    if arrays["worlds"].tolist() != [-1]:
        raise InputError(f"{path} holds simulated campaigns; `merit next` goes on with one begun by `merit start`")
    seeds, active = graph.of_numbers(arrays["seeds"]), graph.of_numbers(arrays["activated"])
    if a["costs"] == "file":
        costs = Costs(arrays["prices"], unit, "file")
    else:
        costs = Costs.degree(graph) if a["costs"] == "degree" else Costs.uniform(graph)
    try:
        said = {name: a[name] for name, one in declared(Params).items() if one.option.decides}
        said["lt_residual"] = a["lt_residual"] if a["model"] == "lt" else None
        asked = Params(**said, costs=costs, seed=artifact.seed or 0)
        check(graph, asked)
    except UsageError as error:
        with facing("python"):  # from the file, not from an option
            raise InputError(f"{path}: {error}") from None
    rounds = []
    for r in range(len(arrays["cost"])):
        batch = seeds[arrays["batch_begin"][r] : arrays["batch_begin"][r + 1]].astype(np.int32)
        outcome = active[arrays["activated_begin"][r] : arrays["activated_begin"][r + 1]].astype(np.int32)
        hits = int(arrays["hits"][r])
        numbers: dict[str, Any] = {field: int(arrays[name][r]) for name, field in _NUMBERS.items()}
        if numbers["cost"] != costs.of(batch):
            raise InputError(f"{path}: round {r} costs other than its seeds do; make or copy it again")
        numbers |= {"hits": None if hits < 0 else hits, "kind": STOPS[int(arrays["stops"][r])]}
        rounds.append(Round(batch=batch, activated=outcome if len(outcome) else None, **numbers))
    return asked, rounds


def rounds_record(graph: "Graph", rounds: Sequence[Round], costs: Costs) -> list[dict[str, Any]]:
    """Return the rounds as ``--json`` shows them: original ids of the batch, number of activated vertices, cost."""
    return [
        {
            "batch": graph.original(one.batch).tolist(),
            "activated": None if one.activated is None else len(one.activated),
            "cost": costs.amount(one.cost),
            "sets": one.sets,
            "covered": one.covered,
            "most": one.coverage_upper,
            "hits": one.hits,
            "refused": one.refused,
            "stop": one.kind,
        }
        for one in rounds
    ]


def _begins(lengths: Sequence[int]) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int32), *parts])
