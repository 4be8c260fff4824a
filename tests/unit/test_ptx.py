"""Every CUDA kernel compiles to PTX for old, present and new GPU generations, and links, on a machine without a GPU.

Modules named ``*_cuda.py`` declare kernels, each with the types of its arguments. Each module is compiled in a process
of its own, all at once. ``python -m gpukit.device.build`` compiles for the generations between. The linker, which knows
what a kernel may take of a multiprocessor (48 KiB of shared memory), gets the PTX of the oldest.

Barriers are counted in the code for ``COUNTED``: a compiler that writes one twice, once on each side of a branch, lets
threads of a block wait at different ones (numba#9770), which no run on a CPU shows.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernel_code import code_of, differences, normalised

import gpukit
from gpukit.device.build import modules
from gpukit.device.select import simulated
from gpukit.device.store import ARCHITECTURES

COUNTED = (9, 0)
CAPABILITIES = (ARCHITECTURES[0], COUNTED, ARCHITECTURES[-1])
ROOT = Path(gpukit.__file__).parent
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = modules()

BARRIERS = {
    "gpukit.diversity.contexts_cuda.classify": (2, 0, 0),
    "gpukit.diversity.contexts_cuda.score_egos": (36, 0, 32),
    "gpukit.papers.diversity.scatter_cuda.aggregate": (2, 0, 0),
    "gpukit.diversity.truss_shared_cuda.decompose_egos": (13, 0, 0),
    "gpukit.evaluate.spread_block_cuda.lt_runs": (5, 0, 0),
    "gpukit.papers.gim.per_edge_cuda.sample_per_edge": (6, 0, 0),
    "gpukit.imgpu.count_cuda.sum_gains": (52, 2, 0),
    "gpukit.imgpu.count_cuda.sum_gains_kept": (24, 1, 0),
    "gpukit.imgpu.count_cuda.count_reached": (27, 1, 0),
    "gpukit.imgpu.count_cuda.sum_gains_shared": (45, 1, 0),
    "gpukit.imgpu.count_cuda.sum_gains_kept_shared": (24, 1, 0),
    "gpukit.imgpu.count_cuda.count_reached_shared": (21, 0, 0),
    "gpukit.imgpu.fixed_cuda.evaluate": (2, 0, 0),
    "gpukit.imgpu.fixed_cuda.evaluate_long": (3, 0, 0),
    "gpukit.imgpu.fixed_cuda.choose": (4, 0, 0),
    "gpukit.papers.imgpu.levels_cuda.sum_gains": (56, 6, 0),
    "gpukit.papers.kpar.fora_cuda.fora[0]": (144, 0, 60),
    "gpukit.papers.kpar.fora_cuda.fora[1]": (144, 0, 60),
    "gpukit.papers.kpar.untiled_cuda.answer[0]": (409, 0, 177),
    "gpukit.papers.kpar.untiled_cuda.answer[1]": (409, 0, 177),
    "gpukit.papers.kpar.untiled_cuda.answer[2]": (409, 0, 177),
    "gpukit.papers.kpar.untiled_cuda.answer[3]": (409, 0, 177),
    "gpukit.kpar.batch.push_cuda.begin_all": (1, 0, 0),
    "gpukit.kpar.batch.push_cuda.list_all": (7, 0, 0),
    "gpukit.kpar.batch.push_cuda.propose_all[0]": (53, 0, 18),
    "gpukit.kpar.batch.push_cuda.propose_all[1]": (53, 0, 18),
    "gpukit.kpar.batch.push_cuda.take_all[0]": (3, 0, 0),
    "gpukit.kpar.batch.push_cuda.take_all[1]": (3, 0, 0),
    "gpukit.kpar.batch.push_cuda.value_all[0]": (27, 0, 0),
    "gpukit.kpar.batch.push_cuda.value_all[1]": (27, 0, 0),
    "gpukit.kpar.query.answer_cuda.answer[0]": (401, 0, 174),
    "gpukit.kpar.query.answer_cuda.answer[1]": (401, 0, 174),
    "gpukit.kpar.query.answer_cuda.answer[2]": (401, 0, 174),
    "gpukit.kpar.query.answer_cuda.answer[3]": (401, 0, 174),
    "gpukit.kpar.batch.starts_cuda.add_lists": (4, 0, 0),
    "gpukit.kpar.batch.starts_cuda.lay_side_by_side": (2, 0, 0),
    "gpukit.kpar.batch.starts_cuda.measure_lists": (3, 0, 0),
    "gpukit.kpar.batch.starts_cuda.unite": (11, 0, 0),
    "gpukit.merit.cover_cuda.select": (36, 0, 0),
    "gpukit.merit.hashed_cuda.discover": (5, 0, 0),
    "gpukit.merit.search_cuda.add_few_roots": (6, 0, 0),
    "gpukit.merit.search_cuda.add_roots": (5, 1, 0),
    "gpukit.merit.search_cuda.search": (7, 0, 0),
    "gpukit.papers.merit.update_cuda.update_sets": (23, 1, 0),
    "gpukit.papers.merit.cover_cuda.select": (41, 0, 0),
    "gpukit.papers.merit.discover_cuda.discover": (3, 0, 0),
    "gpukit.papers.merit.gamcss_cuda.pack": (2, 0, 0),
    "gpukit.papers.merit.gamcss_cuda.best_of_blocks": (9, 0, 0),
    "gpukit.papers.merit.gamcss_cuda.cover": (3, 0, 0),
    "gpukit.papers.merit.gamcss_cuda.count_hits": (3, 0, 0),
    "gpukit.worlds.cover_cuda.greedy": (30, 0, 0),
    "gpukit.worlds.sample_cuda.sample": (16, 0, 0),
    "gpukit.worlds.walk_cuda.walk": (3, 0, 0),
}
"""``bar.sync``, ``bar.red`` and fences of each kernel that has any. Inlined functions count wherever they are called. A
number that changes must follow from a change of the source: look where it comes from before writing it here."""

COMPILER = """
import json, sys
sys.path.insert(0, sys.argv[3])
from gpukit.device import build, kernels
from kernel_code import barriers, name_of

kernels.begin_to_compile()
targets, counts = {}, {}
for one in build.signatures_of(sys.argv[1]):
    texts = [build.compiled(one, tuple(capability), "ptx") for capability in json.loads(sys.argv[2])]
    build.linked(one, texts[0], tuple(json.loads(sys.argv[2])[0]))
    texts = [text.decode() for text in texts]
    counts[name_of(one)] = list(barriers(texts[1]).values())
    targets[name_of(one)] = [text.partition(".target ")[2].split()[0].rstrip(",") for text in texts if ".entry" in text]
print(json.dumps([targets, counts]))
"""


def _name(path: Path) -> str:
    return ".".join(("gpukit", *path.relative_to(ROOT).with_suffix("").parts))


@pytest.fixture(scope="module")
def compilers() -> Iterator[dict[str, subprocess.Popen]]:
    """Start one compiling process a module."""
    pytest.importorskip("cuda.bindings", reason="needs the compilers (pip install gpukit[build-kernels])")
    if simulated():
        pytest.skip("the simulator replaces the compiler")
    started = {}
    for module in MODULES:
        words = [sys.executable, "-c", COMPILER, module, json.dumps(CAPABILITIES), str(BENCHMARKS)]
        started[module] = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


def test_there_are_kernels() -> None:
    """The search would pass over modules with other names."""
    with_kernels = [path for path in sorted(ROOT.rglob("*.py")) if "\n@kernel" in path.read_text()]
    assert with_kernels
    assert [_name(path) for path in with_kernels if _name(path) not in MODULES] == []


@pytest.mark.long
@pytest.mark.timeout(900)  # of CPU time it is minutes, and other tests run beside it
@pytest.mark.parametrize("module", MODULES)
def test_kernels_compile(compilers, module) -> None:
    out, err = compilers[module].communicate(timeout=800)
    assert compilers[module].returncode == 0, err[-3000:]
    targets, counts = json.loads(out)
    assert targets
    expected = [f"sm_{major}{minor}" for major, minor in CAPABILITIES]
    for kernel, found in targets.items():
        assert found == expected, kernel
    for kernel, found in counts.items():
        assert tuple(found) == BARRIERS.get(kernel, (0, 0, 0)), kernel


PTX = """
// a comment
.version 9.0
.target sm_90
.extern .func  (.param .b32 func_retval0) cudaCGSynchronize
(
\t.param .b64 cudaCGSynchronize_param_0
)
;
.common .global .align 8 .u64 _ZN08NumbaEnv6gpukit4rule4drawE;
.visible .shared .align 4 .b8 _cudapy_smem_7[64];
.visible .entry _ZN6gpukit4stepB2v1E(
	.param .u64 _ZN6gpukit4stepB2v1E_param_0
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<5>;
	.loc 1 20 0
	mov.u32 	%r1, %tid.x;
	setp.lt.s32 	%p1, %r1, 8;
	@%p1 bra 	$L__BB0_2;
	st.shared.u32 	[_cudapy_smem_7+4], %r1;
$L__BB0_2:
	bar.sync 	0;
	ret;
}
"""


def test_code_is_compared_without_its_names() -> None:
    other = PTX.replace("%r", "%rq").replace("<5>", "<9>").replace("L__BB0_2", "L__BB3_17").replace("smem_7", "smem_12")
    other = other.replace("%rq1", "%rq7").replace("stepB2v1E", "strideB3v44E").replace("4rule4draw", "4rule5other")
    start, end = other.index(".extern"), other.index(".common")
    other = other[:start] + other[end:]
    other = other.replace("\t.loc 1 20 0\n", "").replace("// a comment\n", "")
    assert normalised(other) == normalised(PTX)
    assert not any("%r" in line or "_Z" in line or "smem" in line or "L__" in line for line in normalised(PTX))
    for changed in ("p1, %r1, 8", "%tid.x", "smem_7+4", "smem_7[64]", "sm_90", "@%p1", "bar.sync \t0"):
        assert changed in PTX
        assert normalised(PTX.replace(changed, changed[:-1] + "9")) != normalised(PTX), changed
    assert code_of(PTX, 64).digest != code_of(PTX, 80).digest
    assert code_of(PTX, None)[1:] == (6, 1, 0, 0)


def test_tables_of_code_are_compared() -> None:
    one, two, three = (code_of(PTX.replace("8;", f"{i};"), None) for i in (8, 9, 10))
    changed, renamed = differences({"a": one, "b": two}, {"a": three, "c": two, "d": one})
    assert [line.split("\t")[:2] for line in changed] == [["changed", "a"], ["new", "d"]]
    assert renamed == ["renamed\tb -> c"]
    assert differences({"a": one}, {"a": one}) == ([], [])
