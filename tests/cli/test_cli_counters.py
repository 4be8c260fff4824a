"""``gpukit papers bench counters``, a script replaces the profiler; its arguments, and its output."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gpukit.device.select import Device
from gpukit.errors import DeviceError
from gpukit.papers.bench import counters
from gpukit.papers.bench.counters import METRICS, read_kernels, totals

GROUP = ("papers", "bench", "counters")

SCRIPT = """#!/bin/sh
echo "$@" >> "$HERE/asked"
while [ $# -gt 0 ]; do
  case $1 in --log-file) log=$2;; --out) out=$2;; --methods) method=$2;; esac
  shift
done
cat "$HERE/$method.csv" > "$log"
[ -f "$HERE/$method.json" ] && cat "$HERE/$method.json" > "$out"
cat "$HERE/said" >&2
exit $(cat "$HERE/status")
"""

FIRST = ("1,000", "10", "0", "5", "2", "40", "20", "50.00", "1.00", "30.00")
SECOND = ("3,000", "1,200", "1", "0", "0", "100", "0", "75.00", "2.00", "70.00")
"""The metrics of two launches, in the order of METRICS, as ncu writes them."""


def output(*kernels):
    """Return what ncu logs: messages, names, units, a line a launch."""
    fixed = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size"]
    fixed += ["Grid Size", "Device", "CC"]
    said = ["==PROF== Connected to process 7 (/usr/bin/python3.12)", '==PROF== Profiling "bury" - 0: 0%....100%']
    rows = [[*fixed, *METRICS], [""] * len(fixed) + ["ns", *["inst"] * 4, "sector", "sector", "%", "inst/cycle", "%"]]
    shape = ["1", "7", "(256, 1, 1)", "(132, 1, 1)", "0", "9.0"]
    rows += [[str(i), "7", "python3.12", "127.0.0.1", "bury, of (Array)", *shape, *k] for i, k in enumerate(kernels)]
    table = [",".join(f'"{value}"' for value in row) for row in rows]
    return "\n".join([*said, *table, "==PROF== Disconnected from process 7"]) + "\n"


def campaign(method):
    """Return the record of a ``bench merit``, as the process below the profiler writes it."""
    run = {"graph": {"name": "G", "n": 9, "m": 20}, "method": method, "groups": 1, "worlds": 1, "time_s": {"mean": 9.0}}
    run |= {"device": {"kind": "cuda", "name": "G", "gpus": [0], "threads": 2, "reason": "asked for"}}
    run |= {"params": {"eta": 10, "batch": 4, "model": "ic"}, "cost": {"mean": 1.0, "each": [1.0]}, "rounds": 3}
    return {"benchmark": "merit", "runs": [run | {"sets": 5, "probes": 6, "phases_s": {}}]}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the script, what it will say, and a GPU that is only said to be there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ncu").write_text(SCRIPT)
    (tmp_path / "bin/ncu").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]]))
    monkeypatch.setattr("gpukit.papers.cli.bench_merit.choose", lambda *_: Device("cuda", "G", (0,), 2, "asked for"))
    for method in ("merit", "gamcss"):
        (tmp_path / f"{method}.csv").write_text(output(FIRST, SECOND))
        (tmp_path / f"{method}.json").write_text(json.dumps(campaign(method)))
    (tmp_path / "said").write_text("")
    (tmp_path / "status").write_text("0")
    return tmp_path


def test_launches_are_read_and_added_up():
    kernels = read_kernels(output(FIRST, SECOND))
    assert [kernel["gpu__time_duration.sum"] for kernel in kernels] == [1000, 3000]
    assert totals(kernels, 2) == {
        "launches": 2,
        "cut": False,
        "kernel_s": pytest.approx(4e-6),
        "global_atomics": 10 + 0 + 5 + 1200 + 1 + 0,
        "shared_atomics": 2,
        "atomic_sectors": 40 + 20 + 100 + 0,
        "occupancy_pct": pytest.approx((1 * 50 + 3 * 75) / 4),
        "instructions_per_cycle": pytest.approx((1 * 1 + 3 * 2) / 4),
        "sm_throughput_pct": pytest.approx((1 * 30 + 3 * 70) / 4),
    }
    first = totals(kernels, 1)
    assert (first["launches"], first["cut"], first["occupancy_pct"]) == (1, True, 50)


@pytest.mark.parametrize("nothing", ["n/a", "", "(!) n/a", "nan"])
def test_what_the_profiler_has_no_value_of_is_missing(nothing):
    gaps = [nothing if METRICS[i] in (METRICS[2], METRICS[7]) else value for i, value in enumerate(SECOND)]
    found = totals(read_kernels(output(FIRST, gaps)), 2)
    assert found["global_atomics"] is None and found["occupancy_pct"] is None
    assert found["shared_atomics"] == 2 and found["sm_throughput_pct"] == pytest.approx(60)
    timeless = totals(read_kernels(output(FIRST, [nothing, *SECOND[1:]])), 2)
    assert timeless["kernel_s"] is None and timeless["occupancy_pct"] is None and timeless["global_atomics"] == 1216
    left_out = output(FIRST).replace(METRICS[4], "another")
    assert totals(read_kernels(left_out), 1)["shared_atomics"] is None


def test_output_without_launches():
    assert read_kernels("") == read_kernels("==WARNING== No kernels were profiled.\n") == read_kernels(output()) == []


def test_the_record(record, good, here):
    found = record("G.h5", "--eta", 10, "-b", 4, "--launches", 7, "--seed", 3, "--out", "C.json")
    kept = json.loads((here / "C.json").read_text())
    assert kept["benchmark"] == "counters" and kept["runs"] == found["runs"] and found["params"]["launches"] == 7
    assert [one["method"] for one in kept["runs"]] == ["merit", "gamcss"]
    assert kept["runs"][0]["global_atomics"] == 1216 and kept["runs"][0]["graph"]["name"] == "G"
    assert kept["runs"][0]["rounds"] == 3 and "time_s" not in kept["runs"][0]
    asked = (here / "asked").read_text().splitlines()
    assert len(asked) == 2 and all(",".join(METRICS) in one for one in asked)
    assert all("--profile-from-start off" in one and "--launch-count 8 " in one for one in asked)
    assert "-m gpukit papers bench merit G.h5 --models ic --eta 10 --batch 4 --methods gamcss --worlds 1" in asked[1]
    assert "--device cuda --gpus 1 --threads 2 --seed 3 --out " in asked[1]
    text = good("d/G.h5", "e/G.h5", "--eta", 10, "--methods", "merit")
    assert "d/G.h5 ic η 10 merit " in text and "e/G.h5 ic η 10 merit " in text
    text = good("G.h5", "--eta", 10, "--methods", "merit", "--launches", 1)
    assert "the first 1 launches" in text and "occupancy 50.0 %" in text
    assert (
        "η 10 merit" in good("G.h5", "--methods", "merit")
        and "--eta" not in (here / "asked").read_text().split("\n")[-2]
    )
    (here / "merit.csv").write_text(output(FIRST).replace("50.00", "n/a"))
    assert "occupancy ? %" in good("G.h5", "--eta", 10, "--methods", "merit")


PERMISSION = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters."
ENDED = "==ERROR== The application returned an error code ({})."


@pytest.mark.parametrize(
    ("log", "said", "status", "code", "message"),
    [
        (PERMISSION + "\n==WARNING== No kernels were profiled.\n", "", 0, 4, "ncu failed: ERR_NVGPUCTRPERM"),
        (PERMISSION + "\n" + ENDED.format(4), "gpukit: error: the GPU failed", 4, 4, "ncu failed: ERR_NVGPUCTRPERM"),
        ("", PERMISSION, 1, 4, "ncu failed: ERR_NVGPUCTRPERM"),
        (ENDED.format(3), "gpukit: error: G.h5 does not exist", 3, 3, "G.h5 does not exist"),
        (ENDED.format(2), "gpukit: device\ngpukit: error: η is too large", 1, 2, "η is too large"),
        ("==PROF== x\n", "Killed", 137, 4, "failed under the profiler ncu (exit code 137): Killed"),
        ("", "", 3, 4, "(exit code 3): it said nothing"),
        ("==WARNING== No kernels were profiled.\n", "", 0, 4, "saw no kernel"),
        (output(FIRST) + "==ERROR== Failed to profile kernel bury", "", 0, 4, "ncu failed: Failed to profile kernel"),
        (
            "==ERROR== Reported by the library:\n==ERROR== no counters\n" + ENDED.format(9),
            "",
            9,
            4,
            "library: no counters",
        ),
    ],
)
def test_a_failure_is_one_line(run, here, log, said, status, code, message):
    (here / "merit.csv").write_text(log)
    (here / "said").write_text(said)
    (here / "status").write_text(str(status))
    got, out, err = run("G.h5", "--eta", 10, "--out", "C.json")
    assert (got, out) == (code, "") and message in err and err.count("\n") == 1
    assert not (here / "C.json").exists()


def test_what_cannot_be_counted(run, here, monkeypatch):
    for words, code, message in (
        (("--methods", "merit,pasti"), 2, "pasti runs on CPU threads"),
        (("--methods", "none"), 2, "'none' is unknown"),
        (("--eta", "a"), 2, "--eta: 'a' is not a number"),
        (("--device", "cpu"), 2, "use --device cuda"),
        (("--launches", "0"), 2, "--launches"),
    ):
        got, out, err = run("G.h5", *words)
        assert (got, out) == (code, "") and message in err and err.count("\n") == 1
    (here / "bin/ncu").unlink()
    monkeypatch.setattr(counters.shutil, "which", lambda name, path: None)
    got, out, err = run("G.h5")
    assert (got, out) == (4, "") and "ncu is not on PATH" in err and err.count("\n") == 1
    assert not (here / "asked").exists()


def test_the_profiler_is_found_with_cuda(here, monkeypatch):
    monkeypatch.setenv("PATH", str(here))
    assert counters.find_ncu() == str(here / "bin/ncu")


def test_without_a_gpu(run, here, monkeypatch):
    def none(*_):
        raise DeviceError("cannot use a GPU: none")

    monkeypatch.setattr("gpukit.papers.cli.bench_merit.choose", none)
    got, _, err = run("G.h5")
    assert got == 4 and "cannot use a GPU" in err


def test_an_interrupt_ends_the_campaign(here, monkeypatch):
    (here / "bin/ncu").write_text('#!/bin/sh\nsleep 600 &\necho $! > "$HERE/pid"\nwait\n')

    def interrupted(process):
        while not (here / "pid").exists() or not (here / "pid").read_text().strip():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        counters.measure(str(here / "bin/ncu"), ["papers", "bench", "merit", "G.h5"], 1)
    below = int((here / "pid").read_text())
    for _ in range(500):
        if not Path(f"/proc/{below}").exists() or ") Z " in Path(f"/proc/{below}/stat").read_text():
            return
        time.sleep(0.01)
    os.kill(below, signal.SIGKILL)
    pytest.fail("what the profiler started runs on")
