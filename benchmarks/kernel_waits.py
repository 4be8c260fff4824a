"""Show where a kernel's reads of global memory wait for one another, from its machine code; needs no GPU.

    python benchmarks/kernel_waits.py gpukit.worlds.cover_cuda greedy --nvdisasm .../bin/nvdisasm

Reads that could be under way together should wait once: four reads with four waits take four times as long, whatever
the source looks like. Stretches without a jump and with at least ``--reads`` reads are listed by the line of the kernel
that they belong to; a read whose value no later instruction of the stretch needs counts as not waited for. The
disassembler comes with the CUDA toolkit.
"""

import argparse
import importlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numba.cuda.dispatcher as dispatcher
from cuda.core import Linker, LinkerOptions, ObjectCode
from numba import cuda
from numba.cuda.cudadrv.libs import get_cudalib

READS = ("LDG", "ATOMG", "LD.")
JUMPS = ("BRA", "BRX", "CALL", "EXIT", "RET")


class Stretch(NamedTuple):
    """Instructions without a jump: the kernel's line where its first read belongs, reads, waits, spills, length."""

    line: int
    reads: int
    waits: int
    spills: int
    length: int


def compiled(kernel: Any, types: tuple[Any, ...], capability: tuple[int, int], **options: bool) -> str:
    """Return the PTX of a kernel for a GPU that need not be here."""

    class Device:
        id = 0
        compute_capability = capability

    dispatcher.get_current_device = lambda: Device
    return cuda.compile_ptx(kernel.py_func, types, cc=capability, **options)[0]


def linked(kernel: Any, text: str, capability: tuple[int, int], **options: bool) -> bytes:
    """Return the machine code that the linker makes of a kernel's PTX, with its limit of registers."""
    runtime = ObjectCode.from_library(get_cudalib("cudadevrt", static=True))
    limit = kernel.targetoptions.get("max_registers")
    wanted = LinkerOptions(arch="sm_{}{}".format(*capability), max_register_count=limit, **options)
    return Linker(ObjectCode.from_ptx(text.encode()), runtime, options=wanted).link("cubin").code


def registers(word: str, wide: bool) -> set[int]:
    """Return the registers that an operand names, two where it is wide."""
    return {int(r) + i for r in re.findall(r"\bR(\d+)", word) for i in range(2 if wide or ".64" in word else 1)}


def measure(instructions: list[tuple[int, str]]) -> Stretch:
    """Count reads and waits in a stretch: an instruction that needs a value still under way waits for all of them."""
    pending: set[int] = set()
    lines, waits, spills = [], 0, 0
    for line, text in instructions:
        name, _, operands = text.partition(" ")
        spills += name.startswith(("LDL", "STL"))
        if pending & registers(operands, False):
            waits += 1
            pending.clear()
        words = operands.split(",")
        target = words[1] if name.startswith("ATOMG") and len(words) > 1 else words[0]
        if name.startswith(READS) and registers(target, False):
            lines.append(line)
            pending |= registers(target, ".64" in name)
    return Stretch(lines[0] if lines else 0, len(lines), waits, spills, len(instructions))


def stretches(listing: str, source: str) -> list[Stretch]:
    """Return the stretches of a listing of ``nvdisasm -c -g``."""
    found: list[list[tuple[int, str]]] = [[]]
    line = 0
    for row in listing.splitlines():
        if place := re.search(r'//## File "([^"]+)", line (\d+)', row):
            line = int(place[2]) if place[1].endswith(source) else line
        elif re.match(r"\s*\.", row):
            found.append([])
        elif instruction := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?(.*?)\s*;", row):
            found[-1].append((line, instruction[1]))
            if instruction[1].startswith(JUMPS):
                found.append([])
    return [measure(stretch) for stretch in found]


def main() -> int:
    """Print the stretches with many reads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", help="module with KERNELS, as gpukit.worlds.cover_cuda")
    parser.add_argument("kernel")
    parser.add_argument("--capability", default="9.0", help="compute capability (9.0: H100, H200)")
    parser.add_argument("--reads", type=int, default=3, help="fewest reads of a stretch to list it")
    parser.add_argument("--nvdisasm", default="nvdisasm", help="the disassembler")
    arguments = parser.parse_args()
    major, minor = (int(part) for part in arguments.capability.split("."))
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        kernel, types = importlib.import_module(arguments.module).KERNELS[arguments.kernel]
        text = compiled(kernel, types, (major, minor), lineinfo=True)
        file.write(linked(kernel, text, (major, minor), lineinfo=True))
        file.flush()
        command = [arguments.nvdisasm, "-c", "-g", file.name]
        try:
            listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"no listing from {arguments.nvdisasm}: {error}; give --nvdisasm", file=sys.stderr)
            return 1
    source = Path(*arguments.module.split(".")).with_suffix(".py")
    print("line\treads\twaits\tspills\tinstructions")
    for stretch in stretches(listing, str(source)):
        if stretch.reads >= arguments.reads:
            print(*stretch, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
