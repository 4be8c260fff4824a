"""The choice of a device: reasons, refusals, threads, and what the probe answers."""

import ctypes
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gpukit
from gpukit.device import select
from gpukit.device.probe import start_contexts
from gpukit.device.select import Device, Gpu, available_threads, choose
from gpukit.errors import DeviceError, UsageError


def fake(count: int) -> tuple[Gpu, ...]:
    return tuple(Gpu(f"Fake {i}", (i + 1) << 30, (9, 0), f"uuid-{i}", f"GPU-uuid-{i}") for i in range(count))


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch):
    """Return a function that sets how many GPUs are there, or why there are none."""

    def put(count: int, problem: str = "", package: str = "") -> None:
        monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
        monkeypatch.setattr(select, "look_for_gpus", lambda: problem or object())
        monkeypatch.setattr(select, "detect", lambda: (fake(count), problem))
        monkeypatch.setattr(select, "package_problem", lambda: package)

    return put


def test_auto_without_a_gpu_takes_the_cpu_and_says_why(gpus) -> None:
    gpus(0, "no NVIDIA driver on this machine")
    device = choose("auto", threads=3)
    assert (device.kind, device.gpus, device.threads) == ("cpu", (), 3)
    assert device.reason == "auto: no NVIDIA driver on this machine"


def test_cuda_without_a_gpu_fails_with_what_to_do(gpus) -> None:
    gpus(0, "no NVIDIA driver on this machine")
    with pytest.raises(DeviceError, match="no NVIDIA driver on this machine; use --device cpu") as caught:
        choose("cuda")
    assert caught.value.exit_code == 4


def test_auto_and_cuda_take_gpus_that_are_there(gpus) -> None:
    gpus(4)
    for requested in ("auto", "cuda"):
        device = choose(requested, 2)
        assert (device.kind, device.gpus, device.memory, len(device.pool)) == ("cuda", (0, 1), 1 << 30, 4)
    assert choose("auto", 2).reason == "auto: 4 GPUs are here"
    assert choose("cpu", 2).kind == "cpu"


def test_too_few_gpus(gpus) -> None:
    gpus(1)
    with pytest.raises(DeviceError, match=r"2 GPUs are asked for, visible: 1"):
        choose("cuda", 2)
    assert choose("auto", 2).kind == "cpu"


def test_packages_that_cannot_run_kernels(gpus) -> None:
    gpus(1, package="CuPy is not installed")
    assert choose("auto").reason == "auto: CuPy is not installed"
    with pytest.raises(DeviceError, match="CuPy is not installed"):
        choose("cuda")


def test_what_runs_kernels_is_not_what_compiles_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the compiler nor a version of NumPy is asked for."""
    there = {"cuda-bindings": "13.0.3"}

    def version(name: str) -> str:
        if name not in there:
            raise select.importlib.metadata.PackageNotFoundError(name)
        return there[name]

    monkeypatch.setattr(select.importlib.metadata, "version", version)
    monkeypatch.setattr(select.importlib.util, "find_spec", lambda name: object())
    assert select.package_problem() == ""
    monkeypatch.setattr(select.importlib.util, "find_spec", lambda name: None)
    assert "CuPy is not installed" in select.package_problem()
    there.clear()
    assert "cuda-bindings is not installed" in select.package_problem()


def test_small_work_stays_on_the_cpu(gpus) -> None:
    gpus(1)
    assert choose("auto", work=1000).kind == "cpu" and "too small" in choose("auto", work=1000).reason
    assert choose("auto", work=1e12).kind == "cuda"
    assert choose("cuda", work=1000).kind == "cuda"


def test_small_work_is_no_reason_where_there_is_no_gpu(gpus) -> None:
    gpus(0, "no NVIDIA driver on this machine")
    assert choose("auto", work=1000).reason == choose("auto").reason == "auto: no NVIDIA driver on this machine"


def test_zero_gpus(gpus) -> None:
    gpus(2)
    assert choose("auto", 0).reason == "auto: --gpus is 0"
    for requested, count in (("cuda", 0), ("auto", -1)):
        with pytest.raises(UsageError, match="--gpus"):
            choose(requested, count)


@pytest.mark.parametrize("threads", [0, -1, 4097])
def test_threads_out_of_range(threads: int) -> None:
    with pytest.raises(UsageError, match=f"--threads is {threads}; 1 to 4096"):
        choose("cpu", threads=threads)


def test_unknown_device() -> None:
    with pytest.raises(UsageError, match="'tpu' is unknown"):
        choose("tpu")


def test_the_simulator_is_no_gpu_for_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    for asked in (select.look_for_gpus, select.detect):
        asked.cache_clear()
    assert choose("auto").kind == "cpu" and "simulator" in choose("auto").reason
    assert choose("cuda").gpus == (0,)
    for asked in (select.look_for_gpus, select.detect):
        asked.cache_clear()


def test_threads_follow_affinity(tmp_path: Path) -> None:
    assert available_threads(tmp_path) == len(os.sched_getaffinity(0))


def test_the_record_is_plain() -> None:
    record = Device("cuda", "x", (0, 1), 2, "asked for", 5, fake(2)).record()
    assert json.loads(json.dumps(record)) == {
        "kind": "cuda",
        "name": "x",
        "gpus": [0, 1],
        "threads": 2,
        "reason": "asked for",
    }


def detect_with(driver: Path, **environment: str) -> tuple[list, str]:
    script = (
        "import json; from gpukit.device.select import detect; found, why = detect();"
        "print(json.dumps([[list(vars(gpu).values()) for gpu in found], why]))"
    )
    dropped = ("CUDA_VISIBLE_DEVICES", "NUMBA_ENABLE_CUDASIM")
    base = {key: value for key, value in os.environ.items() if key not in dropped}
    base |= {"LD_LIBRARY_PATH": str(driver), "PYTHONPATH": str(Path(gpukit.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**base, **environment}, capture_output=True, text=True, check=True
    )
    found, why = json.loads(done.stdout)
    return found, why


def test_detection_asks_the_driver(driver: Path) -> None:
    found, why = detect_with(driver)
    first, second = "00010203-0405-0607-0809-0a0b0c0d0e0f", "01020304-0506-0708-090a-0b0c0d0e0f10"
    assert why == ""
    assert found == [
        ["Fake A", 1 << 34, [9, 0], first, f"GPU-{first}"],
        ["Fake B", 2 << 34, [9, 0], second, f"GPU-{second}"],
    ]


def test_detection_keeps_the_visible_names(driver: Path) -> None:
    found, _ = detect_with(driver, CUDA_VISIBLE_DEVICES="3, MIG-x")
    assert [gpu[4] for gpu in found] == ["3", "MIG-x"]


def test_contexts_are_made_in_a_thread(driver: Path) -> None:
    library = str(driver / "libcuda.so.1")
    made, all_ = (ctypes.c_int.in_dll(ctypes.CDLL(library), name) for name in ("made", "all"))
    for count, devices in ((1, 0b01), (2, 0b11)):
        made.value, all_.value = 0, devices  # each waits for the others
        making = start_contexts(count, library)
        making.join(timeout=60)
        assert made.value == devices and not making.is_alive()
    all_.value = 0
    start_contexts(1, str(driver / "missing.so")).join(timeout=60)


def test_detection_says_why_there_are_none(driver: Path) -> None:
    assert detect_with(driver, FAKE_FAIL="1") == ([], "CUDA cannot start (CUDA_ERROR_NO_DEVICE)")
    assert detect_with(driver, FAKE_FAIL="1", CUDA_VISIBLE_DEVICES="")[1].endswith("CUDA_VISIBLE_DEVICES is ''")
    (driver / "broken").mkdir(exist_ok=True)
    (driver / "broken" / "libcuda.so.1").write_bytes(b"junk")
    assert "no NVIDIA driver" in detect_with(driver / "broken")[1]
    assert "simulator" in detect_with(driver, NUMBA_ENABLE_CUDASIM="1")[1]


def test_the_environment_stays_as_it_is_while_the_driver_starts(tmp_path: Path) -> None:
    """In a new process, where neither NumPy nor Numba is imported yet."""
    program = textwrap.dedent("""
        import os, sys
        from gpukit.api import session
        from gpukit.cli.common import Run
        from gpukit.device.select import Device, Gpu

        def start(count):
            def changed(*name):
                print("changed", *name)
            os.putenv = os.unsetenv = changed
            print("started", "numba" in sys.modules)

        pool = (Gpu("Fake", 1 << 30, (9, 0), "uuid", "GPU-uuid"),)
        session.choose = lambda *asked, **more: Device("cuda", "Fake", (0,), 1, "asked for", 1 << 30, pool)
        session.start_contexts = start
        Run(device="cuda").use_device()
        import numba, scipy.sparse, h5py
        print(os.environ["CUDA_VISIBLE_DEVICES"], numba.config.NUMBA_NUM_THREADS)
    """)
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("NUMBA_", "CUDA_"))}
    environment["GPUKIT_LOCK_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.stdout, done.returncode) == ("started False\nGPU-uuid 1\n", 0), done.stderr
