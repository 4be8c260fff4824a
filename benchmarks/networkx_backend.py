"""Time the NetworkX backend beside NetworkX and beside other backends, in CPU seconds of all threads.

    python benchmarks/networkx_backend.py soc-Epinions1.txt.xz --rival franken_networkx --out networkx-rivals.json

`--rival` names another backend of NetworkX that is installed, and may be repeated. Every function that the gpukit
backend offers runs in turn by NetworkX, by the rivals that offer it, and by gpukit, each in a process of its own: calls
of more than 2 s once, others `--repeat` times. A call that takes more CPU time than `--limit` is stopped, and the
record says so. All are compared with NetworkX's answers. Compiled code is loaded before, by a call with a small graph.

*with_conversion*: NetworkX converts its graph in the call. *converted_before*: the first question to a graph that the
backend converted before. *asked_again*: the same question once more, for which a backend may have kept the answer.
"""

import argparse
import json
import lzma
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import networkx as nx

import gpukit as gk
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.nx.info import FUNCTIONS
from gpukit.papers.cli.bench_record import command_line


class Call(NamedTuple):
    """A function, the graph it gets, and what else it gets."""

    name: str
    kind: str = "undirected"
    rest: tuple = ()


CALLS = (
    Call("pagerank", "directed"),
    Call("core_number", "directed"),
    Call("pagerank"),
    Call("core_number"),
    Call("onion_layers"),
    Call("k_core", rest=(10,)),
    Call("k_shell", rest=(10,)),
    Call("k_crust", rest=(10,)),
    Call("k_corona", rest=(10,)),
    Call("k_truss", rest=(4,)),
    Call("triangles"),
    Call("generalized_degree"),
    Call("clustering"),
    Call("average_clustering"),
    Call("transitivity"),
)
KINDS = {"directed": nx.DiGraph, "undirected": nx.Graph}
KEEP_ALL = ("k_core", "k_shell", "k_crust", "k_corona", "k_truss")
"""Return graphs, so that the converted one keeps all attributes."""

LONG = 2.0
"""CPU seconds of a call that is not repeated."""


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("edges", type=Path, help="edge list of whole numbers, may be .xz, .gz or .bz2")
    parser.add_argument("--rival", action="append", default=[], metavar="BACKEND", help="another backend of NetworkX")
    parser.add_argument("--function", action="append", default=[], metavar="NAME", help="only these functions")
    parser.add_argument("--repeat", type=int, default=3, help="how often each call is made")
    parser.add_argument("--limit", type=int, default=300, metavar="SECONDS", help="CPU time after which one is stopped")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cell", nargs=3, metavar=("CALL", "BACKEND", "FOLDER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cell:
        place, backend, folder = asked.cell
        _measure(CALLS[int(place)], backend, Path(folder), asked)
        return 0
    assert {call.name for call in CALLS} == set(FUNCTIONS)
    offered = {rival: set(_entry("networkx.backend_info", rival).load()()["functions"]) for rival in asked.rival}
    graphs = {kind: _read(asked.edges, kind) for kind in KINDS}
    record = {
        "benchmark": "networkx-rivals",
        "command": command_line("python benchmarks/networkx_backend.py", sys.argv[1:]),
        "date": date.today().isoformat(),
        "device": choose("cpu").record(),
        "versions": versions()
        | {"networkx": nx.__version__}
        | {rival: _entry("networkx.backends", rival).dist.version for rival in asked.rival},
        "graph": _about(asked.edges, graphs),
        "load_average": {"before": os.getloadavg()},
        "measured": "CPU seconds, user and system, of all threads of the process",
        "limit_s": asked.limit,
        "rivals": asked.rival,
        "runs": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        for kind, graph in graphs.items():
            Path(folder, kind).write_bytes(pickle.dumps(graph))
        del graphs, graph
        for place, call in enumerate(CALLS):
            if asked.function and call.name not in asked.function:
                continue
            rivals = [rival for rival in asked.rival if call.name in offered[rival]]
            record["runs"].append(_in_turn(place, ("networkx", *rivals, "gpukit"), Path(folder), asked))
            record["load_average"]["after"] = os.getloadavg()
            if asked.out:
                write_text(asked.out, json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
    return 0


def _about(edges: Path, graphs: dict[str, nx.Graph]) -> dict[str, Any]:
    """Return what the record says of the graphs."""
    return {
        "name": edges.name.split(".")[0],
        "n": len(graphs["directed"]),
        **{kind: graph.number_of_edges() for kind, graph in graphs.items()},
        "digest": {kind: gk.from_networkx(graph).digest for kind, graph in graphs.items()},
    }


def _entry(group: str, name: str) -> Any:
    """Return an entry point of a backend."""
    found = [point for point in entry_points(group=group) if point.name == name]
    if not found:
        raise SystemExit(f"no backend {name} of NetworkX is installed")
    return found[0]


def _read(path: Path, kind: str) -> nx.Graph:
    """Read a graph without its self-loops."""
    with lzma.open(path) if path.suffix == ".xz" else open(path, "rb") as lines:
        source = lines if path.suffix == ".xz" else path
        graph = nx.read_edgelist(source, create_using=KINDS[kind], nodetype=int, backend="networkx")
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def _in_turn(place: int, backends: Sequence[str], folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Measure a call by each backend, NetworkX first, whose answer the others must give."""
    call = CALLS[place]
    found: dict[str, Any] = {}
    (folder / "answer").unlink(missing_ok=True)
    for backend in backends:
        words = [str(asked.edges), "--repeat", str(asked.repeat), "--limit", str(asked.limit)]
        words += ["--cell", str(place), backend, str(folder)]
        done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True)
        found[backend] = _cell([json.loads(line) for line in done.stdout.splitlines()])
        if done.returncode == -signal.SIGXCPU:
            found[backend]["over"] = True
        elif done.returncode:
            if backend in ("networkx", "gpukit"):
                raise SystemExit(done.stderr)
            found[backend]["error"] = done.stderr.strip().splitlines()[-1]
    return {"name": call.name, "kind": call.kind, "arguments": list(call.rest), "backends": found}


def _cell(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what a process measured, part by part."""
    cell: dict[str, Any] = {}
    for part in dict.fromkeys(line["part"] for line in lines):
        seconds = [line["seconds"] for line in lines if line["part"] == part]
        cell[part] = {"median": median(seconds), "min": min(seconds), "max": max(seconds), "each": seconds}
    compared = [line for line in lines if "same_order" in line]
    if compared:
        differences = [line["largest_difference"] for line in compared]
        cell["same_order"] = all(line["same_order"] for line in compared)
        cell["largest_difference"] = None if None in differences else max(differences)
    return cell


def _measure(call: Call, backend: str, folder: Path, asked: argparse.Namespace) -> None:
    """Time a call, and print a line for each time."""
    nx.config.warnings_to_ignore.add("cache")
    graph = pickle.loads((folder / call.kind).read_bytes())
    answer = folder / "answer"
    small = nx.gnm_random_graph(50, 300, seed=1, directed=graph.is_directed())
    function = getattr(nx, call.name)
    function(small, *call.rest, backend=backend)
    expected = pickle.loads(answer.read_bytes()) if answer.exists() else None
    for _ in range(asked.repeat):
        spent = 0.0
        for part, given in _graphs(call, graph, backend):
            _limit(asked.limit)
            seconds, found = _timed(partial(function, given, *call.rest, backend=backend))
            spent = max(spent, seconds)
            line = {"part": part, "seconds": seconds}
            if expected is not None:
                line |= _compared(expected, found)
            print(json.dumps(line), flush=True)
        if spent > LONG:
            break
    if backend == "networkx":
        answer.write_bytes(pickle.dumps(found))


def _graphs(call: Call, graph: nx.Graph, backend: str) -> Iterator[tuple[str, Any]]:
    """Yield each part that is timed, and the graph it gets."""
    graph.__networkx_cache__.clear()
    if backend == "networkx":
        yield "alone", graph
        return
    yield "with_conversion", graph
    graph.__networkx_cache__.clear()
    keep = call.name in KEEP_ALL
    converted = _entry("networkx.backends", backend).load().convert_from_nx(
        graph,
        edge_attrs={"weight": 1} if call.name == "pagerank" else None,
        node_attrs=None,
        preserve_edge_attrs=keep,
        preserve_node_attrs=keep,
        preserve_graph_attrs=keep,
        name=call.name,
        graph_name="G",
    )  # fmt: skip
    yield "converted_before", converted
    yield "asked_again", converted


def _limit(seconds: int) -> None:
    """Let the process end after some more seconds of CPU time."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(_spent()) + 1 + seconds, hard))


def _spent() -> float:
    """Return the CPU seconds of all threads; time.process_time is no better than a tick where there is a limit."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = _spent()
    result = work()
    return _spent() - start, result


def _compared(expected: Any, found: Any) -> dict[str, Any]:
    """Return whether nodes come in the same order, and the largest difference of two numbers, None for no number."""
    if isinstance(expected, nx.Graph):
        same = dict(expected.nodes(data=True)) == dict(found.nodes(data=True)) and expected.adj == found.adj
        order = same and list(expected) == list(found) and list(expected.edges) == list(found.edges)
        return {"same_order": order, "largest_difference": 0 if same else None}
    if not isinstance(expected, dict):
        return {"same_order": True, "largest_difference": abs(expected - found)}
    order = list(expected) == list(found)
    if expected == found:
        return {"same_order": order, "largest_difference": 0}
    if expected.keys() != found.keys() or any(isinstance(value, dict) for value in expected.values()):
        return {"same_order": order, "largest_difference": None}
    return {"same_order": order, "largest_difference": max(abs(expected[node] - found[node]) for node in expected)}


if __name__ == "__main__":
    sys.exit(main())
