"""Tell which kernels numba-cuda-mlir, the successor of numba-cuda, compiles; needs no GPU. A report, no test.

    pip install --no-deps --target /tmp/mlir numba-cuda-mlir==0.6.0
    PYTHONPATH=/tmp/mlir python benchmarks/kernel_mlir.py            # all kernels
    PYTHONPATH=/tmp/mlir python benchmarks/kernel_mlir.py --only kpar

A line has the kernel's name, the barriers ``bar.sync`` and ``bar.red`` and the fences of its PTX, or why it was not
compiled. ``benchmarks/kernel_code.py`` tells those of numba-cuda.
"""

import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
from kernel_code import barriers, name_of, parser_for

from gpukit.device import build, kernels

COMPILER, TYPES = "numba_cuda_mlir.cuda", "numba_cuda_mlir.types"


def report(module: str, capability: tuple[int, int]) -> None:
    """Print a line for each kernel of a module."""
    kernels.begin_to_compile(COMPILER)

    # It asks a GPU that is here for its compute capability, as numba-cuda does (gpukit.device.build.compiled).
    importlib.import_module("numba_cuda_mlir.tools").get_gpu_compute_capability = lambda *_, **__: capability
    signatures = build.signatures_of(module)
    _translate()
    for one in signatures:
        try:
            types = tuple(build.type_of(kind, TYPES) for kind in one.types)
            text, _ = kernels.cuda.compile(one.kernel.py_func, types, device=False, abi="numba", cc=capability)
            said = "\t".join(map(str, barriers(text if isinstance(text, str) else text.decode()).values()))
        except Exception as error:  # whatever it meets is what is to be told
            said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        print(name_of(one), said, sep="\t", flush=True)


def _translate() -> None:
    """Put the compiler's types and functions where modules of gpukit have Numba's, which it does not know."""
    own, functions = importlib.import_module(TYPES), dict[Any, Any]()
    for module in [one for name, one in sys.modules.items() if name.startswith("gpukit.")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, numba.types.Type) and hasattr(own, str(value)):
                setattr(module, name, getattr(own, str(value)))
            elif isinstance(value, numba.core.dispatcher.Dispatcher):
                if value not in functions:
                    functions[value] = kernels.cuda.jit(device=True)(value.py_func)
                setattr(module, name, functions[value])


def main() -> int:
    """Print the report, each module compiled in a process of its own."""
    arguments = parser_for(__doc__).parse_args()
    major, minor = (int(part) for part in arguments.capability.split("."))
    if arguments.module:
        report(arguments.module, (major, minor))
        return 0

    def apart(module: str) -> list[str]:
        command = [sys.executable, __file__, "--capability", arguments.capability, "--module", module]
        done = subprocess.run(command, capture_output=True, text=True)
        failed = [f"{module}\tnot imported: {(done.stderr.strip().splitlines() or ['?'])[-1]}"]
        return done.stdout.splitlines() + (failed if done.returncode else [])

    with ThreadPoolExecutor(arguments.jobs) as pool:
        lines = [
            line for part in pool.map(apart, [one for one in build.modules() if arguments.only in one]) for line in part
        ]
    print("kernel", "bar.sync", "bar.red", "fences", sep="\t")
    print(*lines, sep="\n")
    compiled = sum(line.count("\t") == 3 for line in lines)
    print(f"{compiled} of {len(lines)} kernels are compiled", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
