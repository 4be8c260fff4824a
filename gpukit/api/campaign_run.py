"""The part that ``gpukit merit`` and campaigns in Python share: parameters, choice of the device, and simulation."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api.session import Session
from gpukit.api.vertices import COST_DECIMALS
from gpukit.errors import InputError, UsageError
from gpukit.parameters.merit import Params
from gpukit.parameters.option import Option, parameter
from gpukit.wording import counted, spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.device.select import Device
    from gpukit.graph import csr
    from gpukit.merit import Costs, Result, Round
    from gpukit.merit.factory import MakeSets

_log = logging.getLogger("gpukit")

Worlds = Annotated[int, Option("Hidden worlds to run a campaign in.", metavar="W", ge=1, le=10**6)]
WORLDS = parameter("worlds", Worlds, 1)
PHASES = ("generate", "update", "judge", "select")
"""The phases whose times are recorded for a campaign; the time of the hidden world is left out."""
MEMBERS_PER_ROOT, SETS_PER_ROUND = 5, 20_000
"""Rough estimates for the choice of the device."""


def checked(session: Session, params: Params, costs: "Costs") -> Params:
    """Return the checked parameters of a campaign; the batch may be None until :func:`use_device`."""
    from gpukit.merit.problem import check

    params = replace(params, costs=costs)
    check(session.graph, params)
    return params


def priced(values: "np.ndarray", unpriced: int | None = None) -> "Costs":
    """Return given costs, in units of 10**-6; ``unpriced`` is the number of vertices without a given cost, if known."""
    from gpukit.merit import Costs

    return Costs(values, Decimal(1).scaleb(-COST_DECIMALS), "file", unpriced)


def use_device(
    session: Session, params: Params, worlds: int | None = None, *, make_sets: "MakeSets | None" = None
) -> "tuple[Device, Params]":
    """Choose the device by a rough estimate of the sets that campaigns need, and load compiled code there.

    ``worlds`` is the number of simulated campaigns, which several GPUs share; None means a real campaign, which uses
    one GPU. ``make_sets`` is an argument of :func:`gpukit.merit.simulate`; None means MERIT's own collections. If no
    batch is given, the default one is computed, and set in the returned parameters and in those of the session.
    """
    if worlds is None and session.gpus > 1:
        raise UsageError(
            f"{spelled('gpus')} is {session.gpus}; a real campaign runs on one GPU: set it to 1 (simulated campaigns "
            "share several)"
        )
    roots = session.graph.n / params.eta
    rounds = params.eta / (4 * params.size) + 5
    work = (worlds or 1) * rounds * SETS_PER_ROUND * roots * MEMBERS_PER_ROOT / params.size * 4
    device = session.use_device(work=work)
    places = _places(device, worlds or 1)
    session.load(lambda: _on_each(places, lambda one: _load(session.graph, params, one, make_sets)))
    if params.batch is None:
        from gpukit.merit.batch import expected_batch

        with session.phase("generate"):
            batch = expected_batch(session.graph, params, device, tables=session.tables)
        session.params["batch"], params = batch, replace(params, batch=batch)
        _log.info(
            "batches of %s, from their expected spread; %s sets another number",
            counted(batch, "seed"), spelled("batch"),
        )  # fmt: skip
    return device, params


def _places(device: "Device", worlds: int) -> "list[Device]":
    """Return the devices on which campaigns run: each GPU alone, but at most one per world; or the CPU."""
    return [replace(device, gpus=(gpu,)) for gpu in device.gpus[:worlds]] or [device]


def _on_each(places: "list[Device]", function: "Callable[[Device], None]") -> None:
    """Call a function for each device, concurrently if there are several."""
    if len(places) == 1:
        function(places[0])
        return
    from gpukit.device.on_each import OnEach, quick_turns

    gpus = [place.gpus[0] for place in places]
    with quick_turns():
        OnEach(gpus)(gpus, function, places)


def _load(graph: "csr.Graph", asked: Params, device: "Device", make_sets: "MakeSets | None") -> None:
    """Load compiled code with a campaign on one edge."""
    from gpukit.graph.tiny import one_edge
    from gpukit.merit import SimulatedWorld, factory, simulate

    edge = one_edge(graph, vertices=3)
    params = replace(asked, eta=3, batch=1, epsilon=Params.epsilon, costs=None, seed=0)
    world = SimulatedWorld(edge, asked.model, 0)
    simulate(edge, params, world, device, make_sets=make_sets or factory.make_sets)


def simulate(
    session: Session,
    params: Params,
    *,
    worlds: int = 1,
    record: "Sequence[np.ndarray] | None" = None,
    make_sets: "MakeSets | None" = None,
) -> "tuple[Artifact, list[tuple[int, Result]], list[dict[str, Any]]]":
    """Run campaigns in hidden worlds, or replay an observed campaign; for ``make_sets`` see :func:`use_device`.

    Returns
    -------
    Artifact
    list of int and Result
        The number of each world (-1: observed), and its campaign.
    list of dict
        For each campaign ``time_s``, the seconds of each phase. If there are several, also ``list_cost``, the cost of a
        fixed list in the same world.
    """
    device, params = use_device(session, params, worlds, make_sets=make_sets)
    from gpukit.api.campaign_state import stored
    from gpukit.device.timing import PhaseTimer, marker, synchroniser
    from gpukit.merit import ReplayedWorld, SimulatedWorld, factory, simulate

    graph, places = session.graph, _places(device, worlds)
    ended: dict[int, tuple[Result, dict[str, float]]] = {}
    under_way: dict[int, int] = {}
    numbers, stopped = iter(range(worlds)), threading.Event()

    def work(place: "Device") -> None:
        """Run one campaign after another.

        Their times are those of the session, unless several campaigns run at once.
        """
        timer = session.timer if len(places) == 1 else PhaseTimer(synchroniser(place))
        timer.mark = marker(place)  # a round is planned while the GPU updates sets
        try:
            for number in numbers:
                play(place, number, timer)
        except BaseException:
            list(numbers)  # no further campaign begins
            raise

    def play(place: "Device", number: int, timer: PhaseTimer) -> None:
        world = (
            ReplayedWorld(record) if record is not None else SimulatedWorld(graph, params.model, params.seed, number)
        )

        def update_bar(done: int, total: int) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt
            under_way[number] = done
            bar(len(ended) * total + sum(under_way.values()), worlds * total)

        before = timer.seconds()
        result = simulate(
            graph, params, world, place, tables=session.tables, timer=timer, progress=update_bar,
            make_sets=make_sets or factory.make_sets,
        )  # fmt: skip
        after = timer.seconds()
        seconds = {phase: round(after.get(phase, 0.0) - before.get(phase, 0.0), 6) for phase in PHASES}
        ended[number] = result, seconds
        under_way.pop(number, None)

    with session.progress("campaigns") as bar, session.phase("campaigns") if len(places) > 1 else nullcontext():
        try:
            _on_each(places, work)
        except BaseException:
            stopped.set()  # the running campaigns end after their current round
            raise
    results = [ended[number] for number in range(worlds)]
    more: list[dict[str, Any]] = [{"time_s": seconds} for _, seconds in results]
    if worlds > 1:  # a mean needs several worlds, and a first run on a GPU would have to compile code for the CPU
        from gpukit.merit.fixed_list import cost_in, fixed_list

        with session.phase("list"):
            costs = results[0][0].costs
            order = fixed_list(graph, params, device, tables=session.tables)
            for number, one in enumerate(more):
                world = SimulatedWorld(graph, params.model, params.seed, number)
                one["list_cost"] = costs.amount(cost_in(world, order, costs.values, params.eta))
    found = [(number if record is None else -1, result) for number, (result, _) in enumerate(results)]
    tell_of_first([result.rounds[0] for _, result in found], params.eta)
    with session.phase("write"):
        artifact = stored(session, params, found[0][1].costs, [(number, result.rounds) for number, result in found])
        return artifact, found, more


def tell_of_first(rounds: "Sequence[Round]", eta: int) -> None:
    """Warn if the first round of a campaign bought several seeds and alone reached more than η."""
    reached = [0 if one.activated is None or len(one.batch) == 1 else len(one.activated) for one in rounds]
    over = [number for number, count in enumerate(reached) if count > eta]
    if over:
        where = "" if len(rounds) == 1 else f" in {len(over):,} of {len(rounds):,} campaigns"
        _log.warning(
            "the first round, of %s, reached %s of %s wanted%s; a smaller %s may cost less",
            counted(len(rounds[over[0]].batch), "seed"), f"{reached[over[0]]:,}", f"{eta:,}", where,
            spelled("batch"),
        )  # fmt: skip


def check_free(out: Path, artifact: "Artifact | None" = None) -> None:
    """Refuse to overwrite an unfinished real campaign, which nobody can observe again; raises UsageError.

    ``artifact`` is the campaign to write; the file may hold its own earlier state.
    """
    from gpukit.artifacts import read

    if not out.is_file():
        return
    try:
        there = read(out, "campaign")
    except InputError:
        return  # not a campaign, so it is overwritten like any other file
    observed = len(there.arrays["cost"]) - 1
    earlier = artifact is not None and _goes_on(there, artifact)
    if there.attributes["pending"] and observed > 0 and not earlier:
        raise UsageError(
            f"{spelled('out')} {out} has an unfinished campaign, and {counted(observed, 'observed round')} would be "
            "lost; name another file, or remove that one"
        )


def _goes_on(before: "Artifact", after: "Artifact") -> bool:
    """Return whether a campaign in the state ``before`` can later be in the state ``after``."""
    same = (before.params, before.seed, before.inputs) == (after.params, after.seed, after.inputs)
    parts = ((before.arrays[name], after.arrays[name]) for name in ("seeds", "activated"))
    return (
        same
        and all((old == new[: len(old)]).all() for old, new in parts if len(old) <= len(new))
        and all(len(before.arrays[name]) <= len(after.arrays[name]) for name in ("seeds", "activated"))
    )


def record_of(graph: "csr.Graph", found: "list[tuple[int, Result]]", more: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the record of simulated campaigns for ``--json``: the whole first campaign, and a summary of each."""
    from gpukit.api.campaign_state import rounds_record

    first = found[0][1]
    listed = [
        {
            "world": number,
            "cost": result.amount,
            "activated": result.activated,
            "rounds": len(result.rounds),
            "seeds": len(result.seeds),
            "probes": result.probes,
            **one,
        }
        for (number, result), one in zip(found, more, strict=True)
    ]
    by_list = [one["list_cost"] for one in more if "list_cost" in one]
    return {
        "rounds": rounds_record(graph, first.rounds, first.costs),
        "activated": first.activated,
        "cost": first.amount,
        "seeds": graph.original(first.seeds).tolist(),
        "probes": first.probes,
        "updating_probes": first.updating_probes,
        "most_members": first.members,
        "device_memory": first.memory,
        "planned_device_memory": first.planned_memory,
        "campaigns": listed,
        "mean_cost": sum(result.amount for _, result in found) / len(found),
        **({"mean_list_cost": sum(by_list) / len(by_list)} if by_list else {}),
        **({} if first.costs.unpriced is None else {"unpriced": first.costs.unpriced}),
    }
