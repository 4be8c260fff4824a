"""Show where a kernel's reads of global memory wait for one another, from its machine code; needs no GPU.

    python benchmarks/kernel_waits.py gpukit.worlds.cover_cuda greedy --nvdisasm .../bin/nvdisasm

Reads that could be under way together should wait once: four reads with four waits take four times as long, whatever
the source looks like. Stretches without a jump and with at least ``--reads`` reads are listed by the line of the kernel
that they belong to; a read whose value no later instruction of the stretch needs counts as not waited for. The
disassembler comes with the CUDA toolkit.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from gpukit.device import build, kernels

READS = ("LDG", "ATOMG", "LD.")
JUMPS = ("BRA", "BRX", "CALL", "EXIT", "RET")


class Stretch(NamedTuple):
    """Instructions without a jump: the kernel's line where its first read belongs, reads, waits, spills, length."""

    line: int
    reads: int
    waits: int
    spills: int
    length: int


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
    parser.add_argument("module", help="module with kernels, as gpukit.worlds.cover_cuda")
    parser.add_argument("kernel")
    parser.add_argument("--capability", default="9.0", help="compute capability (9.0: H100, H200)")
    parser.add_argument("--reads", type=int, default=3, help="fewest reads of a stretch to list it")
    parser.add_argument("--nvdisasm", default="nvdisasm", help="the disassembler")
    arguments = parser.parse_args()
    major, minor = (int(part) for part in arguments.capability.split("."))
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        kernels.begin_to_compile()
        name = f"{arguments.module}.{arguments.kernel}"
        signature = next(one for one in build.signatures_of(arguments.module) if one.kernel.name == name)
        code = build.compiled(signature, (major, minor), "ltoir", lineinfo=True)
        file.write(build.linked(signature, code, (major, minor), lineinfo=True))
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
