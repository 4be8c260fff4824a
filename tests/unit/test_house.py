"""The division of the code into files, and names; CONTRIBUTING.md gives the reasons."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "gpukit"
FILES = sorted(ROOT.rglob("*.py"))
TREES = {path: ast.parse(path.read_text()) for path in FILES}

MOST_LINES = 80
"""Lines of a function without its docstring; a longer one has a comment above it that says ``whole:`` and why."""

MOST_ARGUMENTS = 14
"""Names in a signature. Commands of the command line have one for each option."""

OTHER_WORDS = {
    "Asked": "what it holds: IndexOptions, ServeOptions",
    "NOWHERE": "NO_IN_EDGES",
    "Stopped": "Stop",
    "anywhere": "block_any",
    "bury": "mark_dead",
    "equip": "configure",
    "go_on": "one_minus_alpha",
    "meet": "note_member",
    "most": "what it is the most of: k, capacity, limit, coverage_upper",
    "hops": "walk_steps",
    "loud": "larger",
    "Own": "Bonus, Neighbours",
    "own_weight": "self_spread",
    "pose": "validate",
    "promises": "would_certify",
    "put_off": "suspend",
    "quiet": "singleton",
    "settle": "what is done until what holds: draw_until_certified",
    "settled": "warp_fence",
    "stand": "representative",
    "straight": "contiguous_run",
    "suspect": "may_contain",
    "take_up": "resume",
    "told": "what was reported: shown, report, kind",
    "trifle": "tiny, warm_up",
}
"""Names that once stood for several things or for none outside this project, and what to say instead."""


MADE = re.compile("kernel|device|step")
"""Decorators of kernels and of what they call."""


def functions(path):
    return [node for node in ast.walk(TREES[path]) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def local(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=local)
def test_functions_are_a_screen_or_two(path):
    lines = path.read_text().splitlines()
    for one in functions(path):
        body = one.body[1:] if ast.get_docstring(one) else one.body
        if body and one.end_lineno - body[0].lineno >= MOST_LINES:
            first = min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])
            above = " ".join(lines[max(0, first - 5) : first - 1])
            assert "whole:" in above, f"{one.name} is too long, and nothing above it says why"


@pytest.mark.parametrize("path", [path for path in FILES if path.relative_to(ROOT).parts[0] != "cli"], ids=local)
def test_arguments_come_in_groups(path):
    for one in functions(path):
        given = [*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs]
        few = len(given) <= MOST_ARGUMENTS
        assert few, f"{one.name} takes {len(given)} arguments: group those that belong together"


@pytest.mark.parametrize("path", FILES, ids=local)
def test_words_are_the_fields(path):
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    names = [(token.start[0], token.string) for token in tokens if token.type == tokenize.NAME]
    assert [f"line {line}: {word}; say {OTHER_WORDS[word]}" for line, word in names if word in OTHER_WORDS] == []


def test_files_of_kernels_have_one_way_to_be_called():
    """A step is x.py, its kernels x_cpu.py and x_cuda.py, and what shares it among GPUs x_devices.py."""
    odd = [local(path) for path in FILES if re.search(r"(^|_)(gpus?|cpus)(_|\.)|^(cuda|cpu)_", path.name)]
    assert odd == []
    for path in FILES:
        decorators = [decorator for one in functions(path) for decorator in one.decorator_list]
        if any(ast.unparse(one).startswith(("kernel", "device")) for one in decorators):
            assert path.stem.endswith("_cuda"), f"{local(path)} has kernels; call it …_cuda.py"


def test_the_package_leaves_compiled_code_to_one_module():
    """Numba's own ``cache=True`` looks at one file; ``gpukit.device.compiled`` at all that can be inlined."""
    cached = [local(path) for path in FILES if "cache=True" in path.read_text() and path.name != "compiled.py"]
    assert cached == []


def test_private_parts_of_numba_are_in_one_file():
    """What Numba does not promise to keep must not stop the package; its manual describes the other three modules."""
    private = re.compile(r"^\s*(?:from|import) numba\.(?!cuda\b|extending\b)", re.MULTILINE)
    found = {local(path) for path in FILES if private.search(path.read_text())}
    assert found <= {"device/numba_private.py", "device/compiled.py", "device/arguments.py", "device/launch.py"}


def test_warps_meet_by_masks_that_are_known():
    """Threads that happen to be together need not come to the same barrier; no run on a CPU shows that one waits."""
    asked = re.compile(r"\bcuda\.(activemask|syncwarp)\(([^)]*)\)")
    found = {(local(path), *call) for path in FILES for call in asked.findall(path.read_text())}
    masks = {("evaluate/spread_together_cuda.py", "syncwarp", "mask")}  # those of a team, whose lanes are known
    assert {one for one in found if one[1] == "activemask" or one[2]} == masks
