"""NetworkX finds the backend by its entry points, loads nothing for it, and calls it where it is told to."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import networkx as nx

from gpukit.nx import backend
from gpukit.nx.info import FUNCTIONS, backend_info

ROOT = Path(backend.__file__).parents[2]
IMPORTS = """
import json, sys
before = set(sys.modules)
import networkx as nx
loaded = [name for name in sys.modules if name.split(".")[0] in ("gpukit", "numba", "numpy", "h5py", "typer")]
print(json.dumps({"loaded": loaded, "backends": list(nx.config.backends), "doc": nx.core_number.__doc__}))
"""
PRIORITY = """
import json, logging, sys
import networkx as nx
logging.basicConfig(format="%(message)s", level=logging.DEBUG, stream=sys.stderr)
nx.config.backend_priority.algos = ["gpukit"]
nx.config.warnings_to_ignore.add("cache")
large, small = nx.gnm_random_graph(400, 2000, seed=1), nx.path_graph(9)
large_multi, directed = nx.MultiGraph(large), large.to_directed()
calls = [nx.core_number(large), nx.core_number(small), nx.pagerank(large_multi), nx.clustering(directed),
         nx.triangles(large, 3), nx.shortest_path(large, 0, 1)]
nx.config.backend_priority.generators = ["gpukit"]
cores = nx.k_core(large)
print(json.dumps({"core": type(cores).__name__, "numba": "numba" in sys.modules}))
"""


def run(program, environment):
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_importing_networkx_loads_next_to_nothing(environment):
    found, errors = run(IMPORTS, environment)
    assert set(found["loaded"]) <= {"gpukit", "gpukit.nx", "gpukit.nx.info"} and errors == ""
    assert "gpukit" in found["backends"] and "gpukit : PageRank" in found["doc"]


def test_where_it_has_priority_it_runs_what_it_should(environment):
    """The log of NetworkX says who ran, and why others did not."""
    found, log = run(PRIORITY, environment)
    assert found == {"core": "Graph", "numba": True}
    ran = re.findall(r"^Using backend 'gpukit' for call to .(\w+)", log, re.MULTILINE)
    assert ran == ["core_number", "k_core"]
    for reason in ("graph is small", "multigraphs are not", "directed graphs are left", "1 of 400 nodes"):
        assert reason in log


def test_what_is_said_is_there():
    for name in FUNCTIONS:
        assert callable(getattr(backend, name)) and name in nx.utils.backends._registered_algorithms
    assert set(FUNCTIONS) == set(backend_info()["functions"])
    ours = set(backend.__all__) - {"can_run", "should_run", "convert_from_nx", "convert_to_nx"}
    assert ours == set(FUNCTIONS)


def test_the_information_is_what_networkx_asks_for():
    """The keys of NetworkX's page on new backends; there is no configuration and no parameter of our own."""
    found = backend_info()
    assert set(found) == {"backend_name", "project", "package", "url", "short_summary", "functions"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert found["backend_name"] == found["project"] == found["package"] == project["name"]
    assert found["url"] == project["urls"]["Documentation"] + "networkx/" and (ROOT / "docs" / "networkx.md").exists()
    for name, about in found["functions"].items():
        assert set(about) == {"url", "additional_docs"}
        folder = about["url"].removeprefix(project["urls"]["Source"] + "/tree/main/")
        assert any(f"\ndef {name}(" in source.read_text() for source in (ROOT / folder).glob("*.py"))


def test_the_information_needs_no_other_package():
    """NetworkX's documentation is built with gpukit installed without what it depends on."""
    program = "from gpukit.nx.info import backend_info; print(backend_info()['backend_name'])"
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.stdout == "gpukit\n", done.stderr


def test_the_documentation_of_networkx_shows_it(environment):
    """As NetworkX's own documentation is built: functions have the box of backends, with the address of the source."""
    found, errors = run(IMPORTS, {**environment, "_NETWORKX_BUILDING_DOCS_": "True"})
    box = found["doc"][found["doc"].index("Backends\n    --------") :]
    lines = [line.strip() for line in box.splitlines()]
    info = backend_info()
    about = info["functions"]["core_number"]
    assert errors == "" and f"gpukit : {info['short_summary']}" in lines and about["additional_docs"] in lines
    assert f"[`Source <{about['url']}>`_]" in lines


def test_arguments_are_those_of_networkx():
    """NetworkX binds them by name and place; a version with others would have to be looked at."""
    for name in FUNCTIONS:
        original = nx.utils.backends._registered_algorithms[name].orig_func
        names = original.__code__.co_varnames[: original.__code__.co_argcount]
        ours = getattr(backend, name)
        assert ours.__code__.co_varnames[: ours.__code__.co_argcount] == names
        assert ours.__defaults__ == original.__defaults__


def test_the_information_imports_nothing():
    tree = ast.parse(Path(backend.__file__).with_name("info.py").read_text())
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert modules == ["typing"] and not any(isinstance(node, ast.Import) for node in ast.walk(tree))


def test_examples_of_the_page(environment):
    page = ROOT / "docs" / "networkx.md"
    assert page.read_text().count(">>> ") > 12
    command = [sys.executable, "-m", "doctest", str(page)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
