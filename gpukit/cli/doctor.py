"""``gpukit doctor``: list devices and versions, and test each backend."""

import importlib.metadata
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpukit import __version__
from gpukit.api.session import check_compiler
from gpukit.cli.app import lacks_memory
from gpukit.cli.command import with_run
from gpukit.cli.common import Run, print_json
from gpukit.device import select
from gpukit.device.memory import host_free_bytes, readable
from gpukit.errors import ComparisonFailed, DeviceError
from gpukit.wording import counted

EXTRAS = {
    "cuda-bindings": "cuda13",
    "cuda-core": "cuda13",
    "numba-cuda": "build-kernels",
    "cupy-cuda13x": "cuda13",
    "cupy-cuda12x": "cuda12",
    "fsspec": "cloud",
    "hdf5plugin": "compress",
    "matplotlib": "report",
    "jinja2": "report",
    "snakemake": "workflow",
    "pyarrow": "parquet",
    "openpyxl": "excel",
    "networkx": "networkx",
    "starlette": "serve",
}
"""Optional packages, and the extra of gpukit that installs each."""

PACKAGES = ("numpy", "scipy", "numba", "h5py", "pandas", "typer", "rich", *EXTRAS)


@with_run()
def doctor(run: Run) -> None:
    """List devices and versions, and test each backend. Exit code 1 if a test fails."""
    problem = no_room()  # first: the measured sizes of a start hold before anything large is imported
    report: dict[str, Any] = {"devices": devices(), "versions": versions(), "checks": checks(problem)}
    works = report["checks"][0]["status"] == "ok"  # the modules with kernels have compiled code for the CPU, too
    report["kernels"] = kernels() if works else None
    report["extras"] = {name: EXTRAS[name] for name, version in report["versions"].items() if version is None}
    if run.as_json:
        print_json(report)
    else:
        _print(report)
    failed = [check["name"] for check in report["checks"] if check["status"] == "failed"]
    if failed:
        raise ComparisonFailed(f"self-test failed: {', '.join(failed)}; see the details above")


def devices() -> list[dict[str, Any]]:
    """Return the processor and every visible GPU."""
    found: list[dict[str, Any]] = [
        {
            "kind": "cpu",
            "name": select.cpu_name(),
            "threads": select.available_threads(),
            "memory_free": host_free_bytes(),
        }
    ]
    for index, gpu in enumerate(select.detect()[0]):
        capability = "{}.{}".format(*gpu.capability)
        found.append({"kind": "cuda", "index": index, "name": gpu.name, "memory": gpu.memory, "capability": capability})
    return found


def versions() -> dict[str, str | None]:
    """Return the version of gpukit, Python and every relevant package; None if it is not installed."""
    found: dict[str, str | None] = {"gpukit": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def kernels() -> dict[str, Any]:
    """Return facts about the compiled kernels for GPUs.

    ``archives``: the archives of the package, each with its ``architecture``, its ``kernels``, and the number of them
    that ``fit`` the sources; ``wanted``: the number of kernels in the sources; ``used``: the archive that each visible
    GPU uses, or None; ``compiler``: whether missing kernels can be compiled here.
    """
    from gpukit.device import build, store

    wanted = build.wanted()
    archives = [build.fit(path, wanted) for path in sorted(store.SHIPPED.glob("*.zip"))]
    used = [path.stem if path else None for path in (store.archive_for(gpu.capability) for gpu in select.detect()[0])]
    return {"wanted": len(wanted), "archives": archives, "used": used, "compiler": store.has_compiler()}


def no_room() -> str:
    """Return why there is too little memory for compiled code, or an empty string; the self-tests run on one thread."""
    try:
        check_compiler(1)
    except DeviceError as error:
        return f"not tested: {error}"
    return ""


def checks(problem: str = "") -> list[dict[str, str]]:
    """Run the self-tests; each result has name, status (ok, failed, skipped) and detail.

    Parameters
    ----------
    problem : str
        Why compiled code cannot be tested; empty if it can.
    """
    _, no_gpu = select.detect()
    no_gpu = "" if select.simulated() else no_gpu or select.package_problem()
    return [
        _check("cpu: Philox known answers", _philox_cpu, problem),
        _check("cuda: Philox known answers", _philox_cuda, no_gpu or problem),
        _check("hdf5: write, read, compare", _hdf5),
    ]


def _check(name: str, test: Callable[[], bool], problem: str = "") -> dict[str, str]:
    """Run a self-test, unless there is a problem outside the backend, such as too little memory."""
    status, detail = "skipped", problem
    if not problem:
        try:
            status = "ok" if test() else "failed"
        except Exception as error:
            text = " ".join(str(error).split())
            status, detail = "failed", f"{type(error).__name__}: {text}"
            if lacks_memory(error):
                status, detail = "skipped", f"not tested: out of memory ({text or 'on this machine'})"
    return {"name": name, "status": status, "detail": detail}


def _philox_cpu() -> bool:
    from gpukit.device.selftest import philox_cpu

    return philox_cpu()


def _philox_cuda() -> bool:
    from gpukit.device.selftest_cuda import philox_cuda

    return philox_cuda()


def _hdf5() -> bool:
    import numpy as np

    from gpukit.artifacts import read_metrics, write_metrics

    values = np.arange(1000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "self-test.h5"
        write_metrics(path, {"values": values})
        return bool(np.array_equal(read_metrics(path).arrays["values"], values))


def _print(report: dict[str, Any]) -> None:
    print("devices")
    for device in report["devices"]:
        if device["kind"] == "cpu":
            cores = counted(device["threads"], "thread")
            print(f"  cpu      {device['name']}, {cores}, {readable(device['memory_free'])} free")
        else:
            size = readable(device["memory"])
            print(f"  cuda {device['index']:<3} {device['name']}, {size}, compute {device['capability']}")
    print("versions")
    for name, version in report["versions"].items():
        print(f"  {name:<13} {version or f'not installed; gpukit[{EXTRAS.get(name)}] brings it'}")
    print("kernels")
    known = report["kernels"] or {"archives": [], "compiler": True}
    for one in known["archives"]:
        gpus = [str(index) for index, used in enumerate(known["used"]) if used == one["architecture"]]
        used = f", used by cuda {', '.join(gpus)}" if gpus else ""
        print(f"  {one['architecture']:<12} {one['fit']} of {known['wanted']} fit the sources{used}")
    if not known["archives"]:
        print(
            "  no archive"
            + ("; compiled when first needed" if known["compiler"] else "; gpukit[build-kernels] compiles")
        )
    print("checks")
    for check in report["checks"]:
        print(f"  {check['status']:<8} {check['name']}" + (f" ({check['detail']})" if check["detail"] else ""))
