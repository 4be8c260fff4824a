"""``gpukit kpar serve``: keep an index open and answer queries over HTTP."""

import gc
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gpukit import pending
from gpukit.api.pagerank import OPENED_QUERIES
from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import GraphArgument, IndexOption, option
from gpukit.errors import InputError, UsageError
from gpukit.parameters.kpar import StopParameter
from gpukit.parameters.option import Option, length_of

if TYPE_CHECKING:
    from gpukit.api.pagerank_update import Follower

_log = logging.getLogger("gpukit")

COLLECT = (700, 10, 10)
"""Thresholds of Python's garbage collector: the defaults of Python 3.11 and 3.12."""
GRACE_S = 10
"""Seconds that requests have to end after the first signal."""


@dataclass(frozen=True)
class ServeOptions:
    """Options of the server: address, and limits of a request."""

    host: Annotated[str, option("--host ADDRESS", "The address to listen on; by default only this machine.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int, Option("The port; 0 takes a free one, which the log names.", metavar="N", ge=0, lt=1 << 16)
    ] = 8750
    max_body: Annotated[int, Option("Most bytes of the body of a request.", metavar="BYTES", ge=1)] = 1 << 20
    max_k: Annotated[int, Option("Greatest length of an answer.", metavar="K", ge=1)] = 1000
    max_sources: Annotated[int, Option("Most vertices that a request may name.", metavar="N", ge=1)] = 10_000
    depth: StopParameter = "refined"
    updatable: Annotated[
        bool, option("--updatable", "Let POST, PATCH and DELETE /v1/edges change the graph, in memory; on the CPU.")
    ] = False


@with_run(*DEVICE)
def serve(run: Run, graph_file: GraphArgument, index_file: IndexOption, asked: ServeOptions) -> None:
    """Answer queries over HTTP, as JSON or Arrow, until Ctrl-C or SIGTERM; by default only for this machine.

    POST /v1/topk with {"k": 10, "sources": [42, {"7": 3, "9": 1}]}, and "among": [5, 8] to rank only these vertices;
    GET /health; GET /metrics.
    """
    _check_libraries()
    if asked.updatable and run.requested == "cuda":
        raise UsageError("--updatable is for the CPU; leave --device cuda out")
    with run.phase("read"):
        from gpukit.api.resident import open_files

        files = open_files(graph_file, index_file)
        graph, params = files.prepared.graph, files.prepared.index.params
        run.graph, run.inputs = graph, {"graph": files.graph.payload, "index": files.index.payload}
    run.params = {"depth": asked.depth, **params.record()}
    work = float(OPENED_QUERIES) * graph.m
    device = run.use_device("cpu" if asked.updatable else run.requested, work=work)
    with run.phase("prepare"):
        from gpukit.kpar.engine import Engine
        from gpukit.kpar.problem import Sources

        length_of("max_k", None, asked.max_k, graph.n)
        follower = _follower(graph_file, index_file, device.threads) if asked.updatable else None
        prepared = files.on(device) if follower is None else [follower.prepared()]
        engine = Engine(device, prepared, refine=asked.depth == "refined")
    with run.phase("load"):
        from gpukit.cli.kpar.serve_app import Limits, Served, Service, as_arrow

        found = engine.answer(Sources.single([0]), min(10, graph.n))
        engine.answer(Sources.single([0]), 1, [0])  # needs further compiled code
        with suppress(ImportError):
            as_arrow(
                graph, found, {}
            )  # otherwise the first request for Arrow, and all concurrent ones, would wait until pyarrow is loaded
    pending.finish_checks()
    # Reference cycles that clients leave behind, such as bodies of broken connections, must not accumulate. So garbage
    # is collected as often as by default in Python, more often than in other commands; present objects are exempt.
    gc.freeze()
    gc.set_threshold(*COLLECT)

    server: Any = None
    sizes = {"n": graph.n, "m": graph.m, "digest": files.graph.payload}
    about: dict[str, Any] = {"graph": sizes, "index": files.index.payload}
    about |= {**run.params, "max_k": min(asked.max_k, graph.n), "max_sources": asked.max_sources}
    limits = Limits(asked.max_body, asked.max_k, asked.max_sources)
    served = Served(graph, engine, limits, about, lambda: server.should_exit, follower)
    service = Service(served)
    server = _server(service.app(), asked)
    with run.phase("serve"):
        server.run([server.config.bind_socket()])
        engine.close()
    run.finish({"requests": service.requests, "queries": service.queries})


def _follower(graph_file: Path, index_file: Path, threads: int) -> "Follower":
    """Open a graph and its index for updates; raises InputError if the index is not updatable."""
    from gpukit.api.graph import read_graph
    from gpukit.api.pagerank_index import index_of
    from gpukit.api.pagerank_update import Follower, not_updatable
    from gpukit.artifacts import read_irw

    index = index_of(read_irw(index_file, paths=True))
    if index.paths is None:
        raise InputError(f"{index_file}: {not_updatable()}")
    return Follower(read_graph(graph_file), index, threads)


def _check_libraries() -> None:
    try:
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(f"kpar serve needs the package {error.name}; install gpukit[serve]") from None


def _server(app: Any, asked: ServeOptions) -> Any:
    """Return a server that ends gracefully at the first signal, and at once at the second."""
    import uvicorn

    class Config(uvicorn.Config):
        def bind_socket(self) -> Any:
            """Return a listening socket; raises InputError if this is not possible."""
            import socket

            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            bound = socket.socket(family, socket.SOCK_STREAM)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                bound.bind((self.host, self.port))
                bound.listen(self.backlog)
            except OSError as error:
                bound.close()
                where = f"{self.host}:{self.port}"
                raise InputError(f"cannot listen on {where}: {error.strerror}; give another --host or --port") from None
            return bound

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            """Start, and log the address: from then on signals end the server instead of the command."""
            await super().startup(sockets)
            host = f"[{asked.host}]" if ":" in asked.host else asked.host
            _log.info("serving on http://%s:%d", host, sockets[0].getsockname()[1])

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Make signals end the server, after which the command ends; they interrupt nothing."""
            numbers = (signal.SIGINT, signal.SIGTERM)
            wakeup = signal.set_wakeup_fd(-1)
            before = [signal.signal(number, self.handle_exit) for number in numbers]
            try:
                yield
            finally:
                for number, handler in zip(numbers, before, strict=True):
                    signal.signal(number, handler)
                signal.set_wakeup_fd(wakeup)

    config = Config(
        app, host=asked.host, port=asked.port, http="h11", loop="asyncio", ws="none", lifespan="off", log_config=None,
        access_log=False, server_header=False, timeout_graceful_shutdown=GRACE_S,
    )  # fmt: skip
    return Server(config)
