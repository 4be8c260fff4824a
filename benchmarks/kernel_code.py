"""Print a digest of the code of every kernel, so that two checkouts can be compared; needs no GPU.

    python benchmarks/kernel_code.py > before.txt                         # in one checkout
    python benchmarks/kernel_code.py --against before.txt                 # in the other
    python benchmarks/kernel_code.py --against before.txt --only kpar     # of one system

Kernels are those that modules named ``*_cuda.py`` declare, compiled with each of their signatures. A line of the table
has the digest, the instructions, the barriers ``bar.sync`` and ``bar.red``, the fences, and the kernel's name, with the
number of the signature where it has several. ``--against`` shows what differs from an earlier table and exits with 1 if
anything does; a kernel that has another name but the same code is *renamed*, which is no difference.

The digest is that of the kernel's PTX once everything is taken out of it that does not change what runs:

- comments, blank lines, line information and debug sections are left out;
- so are Numba's ``NumbaEnv`` variables, which no code reads: one for each device function, also inlined ones; and
  declarations of functions of the CUDA runtime, which the compiler writes in any order, while calls name them;
- virtual registers, labels, mangled names, and shared arrays and literals of the module are numbered as they come up in
  the text (the compiler numbers them as it made them); declarations of registers, which only count them, are left out;
- blanks are squeezed.

The options of the compiler and the linker (registers of a thread, fast arithmetic) go into the digest, too. Order of
instructions, constants, types, sizes of arrays, the PTX version and the target all count: equal digests are equal
code, while different ones can still end as the same machine code. Each module is compiled in a process of its own with
the same hash seed, so that no table depends on what was compiled before.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import gpukit
from gpukit.device import build, kernels

ROOT = Path(gpukit.__file__).parent
OPTIONS = ("fastmath False", "opt True", "debug 0", "launch_bounds None")
"""Of the compiler, the same for all kernels."""

COLUMNS = ("digest", "instructions", "bar.sync", "bar.red", "fences", "kernel")

_NAME = re.compile(r"[%$]?[A-Za-z_][\w$]*")
_NUMBERED = re.compile(r"_Z\w+|_cudapy_\w+|__local_depot\d+|\$\w+")
_DROPPED = re.compile(r"\.(?:loc|file|section)\b|\.(?:common|extern|visible|weak)?\s*\.global\b.*\b_ZN08NumbaEnv")
_REGISTERS = re.compile(r"\.reg\s+\.\w+\s+(%\w+)(<\d+>)?;")
_BARRIERS = {
    "bar.sync": re.compile(r"\b(?:bar|barrier(?:\.cta)?)\.sync\b"),
    "bar.red": re.compile(r"\b(?:bar|barrier(?:\.cta)?)\.red\b"),
    "fences": re.compile(r"\b(?:membar|fence)\."),
}


class Code(NamedTuple):
    """What a table says of a kernel."""

    digest: str
    instructions: int
    sync: int
    red: int
    fences: int


def normalised(text: str) -> list[str]:
    """Return the lines of PTX that matter, with names numbered as they come up (see the module's docstring)."""
    text = re.sub(r"/\*.*?\*/|\.extern\s+\.func\b[^;]*;", " ", text, flags=re.DOTALL)
    families: set[str] = set()
    numbers: dict[str, str] = {}

    def rename(match: re.Match) -> str:
        name = match[0]
        register = name.rstrip("0123456789") in families and name != name.rstrip("0123456789")
        if not register and not _NUMBERED.fullmatch(name):
            return name
        return numbers.setdefault(name, f"{'%' if register else '$'}{len(numbers)}")

    lines = []
    for line in text.splitlines():
        line = " ".join(line.partition("//")[0].split())
        if not line or _DROPPED.match(line):
            continue
        if declared := _REGISTERS.fullmatch(line):
            if declared[2]:
                families.add(declared[1])
            continue
        lines.append(_NAME.sub(rename, line))
    return lines


def barriers(text: str) -> dict[str, int]:
    """Return how many barriers, barriers that combine flags, and fences there are in PTX."""
    return {kind: len(pattern.findall(text)) for kind, pattern in _BARRIERS.items()}


def code_of(text: str, max_registers: int | None) -> Code:
    """Return what a table says of a kernel with this PTX and this limit of the registers of a thread."""
    lines = normalised(text)
    kept = [f"max_registers {max_registers}", *OPTIONS]
    digest = hashlib.sha256("\n".join(kept + lines).encode()).hexdigest()[:16]
    instructions = sum(line.endswith(";") and not line.startswith(".") for line in lines)
    return Code(digest, instructions, *barriers("\n".join(lines)).values())


def codes_of(module: str, capability: tuple[int, int]) -> dict[str, Code]:
    """Compile the kernels of a module."""
    kernels.begin_to_compile()
    found = {}
    for one in build.signatures_of(module):
        text = build.compiled(one, capability, "ptx").decode()
        found[name_of(one)] = code_of(text, one.kernel.max_registers)
    return found


def name_of(signature: kernels.Signature) -> str:
    """Return the name of a kernel with one of its signatures in a table."""
    several = len(signature.kernel.signatures) > 1
    return f"{signature.kernel.name}[{signature.number}]" if several else signature.kernel.name


def table(capability: str, jobs: int, only: str = "") -> dict[str, Code]:
    """Compile all kernels, or those of modules with ``only`` in their names, each module in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}

    def compile_apart(module: str) -> dict[str, Code]:
        command = [sys.executable, __file__, "--capability", capability, "--module", module]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{module} was not compiled: {done.stderr.strip().splitlines()[-1]}")
        return {name: Code(*code) for name, code in json.loads(done.stdout).items()}

    with ThreadPoolExecutor(jobs) as pool:
        return {
            name: code
            for part in pool.map(compile_apart, [one for one in build.modules() if only in one])
            for name, code in part.items()
        }


def read(path: Path) -> dict[str, Code]:
    """Return the table in a file that this script printed."""
    found = {}
    for line in path.read_text().splitlines():
        digest, *counts, name = line.split("\t")
        if digest != COLUMNS[0]:
            found[name] = Code(digest, *map(int, counts))
    return found


def differences(before: dict[str, Code], now: dict[str, Code]) -> tuple[list[str], list[str]]:
    """Return what differs between two tables, and what was renamed, a line each."""
    gone, new = dict(before), dict(now)
    for name in before.keys() & now.keys():
        if before[name].digest == now[name].digest:
            del gone[name], new[name]
    changed = []
    for name in sorted(gone.keys() & new.keys()):
        changed.append(f"changed\t{name}\t{_counts(gone.pop(name))} -> {_counts(new.pop(name))}")
    renamed = []
    for name, code in sorted(gone.items()):
        if same := next((other for other in sorted(new) if new[other].digest == code.digest), None):
            renamed.append(f"renamed\t{name} -> {same}")
            del gone[name], new[same]
    missing = [f"gone\t{name}" for name in sorted(gone)]
    return changed + missing + [f"new\t{name}\t{_counts(new[name])}" for name in sorted(new)], renamed


def _counts(code: Code) -> str:
    return ", ".join(f"{value} {name}" for name, value in zip(COLUMNS[1:-1], code[1:], strict=True))


def parser_for(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options of programs that compile all kernels, each module in a process of its own."""
    parser = argparse.ArgumentParser(description=str(doc).splitlines()[0])
    parser.add_argument("--only", default="", metavar="PART", help="kernels with this in the names of their modules")
    parser.add_argument("--capability", default="9.0", help="compute capability (9.0: H100, H200)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="modules to compile at a time")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Print the table, or what differs from another one."""
    parser = parser_for(__doc__)
    parser.add_argument("--against", type=Path, metavar="TABLE", help="show what differs from this table")
    arguments = parser.parse_args()
    major, minor = (int(part) for part in arguments.capability.split("."))
    if arguments.module:
        json.dump(codes_of(arguments.module, (major, minor)), sys.stdout)
        return 0
    print(f"kernels of {ROOT}", file=sys.stderr)
    found = table(arguments.capability, arguments.jobs, arguments.only)
    if arguments.against is None:
        print(*COLUMNS, sep="\t")
        for name, code in found.items():
            print(*code, name, sep="\t")
        return 0
    before = {name: code for name, code in read(arguments.against).items() if arguments.only in name.rpartition(".")[0]}
    changed, renamed = differences(before, found)
    print(*changed, *renamed, sep="\n")
    print(f"{len(found)} kernels, {len(changed)} differences, {len(renamed)} renamed", file=sys.stderr)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
