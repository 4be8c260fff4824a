"""Every CUDA kernel compiles to PTX for every supported GPU generation, and links, on a machine without a GPU.

Modules named ``*cuda*.py`` list their kernels in ``KERNELS``: name -> (kernel, types of its arguments). Each module is
compiled in a process of its own, all at once, because the compiler asks numba-cuda for a current device, which has to
be replaced for that. A kernel is compiled from Python for the oldest and the newest generation; for those between, the
code generator gets what the oldest gave it, which saves two thirds of the time. The linker, which knows what a kernel
may take of a multiprocessor (48 KiB of shared memory), gets the PTX of the oldest.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpukit
from gpukit.device.select import simulated

CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
ROOT = Path(gpukit.__file__).parent
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = [path for path in sorted(ROOT.rglob("*cuda*.py")) if "\nKERNELS" in path.read_text()]

COMPILER = """
import importlib, json, sys
from numba.cuda.cudadrv import nvrtc, nvvm
sys.path.insert(0, sys.argv[3])
from kernel_waits import compiled, linked

def record(irs, **options):
    given.append((irs, options))
    return generate(irs, **options)

generate, nvvm.compile_ir = nvvm.compile_ir, record
oldest, *between, newest = map(tuple, json.loads(sys.argv[2]))
targets = {}
for name, (kernel, types) in importlib.import_module(sys.argv[1]).KERNELS.items():
    given = []
    texts = [compiled(kernel, types, oldest)]
    irs, options = given[-1]
    linked(kernel, texts[0], oldest)
    for capability in between:
        options["arch"] = nvrtc.get_arch_option(*capability)
        texts.append(generate(irs, **options).decode())
    texts.append(compiled(kernel, types, newest))
    targets[name] = [text.partition(".target ")[2].split()[0].rstrip(",") for text in texts if ".entry" in text]
print(json.dumps(targets))
"""


def _name(path: Path) -> str:
    return ".".join(("gpukit", *path.relative_to(ROOT).with_suffix("").parts))


@pytest.fixture(scope="module")
def compilers() -> Iterator[dict[str, subprocess.Popen]]:
    """Start one compiling process a module."""
    pytest.importorskip("cuda.bindings", reason="needs numba-cuda with its compilers (pip install gpukit[dev])")
    if simulated():
        pytest.skip("the simulator replaces the compiler")
    started = {}
    for path in MODULES:
        words = [sys.executable, "-c", COMPILER, _name(path), json.dumps(CAPABILITIES), str(BENCHMARKS)]
        started[_name(path)] = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


def test_there_are_kernels() -> None:
    """The search would pass over modules without ``KERNELS``: every one that has kernels lists them."""
    with_kernels = [path for path in sorted(ROOT.rglob("*cuda*.py")) if "\n@cuda.jit(cache=True" in path.read_text()]
    assert with_kernels
    assert [_name(path) for path in with_kernels if path not in MODULES] == []


@pytest.mark.timeout(900)  # of CPU time it is minutes, and other tests run beside it
@pytest.mark.parametrize("module", [_name(path) for path in MODULES])
def test_kernels_compile(compilers, module) -> None:
    out, err = compilers[module].communicate(timeout=800)
    assert compilers[module].returncode == 0, err[-3000:]
    targets = json.loads(out)
    assert targets
    expected = [f"sm_{major}{minor}" for major, minor in CAPABILITIES]
    for kernel, found in targets.items():
        assert found == expected, kernel
