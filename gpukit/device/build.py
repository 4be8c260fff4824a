"""Compile kernels in advance and write archives of them; no GPU is needed. No other module uses the compiler.

    python -m gpukit.device.build                                         # all architectures, into gpukit/kernels
    python -m gpukit.device.build --architecture sm_90 --only kpar        # one, only modules with this in their names

An archive that fits the sources stays unchanged. The program needs the extra ``build-kernels``. Each module is compiled
in its own process, in the same order and with the same hash seed, so the same sources and compilers give the same
bytes.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from gpukit.device import kernels, store
from gpukit.device.kernels import Signature
from gpukit.device.store import ARCHITECTURES, PORTABLE, RUNTIME, Capability, Code, name_of

ROOT = Path(__file__).parents[1]

NAMES = {**{name_of(one): one for one in ARCHITECTURES}, PORTABLE: ARCHITECTURES[0]}
"""The compute capability of each archive."""

COMPILERS = ("llvmlite", "numba", "numba-cuda", "nvidia-cuda-runtime", "nvidia-nvjitlink", "nvidia-nvvm")
"""Packages whose version can change the code of a kernel: each compiles, links, or has functions that kernels call."""

COMPILED_BY = "compilers.json"
"""File of an archive: pairs of a package and its version, of all that compiled its kernels."""

_numbers = count()

LAST_LINES = 5
"""Number of lines that are shown of a failed compiling process's messages."""


def compiled(signature: Signature, capability: Capability, output: str, **options: Any) -> bytes:
    """Return the compiler's output for a kernel's source and a list of types.

    Another compiler would replace this function.

    Parameters
    ----------
    signature : Signature
        A signature from a module that was imported after :func:`gpukit.device.kernels.begin_to_compile`.
    capability : pair of int
        Compute capability.
    output : str
        ``ptx``, or ``ltoir`` for the linker's intermediate code, which it optimises and turns into machine code.
    **options
        Options of ``numba.cuda.compile``, such as ``lineinfo``.
    """
    from numba.cuda import codegen, dispatcher

    class Device:
        id = 0
        compute_capability = capability

    def number(library: Any) -> int:
        return library.__dict__.setdefault("number", next(_numbers))

    # The compiler queries a GPU of this machine, if any, for its compute capability, for the functions that a kernel
    # calls. It also orders the code of these functions by their memory addresses. It has no public way to change
    # either.
    dispatcher.get_current_device = lambda: Device
    codegen.CUDACodeLibrary.__hash__ = number
    types = tuple(type_of(one) for one in signature.types)
    code, _ = kernels.cuda.compile(
        signature.kernel.py_func, types, device=False, abi="numba", cc=capability, output=output, **options
    )
    return code.encode() if isinstance(code, str) else code


def linked(signature: Signature, code: bytes, capability: Capability, **options: Any) -> bytes:
    """Return the machine code that the linker makes from the output of :func:`compiled`; options are the linker's."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    text = b".entry" in code
    wanted = LinkerOptions(
        arch=name_of(capability),
        max_register_count=signature.kernel.max_registers,
        link_time_optimization=not text,
        **options,
    )
    parts = [ObjectCode.from_ptx(code) if text else ObjectCode.from_ltoir(code)]
    parts += [ObjectCode.from_library(runtime())] * store.is_cooperative(signature)
    return bytes(Linker(*parts, options=wanted).link("cubin").code)


def runtime() -> str:
    """Return the path of the library for linking kernels whose blocks wait for each other."""
    from cuda.pathfinder import find_static_lib

    return find_static_lib("cudadevrt")


def code_of(signature: Signature, architecture: str) -> Code:
    """Compile a kernel for an archive."""
    capability, cooperative = NAMES[architecture], store.is_cooperative(signature)
    if architecture == PORTABLE:
        code = compiled(signature, capability, "ptx")
        found = set(re.findall(rb"\.entry\s+([\w$]+)", code))
        if cooperative != (b"cudaCGSynchronize" in code):
            raise RuntimeError(f"{signature}: that blocks wait for one another is said by one of source and code alone")
    else:
        code = linked(signature, compiled(signature, capability, "ltoir"), capability)
        found = set(re.findall(rb"\.nv\.constant0\.([\w$]+)\0", code))  # one section per kernel
    found = {one for one in found if signature.kernel.py_func.__name__.encode() in one}  # the rest are the runtime's
    if len(found) != 1:
        raise RuntimeError(f"{signature} became {len(found)} kernels, not one")
    return Code(found.pop().decode(), cooperative, code)


def type_of(one: Any, module: str = "numba.types") -> Any:
    """Return the compiler's type for a type of a declaration; ``module`` contains the compiler's types."""
    types = importlib.import_module(module)
    if one is None:
        return types.Omitted(None)
    if isinstance(one, tuple):
        kinds = tuple(type_of(value, module) for value in one)
        return types.BaseTuple.from_types(kinds, type(one) if hasattr(one, "_fields") else None)
    name, _, order = one.partition("[")
    scalar = getattr(types, name)
    return types.Array(scalar, 1 + order.count(","), "C") if order else scalar


def modules() -> list[str]:
    """Return the names of the modules that declare kernels."""
    found = [path for path in sorted(ROOT.rglob("*_cuda.py")) if "\n@kernel" in path.read_text()]
    return [".".join(("gpukit", *path.relative_to(ROOT).with_suffix("").parts)) for path in found]


def signatures_of(module: str) -> list[Signature]:
    """Return the signatures of the kernels that a module declares."""
    importlib.import_module(module)
    return [one for kernel in kernels.declared if kernel.py_func.__module__ == module for one in kernel.signatures]


def wanted(only: str = "") -> set[str]:
    """Return the current keys of all kernels, or of those in modules whose names contain ``only``."""
    return {store.key_of(one) for module in modules() if only in module for one in signatures_of(module)}


def fit(path: Path, keys: set[str]) -> dict[str, Any]:
    """Return an archive's ``architecture``, the number of its ``kernels``, and how many of them ``fit`` these keys."""
    found = store.keys(path)
    return {"architecture": path.stem, "kernels": len(found), "fit": len(found & keys)}


def compilers(path: Path | None = None) -> set[tuple[str, str]]:
    """Return the packages that compile here and their versions, or those that compiled an archive as far as it says."""
    if path is None:
        here = {one.name: one.version for one in importlib.metadata.distributions()}
        return {(one, here[one]) for one in COMPILERS if one in here}
    with suppress(*store.DAMAGE), zipfile.ZipFile(path) as file:
        return {(name, version) for name, version in json.loads(file.read(COMPILED_BY))}
    return set()


def build(architectures: Sequence[str], folder: Path, only: str = "", jobs: int | None = None) -> None:
    """Write the archives of these architectures; kernels that fit the sources are taken from existing archives.

    Parameters
    ----------
    architectures : sequence of str
        Such as ``sm_90``, or ``compute_75`` for PTX.
    folder : Path
        Folder of the archives.
    only : str
        Leave out modules whose names do not contain this.
    jobs : int, optional
        Modules to compile at a time; by default as many as there are processors.

    Raises
    ------
    RuntimeError
        If a module could not be compiled; the archives then contain the kernels of all other modules.
    """
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    keys = {one: {store.key_of(each) for each in signatures_of(one)} for one in modules() if only in one}
    asked = set[str]().union(*keys.values())
    architectures = [one for one in architectures if store.keys(store.archive(folder, one)) != asked]
    # Kernels in all archives stay; modules are compiled if some architecture lacks one of their kernels.
    there = set.intersection(asked, *(store.keys(store.archive(folder, one)) for one in architectures))
    chosen = [one for one, each in keys.items() if not each <= there]
    if chosen and architectures and not store.has_compiler():
        raise RuntimeError(
            "kernels are compiled with numba-cuda, which is not installed: install gpukit[build-kernels]"
        )
    # The largest sources first: a large one that begins last would leave the other processors idle.
    size = {one: (ROOT.parent / Path(*one.split("."))).with_suffix(".py").stat().st_size for one in chosen}

    with tempfile.TemporaryDirectory() as aside, ThreadPoolExecutor(jobs or os.cpu_count()) as pool:

        def compile_apart(module: str) -> Path:
            part = Path(aside) / module
            command = [sys.executable, "-P", "-m", "gpukit.device.build", "--module", module, "--out", str(part)]
            command += [word for one in architectures for word in ("--architecture", one)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{module} was not compiled: {' '.join(done.stderr.splitlines()[-LAST_LINES:])}")
            print(f"compiled {module}", file=sys.stderr, flush=True)
            return part

        begun = [pool.submit(compile_apart, one) for one in sorted(chosen, key=lambda one: (-size[one], one))]
        failed = [error for error in (one.exception() for one in begun) if error]
        parts = [one.result() for one in begun if not one.exception()]
        for one in architectures:
            described, codes = dict[str, Any](), dict[str, bytes]()
            made_by = compilers() if parts else set()
            for place in (folder, *parts):
                if store.keys(path := store.archive(place, one)):
                    made_by |= compilers(path)
                    for whole, more in zip((described, codes), store.contents(path), strict=True):
                        whole.update({key: more[key] for key in more.keys() & asked})
            more = {COMPILED_BY: json.dumps(sorted(made_by)).encode()}
            if one == PORTABLE:
                more[RUNTIME] = Path(runtime()).read_bytes()
            store.write(store.archive(folder, one), described, codes, more)
        if failed:
            raise failed[0]


def _compile(signatures: Sequence[Signature], architecture: str, path: Path) -> None:
    codes = {store.key_of(one): (one, code_of(one, architecture)) for one in signatures}
    described = {key: store.described(*one) for key, one in codes.items()}
    store.write(path, described, {key: code.code for key, (_, code) in codes.items()})


def main() -> int:
    """Write archives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--architecture", action="append", help="as sm_90, or compute_75 for PTX; all if not given")
    parser.add_argument("--out", type=Path, default=store.SHIPPED, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="PART", help="modules with this in their names")
    parser.add_argument("--jobs", type=int, help="modules to compile at a time")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    parser.add_argument("--kernel", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    architectures = arguments.architecture or list(NAMES)
    if arguments.kernel:
        kernels.begin_to_compile()
        module, name, number = arguments.kernel.split(":")
        digits = architectures[0].partition("_")[2]
        NAMES.setdefault(architectures[0], (int(digits[:-1]), int(digits[-1])))
        signature = getattr(importlib.import_module(module), name).signatures[int(number)]
        _compile([signature], architectures[0], arguments.out)
    elif arguments.module:
        kernels.begin_to_compile()
        signatures = signatures_of(arguments.module)
        for one in architectures:
            _compile(signatures, one, store.archive(arguments.out, one))
    else:
        if unknown := set(architectures) - set(NAMES):
            parser.error(f"--architecture is {', '.join(sorted(unknown))}; {', '.join(NAMES)} are allowed")
        try:
            build(architectures, arguments.out, arguments.only, arguments.jobs)
        except RuntimeError as error:
            print(f"build: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
