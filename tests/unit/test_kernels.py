"""Kernels of GPUs without a GPU: keys, archives, the places of code, and compilation if there is none."""

import hashlib
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import pytest

from gpukit.device import build, kernels, store
from gpukit.device.select import simulated
from gpukit.device.store import Code
from gpukit.errors import DeviceError

HELPER = """
from gpukit.device.kernels import device

SIDE = 7


def factory(step):
    def moved(x):
        return x + step(x)
    return moved


@device
def twice(x):
    return 2 * x
"""

KERNELS = """
from typing import NamedTuple

import made_helper
from gpukit.device.kernels import cuda, device, kernel

LENGTH = 3
UNUSED = 4
moved = device(made_helper.factory(made_helper.twice))


class Pair(NamedTuple):
    first: object
    second: object


@kernel((Pair("int64[::1]", "int64"), None), (Pair("int64[::1]", "int64"), "int64[::1]"), max_registers=32)
def add(pair, more):
    i = cuda.grid(1)
    if i < LENGTH:
        pair.first[i] += moved(pair.second)
        if more is not None:
            pair.first[i] += more[i]


@kernel(("int64[::1]",))
def wait(x):
    grid = cuda.cg.this_grid()
    x[0] = 1
    grid.sync()
    x[1] = x[0]
"""

pytestmark = pytest.mark.skipif(simulated(), reason="the simulator runs the source")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that writes two modules with these changes, and imports that with kernels."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = len(kernels.declared)

    def write(change=("", ""), other=("", "")):
        (tmp_path / "made.py").write_text(KERNELS.replace(*change))
        (tmp_path / "made_helper.py").write_text(HELPER.replace(*other))
        for name in ("made", "made_helper"):
            sys.modules.pop(name, None)
        store._digest.cache_clear()
        return importlib.import_module("made")

    yield write
    for name in ("made", "made_helper"):
        sys.modules.pop(name, None)
    del kernels.declared[before:]


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the folders of the package's archives and of the user's, both empty."""
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "shipped", tmp_path / "cache/gpukit/kernels"


def archived(path, signature, code):
    key = store.key_of(signature)
    store.write(path, {key: store.described(signature, code)}, {key: code.code})


def test_a_key_follows_all_that_a_kernel_can_contain(made) -> None:
    def key(*changes, number=0):
        return store.key_of(made(*changes).add.signatures[number])

    first = key()
    assert key() == first
    others = [
        key(number=1),
        key(("LENGTH = 3", "LENGTH = 4")),
        key(("max_registers=32", "max_registers=40")),
        key(("", ""), ("2 * x", "3 * x")),  # a function of another module
        key(("", ""), ("x + step(x)", "x - step(x)")),  # one that is made by another
    ]
    assert len({first, *others}) == 6


def test_a_value_that_another_module_gave_is_in_the_key(made) -> None:
    def key(source, side):
        return store.key_of(made(("x[0] = 1", source), ("SIDE = 7", side)).wait.signatures[0])

    assert key("x[0] = made_helper.SIDE", "SIDE = 7") != key("x[0] = made_helper.SIDE", "SIDE = 8")
    assert key("x[0] = 1", "SIDE = 7") == key("x[0] = 1", "SIDE = 8"), "the kernel does not name it"


def test_keys_of_all_kernels_say_nothing_of_the_process() -> None:
    """Archives are made by another process, in another folder, and by another Python."""
    code = """
for module in build.modules():
    for one in build.signatures_of(module):
        print(store.key_of(one))
"""
    first = "from gpukit.device import build, kernels, store\n"
    texts = (first + code, first + "kernels.begin_to_compile()\n" + code)
    found = [subprocess.run([sys.executable, "-c", text], capture_output=True, text=True) for text in texts]
    assert found[0].stdout == found[1].stdout, found[1].stderr
    assert len(set(found[0].stdout.split())) == len(found[0].stdout.split()) > 90
    for module in build.modules():
        for one in build.signatures_of(module):
            assert not any(" at 0x" in name for name, _ in store._reached(one.kernel.py_func)[0]), one


def test_a_process_that_launches_kernels_has_no_compiler() -> None:
    code = """
import sys
import types
from gpukit.device import build, launch
for module in build.modules():
    build.signatures_of(module)
print([name for name in sys.modules if name.startswith(("numba.cuda", "numba_cuda", "cuda.core"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_an_archive_gives_back_what_was_put_in(made, tmp_path) -> None:
    one, other = made().add.signatures
    path, code = tmp_path / "new/sm_90.zip", Code("name", True, b"\x7fELF" + bytes(1000))
    archived(path, one, code)
    assert store.read(path, store.key_of(one)) == code
    assert store.keys(path) == {store.key_of(one)} and store.read(path, store.key_of(other)) is None
    said = store.contents(path)[0][store.key_of(one)]
    assert said["kernel"] == "made.add" and json.dumps(said["types"])
    again = tmp_path / "again.zip"
    archived(again, one, code)
    assert again.read_bytes() == path.read_bytes()


def test_kernels_of_a_module_share_a_file(made, tmp_path) -> None:
    signatures = made().add.signatures
    path, codes = tmp_path / "sm_90.zip", {}
    for number, one in enumerate(signatures):
        codes[store.key_of(one)] = Code(f"name_{number}", False, bytes([number]) * (number + 5))
    described = {store.key_of(one): store.described(one, codes[store.key_of(one)]) for one in signatures}
    store.write(path, described, {key: code.code for key, code in codes.items()}, {"more": b"file"})
    with zipfile.ZipFile(path) as file:
        assert file.namelist() == ["made", "manifest.json", "more"]
    assert len(signatures) > 1 and all(store.read(path, key) == code for key, code in codes.items())
    assert store.contents(path)[1] == {key: code.code for key, code in codes.items()}


@pytest.mark.parametrize("damage", [b"", b"PK\x05\x06", b"no archive", None])
def test_a_damaged_archive_is_none(made, tmp_path, damage) -> None:
    one, path = made().add.signatures[0], tmp_path / "sm_90.zip"
    archived(path, one, Code("name", False, bytes(range(256)) * 9))
    if damage is None:
        text = bytearray(path.read_bytes())
        text[text.index(b"made") + 60] ^= 1
        damage = bytes(text)
    path.write_bytes(damage)
    assert store.read(path, store.key_of(one)) is None
    assert store.keys(path) in (set(), {store.key_of(one)})


def test_a_gpu_takes_the_code_that_it_can_run(places) -> None:
    shipped, _ = places
    shipped.mkdir()
    for one in store.ARCHITECTURES:
        store.write(store.archive(shipped, store.name_of(one)), {}, {})
    taken = {one: store.archive_for(one) for one in ((7, 5), (8, 7), (8, 9), (9, 0), (10, 3), (12, 1), (7, 0), (13, 0))}
    names = [path and path.stem for path in taken.values()]
    assert names == ["sm_75", "sm_80", "sm_80", "sm_90", "sm_100", "sm_120", None, None]


def test_code_is_taken_from_the_package_then_from_the_cache(made, places, monkeypatch) -> None:
    (shipped, cached), (one, other) = places, made().add.signatures
    archived(store.archive(shipped, "sm_90"), one, Code("shipped", False, b"a"))
    assert store.find(one, (9, 0)).entry == "shipped"
    monkeypatch.setattr(store, "has_compiler", lambda: False)
    line = r"no archive has machine code of made.add for sm_90 that fits its source; install gpukit\[build-kernels\]"
    with pytest.raises(DeviceError, match=line):
        store.find(other, (9, 0))
    monkeypatch.setattr(store, "has_compiler", lambda: True)
    calls = []

    def compile_(command, **_):
        calls.append(command)
        archived(Path(command[command.index("--out") + 1]), other, Code("compiled", True, b"b"))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(store.subprocess, "run", compile_)
    for _ in range(2):
        assert store.find(other, (9, 0)) == Code("compiled", True, b"b")
    assert len(calls) == 1 and calls[0][-1] == "made:add:1"
    assert [path.suffix for path in cached.iterdir()] == [".zip"]
    monkeypatch.setattr(
        store.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess((), 1, "", "a\nno types\n")
    )
    with pytest.raises(DeviceError, match=r"^made.add was not compiled: no types$"):
        store.find(one, (12, 0))


def test_code_of_a_source_that_changed_is_not_taken(made, places, monkeypatch) -> None:
    shipped, _ = places
    archived(store.archive(shipped, "sm_90"), made().add.signatures[0], Code("old", False, b"a"))
    monkeypatch.setattr(store, "has_compiler", lambda: False)
    with pytest.raises(DeviceError, match="fits its source"):
        store.find(made(("LENGTH = 3", "LENGTH = 5")).add.signatures[0], (9, 0))


def test_a_newer_gpu_gets_ptx_translated_once(made, places, monkeypatch) -> None:
    (shipped, cached), one = places, made().add.signatures[0]
    key = store.key_of(one)
    described = {key: store.described(one, Code("name", True, b"ptx"))}
    store.write(store.archive(shipped, store.PORTABLE), described, {key: b"ptx"}, {store.RUNTIME: b"library"})
    given = []
    monkeypatch.setattr(store, "_translated", lambda *what: given.append(what) or b"machine code")
    for _ in range(2):
        assert store.find(one, (13, 0)) == Code("name", True, b"machine code")
    assert len(given) == 1 and given[0][0].code == b"ptx" and given[0][2:] == ("sm_130", b"library")
    assert [path.name for path in cached.iterdir()] == [f"sm_130-{key}.zip"]


@pytest.fixture(scope="module")
def compiler():
    pytest.importorskip("numba_cuda", reason="needs the compiler (pip install gpukit[build-kernels])")


def test_a_kernel_is_compiled_where_its_code_is_missing(compiler, made, places, tmp_path) -> None:
    """By a process of its own, for a GPU that is not here."""
    _, cached = places
    module = made()
    assert (store.is_cooperative(module.add.signatures[0]), store.is_cooperative(module.wait.signatures[0])) == (
        False,
        True,
    )
    for one in (module.add.signatures[1], module.wait.signatures[0]):
        found = store.find(one, (9, 0))
        assert found.code.startswith(b"\x7fELF") and found.entry.encode() in found.code
        assert found.cooperative is (one.kernel is module.wait) and one.kernel.py_func.__name__ in found.entry
        with zipfile.ZipFile(cached / f"sm_90-{store.key_of(one)}.zip") as file:
            assert file.namelist() == ["made", store.MANIFEST]


def test_none_among_the_arguments_of_a_kernel_is_a_constant_of_its_code(compiler, made) -> None:
    """It takes no place among the parameters, and the other branch is gone."""
    made()
    code = """
from gpukit.device import build, kernels
kernels.begin_to_compile()
import made
for one in made.add.signatures:
    text = build.compiled(one, (9, 0), "ptx").decode()
    print(text.count("\\t.param ."), text.count("ld.global"), one.layout.size // 8)
"""
    done = subprocess.run([sys.executable, "-c", code], env=_environment(), capture_output=True, text=True)
    absent, there = (list(map(int, line.split())) for line in done.stdout.splitlines())
    assert (absent[0], there[0]) == (absent[2], there[2]) == (7 + 1, 7 + 1 + 7), done.stderr
    assert absent[1] < there[1]


def _environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def hook(tmp_path, monkeypatch):
    """Return a function that has the package's build hook work in an empty checkout, and what it adds to a wheel."""
    pytest.importorskip("hatchling", reason="needs what builds the package")
    place = Path(__file__).parents[2] / "hatch_build.py"
    spec = importlib.util.spec_from_file_location("hatch_build", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "gpukit/kernels").mkdir(parents=True)
    calls = []

    def run(target="wheel", version="standard", code=0):
        def call(command, **_):
            calls.append(command)
            return subprocess.CompletedProcess(command, code)

        monkeypatch.setattr(module.subprocess, "run", call)
        one, added = object.__new__(module.Kernels), {"force_include": {}, "sbom_files": []}
        monkeypatch.setattr(module.Kernels, "root", str(tmp_path), raising=False)
        monkeypatch.setattr(module.Kernels, "target_name", target, raising=False)
        monkeypatch.setattr(module.Kernels, "metadata", types.SimpleNamespace(version="1.2.3"), raising=False)
        one.initialize(version, added)
        run.listed = [json.loads(Path(each).read_text()) for each in added["sbom_files"]]
        return added["force_include"]

    run.calls, run.folder = calls, tmp_path / "gpukit/kernels"
    (tmp_path / "config").mkdir()
    (tmp_path / "config/datasets.yaml").write_text("datasets: {}\n")
    return run


def test_a_wheel_takes_the_archives_that_are_there(hook, monkeypatch) -> None:
    monkeypatch.delenv("GPUKIT_KERNELS", raising=False)
    assert hook() == {} and hook.calls == []
    (hook.folder / "sm_90.zip").write_bytes(b"")
    assert hook() == {str(hook.folder / "sm_90.zip"): "gpukit/kernels/sm_90.zip"}
    assert hook(version="editable") == hook(target="sdist") == {}


def test_a_wheel_lists_the_compilers_that_its_archives_name(hook, monkeypatch) -> None:
    """An archive that does not name them is listed as one of unknown compilers, also beside one that does."""
    monkeypatch.delenv("GPUKIT_KERNELS", raising=False)
    said = [("numba-cuda", "0.30.4"), ("nvidia-nvvm", "13.0.88")]
    store.write(hook.folder / "sm_90.zip", {}, {}, {build.COMPILED_BY: json.dumps(said).encode()})
    store.write(hook.folder / "sm_75.zip", {}, {})
    assert build.compilers(hook.folder / "sm_90.zip") == set(said) and not build.compilers(hook.folder / "sm_75.zip")
    hook()
    (listed,) = hook.listed
    assert listed["metadata"]["component"]["version"] == "1.2.3"
    parts = {one["bom-ref"]: one for one in listed["components"]}
    digest = hashlib.sha256((hook.folder / "sm_90.zip").read_bytes()).hexdigest()
    assert parts["kernels/sm_90.zip"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert {"name": "gpukit:compilers", "value": "unknown"} in parts["kernels/sm_75.zip"]["properties"]
    needs = {one["ref"]: one["dependsOn"] for one in listed["dependencies"]}
    assert needs["kernels/sm_90.zip"] == [f"pkg:pypi/{name}@{version}" for name, version in said]
    assert needs["kernels/sm_75.zip"] == [] and set(needs["gpukit"]) == {"kernels/sm_75.zip", "kernels/sm_90.zip"}
    compilers = {(parts[one]["name"], parts[one]["version"]) for one in needs["kernels/sm_90.zip"]}
    assert compilers == set(said)
    assert hook(version="editable") == {} and hook.listed == []


def test_a_wheel_without_the_archives_that_are_asked_for_is_refused(hook, monkeypatch) -> None:
    monkeypatch.setenv("GPUKIT_KERNELS", "sm_90,compute_75")
    hook()
    assert hook.calls[-1][-4:] == ["--architecture", "sm_90", "--architecture", "compute_75"]
    monkeypatch.setenv("GPUKIT_KERNELS", "release")
    with pytest.raises(RuntimeError, match="lacks archives of kernels that GPUKIT_KERNELS=release asks for"):
        hook(code=1)
    assert "--architecture" not in hook.calls[-1]


def test_what_the_builder_cannot_do_is_one_line(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setattr(store, "has_compiler", lambda: False)
    monkeypatch.setattr(
        sys, "argv", ["build", "--architecture", "sm_90", "--only", "quadrants", "--out", str(tmp_path)]
    )
    assert build.main() == 1
    said = "build: kernels are compiled with numba-cuda, which is not installed: install gpukit[build-kernels]\n"
    assert capsys.readouterr().err == said
    monkeypatch.setattr(sys, "argv", ["build", "--architecture", "sm_99"])
    with pytest.raises(SystemExit):
        build.main()
    assert "--architecture is sm_99; sm_75, " in capsys.readouterr().err


def test_an_archive_that_fits_is_not_made_again(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(store, "has_compiler", lambda: True)
    signatures = build.signatures_of("gpukit.graph.generators.quadrants_cuda")
    for one in signatures:
        archived(store.archive(tmp_path, "sm_90"), one, Code("name", False, b""))
    monkeypatch.setattr(build.subprocess, "run", None)
    build.build(["sm_90"], tmp_path, "quadrants")
    with pytest.raises(TypeError):
        build.build(["sm_90"], tmp_path, "rows_cuda")


def test_only_modules_that_changed_are_compiled(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(store, "has_compiler", lambda: True)
    fitting, changed = "gpukit.graph.generators.quadrants_cuda", "gpukit.device.selftest_cuda"
    monkeypatch.setattr(build, "modules", lambda: [fitting, changed])
    path, signatures = store.archive(tmp_path, "sm_90"), build.signatures_of(fitting)
    described = {store.key_of(one): store.described(one, Code("kept", False, b"")) for one in signatures}
    old = {"kernel": "gpukit.device.selftest_cuda.answer", "types": [], "entry": "old", "cooperative": False}
    before = {build.COMPILED_BY: b'[["numba-cuda", "0.1"]]'}
    store.write(path, {**described, "old": old}, dict.fromkeys([*described, "old"], b"code"), before)

    def compile_(command, **_):
        assert command[command.index("--module") + 1] == changed
        (one,) = build.signatures_of(changed)
        archived(store.archive(Path(command[command.index("--out") + 1]), "sm_90"), one, Code("new", False, b"more"))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(build.subprocess, "run", compile_)
    build.build(["sm_90"], tmp_path)
    assert store.keys(path) == build.wanted() and "old" not in store.keys(path)
    assert {said["entry"] for said in store.contents(path)[0].values()} == {"kept", "new"}
    assert build.compilers(path) == {("numba-cuda", "0.1")} | build.compilers() > {("numba-cuda", "0.1")}


def test_modules_that_compile_are_kept_beside_one_that_does_not(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(store, "has_compiler", lambda: True)
    good, bad = "gpukit.graph.generators.quadrants_cuda", "gpukit.device.selftest_cuda"
    monkeypatch.setattr(build, "modules", lambda: [good, bad])

    def compile_(command, **_):
        module, folder = (command[command.index(word) + 1] for word in ("--module", "--out"))
        if module == bad:
            return subprocess.CompletedProcess(command, 1, "", "it is wrong")
        for one in build.signatures_of(module):
            archived(store.archive(Path(folder), "sm_90"), one, Code("new", False, b"code"))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(build.subprocess, "run", compile_)
    with pytest.raises(RuntimeError, match=f"{bad} was not compiled: it is wrong"):
        build.build(["sm_90"], tmp_path)
    assert store.keys(store.archive(tmp_path, "sm_90")) == build.wanted("quadrants")


def test_inspect_says_whether_an_archive_fits(tmp_path, capsys) -> None:
    from gpukit.cli import app

    path, (one, *_) = tmp_path / "sm_90.zip", build.signatures_of("gpukit.graph.generators.quadrants_cuda")
    archived(path, one, Code("name", False, b""))
    assert app.main(["inspect", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: kernels for sm_90, 1 of {len(build.wanted())} fit the sources\n"
    path.write_bytes(b"nothing")
    assert app.main(["inspect", str(path)]) == 3
    assert f"{path} is no archive of compiled kernels" in capsys.readouterr().err
