"""The HTTP side of ``gpukit kpar serve``: parse requests, call the engine, and report each error as a line of JSON.

``POST /v1/topk`` asks a query; ``POST``, ``PATCH`` and ``DELETE /v1/edges`` change the graph; ``GET /health`` and ``GET
/metrics`` (Prometheus) report the state of the server. See docs/serve.md.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gpukit.api.pagerank_update import NONE_LISTED, Follower, listed_of
from gpukit.api.vertices import SOURCE_WEIGHTS, in_whole_numbers, source_weight
from gpukit.errors import GpukitError, InputError, UsageError
from gpukit.graph.csr import Graph
from gpukit.kpar.engine import Busy, Engine
from gpukit.kpar.problem import ONE, Result, Sources

ARROW = "application/vnd.apache.arrow.stream"
MOST_ROWS = 1 << 20
"""Most vertices in the answer to a request: k times its queries."""
BODY_S = 30.0
"""Seconds that a client has to send the body."""
_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_NAMES_KEPT = 1 << 20
"""Most labels for which a table is kept; in a larger graph each label is found by bisection."""

_log = logging.getLogger("gpukit")


@dataclass(frozen=True)
class Limits:
    """Limits of a request.

    Attributes
    ----------
    body : int
        Most bytes of its body.
    k : int
        Greatest length of an answer.
    sources : int
        Most vertices that all its queries together may name.
    """

    body: int
    k: int
    sources: int


@dataclass(frozen=True, eq=False)
class Served:
    """The served graph and index.

    Attributes
    ----------
    graph : Graph
        The graph, for the names of its vertices.
    engine : Engine
    limits : Limits
    about : mapping
        The entries of ``/health``.
    stopping : callable
        Whether the server is about to end.
    follower : Follower or None
        Changes the graph and its index, if that is allowed.
    """

    graph: Graph
    engine: Engine
    limits: Limits
    about: Mapping[str, Any]
    stopping: Callable[[], bool]
    follower: Follower | None = None


class State(NamedTuple):
    """The data for requests between two updates: a graph, the prepared index, names, and a version.

    ``prepared`` is None before the first update; ``table`` has the vertices by label, unless there are too many.
    """

    graph: Graph
    prepared: Any
    table: dict[str, int]
    version: int

    @classmethod
    def of(cls, graph: Graph, prepared: Any = None, version: int = 0, table: dict[str, int] | None = None) -> "State":
        """Return a state; ``table`` is made if it is not given."""
        if table is None and graph.labels is not None and graph.n <= _NAMES_KEPT:
            table = {name: vertex for vertex, name in enumerate(graph.original(range(graph.n)).tolist())}
        return cls(graph, prepared, table or {}, version)


class Refused(Exception):
    """A request that is refused, with its status."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class _Metrics:
    """Counters of one server."""

    def __init__(self, engine: Engine) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        own: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("gpukit_requests", "Requests by path and status", ["path", "status"], **own)
        self.queries = Counter("gpukit_queries", "Queries answered", **own)
        self.seconds = Histogram("gpukit_request_seconds", "Seconds of a request", buckets=_BUCKETS, **own)
        Gauge("gpukit_waiting_queries", "Queries that wait", **own).set_function(lambda: engine.waiting)


class Service:
    """The requests of one server.

    Attributes
    ----------
    requests, queries : int
        Numbers of requests, and of answered queries.
    """

    def __init__(self, served: Served) -> None:
        self.served = served
        self.metrics = _Metrics(served.engine)
        self.requests = self.queries = 0
        self.state = State.of(served.graph)
        self._changing = asyncio.Lock()

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/v1/topk", self._logged(self.topk), methods=["POST"]),
            Route("/v1/edges", self._logged(self.edges), methods=["POST", "PATCH", "DELETE"]),
            Route("/health", self._logged(self.health), methods=["GET"]),
            Route("/metrics", self._logged(self.report), methods=["GET"]),
        ]
        app = Starlette(routes=routes, exception_handlers={HTTPException: self._unknown})
        app.router.redirect_slashes = False  # a path with an additional slash is a different path: 404
        return app

    def _logged(self, handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that counts its requests, and answers errors with a line of JSON."""

        async def answer(request: Request) -> Response:
            began = time.perf_counter()
            try:
                response = await handle(request)
            except Refused as error:
                response = _error(error.status, error)
            except Busy as error:
                response = _error(503, error, {"Retry-After": "1"})
            except ClientDisconnect:
                response = _error(499, "the client is gone")
            except InputError as error:
                response = _error(422, error)
            except GpukitError as error:
                response = _error(400, error)
            except Exception as error:
                _log.error("a request failed: %s: %s", type(error).__name__, " ".join(str(error).split()))
                response = _error(500, f"{type(error).__name__}: {error}; this is a defect of gpukit")
            self._count(request.url.path, response)
            self.metrics.seconds.observe(time.perf_counter() - began)
            return response

        return answer

    async def _unknown(self, request: Request, error: Exception) -> Response:
        """Answer a request with an unknown path or method; the metrics count all of these under one name."""
        assert isinstance(error, HTTPException)
        known = "POST /v1/topk, POST, PATCH and DELETE /v1/edges, GET /health and GET /metrics are there"
        line = f"{request.method} {request.url.path[:80]}: {known}"
        return self._count("other", _error(error.status_code, line, error.headers))

    def _count(self, path: str, response: Response) -> Response:
        self.requests += 1
        self.metrics.requests.labels(path, str(response.status_code)).inc()
        return response

    async def health(self, request: Request) -> Response:
        """Report the served graph and index, and whether the server is about to stop."""
        stopping = self.served.stopping()
        said = {"status": "stopping" if stopping else "ok", **self.served.about, **self._version(self.state)}
        return JSONResponse(said, 503 if stopping else 200)

    async def report(self, request: Request) -> Response:
        """Return the counters in the format of Prometheus."""
        return Response(generate_latest(self.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    async def topk(self, request: Request) -> Response:
        """Answer queries."""
        arrow = _wants_arrow(request.headers.get("accept", ""))
        asked = _object(await self._body(request))
        state = self.state
        k, sources, among = self._asked(asked, state)
        pieces = self.served.engine.submit(sources, k, among, state.prepared)
        try:
            result = Result.joined(await asyncio.gather(*map(asyncio.wrap_future, pieces)))
        finally:
            for piece in pieces:
                piece.cancel()  # if the client has disconnected; this does not affect finished pieces
        self.queries += len(sources)
        self.metrics.queries.inc(len(sources))
        version = self._version(state)
        return as_arrow(state.graph, result, version) if arrow else _json(state.graph, result, k, version)

    async def edges(self, request: Request) -> Response:
        """Change edges and vertices: one request after another, each as a whole.

        Meanwhile queries use the previous state.
        """
        follower, method = self.served.follower, request.method
        if follower is None:
            raise Refused(409, "this server does not change its graph; start it with --updatable")
        asked = _object(await self._body(request))
        async with self._changing:
            done = await asyncio.to_thread(self._change, follower, asked, method)
        return JSONResponse({**done, **self._version(self.state)})

    def _change(self, follower: Follower, asked: dict[str, Any], method: str) -> dict[str, Any]:
        """Make the changes of a request, prepare queries on the changed graph, and return the record of the changes."""
        graph, updates = self.state.graph, follower.updates
        allowed = {"edges", "vertices"} if method != "PATCH" else {"edges"}
        if (unknown := sorted(asked.keys() - allowed)) or not asked:
            word = repr(unknown[0][:40]) + " is unknown; " if unknown else ""
            raise UsageError(f"{word}give {' and '.join(sorted(allowed))}, each a list")
        weights = method == "PATCH" or (method == "POST" and follower.weighted)
        edges = listed_of(graph, asked.get("edges", []), "edges", weights=weights)
        vertices = asked.get("vertices", [])
        if not isinstance(vertices, list):
            raise UsageError("vertices must be a list")
        if method == "POST":
            done = follower.update(edges, NONE_LISTED, come=vertices)
        elif method == "PATCH":
            done = follower.update(NONE_LISTED, NONE_LISTED, edges)
        else:
            done = follower.update(NONE_LISTED, edges, leave=vertices)
        if follower.updates != updates:
            prepared = follower.prepared()
            table = None if done.vertices_added or done.vertices_removed else self.state.table
            self.state = State.of(prepared.graph, prepared, follower.updates, table)
        return done._asdict()

    def _version(self, state: State) -> dict[str, int]:
        """Return the number of updates before an answer, if the server allows updates."""
        return {} if self.served.follower is None else {"version": state.version}

    async def _body(self, request: Request) -> bytes:
        """Return the body of a request; raises Refused if it is too long."""
        allowed = self.served.limits.body
        too_long = Refused(413, f"the body is longer than {allowed:,} bytes; ask for less at a time")
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > allowed:
            raise too_long
        read = bytearray()
        try:
            async with asyncio.timeout(BODY_S):
                async for piece in request.stream():
                    read += piece
                    if len(read) > allowed:
                        raise too_long
        except TimeoutError:
            raise Refused(408, f"the body did not come within {BODY_S:.0f} seconds") from None
        return bytes(read)

    def _asked(self, asked: dict[str, Any], state: State) -> tuple[int, Sources, list[int] | None]:
        """Return k, the queries of a request, and the vertices that answers may name (None: all)."""
        limits, graph = self.served.limits, state.graph
        if unknown := sorted(asked.keys() - {"k", "sources", "among"}):
            raise UsageError(f"{unknown[0][:40]!r} is unknown; give k, sources and, for the best of some alone, among")
        sources, among = asked.get("sources"), asked.get("among")
        if "among" in asked and (not isinstance(among, list) or not among):
            raise UsageError("among must be a list of one vertex or more, of which answers are the best")
        longest = graph.n if among is None else min(graph.n, len(among))
        k, allowed = asked.get("k", min(10, longest)), min(limits.k, longest)
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= allowed:
            why = " (the vertices that answers may name)" if allowed < min(limits.k, graph.n) else ""
            raise UsageError(f"k is {str(k)[:40]}; 1 to {allowed}{why} are allowed here")
        if not isinstance(sources, list) or not sources:
            raise UsageError('sources must be a list of one query or more: [42, {"7": 1, "9": 2.5}]')
        if k * len(sources) > MOST_ROWS:
            raise UsageError(f"{len(sources):,} queries for {k} vertices: {MOST_ROWS:,} vertices in all are allowed")
        named = sum(len(one) if isinstance(one, dict) else 1 for one in sources) + len(among or ())
        if named > limits.sources:
            raise UsageError(f"{named:,} vertices are named; {limits.sources:,} in a request are allowed here")
        return k, Sources.joined([_query(state, one) for one in sources]), _among(state, among)


def _among(state: State, vertices: list[Any] | None) -> list[int] | None:
    """Return internal ids of the vertices that answers may name, each once."""
    if vertices is None:
        return None
    ids = _internal(state, vertices)
    seen: set[int] = set()
    for vertex, one in zip(vertices, ids, strict=True):
        if one in seen:
            raise UsageError(f"among: vertex {str(vertex)[:40]} is given twice; give each once")
        seen.add(one)
    return ids


def _query(state: State, source: Any) -> Sources:
    """Return one query: a vertex, or an object of vertices with their weights."""
    if not isinstance(source, dict):
        return Sources.single(_internal(state, [source]))
    if not source:
        raise UsageError("a source is {}; give a vertex, or vertices with weights")
    return Sources.weighted(_internal(state, list(source)), in_whole_numbers(list(map(_weight, source.values()))))


def _internal(state: State, vertices: list[Any]) -> list[int]:
    """Return internal ids of vertices, which are given by names, or by ids (also as texts, as in JSON keys)."""
    graph = state.graph
    if graph.labels is None:
        return graph.internal([_number(vertex) for vertex in vertices]).tolist()
    if wrong := [vertex for vertex in vertices if not isinstance(vertex, str)]:
        raise UsageError(f"{str(wrong[0])[:40]} is no name; the vertices of this graph are named by texts")
    found = [state.table.get(vertex, -1) for vertex in vertices]
    return found if state.table and -1 not in found else graph.internal(vertices).tolist()


def _weight(given: Any) -> Fraction:
    number = isinstance(given, int | Decimal) and not isinstance(given, bool)
    weight = source_weight(str(given)) if number else None
    if weight is None:
        raise UsageError(f"a weight is {str(given)[:40]!r}; {SOURCE_WEIGHTS} are allowed")
    return weight


def _number(vertex: Any) -> int:
    if isinstance(vertex, str) and vertex.isascii() and vertex.isdigit() and len(vertex) < 20:
        vertex = int(vertex)
    if isinstance(vertex, bool) or not isinstance(vertex, int):
        raise UsageError(f"{str(vertex)[:40]!r} is no vertex; the vertices of this graph are whole numbers")
    if not 0 <= vertex < 1 << 63:
        raise InputError(f"vertex {str(vertex)[:40]} is not in the graph")
    return vertex


def _object(body: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(body, object_pairs_hook=_once, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError, DecimalException) as error:
        raise UsageError(f"the body is no JSON ({str(error)[:80]})") from None
    if not isinstance(asked, dict):
        raise UsageError('the body is no JSON object; {"k": 10, "sources": [42]} is one')
    return asked


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _wants_arrow(accept: str) -> bool:
    """Return whether a client wants Arrow; raises Refused if pyarrow is missing."""
    if ARROW not in accept:
        return False
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise Refused(406, "Arrow needs the package pyarrow, which this server lacks; ask for JSON") from None
    return True


def _error(status: int, error: object, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": " ".join(str(error).split())}, status, headers)


def _certain(result: Result) -> dict[str, np.ndarray]:
    """Return which places are certain, if the method reports it."""
    return {} if result.certain is None else {"certain": result.certain}


def _json(graph: Graph, result: Result, k: int, version: Mapping[str, int]) -> Response:
    """Return answers with the keys of ``kpar query --json``, and the version of a graph that changes."""
    keys = {"nodes": graph.original(result.nodes), "scores": result.scores / float(ONE)} | _certain(result)
    lists = {key: values.tolist() for key, values in keys.items()}
    ranges = pairwise(result.offsets.tolist())
    results = [{key: values[first:last] for key, values in lists.items()} for first, last in ranges]
    return JSONResponse({"k": k, "results": results, **version})


def as_arrow(graph: Graph, result: Result, version: Mapping[str, int]) -> Response:
    """Return answers as an Arrow stream, with the columns of ``gpukit export`` except the source.

    The version of a graph that changes is in the metadata of the schema.
    """
    import pyarrow

    lengths = np.diff(result.offsets)
    query = np.repeat(np.arange(len(lengths)), lengths)
    names = graph.original(result.nodes)
    columns = {
        "query": query + 1,
        "place": np.arange(len(query)) - result.offsets[:-1][query] + 1,
        "vertex": names if graph.labels is None else pyarrow.array(names, pyarrow.string()),
        "score": result.scores / float(ONE),
    } | _certain(result)
    table = pyarrow.table(columns)
    if version:
        table = table.replace_schema_metadata({name: str(value) for name, value in version.items()})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return Response(sink.getvalue().to_pybytes(), media_type=ARROW)
