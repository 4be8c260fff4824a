"""The root command, exit codes, the common run, and the commands on artifacts."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import gpukit
from gpukit import artifacts
from gpukit.cli import app, common, outputs
from gpukit.cli.command import DEVICE, with_run
from gpukit.errors import ComparisonFailed, DeviceError, InputError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights

ROOT = Path(gpukit.__file__).parents[1]
needs_plugin = pytest.mark.skipif(find_spec("hdf5plugin") is None, reason="needs hdf5plugin")


def gpukit_command(*words: str, **environment: str) -> subprocess.CompletedProcess:
    base = {key: value for key, value in os.environ.items() if key != "NUMBA_ENABLE_CUDASIM"}
    base["PYTHONPATH"] = str(ROOT)
    return subprocess.run(
        [sys.executable, "-m", "gpukit", *words], env={**base, **environment}, capture_output=True, text=True
    )


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    """Return a function that runs ``gpukit try …`` with the given function as the command, in this process."""

    def run(function, *words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys.modules[__name__], "_tried", function, raising=False)
        monkeypatch.setattr(app, "COMMANDS", (*app.COMMANDS, ("try", f"{__name__}:_tried", "Try.")))
        code = app.main(["try", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ComparisonFailed("a and b differ"), 1, "gpukit: error: a and b differ\n"),
        (UsageError("k is 0"), 2, "gpukit: error: k is 0\n"),
        (InputError("two\nlines"), 3, "gpukit: error: two lines\n"),
        (DeviceError("no GPU"), 4, "gpukit: error: no GPU\n"),
        (KeyboardInterrupt(), 5, "gpukit: interrupted; nothing unfinished was left behind\n"),
        (typer.Abort(), 5, "gpukit: interrupted; nothing unfinished was left behind\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "x"),
            3,
            "gpukit: error: x: No space left on device; free some space or choose another folder\n",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "x"),
            3,
            "gpukit: error: x: Permission denied; choose a place you may use\n",
        ),
        (
            MemoryError(),
            4,
            "gpukit: error: out of memory (on this machine); use a smaller problem or a larger machine\n",
        ),
        (RuntimeError("[2] CUDA_ERROR_OUT_OF_MEMORY"), 4, None),
        (RuntimeError("cudaErrorMemoryAllocation: out of memory"), 4, None),
        (RuntimeError("can't start new thread"), 4, None),
        (ImportError("libx.so: failed to map segment from shared object"), 4, None),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 4, None),
        (ZeroDivisionError("x"), 70, None),
    ],
)
def test_errors_become_exit_codes_and_one_line(command, error, code, line) -> None:
    def fail() -> None:
        raise error

    found, out, err = command(fail)
    assert (found, out) == (code, "")
    assert err == line if line is not None else err.count("\n") == 1 and "Traceback" not in err


def test_errors_of_the_gpu_library_are_device_errors() -> None:
    broken = type("CUDARuntimeError", (Exception,), {"__module__": "cupy_backends.cuda.api.runtime"})
    code, line = app.explain(broken("[700] illegal address"))
    assert code == 4 and "CUDARuntimeError: [700] illegal address" in line


def test_traceback_of_a_defect_on_request(command) -> None:
    @with_run()
    def fail(run: common.Run) -> None:
        raise ZeroDivisionError("here")

    code, _, err = command(fail, "-v")
    assert code == 70 and "Traceback" in err and "in fail" in err


def test_traceback_of_a_defect_of_a_command_without_verbose(monkeypatch, tmp_path: Path, capsys) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("here")

    monkeypatch.setattr("gpukit.report.tables.make_table", fail)
    words = ["report", "table", "runs", "a/b=c.json", "--out", str(tmp_path / "t.tsv")]
    assert app.main(words) == 70
    assert capsys.readouterr().err == (
        "gpukit: internal error: ZeroDivisionError: here; this is a defect, run `gpukit -v …` again and report the "
        "traceback\n"
    )
    assert app.main(["-v", *words]) == 70
    err = capsys.readouterr().err
    assert "Traceback" in err and "in fail" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["nonsense"], "No such command 'nonsense'; see `gpukit --help`"),
        (["dif"], "Did you mean 'diff'?"),
        (["--nonsense"], "No such option: --nonsense"),
        (["diff", "a"], "Missing argument 'B'; see `gpukit diff --help`"),
        (["verify"], "Missing argument 'FILE'"),
        (["kpar", "all", "G"], "Missing option '--index': the index by `kpar index`; see `gpukit kpar all --help`"),
        (["inspect", "x", "--nonsense"], "No such option: --nonsense"),
        (["diff", "a", "b", "--rtol", "x"], "Invalid value for '--rtol'"),
        (["diff", "a", "b", "--rtol", "-1"], "--rtol is -1.0; it must lie in [0, 1)"),
        (["gim", "run", "g", "--k", "3", "--out", "s.csv"], "--out s.csv: this command writes HDF5, and .csv is"),
        (["evaluate", "spread", "g", "--ids", "1", "--out", "s.JSON"], "writes HDF5, and .json is the name of another"),
        (["kpar", "truth", "g", "--source", "1", "--out", "s.parquet"], "writes HDF5, and .parquet is"),
    ],
)
def test_usage_errors_are_one_line(words: list[str], text: str, capsys: pytest.CaptureFixture) -> None:
    assert app.main(words) == 2
    err = capsys.readouterr().err
    assert text in err and err.startswith("gpukit: error: ") and err.count("\n") == 1


ORDINARY = """
graph generate ba --vertices 40 --attach 3 --out G.h5
gim run G.h5 -k 2 --min-sets 500 --out S.h5
imgpu run G.h5 -k 2 --worlds 20 --out S.h5
kpar index G.h5 --out I.h5
kpar query G.h5 --index I.h5 --random 2 -k 3
merit run G.h5 --eta 8 --batch 2 --out C.h5
diversity search G.h5 --undirected --model comp -k 1 -t 3 --out D.h5
verify G.h5 S.h5 C.h5 D.h5
"""


@pytest.mark.long
def test_ordinary_runs_do_not_load_what_rebuilds_papers(tmp_path: Path) -> None:
    script = f"""if True:
        import sys
        from gpukit.cli.app import main

        for line in {ORDINARY.strip().splitlines()!r}:
            assert main(line.split()) == 0, line
        loaded = [name for name in sys.modules if name.startswith("gpukit.papers")]
        assert not loaded, loaded
    """
    command, environment = [sys.executable, "-c", script], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()


def test_help_groups_the_commands_by_what_people_want() -> None:
    shown = [name for names in app.SECTIONS.values() for name in names]
    assert sorted(shown) == sorted(name for name, _, _ in app.COMMANDS)
    said = gpukit_command("--help").stdout
    titles = re.findall(r"^(\S.*):$", said, re.MULTILINE)
    assert titles == ["Options", *app.SECTIONS]
    (example,) = re.findall(r"^  Example: gpukit (.*)$", said, re.MULTILINE)
    check_understood(example.split())


@pytest.mark.parametrize("word", app.MEANT)
def test_a_word_that_is_no_command_leads_to_one(word: str, capsys: pytest.CaptureFixture) -> None:
    assert app.main([word, "G.h5"]) == 2
    meant = "G.h5 --help" if word == "help" else app.MEANT[word]
    assert capsys.readouterr().err == f"gpukit: error: there is no command {word!r}; did you mean `gpukit {meant}`?\n"
    assert word not in {name for name, _, _ in app.COMMANDS}
    if not app.MEANT[word].startswith("-"):
        assert [one for words, one in ALL if words == app.MEANT[word].split()]


def test_expert_options_have_a_section_of_their_own() -> None:
    told = gpukit_command("gim", "run", "--help", COLUMNS="100").stdout
    usual, _, expert = told.partition("Expert options:")
    for name in ("--bound", "--max-members", "--min-sets"):
        assert f"  {name} " in expert and f"  {name} " not in usual
    assert "  --epsilon " in usual
    assert (
        "  --part " in gpukit_command("kpar", "query", "--help", COLUMNS="100").stdout.partition("Expert options:")[2]
    )


def test_the_help_of_a_run_fits_a_screen() -> None:
    assert gpukit_command("gim", "run", "--help", COLUMNS="80").stdout.count("\n") <= 45


def test_help_and_version() -> None:
    done = gpukit_command("--help")
    assert done.returncode == 0 and all(name in done.stdout for name, _, _ in app.COMMANDS)
    assert gpukit_command("-h").stdout == gpukit_command().stdout == done.stdout
    assert gpukit_command("--version").stdout == f"gpukit {gpukit.__version__}\n"


def commands(command: Any, context: Any) -> Iterator[tuple[list[str], Any]]:
    """Yield the words and the object of a command and of all below it."""
    yield [], command
    for name in command.list_commands(context) if hasattr(command, "list_commands") else []:
        _, found, _ = command.resolve_command(context, [name])
        for words, one in commands(found, type(context)(found, parent=context, info_name=name)):
            yield [name, *words], one


ROOT_COMMAND = typer.main.get_command(app.app)
ALL = list(commands(ROOT_COMMAND, ROOT_COMMAND.make_context("gpukit", ["--help"], resilient_parsing=True)))


def understood(words: list[str]) -> Any:
    """Parse a line of the command line as it would be run, and return the context of its command."""
    command = ROOT_COMMAND
    context = command.make_context("gpukit", list(words), obj=tuple(words))
    while hasattr(command, "list_commands"):
        name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, words, parent=context)
    return context


def check_understood(words: list[str]) -> None:
    """Check that a line names a command, and that the command receives every option of the line."""
    context = understood(words)
    path = context.command_path.split()[1:]
    assert path and words[: len(path)] == path
    given = {one for one in context.command.params if context.get_parameter_source(one.name).name == "COMMANDLINE"}
    known = {name: one for one in context.command.params for name in (*one.opts, *one.secondary_opts)}
    named = {known[word.partition("=")[0]] for word in words[len(path) :] if word.partition("=")[0] in known}
    assert given >= named and (given or len(words) == len(path))


def test_all_commands_are_found() -> None:
    names = [words for words, _ in ALL]
    assert [] in names and ["doctor"] in names and ["gim", "run"] in names and ["graph", "generate", "rmat"] in names


@pytest.mark.parametrize("width", [20, 80, 200])
def test_no_text_of_the_help_is_lost(width: int, monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words, command in ALL:
        assert app.main([*words, "-h"]) == 0
        said = "".join(capsys.readouterr().out.split())
        for one in command.params:
            known = [*one.opts, *one.secondary_opts] if one.param_type_name == "option" else []
            for text in (*known, one.metavar or "", one.help or ""):
                assert "".join(text.split()) in said, f"{words}: {text}"
        for text in (command.help or "").split():
            assert text in said, f"{words}: {text}"


@pytest.mark.parametrize("words", [words for words, one in ALL if hasattr(one, "list_commands")], ids=" ".join)
def test_a_group_without_a_command_shows_its_help(words: list[str], capsys) -> None:
    assert app.main([*words, "--help"]) == 0
    said = capsys.readouterr()
    assert app.main(words) == 0
    assert capsys.readouterr() == said and said.out.startswith("Usage: ") and said.err == ""


@pytest.mark.parametrize(("words", "command"), ALL, ids=[" ".join(words) for words, _ in ALL])
def test_every_command_takes_v(words: list[str], command: Any) -> None:
    known = [name for one in command.params for name in one.opts]
    assert hasattr(command, "list_commands") or {"-v", "--verbose", "--json"} <= set(known)
    assert ("-k" in known, "-t" in known) == ("--k" in known, "--t" in known)


@pytest.mark.parametrize(
    ("words", "place", "expected"),
    [
        ("gpukit im", 1, ["imgpu"]),
        ("gpukit gim s", 2, ["sample", "select"]),
        ("gpukit gim run G.h5 --mod", 4, ["--model"]),
        ("gpukit gim run G.h5 --model l", 5, ["lt"]),
    ],
)
def test_shells_complete(words: str, place: int, expected: list[str]) -> None:
    asked = {"_GPUKIT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    done = gpukit_command(**asked)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, expected, "")


def test_completion_is_installed(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = gpukit_command("--show-completion", "bash", **home)
    assert shown.returncode == 0 and "_GPUKIT_COMPLETE=complete_bash" in shown.stdout
    assert gpukit_command("--install-completion", "bash", **home).returncode == 0
    assert "gpukit" in (tmp_path / ".bashrc").read_text()
    assert (tmp_path / ".bash_completions" / "gpukit.sh").read_text().strip() == shown.stdout.strip()


@pytest.mark.parametrize("name", [name for name, _, _ in app.COMMANDS])
def test_no_group_offers_completion_for_itself(name: str, capsys: pytest.CaptureFixture) -> None:
    """It would be for a program of that name."""
    assert app.main([name, "--help"]) == 0
    assert "completion" not in capsys.readouterr().out
    assert app.main([name, "--show-completion"]) == 2


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["data", "list"], ["graph", "info", "G.h5"]])
def test_nobody_reads_on(tmp_path: Path, words: list[str]) -> None:
    artifacts.write_graph(tmp_path / "G.h5", Graph(np.array([0, 1, 1]), np.array([1], np.int32)))
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-m", "gpukit", *words], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
        stdout=write_end, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(write_end)
    assert (done.returncode, done.stderr) == (5, "")


@pytest.mark.parametrize(
    ("closed", "code", "out", "err"),
    [
        (">&-", 2, "", "gpukit: error: standard output is closed; give it a place, if only /dev/null\n"),
        ("2>&-", 0, "2 vertices, 1 edge", ""),
        ("<&- 2>&-", 0, "2 vertices, 1 edge", ""),
        ("<&- >&- 2>&-", 2, "", ""),
    ],
)
def test_closed_streams(tmp_path: Path, closed: str, code: int, out: str, err: str) -> None:
    artifacts.write_graph(tmp_path / "G.h5", build_graph(np.array([0]), np.array([1]), weights=Weights()), tables=None)
    line = f'exec "$0" -m gpukit gim run G.h5 --out S.h5 -k 1 --min-sets 10 --device cpu {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, out in done.stdout, done.stderr) == (code, True, err)
    assert (tmp_path / "S.h5").exists() == (code == 0)


def test_characters_that_a_stream_does_not_know() -> None:
    done = gpukit_command("data", "list", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and r"\u2248 59,000,000" in done.stdout
    done = gpukit_command("doctor", "±", PYTHONIOENCODING="ascii")
    assert done.returncode == 2 and r"\xb1" in done.stderr


def test_help_imports_no_heavy_module() -> None:
    script = (
        "import sys; from gpukit.cli import app; app.main(['--help']); import gpukit.cli.common; "
        "import gpukit.cli.files.artifacts\n"
        "assert not {'numpy', 'numba', 'h5py', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules), 'heavy'"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_thread_counts_of_zero_go(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "OMP_NUM_THREADS": "0",
        "MKL_NUM_THREADS": "3",
        "NUMBA_NUM_THREADS": "",
        "OPENBLAS_NUM_THREADS": "x",
    }.items():
        monkeypatch.setenv(name, value)
    app.normalise_threads()
    kept = {
        name: os.environ.get(name)
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    }
    assert kept == {
        "OMP_NUM_THREADS": None,
        "MKL_NUM_THREADS": "3",
        "NUMBA_NUM_THREADS": None,
        "OPENBLAS_NUM_THREADS": "1",
    }


# --- the common run --------------------------------------------------------------------------------------------------


@with_run("out", *DEVICE, "seed")
def sample(run: common.Run, k: int = 3) -> None:
    """Behave like a command that does nothing."""
    run.params = {"k": k}
    run.use_device()
    with run.phase("work"), run.progress("working") as update:
        update(1, 2)
    run.graph = Graph(np.array([0, 1, 1]), np.array([1], np.int32))
    run.finish({"spread": np.float64(1.5), "ids": np.arange(2), "none": float("nan")})


def test_json_is_one_object_with_the_common_keys(command, tmp_path: Path) -> None:
    code, out, err = command(
        sample, "--out", str(tmp_path / "x.h5"), "--device", "cpu", "--threads", "1", "--seed", str(2**64 - 1), "--json"
    )
    record = json.loads(out)
    assert code == 0 and out.count("\n") == 1
    assert record["params"] == {"k": 3} and record["graph"] == {"n": 2, "m": 1} and record["seed"] == 2**64 - 1
    assert record["device"].items() >= {"kind": "cpu", "gpus": [], "threads": 1, "reason": "asked for"}.items()
    assert record["time_s"].keys() == {"total", "work"}
    assert (record["spread"], record["ids"], record["none"]) == (1.5, [0, 1], None)
    assert "device cpu" in err


def test_summary_for_people(command, tmp_path: Path) -> None:
    code, out, _ = command(sample, "--out", str(tmp_path / "x.h5"), "--device", "cpu")
    assert code == 0 and "2 vertices, 1 edge" in out and str(tmp_path / "x.h5") in out


def test_auto_says_why(command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpukit.device.select.detect", lambda: ((), "no NVIDIA driver"))
    words = ("--out", str(tmp_path / "x.h5"), "--json")
    code, out, err = command(sample, *words)
    assert code == 0 and json.loads(out)["device"]["reason"] == "auto: no NVIDIA driver" and "device" not in err
    err = command(sample, *words, "-v")[2]
    assert err.count("device cpu: ") == err.count("(auto: no NVIDIA driver)") == 1
    assert command(sample, *words, "--device", "cpu")[2].count("device cpu: ") == 1


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--seed", "-1"], 2, "--seed is -1; 0 to 2^64 - 1 are allowed"),
        (["--seed", str(2**64)], 2, "--seed is 18446744073709551616"),
        (["--threads", "0"], 2, "--threads is 0; 1 to 4096 are allowed"),
        (["--gpus", "-1"], 2, "--gpus is -1"),
        (["--device", "tpu"], 2, "Invalid value for '--device'"),
        (["--out", "/nowhere/x.h5"], 3, "there is no folder /nowhere; create it"),
        (["--out", "/"], 3, "it is a folder"),
    ],
)
def test_bad_common_options(command, tmp_path: Path, words: list[str], code: int, text: str) -> None:
    found, out, err = command(sample, "--out", str(tmp_path / "x.h5"), *words)
    assert (found, out) == (code, "") and text in err and err.count("\n") == 1


def test_cuda_without_a_gpu(command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr("gpukit.device.select.detect", lambda: ((), "no NVIDIA driver"))
    found, out, err = command(sample, "--out", str(tmp_path / "x.h5"), "--device", "cuda", "--json")
    assert (
        (found, out) == (4, "")
        and "cannot use a GPU: no NVIDIA driver; use --device cpu" in err
        and err.count("\n") == 1
    )


def test_an_output_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(InputError, match="no permission in folder"):
        outputs.check_out(tmp_path / "x.h5")


def test_more_threads_than_cores_are_possible() -> None:
    script = (
        "from gpukit.cli.common import Run; d = Run(device='cpu', threads=7).use_device(); import numba; "
        "print(d.threads, numba.get_num_threads())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.stdout == "7 7\n"


def test_a_warning_of_a_library_is_one_line() -> None:
    code = (
        "import sys, warnings; from gpukit.cli import app\n"
        "app._prepare_streams = lambda: warnings.warn('one\\ntwo')\n"
        "sys.argv[1:] = ['--version']; app.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == "gpukit: warning: one two\n"


def test_the_program_ends_as_its_command_does() -> None:
    late = "import atexit; atexit.register(print, 'last', flush=True)"
    command = [sys.executable, "-c", f"{late}; import sys; sys.argv = sys.argv[1:]; import gpukit.__main__"]
    for word, code in (("--version", 0), ("--nonsense", 2)):
        done = subprocess.run([*command, "gpukit", word], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        assert done.returncode == code and done.stdout.splitlines()[-1] == "last"
