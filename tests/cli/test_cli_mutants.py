"""Files with wrong contents and right checksums, for every command that reads them: no crash, and no wrong answer.

A mutant is another artifact, or it is broken. With one that `verify` refuses a command may do no more than give the
answer of the sound file, where it reads other parts; one that `verify` takes is a file like any other, and gives the
answer of the sound file where its digest is the same.
"""

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from mutants import change

ROOT = Path(__file__).parents[2]
LIMIT_S = 120
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
SERVER = """
import contextlib, io, json, os, sys
from gpukit.cli.app import main
answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(json.loads(line))
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""


class Commands:
    """Runs commands in a process of their own, which is started again when one has killed it."""

    process: subprocess.Popen | None = None

    def __call__(self, *words) -> tuple[int, str, str]:
        """Return exit code (negative: killed by a signal, or too slow), standard output and the line of an error."""
        if self.process is None:
            environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "2"}
            self.process = subprocess.Popen([sys.executable, "-c", SERVER], env=environment, text=True, **PIPES)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self.process.stdin.flush()
        if select.select([self.process.stdout], [], [], LIMIT_S)[0] and (line := self.process.stdout.readline()):
            code, out, err = json.loads(line)
            return code, out, "\n".join(one for one in err.splitlines() if "error:" in one)
        self.process.kill()
        code = self.process.wait()
        self.process = None
        return min(code, -1), "", "killed"


@pytest.fixture(scope="module")
def gpukit() -> Iterator[Commands]:
    commands = Commands()
    yield commands
    if commands.process is not None:
        commands.process.communicate()


EDGES = "1 2\n1 3\n2 3\n3 4\n4 5\n4 6\n5 6\n6 7\n7 1\n7 9\n9 8\n8 4\n2 9\n"
CPU = ("--device", "cpu", "--json")
ONE = ("--source", 1, "-k", 4)
TOP = ("--model", "comp", "-k", 1, "-t", 4)
GIM = ("-k", 2, "--epsilon", 0.5, "--min-sets", 64, *CPU)
MADE = {
    "G": ("graph", "import", "{at}/edges", "--undirected", "--out", "{at}/G.h5"),
    "W": ("graph", "import", "{at}/edges", "--weights", "trivalency", "--out", "{at}/W.h5"),
    "RR": ("gim", "sample", "{at}/G.h5", "--first", 0, "--count", 40, "--out", "{at}/RR.h5"),
    "S": ("gim", "run", "{at}/G.h5", *GIM, "--rounds", 2, "--out", "{at}/S.h5"),
    "PR": ("kpar", "rank", "{at}/G.h5", "--out", "{at}/PR.h5"),
    "I": ("papers", "kpar", "index", "{at}/G.h5", "--hubs", "--out", "{at}/I.h5"),
    "T": ("kpar", "query", "{at}/G.h5", "--index", "{at}/I.h5", *ONE, "--part", "1/1", "--out", "{at}/T.h5"),
    "C": ("merit", "start", "{at}/G.h5", "--eta", 6, "--batch", 2, "--out", "{at}/C.h5"),
    "C2": ("merit", "run", "{at}/G.h5", "--eta", 6, "--batch", 2, "--out", "{at}/C2.h5"),
    "E": ("diversity", "egos", "{at}/G.h5", "--out", "{at}/E.h5"),
    "D": ("diversity", "search", "{at}/G.h5", *TOP, "--part", "1/1", "--out", "{at}/D.h5"),
    "N": ("diversity", "index", "{at}/G.h5", "--out", "{at}/N.h5"),
    "X": ("diversity", "decompose", "{at}/G.h5", "--out", "{at}/X.h5"),
    "M": ("evaluate", "spread", "{at}/G.h5", "--ids", "1,4", "--runs", 50, "--out", "{at}/M.h5"),
}  # fmt: skip
SAMPLERS = (
    ("gim", "run", "{f}", *GIM, "--out", "{out}"),
    ("gim", "sample", "{f}", "--first", 0, "--count", 40, *CPU, "--out", "{out}"),
    ("imgpu", "run", "{f}", "-k", 2, "--worlds", 50, *CPU, "--out", "{out}"),
    ("merit", "run", "{f}", "--eta", 6, "--batch", 2, *CPU, "--out", "{out}"),
    ("evaluate", "spread", "{f}", "--ids", "1,4", "--runs", 50, *CPU),
)
READERS = {
    "G": (
        ("gim", "run", "{f}", *GIM, "--model", "lt", "--out", "{out}"),
        ("kpar", "rank", "{f}", *CPU, "--out", "{out}"),
        ("kpar", "query", "{f}", "--index", "{at}/I.h5", *ONE, *CPU),
        ("merit", "next", "{f}", "{at}/C.h5", "--observed", "1,2,3,4,5", *CPU, "--out", "{out}"),
        ("diversity", "search", "{f}", "--model", "truss", "-k", 3, "-t", 4, *CPU, "--out", "{out}"),
        ("diversity", "egos", "{f}", *CPU, "--out", "{out}"),
    ),
    "W": SAMPLERS,
    "RR": (("gim", "select", "{f}", "-k", 2, *CPU, "--out", "{out}"),),
    "S": (("evaluate", "spread", "{at}/G.h5", "--seeds", "{f}", "--runs", 50, *CPU),),
    "PR": (("kpar", "index", "{at}/G.h5", "--rank", "{f}", *CPU, "--out", "{out}"),),
    "I": (("kpar", "query", "{at}/G.h5", "--index", "{f}", *ONE, *CPU),),
    "T": (
        ("evaluate", "ppr", "{at}/G.h5", "--answers", "{f}", "--json"),
        ("kpar", "gather", "{f}", "--json", "--out", "{out}"),
        ("report", "table", "kpar-answers", "g/kpar={f}", "--out", "{out}.tsv"),
    ),
    "C": (("merit", "next", "{at}/G.h5", "{f}", "--observed", "1,2,3,4,5", *CPU, "--out", "{out}"),),
    "C2": (),
    "E": (("report", "plot", "ego", "{f}", "--answers", "{at}/D.h5", "--out", "{out}.svg", "--json"),),
    "D": (
        ("evaluate", "diversity", "{at}/G.h5", "--answers", "{f}", "--json"),
        ("diversity", "gather", "{f}", "--json", "--out", "{out}"),
        ("report", "table", "diversity-top", "g/comp={f}", "--out", "{out}.tsv"),
    ),
    "N": (
        ("diversity", "search", "{at}/G.h5", "--index", "{f}", *TOP, *CPU, "--out", "{out}"),
        ("diversity", "search", "{at}/G.h5", "--index", "{f}", "--model", "truss", "-k", 2, *CPU, "--out", "{out}"),
    ),
    "X": (),
    "M": (("report", "table", "spread", "g/ic/x={f}", "--out", "{out}.tsv"),),
}


@pytest.fixture(scope="module")
def at(gpukit, tmp_path_factory) -> Path:
    """Return a folder with a sound file of every kind."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "edges").write_text(EDGES)
    for words in MADE.values():
        code, _, line = gpukit(*filled(words, at=folder))
        assert code == 0, line
    return folder


def filled(words, **places) -> list[str]:
    return [str(word).format(**places) for word in words]


def array_mutants(name: str, array: np.ndarray) -> Iterator[tuple[str, dict]]:
    """Yield changes of one array."""
    yield f"{name} dropped", {name: None}
    yield f"{name} longer", {name: np.concatenate([array, array[-1:]])}
    yield f"{name} as float", {name: array.astype(np.float64)}
    if not len(array):
        return
    yield f"{name} shorter", {name: array[:-1]}
    yield f"{name} reversed", {name: array[::-1].copy()}
    yield f"{name} all the first", {name: np.repeat(array[:1], len(array), axis=0)}
    info = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
    for place in {0, len(array) - 1}:
        for value in (info.min, info.max, 0):
            if info.min <= value <= info.max:
                changed = array.copy()
                changed[place] = value
                if not np.array_equal(changed, array):
                    yield f"{name}[{place}] = {value}", {name: changed}
        changed = array.copy()
        changed[place] += np.ones((), array.dtype)
        yield f"{name}[{place}] + 1", {name: changed}


VALUES = {
    bool: (1, "true"),
    int: (-1, 0, 1, 2**31, 2**70, 1.5, "1"),
    float: (-1.0, 0.0, 1.0, 1e308, float("nan"), float("inf"), "x"),
    str: ("", "x", "-1", "nan", "0" * 64, 5),
    dict: ([], 5),
    list: ({}, ["x"], [5]),
}


def mutants(path: Path) -> Iterator[tuple[str, dict]]:
    """Yield a name for each mutant of a file, and what :func:`change` is to do."""
    with h5py.File(path) as file:
        arrays: dict[str, np.ndarray] = {}
        file.visititems(lambda name, item: arrays.__setitem__(name, item[()]) if hasattr(item, "shape") else None)
        attributes = json.loads(file.attrs["gpukit_attributes"])
    for name, array in arrays.items():
        for what, changed in array_mutants(name, array):
            yield what, {"arrays": changed}
    for name, value in attributes.items():
        yield f"@{name} dropped", {"attributes": {name: None}}
        for other in (not value,) if isinstance(value, bool) else VALUES[type(value)]:
            if other != value:
                yield f"@{name} = {other!r:.20}", {"attributes": {name: other}}
    for name, values in {
        "gpukit_seed": (None, np.int64(-1), np.float64(0.5), "x"),
        "gpukit_params": ("[]", '{"part":"x"}', '{"part":[1,1]}', '{"t":"x","part":[2,1,4]}', "{}"),
        "gpukit_inputs": ("[]", '{"graph":5}'),
        "gpukit_version": (np.int64(0), np.int64(9)),
    }.items():
        for value in values:
            yield f"{name} = {value}", {"root": {name: value}}


def answer(out: str, file: Path) -> str:
    """Return the output of a command without times, devices and the digests in parameters."""
    for table in file.parent.glob("*.tsv"):
        out = table.read_text()
        table.unlink()
    told = without_times(json.loads(out)) if out.startswith("{") else out
    return json.dumps(told).replace(str(file), "")


def without_times(value):
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name not in ("device", "params", "seed", "seeds_params")}
        return {name: without_times(item) for name, item in kept.items() if not name.endswith("_s")}
    return [without_times(item) for item in value] if isinstance(value, list) else value


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", READERS)
def test_no_mutant_gives_a_wrong_answer(gpukit, at: Path, tmp_path: Path, name: str) -> None:
    sound, file = at / f"{name}.h5", tmp_path / "f.h5"
    # One output a command: none may be refused because it would replace another's.
    commands = [filled(words, at=at, f=file, out=tmp_path / f"{words[0]}-{words[1]}") for words in READERS[name]]
    shutil.copy(sound, file)
    wanted = []
    for words in commands:
        code, out, line = gpukit(*words)
        wanted.append((code, answer(out, file)))
        assert code == 0, line
    digest = digest_of(sound)
    failures, tried = [], 0
    for what, doing in mutants(sound):
        shutil.copy(sound, file)
        change(file, **doing)
        broken, _, line = gpukit("verify", file)
        tried += 1
        if broken not in (0, 3) or (broken == 3) != bool(line):
            failures.append(f"{what}: verify ends with {broken} {line!r}")
        for words, (code, expected) in zip(commands, wanted, strict=True):
            found, out, line = gpukit(*words)
            known = (found, answer(out, file)) == (code, expected)
            # Of other probabilities the transpose is wrong, which a cascade forward does not read.
            forward = what.startswith("probabilities") and words[:2] == ["evaluate", "spread"]
            other = (not broken or forward) and digest_of(file) != digest
            if not (known or (found in (2, 3, 4) and line.count("\n") == 0) or (found in (0, 1) and other)):
                failures.append(f"{what}: `{words[0]} {words[1]}` ends with {found} {line!r}, verify with {broken}")
    print(f"{name}: {tried} mutants")
    assert not failures, f"{len(failures)} of {tried}:\n" + "\n".join(failures)


def digest_of(path: Path) -> str:
    with h5py.File(path) as file:
        return str(file.attrs["gpukit_payload_sha256"])
