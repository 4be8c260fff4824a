"""Plain words of the command line are what Typer makes of them, and need no pydantic."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
import typer
from test_cli_core import ALL, ROOT

from gpukit.cli.words import UNCLEAR, PlainWords, take_plain_words, value_of

WORDS = (
    ["0", "7", "-3", "007", "+5", "1_000", " 1", "1 ", "1e3", "-0", "9" * 18, "9" * 19, "9" * 5000, "٣", "0x1", ""]
    + ["0.1", "-2.50", ".5", "5.", "1e-7", "inf", "nan", "0.1234567890123456789", "123456789012.5", "true", "no", "é"]
    + ["ic", "IC", "lt", "auto", "cpu", "x", ".", "/", "/nowhere/x.h5", "a b", "-", "~"]
)


def outcome(call: Any) -> Any:
    try:
        found = call()
    except typer.TyperException as error:
        return "refused", error.format_message()
    return type(found), repr(found)


PARAMETERS = [(f"{' '.join(words)} {one.name}", one) for words, command in ALL for one in command.params]


def test_plain_words_are_there() -> None:
    for _, command in ALL:
        command.get_params(type(command).context_class(command))
    assert sum(isinstance(one._runtime_param, PlainWords) for _, one in PARAMETERS) > 300


@pytest.mark.parametrize(("name", "one"), PARAMETERS, ids=[name for name, _ in PARAMETERS])
def test_words_mean_what_typer_says(name: str, one: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    many = one.multiple or one.nargs == -1
    for word in (*WORDS, one.default, None):
        value = [word, *WORDS[:2]] if many and isinstance(word, str) else word
        one._runtime_param = None
        theirs = outcome(lambda: one.get_runtime_param().coerce(value, param=one, ctx=None))  # noqa: B023
        one._runtime_param = PlainWords()
        assert outcome(lambda: one.get_runtime_param().coerce(value, param=one, ctx=None)) == theirs, word  # noqa: B023
        one._runtime_param = PlainWords()


@pytest.mark.parametrize(
    ("word", "kind", "value"),
    [
        ("12", int, 12),
        ("0.5", float, 0.5),
        ("12", float, UNCLEAR),
        (7, int, 7),
        (True, int, UNCLEAR),
        ("lt", Literal["ic", "lt"], "lt"),
        ("LT", Literal["ic", "lt"], UNCLEAR),
        ("/nowhere/x", Path, Path("/nowhere/x")),
        ("a\0b", Path, UNCLEAR),
        (("a", "b"), list[str], ["a", "b"]),
        (("1", "b"), list[int], UNCLEAR),
        ("a", bytes, UNCLEAR),
    ],
)
def test_what_is_plain(word: Any, kind: Any, value: Any) -> None:
    found = value_of(word, kind)
    assert found is value if value is UNCLEAR else (type(found), found) == (type(value), value)


def test_a_file_that_cannot_be_read_is_left_to_typer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").touch()
    assert value_of(str(tmp_path / "f"), Path) == tmp_path / "f"
    monkeypatch.setattr("os.access", lambda *_: False)  # root may read anything
    assert value_of(str(tmp_path / "f"), Path) is UNCLEAR


def test_what_has_no_place_for_it_stays_as_it_is() -> None:
    """Typer may keep its converters elsewhere one day; then they are used."""

    class Other:
        pass

    other = Other()
    assert take_plain_words([other]) == [other] and vars(other) == {}


@pytest.mark.parametrize("words", ["--version", "data list", "gim run G.h5 --out S.h5 -k 3 --epsilon 0.5 --json"])
def test_plain_words_need_no_pydantic(words: str, tmp_path: Path) -> None:
    script = (
        "import sys; from gpukit.cli import app; app.main(sys.argv[1:]); "
        "sys.exit('pydantic' in sys.modules or 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, *words.split()], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0


def test_the_program_ends_as_its_command_does() -> None:
    late = "import atexit; atexit.register(print, 'last', flush=True)"
    command = [sys.executable, "-c", f"{late}; import sys; sys.argv = sys.argv[1:]; import gpukit.__main__"]
    for word, code in (("--version", 0), ("--nonsense", 2)):
        done = subprocess.run([*command, "gpukit", word], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        assert done.returncode == code and done.stdout.splitlines()[-1] == "last"
