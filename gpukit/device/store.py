"""Archives of compiled kernels: where the code of a kernel is found, and how it is loaded.

An archive is a zip file for one architecture. Its ``manifest.json`` describes each kernel by its key: its name, the
types it was compiled for, its name in the code, whether its blocks wait for each other, and the place of its code, from
``start`` to ``end`` in the file of its module. Kernels of one module are similar, so one file for all is a third
smaller than a file for each. A key is a digest of all sources that the code can contain, of the types, and of the limit
of registers. So code whose sources have changed is not found. The package has archives in ``gpukit/kernels``. Code
compiled on a user's machine is in the user's cache, in one archive per kernel. Both are read in the same way.

The archive ``compute_75`` has no machine code but PTX for the oldest architecture. For GPUs that are newer than the
package, the driver translates it once.
"""

import hashlib
import importlib.util
import json
import logging
import lzma
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from gpukit.device import kernels
from gpukit.device.file_lock import FileLock
from gpukit.device.kernels import Signature, module_of
from gpukit.errors import DeviceError
from gpukit.files import cache_folder
from gpukit.wording import spelled

Capability = tuple[int, int]

ARCHITECTURES: tuple[Capability, ...] = ((7, 5), (8, 0), (9, 0), (10, 0), (12, 0))
"""The compute capabilities for which the package has machine code. GPUs of 8.6 and 8.9 run the code for 8.0."""

PORTABLE = "compute_75"
"""The archive of PTX."""

SHIPPED = Path(__file__).parents[1] / "kernels"
"""Folder of the package's archives."""

RUNTIME = "libcudadevrt.a"
"""Library linked with the PTX of kernels whose blocks wait for each other; it is in the PTX archive."""

FORMAT, MANIFEST, EPOCH = 2, "manifest.json", (1980, 1, 1, 0, 0, 0)

DAMAGE = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, lzma.LZMAError)
"""Errors from reading an archive that is missing or damaged."""

_log = logging.getLogger("gpukit")


class Code(NamedTuple):
    """A compiled kernel.

    Attributes
    ----------
    entry : str
        Its name in the code.
    cooperative : bool
        Whether its blocks wait for each other, which needs a cooperative launch.
    code : bytes
        Machine code, or PTX.
    """

    entry: str
    cooperative: bool
    code: bytes


def name_of(capability: Capability) -> str:
    """Return the name of an architecture, such as ``sm_90``."""
    return "sm_{}{}".format(*capability)


def archive(folder: Path, architecture: str) -> Path:
    """Return the path of an archive."""
    return folder / f"{architecture}.zip"


def load(signature: Signature, capability: Capability) -> tuple[Any, bool]:
    """Load a kernel for GPUs of a compute capability.

    Returns
    -------
    CUkernel, bool
        The driver's handle, and whether the kernel's blocks wait for each other.

    Raises
    ------
    DeviceError
        If there is no code, or the driver refuses it.
    """
    from cuda.bindings import driver

    found = find(signature, capability)
    status, library = driver.cuLibraryLoadData(found.code, [], [], 0, [], [], 0)
    if int(status) == 0:
        status, handle = driver.cuLibraryGetKernel(library, found.entry.encode())
    if int(status) != 0:
        raise DeviceError(
            f"the GPU's driver refused {signature.kernel.name} for {name_of(capability)}: {status.name}; install a "
            f"newer driver, or use {spelled('device', 'cpu')}"
        )
    return handle, found.cooperative


def archive_for(capability: Capability) -> Path | None:
    """Return the package's archive of machine code for GPUs of a compute capability; None if there is none.

    Code for one capability runs on GPUs with the same major number and at least its minor number.
    """
    fitting = [one for one in ARCHITECTURES if one[0] == capability[0] and one[1] <= capability[1]]
    found = archive(SHIPPED, name_of(max(fitting))) if fitting else None
    return found if found and found.exists() else None


def has_compiler() -> bool:
    """Return whether kernels can be compiled on this machine."""
    return importlib.util.find_spec("numba_cuda") is not None


def find(signature: Signature, capability: Capability) -> Code:
    """Return the machine code of a kernel: from the package, from the user's cache, or newly made for the cache.

    Raises
    ------
    DeviceError
        If there is no code, and no way to make it.
    """
    key, architecture, shipped = key_of(signature), name_of(capability), archive_for(capability)
    if shipped and (found := read(shipped, key)):
        return found
    folder = cache_folder("kernels", make=True)
    with tempfile.TemporaryDirectory() as aside:
        kept = (folder or Path(aside)) / f"{architecture}-{key}.zip"
        if found := read(kept, key):
            return found
        file_lock = FileLock(kept.with_suffix(".lock"))
        file_lock.take()
        try:
            if not (found := read(kept, key)):
                found = _make(signature, key, architecture, kept)
        finally:
            file_lock.pass_on()
            with suppress(OSError):
                file_lock.path.unlink()
    return found


def read(path: Path, key: str) -> Code | None:
    """Return a kernel of an archive; None if it, or the archive, is missing or damaged."""
    try:
        with zipfile.ZipFile(path) as file:
            said = _manifest(file)["kernels"].get(key)
            return said and Code(said["entry"], said["cooperative"], _code(file.read(said["file"]), said))
    except DAMAGE:
        return None


def keys(path: Path) -> set[str]:
    """Return the keys of all kernels of an archive; none if it is missing or damaged."""
    try:
        with zipfile.ZipFile(path) as file:
            return set(_manifest(file)["kernels"])
    except DAMAGE:
        return set()


def _manifest(file: zipfile.ZipFile) -> dict[str, Any]:
    found = json.loads(file.read(MANIFEST))
    return found if found["format"] == FORMAT else {"kernels": {}}


def contents(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the descriptions of an archive's kernels, and their code, both by key."""
    with zipfile.ZipFile(path) as file:
        kernels = _manifest(file)["kernels"]
        files = {name: file.read(name) for name in file.namelist()}
        return kernels, {key: _code(files[said["file"]], said) for key, said in kernels.items()}


def _code(file: bytes, said: Mapping[str, Any]) -> bytes:
    """Return the code of a kernel from the file of its module."""
    if len(file) < said["end"]:
        raise ValueError("the file of a module is too short")
    return file[said["start"] : said["end"]]


def described(signature: Signature, code: Code) -> dict[str, Any]:
    """Return the description of a kernel for an archive."""
    kernel, types = signature.kernel.name, list(map(str, signature.types))
    return {"kernel": kernel, "types": types, "entry": code.entry, "cooperative": code.cooperative}


def write(
    path: Path, kernels: Mapping[str, Any], codes: Mapping[str, bytes], more: Mapping[str, bytes] | None = None
) -> None:
    """Write an archive, completely or not at all; the same contents give the same bytes.

    Parameters
    ----------
    path : Path
    kernels : mapping
        Results of :func:`described`, by key.
    codes : mapping of bytes
        The code of each kernel, by key.
    more : mapping of bytes, optional
        Further files, by name.
    """
    files, placed = dict[str, bytes](), dict[str, Any]()
    for key, said in sorted(kernels.items(), key=lambda one: (one[1]["kernel"], one[1]["types"])):
        name = said["kernel"].rpartition(".")[0]
        before = files.get(name, b"")
        files[name] = before + codes[key]
        placed[key] = {**said, "file": name, "start": len(before), "end": len(files[name])}
    manifest = json.dumps({"format": FORMAT, "kernels": placed}, indent=1, sort_keys=True).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(unfinished, "w") as file:
        for name, data in sorted({**files, **(more or {}), MANIFEST: manifest}.items()):
            file.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_LZMA)
    os.replace(unfinished, path)


def _make(signature: Signature, key: str, architecture: str, path: Path) -> Code:
    """Make the code of a kernel and an archive of it: from the package's PTX if there is any, else by the compiler."""
    portable = archive(SHIPPED, PORTABLE)
    if found := read(portable, key):
        _log.info("translating %s for this GPU, once on this machine", signature.kernel.name)
        with zipfile.ZipFile(portable) as file:
            code = found._replace(code=_translated(found, signature, architecture, file.read(RUNTIME)))
        write(path, {key: described(signature, code)}, {key: code.code})
        return code
    if not has_compiler():
        raise DeviceError(
            f"no archive has machine code of {signature.kernel.name} for {architecture} that fits its source; install "
            f"gpukit[build-kernels], which compiles it once, or use {spelled('device', 'cpu')}"
        )
    _log.info("compiling %s for this GPU: some seconds, once on this machine", signature.kernel.name)
    module = module_of(signature.kernel.py_func)
    command = [sys.executable, "-P", "-m", "gpukit.device.build", "--out", str(path), "--architecture", architecture]
    command += ["--kernel", f"{module}:{signature.kernel.py_func.__name__}:{signature.number}"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    made = read(path, key)
    if done.returncode or made is None:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise DeviceError(f"{signature.kernel.name} was not compiled: {said}")
    return made


def _translated(found: Code, signature: Signature, architecture: str, runtime: bytes) -> bytes:
    """Return the machine code that the driver's linker makes from PTX."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    options = LinkerOptions(arch=architecture, max_register_count=signature.kernel.max_registers)
    parts = [ObjectCode.from_ptx(found.code), *([ObjectCode.from_library(runtime)] if found.cooperative else [])]
    return bytes(Linker(*parts, options=options).link("cubin").code)


def key_of(signature: Signature, digest: Callable[[str], str] | None = None) -> str:
    """Return the key of a kernel for these types; ``digest`` of a file is by default that of its bytes."""
    digest = digest or _digest
    said = [FORMAT, signature.kernel.name, str(signature), signature.kernel.max_registers]
    said += [f"{name} {digest(path)}" if path else name for name, path in sorted(_reached(signature.kernel.py_func)[0])]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:40]


@cache
def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def is_cooperative(signature: Signature) -> bool:
    """Return whether blocks of a kernel wait for each other: it, or a function that it calls, uses the grid barrier."""
    return "this_grid" in _reached(signature.kernel.py_func)[1]


@cache
def _reached(function: FunctionType) -> tuple[set[tuple[str, str]], set[str]]:
    """Return everything that the code of a kernel can contain, and all names used in it.

    The first set has the modules (name, path) of its functions, named tuples and enumerations, and the other values
    that these refer to (name and value, no path).
    """
    found, used, seen, left = set[tuple[str, str]](), set[str](), set[FunctionType](), [function]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        found.add((module_of(one), one.__globals__["__file__"]))
        names = {*_names(one.__code__), *one.__code__.co_freevars} - {"cuda", "libdevice"}
        used |= names
        inner = zip(one.__code__.co_freevars, one.__closure__ or (), strict=True)
        scope = one.__globals__ | {name: cell.cell_contents for name, cell in inner}
        for name in names & scope.keys():
            values = [scope[name]]
            if isinstance(values[0], ModuleType) and values[0].__name__.startswith("numpy"):
                continue
            if isinstance(values[0], ModuleType):
                values = [getattr(values[0], other) for other in names & vars(values[0]).keys()]
            for value in values:
                plain = getattr(value, "py_func", value)
                if isinstance(plain, FunctionType):
                    left += [plain] if plain is not value or plain in kernels.called else []
                elif isinstance(plain, type):
                    if hasattr(plain, "_fields") or issubclass(plain, Enum):
                        found.add((plain.__module__, str(sys.modules[plain.__module__].__file__)))
                elif isinstance(plain, np.ndarray):
                    found.add((f"{name} {plain.dtype} {plain.shape} {plain.tobytes().hex()}", ""))
                elif isinstance(plain, int | float | str | tuple | np.generic):
                    found.add((f"{name} {plain!r}", ""))
    return found, used


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code uses, including those in nested functions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
