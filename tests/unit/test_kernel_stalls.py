"""The table of ``benchmarks/kernel_stalls.py``, of lines as the profiler writes them."""

import subprocess
import sys
from pathlib import Path

import pytest
from kernel_stalls import parsed, table

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "kernel_stalls.py"
HEAD = (
    '"Address","Source","Warp Stall Sampling (All Samples)","Warp Stall Sampling (Not-issued Samples)","# Samples",'
    '"Instructions Executed","Thread Instructions Executed","stall_barrier","stall_barrier (Not Issued)","stall_wait"'
)
PROFILE = f"""==PROF== Connected to process 7
warm [1.2, 3.4]
"Kernel Name","gpukit::sample"
{HEAD}
"1","      LDS R5, [UR4+0x4] ","1","1","1","2,000","64,000","0","0","1"
"2","      BAR.SYNC 0x0 ","59","50","59","2000","16000","53","49","6"
"3","      EXIT ","","","","","","","",""
"4","      ATOMG R32, [R40] ","40","40","40","8000","16000","n/a","","40"
==PROF== Disconnected from process 7
"""


def test_a_profile_is_read():
    found = parsed(PROFILE)
    assert [(one.samples, one.warps, one.threads) for one in found] == [
        (1, 2000, 64_000), (59, 2000, 16_000), (0, 0, 0), (40, 8000, 16_000),
    ]  # fmt: skip
    assert found[1].text == "BAR.SYNC 0x0" and dict(found[1].reasons) == {"barrier": 53, "wait": 6}


def test_the_table_has_what_waits_most_and_all_reasons():
    lines = table(parsed(PROFILE), 30)
    assert [line.split()[:8] for line in lines[1:-1]] == [
        ["1", "59.0", "%", "60.0", "%", "2,000", "8.0", "barrier"],
        ["3", "40.0", "%", "100.0", "%", "8,000", "2.0", "wait"],
    ]
    assert lines[-1] == "100 samples: barrier 53.0 %, wait 47.0 %"
    assert table([], 1)[-1] == "0 samples: "


@pytest.mark.parametrize(
    ("profiler", "message"),
    [
        (None, "profiler ncu is not on PATH"),
        ("echo ==ERROR== no counters; exit 1", "no launch of 'sample' was sampled;"),
    ],
)
def test_what_fails_is_said(tmp_path, profiler, message):
    if profiler is not None:
        (tmp_path / "ncu").write_text(f"#!/bin/sh\n{profiler}\n")
        (tmp_path / "ncu").chmod(0o755)
    words = [sys.executable, str(PROGRAM), "sample", "--", "true"]
    done = subprocess.run(words, env={"PATH": f"{tmp_path}:/bin"}, capture_output=True, text=True)
    assert done.returncode == 1 and message in done.stderr and done.stdout == ""
    assert profiler is None or "==ERROR== no counters" in done.stderr
