"""Seeds that reach a given number of people at the least cost, chosen round by round: simulated and real campaigns."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from gpukit.api.campaign_run import (
    WORLDS,
    check_free,
    checked,
    priced,
    record_of,
    simulate,
    tell_of_first,
    use_device,
)
from gpukit.api.graph import Graph
from gpukit.api.in_memory import GraphLike, as_graph, open_graph
from gpukit.api.keywords import keywords
from gpukit.api.results import Content, Label, cut
from gpukit.api.session import DeviceName, Session, Where, split
from gpukit.api.vertices import Vertices, costs_of, internal
from gpukit.errors import GpukitError, UsageError
from gpukit.graph.lines import quoted
from gpukit.parameters.merit import Certificate, Ids, Params, Residual, Update
from gpukit.parameters.spread import Model
from gpukit.parameters.values import flag, unfit
from gpukit.wording import counted, spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.merit import Round

Prices = Literal["degree", "uniform"] | Mapping[Any, float]


@dataclass(frozen=True, repr=False)
class WorldCampaign:
    """The result of one campaign: simulated in its hidden world, or observed.

    Attributes
    ----------
    world : int or None
        The number of its world; None if it was observed.
    rounds : list of dict
        ``batch``, ``activated`` (None: not observed yet) and ``cost`` of each round.
    cost : float
        Cost of all seeds.
    """

    world: int | None
    rounds: list[dict[str, Any]]
    cost: float

    @property
    def seeds(self) -> list[Label]:
        """All seeds in order of choice, including those of a batch that is not observed yet."""
        return [vertex for one in self.rounds for vertex in one["batch"]]

    @property
    def activated(self) -> int:
        """Number of vertices that it activated."""
        return sum(len(one["activated"] or ()) for one in self.rounds)

    def __repr__(self) -> str:
        where = "observed" if self.world is None else f"world {self.world}"
        shown = (
            f"{self.activated:,} activated, {counted(len(self.rounds), 'round')}, {counted(len(self.seeds), 'seed')}"
        )
        return f"WorldCampaign: {where}, {shown}, cost {self.cost:,.2f}"


class CampaignOptions(Where, total=False):
    """Rare options of a campaign."""

    update: Update
    certificate: Certificate
    lt_residual: Residual | None


class SimulationOptions(CampaignOptions, total=False):
    """Rare options of simulated campaigns."""

    fresh_ids: bool


class Campaign(Content):
    """A real campaign: choose a batch of seeds, observe what it activates, until η vertices are active.

    :func:`gpukit.seed_minimization` also returns a Campaign: a finished one, in simulated worlds.

    Parameters
    ----------
    graph : Graph or graph-like
    eta : int
        Vertices to activate.
    weights : str, optional
        Edge probabilities, as in :func:`gpukit.read_edges`; those of a Graph, or ``wc``, by default.
    batch : int, optional
        Most seeds per round; by default an eighth of the seeds that are expected to reach ``eta``, from 1 to 16.
    model : str
        ``ic`` (independent cascade) or ``lt`` (linear threshold).
    epsilon : float
        Accuracy of a choice, in [1e-6, 1).
    costs : str, or mapping of vertices to numbers
        ``degree`` (0.01 + 0.01 · d_out), ``uniform`` (1), or the cost of each vertex; 1 if not named.
    update, certificate, lt_residual
        As the options of ``gpukit papers merit start``.
    device, gpus, threads, seed, progress
        As in :func:`gpukit.influence_maximization`.

    Raises
    ------
    UsageError, InputError, DeviceError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk
    >>> star = gk.from_edges(["hub"] * 3, ["a", "b", "c"], weights="const:1")
    >>> campaign = gk.Campaign(star, eta=4, batch=1, costs="uniform")
    >>> campaign.next_batch()
    ['hub']
    >>> campaign.observe(["a", "b", "c"])
    >>> campaign.done, campaign.activated, campaign.cost
    (True, 4, 1.0)
    """

    @keywords(Params)
    def __init__(
        self,
        graph: GraphLike,
        eta: int,
        *,
        weights: str | None = None,
        batch: int | None = None,
        model: Model = "ic",
        epsilon: float = 0.5,
        costs: Prices = "degree",
        seed: int = 0,
        **more: Unpack[CampaignOptions],
    ) -> None:
        where, asked = split(more)
        params = Params(eta, batch, model, epsilon, seed=seed, **asked)
        with Session(seed=seed, **where) as session:
            opened, params = _asked(session, graph, weights, params, costs)
        self._where: Where = where
        self._begin(session, opened, params, [])

    def _begin(self, session: Session, opened: Graph, params: Params, rounds: "list[Round]") -> None:
        self._opened: Graph | None = opened
        self._graph: Any = session.graph
        self._made = {name: getattr(session, name) for name in ("params", "inputs", "seed")}
        self._params, self._rounds = params, rounds
        self._engine: Any = None
        self._state: Artifact | None = None
        self.details: Mapping[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, also for pickling; a copy draws its collections again when it needs them."""
        return vars(self) | {"_engine": None, "_rounds": list(self._rounds)}

    @classmethod
    def _of(
        cls, artifact: "Artifact", graph: GraphLike | None, device: str = "auto", path: Path = Path("the campaign")
    ) -> "Campaign":
        """Return a saved campaign; a real one can continue if its graph is given."""
        made = cls.__new__(cls)
        made._where = {"device": cast(DeviceName, device)}
        made._engine, made._state, made._opened, made._graph, made.details = None, artifact, None, None, {}
        made._rounds = []
        if graph is None or artifact.arrays["worlds"].tolist() != [-1]:
            return made
        from gpukit.api.campaign_state import restored

        opened = as_graph(graph)
        params, rounds = restored(path, artifact, opened._transposed, opened.digest)
        session = Session(seed=artifact.seed)
        session.graph, session.params, session.inputs = opened._transposed, dict(artifact.params), artifact.inputs
        made._begin(session, opened, params, rounds)
        return made

    @classmethod
    def _simulated(cls, artifact: "Artifact", graph: Any, details: Mapping[str, Any]) -> "Campaign":
        made = cls._of(artifact, None)
        made._graph, made.details = graph, details
        return made

    # Properties

    def _content(self) -> "Artifact":
        if self._state is None:
            if not self._rounds:
                self._step(None)
            from gpukit.api.campaign_state import stored
            from gpukit.merit.problem import check

            session = self._session()
            self._state = stored(session, self._params, check(self._graph, self._params), [(-1, self._rounds)])
        return self._state

    @property
    def campaigns(self) -> list[WorldCampaign]:
        """The campaign of each world, or the single real campaign. :meth:`to_pandas` returns a table of all of them.

        Examples
        --------
        >>> import gpukit as gk
        >>> star = gk.from_edges(["hub"] * 3, ["a", "b", "c"], weights="const:1")
        >>> gk.seed_minimization(star, eta=4, batch=1, costs="uniform", worlds=2).campaigns[1]
        WorldCampaign: world 1, 4 activated, 1 round, 1 seed, cost 1.00
        """
        arrays = self._content().arrays
        return self._campaigns(arrays, len(arrays["worlds"]))

    def _campaigns(self, arrays: "Mapping[str, np.ndarray]", count: int) -> list[WorldCampaign]:
        """Return the first campaigns, up to a number."""
        from gpukit.artifacts.labels import names_in

        unit, begins = Decimal(self._content().attributes["unit"]), arrays["first_round"][: count + 1].tolist()
        ends = {name: arrays[name][: begins[-1] + 1].tolist() for name in ("batch_begin", "activated_begin")}
        seeds = names_in(self._content(), arrays["seeds"][: ends["batch_begin"][-1]])
        active = names_in(self._content(), arrays["activated"][: ends["activated_begin"][-1]])
        units = arrays["cost"][: begins[-1]].tolist()
        rounds = [
            {"batch": seeds[first:last], "activated": active[begin:end] or None, "cost": float(cost * unit)}
            for first, last, begin, end, cost in zip(
                ends["batch_begin"], ends["batch_begin"][1:], ends["activated_begin"], ends["activated_begin"][1:],
                units, strict=False,
            )
        ]  # fmt: skip
        worlds = arrays["worlds"].tolist()
        return [
            WorldCampaign(None if world < 0 else world, rounds[first:last], float(sum(units[first:last]) * unit))
            for world, first, last in zip(worlds, begins, begins[1:], strict=False)
        ]

    @property
    def _first(self) -> WorldCampaign:
        return self._campaigns(self._content().arrays, 1)[0]

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """The rounds of the first campaign: ``batch``, ``activated`` (None: not observed) and ``cost`` of each."""
        return self._first.rounds

    @property
    def seeds(self) -> list[Label]:
        """All seeds of the first campaign in order of choice, including those of a batch that is not observed yet."""
        return self._first.seeds

    @property
    def activated(self) -> int:
        """Number of vertices that the first campaign activated."""
        return self._first.activated

    @property
    def cost(self) -> float:
        """Cost of all seeds of the first campaign."""
        return self._first.cost

    @property
    def costs(self) -> list[float]:
        """Cost of the seeds of each campaign, one campaign per world."""
        content = self._content()
        begins, unit = content.arrays["first_round"].tolist(), Decimal(content.attributes["unit"])
        parts = (content.arrays["cost"][first:last] for first, last in zip(begins, begins[1:], strict=False))
        return [float(int(part.sum()) * unit) for part in parts]

    @property
    def mean_cost(self) -> float:
        """Mean cost of the seeds of a campaign over the worlds."""
        return fmean(self.costs)

    @property
    def eta(self) -> int:
        """Vertices to activate."""
        return int(self._content().attributes["eta"])

    @property
    def done(self) -> bool:
        """Whether ``eta`` vertices are active."""
        return not self._content().attributes["pending"]

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        content = self._content()
        worlds = content.arrays["worlds"].tolist()
        kind = "a real campaign" if worlds == [-1] else counted(len(worlds), "simulated campaign")
        shown = [f"Campaign: {kind}, η = {self.eta:,} of {content.attributes['n']:,} vertices"]
        if len(worlds) > 1:
            shown.append(f"mean cost  {self.mean_cost:,.2f} ({min(self.costs):,.2f} to {max(self.costs):,.2f})")
            shown.append(f"of these world {worlds[0]}:")
        shown.append(f"activated  {self.activated:,} in {counted(len(self.rounds) - (not self.done), 'round')}")
        shown.append(f"cost       {self.cost:,.2f}")
        if self.done:
            return [*shown, f"seeds      {cut(self.seeds)}"]
        return [*shown, f"batch      {cut(self.rounds[-1]['batch'])}"]

    # Steps

    def next_batch(self) -> list[Label]:
        """Return the next seeds; the same seeds until they are observed, and none when the campaign is done."""
        self._need_graph()
        if not self._pending and not (self._state is not None and self.done):
            self._step(None)
        return self._graph.original(self._rounds[-1].batch).tolist() if self._pending else []

    def observe(self, activated: Vertices) -> None:
        """Record the vertices that the last batch activated.

        Parameters
        ----------
        activated : vertices
            The newly active vertices; the seeds of the batch may be omitted.

        Raises
        ------
        UsageError
            If no batch is waiting.
        InputError
            If a vertex is not in the graph, or was active before. The campaign is then unchanged.
        """
        self._need_graph()
        if not self._pending:
            raise UsageError("no batch is waiting to be observed; choose one first")
        self._step(internal(self._graph, activated, "activated", digest=self._made["inputs"]["graph"]))

    @property
    def _pending(self) -> bool:
        return bool(self._rounds) and self._rounds[-1].activated is None

    def _need_graph(self) -> None:
        if self._opened is not None:
            return
        if self._state is not None and self._state.arrays["worlds"].tolist() != [-1]:
            raise UsageError("this campaign was simulated, and has ended; begin a real one by gpukit.Campaign")
        raise UsageError("the campaign was loaded without its graph; load it by gpukit.load(path, graph=…) to continue")

    def _session(self) -> Session:
        session = Session(seed=self._made["seed"], **self._where)
        session.graph, session.labels = self._graph, self._graph.labels
        session.params, session.inputs = self._made["params"], self._made["inputs"]
        return session

    def _step(self, activated: list[int] | None) -> None:
        """Observe the activated vertices, if given, and choose the next batch, if one is needed.

        An interrupt leaves the rounds unchanged, and drops the collections, which may be incomplete.
        """
        import numpy as np

        assert self._opened is not None
        with self._session() as session:
            if session.params["model"] == "ic":
                session.tables = self._opened.tables()
            try:
                if self._engine is None:
                    device, self._params = use_device(session, self._params)
                    from gpukit.merit import Campaign as Engine

                    self._engine = Engine(self._graph, self._params, self._rounds, device, tables=session.tables)
                if activated is not None:
                    self._engine.observe(np.array(activated, np.int64))
                    tell_of_first(self._engine.rounds if len(self._engine.rounds) == 1 else [], self._params.eta)
                if self._engine.left > 0:
                    self._engine.choose()
            except GpukitError:
                raise
            except BaseException:
                self._engine = None
                raise
            self._rounds, self._state = list(self._engine.rounds), None

    def _put(self, target: Path, compress: bool) -> None:
        from gpukit.artifacts.lock import only_writer

        with only_writer(target):
            check_free(target, self._content())
            super()._put(target, compress)


def _asked(
    session: Session, graph: GraphLike, weights: str | None, params: Params, costs: Any
) -> "tuple[Graph, Params]":
    """Return the graph and the checked parameters, and add these to the parameters of the session."""
    session.params = {**params.record(), "costs": costs if isinstance(costs, str) else "file"}
    opened = open_graph(session, graph, weights)
    if params.model == "ic":
        session.tables = opened.tables()
    from gpukit.merit import Costs

    if isinstance(costs, str):
        if costs not in ("degree", "uniform"):
            raise UsageError(
                f"{spelled('costs')} {costs[:40]!r} is neither degree nor uniform nor a file; choose one of them"
            )
        prices = Costs.degree(session.graph) if costs == "degree" else Costs.uniform(session.graph)
    else:
        prices = priced(costs_of(session.graph, costs, session.inputs))
    return opened, checked(session, params, prices)


@keywords(Params, fresh_ids=False)
def seed_minimization(
    graph: GraphLike,
    eta: int,
    *,
    weights: str | None = None,
    batch: int | None = None,
    model: Model = "ic",
    epsilon: float = 0.5,
    costs: Prices = "degree",
    worlds: int = 1,
    replay: Iterable[Vertices] | None = None,
    seed: int = 0,
    **more: Unpack[SimulationOptions],
) -> Campaign:
    """Simulate campaigns in which seeds are chosen round by round until η vertices are active: ``gpukit merit run``.

    Parameters
    ----------
    graph, eta, weights, batch, model, epsilon, costs
        As in :class:`gpukit.Campaign`.
    update, fresh_ids, certificate, lt_residual
        As the options of ``gpukit papers merit run``.
    worlds : int
        Number of hidden worlds; one campaign runs in each.
    replay : list of vertices, each a list, optional
        The vertices that each round of an observed campaign activated; replaces the hidden worlds.
    device, gpus, threads, seed, progress
        As in :func:`gpukit.influence_maximization`.

    Returns
    -------
    Campaign
        A finished campaign.

    Raises
    ------
    UsageError, InputError, DeviceError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk
    >>> star = gk.from_edges(["hub"] * 3, ["a", "b", "c"], weights="const:1")
    >>> campaign = gk.seed_minimization(star, eta=4, batch=1, costs="uniform")
    >>> campaign.seeds, campaign.activated
    (['hub'], 4)
    """
    where, asked = split(more)
    ids: Ids = "fresh" if flag("fresh_ids", asked.pop("fresh_ids")) else "kept"
    params = Params(eta, batch, model, epsilon, ids=ids, seed=seed, **asked)
    worlds = WORLDS.checked(worlds)
    with Session(seed=seed, **where) as session:
        if replay is not None and worlds > 1:
            raise UsageError(f"{spelled('replay')} is one campaign; leave {spelled('worlds')} out")
        _, params = _asked(session, graph, weights, params, costs)
        session.params["worlds"] = worlds
        record = None
        if replay is not None:
            import numpy as np

            if isinstance(replay, str | bytes) or not isinstance(replay, Iterable):
                raise unfit("replay", replay, "a list of lists of vertices")
            digest = session.inputs["graph"]
            listed = [internal(session.graph, one, "replay", digest=digest) for one in replay]
            record = [np.array(one, np.int32) for one in listed]
            lines = "".join(",".join(map(quoted, session.graph.original(one).tolist())) + "\n" for one in listed)
            session.inputs["replay"] = hashlib.sha256(lines.encode()).hexdigest()
        artifact, found, each = simulate(session, params, worlds=worlds, record=record)
        return Campaign._simulated(artifact, session.graph, record_of(session.graph, found, each))
