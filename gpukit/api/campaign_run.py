"""What the commands of ``gpukit merit`` and campaigns in Python share: what is asked, where it runs, and simulation."""

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
"""What the time of a campaign is made of; the hidden world's own time is left out."""
MEMBERS_PER_ROOT, SETS_PER_ROUND = 5, 20_000
"""Guesses for the choice of the device."""


def checked(session: Session, params: Params, costs: "Costs") -> Params:
    """Return the parameters of a campaign, checked; the batch may be None until :func:`use_device`."""
    from gpukit.merit.problem import check

    params = replace(params, costs=costs)
    check(session.graph, params)
    return params


def priced(values: "np.ndarray", unpriced: int | None = None) -> "Costs":
    """Return costs that somebody has named, in units of 10**-6; ``unpriced`` vertices were not named, if known."""
    from gpukit.merit import Costs

    return Costs(values, Decimal(1).scaleb(-COST_DECIMALS), "file", unpriced)


def use_device(
    session: Session, params: Params, worlds: int | None = None, *, make_sets: "MakeSets | None" = None
) -> "tuple[Device, Params]":
    """Choose the device by the sets that campaigns need, roughly, and load compiled code there.

    ``worlds`` are those of simulated campaigns, which several GPUs share; None: a real campaign, which has one GPU.
    ``make_sets`` is an argument of :func:`gpukit.merit.simulate`; None: MERIT's own collections. A batch that nobody
    named becomes the expected one, in the parameters that are returned and in those of the session.
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
            "batches of %s, by what they are expected to reach; %s sets another",
            counted(batch, "seed"), spelled("batch"),
        )  # fmt: skip
    return device, params


def _places(device: "Device", worlds: int) -> "list[Device]":
    """Return where campaigns run: each GPU alone, no more than there are worlds; or the CPU."""
    return [replace(device, gpus=(gpu,)) for gpu in device.gpus[:worlds]] or [device]


def _on_each(places: "list[Device]", function: "Callable[[Device], None]") -> None:
    """Call a function in each place, at once where there are several."""
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
    """Run campaigns in hidden worlds, or one that was observed; for ``make_sets`` see :func:`use_device`.

    Returns
    -------
    Artifact
    list of int and Result
        The number of each world, -1 of one observed, and its campaign.
    list of dict
        Of each ``time_s``, the seconds of each phase, and of several ``list_cost``, what a fixed list costs in the same
        world.
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
        """Run one campaign after another, with the times of the session unless several run at once."""
        timer = session.timer if len(places) == 1 else PhaseTimer(synchroniser(place))
        timer.mark = marker(place)  # a round is planned while sets are updated
        try:
            for number in numbers:
                play(place, number, timer)
        except BaseException:
            list(numbers)  # no others are begun
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
            stopped.set()  # campaigns under way end with their round
            raise
    results = [ended[number] for number in range(worlds)]
    more: list[dict[str, Any]] = [{"time_s": seconds} for _, seconds in results]
    if worlds > 1:  # one world says nothing of a mean, and a first run on a GPU would compile the CPU's sets for it
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
    """Say where the first rounds of campaigns bought several seeds and reached more than η by themselves."""
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
    """Refuse to write over a real campaign under way, which nobody can observe again; raises UsageError.

    ``artifact`` is a campaign whose own earlier state may be there.
    """
    from gpukit.artifacts import read

    if not out.is_file():
        return
    try:
        there = read(out, "campaign")
    except InputError:
        return  # not a campaign, and as good as any other file that is written over
    observed = len(there.arrays["cost"]) - 1
    earlier = artifact is not None and _goes_on(there, artifact)
    if there.attributes["pending"] and observed > 0 and not earlier:
        raise UsageError(
            f"{spelled('out')} {out} holds a campaign under way, with {counted(observed, 'observed round')} "
            "that would be lost; "
            "name another file, or remove that one"
        )


def _goes_on(before: "Artifact", after: "Artifact") -> bool:
    """Say whether one state of a campaign can have come from another."""
    same = (before.params, before.seed, before.inputs) == (after.params, after.seed, after.inputs)
    parts = ((before.arrays[name], after.arrays[name]) for name in ("seeds", "activated"))
    return (
        same
        and all((old == new[: len(old)]).all() for old, new in parts if len(old) <= len(new))
        and all(len(before.arrays[name]) <= len(after.arrays[name]) for name in ("seeds", "activated"))
    )


def record_of(graph: "csr.Graph", found: "list[tuple[int, Result]]", more: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what ``--json`` tells of simulated campaigns: all of the first, and of each what it cost."""
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
