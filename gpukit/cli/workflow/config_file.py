"""Check configuration files of the workflow before Snakemake reads them, because it expands aliases without a limit.

Snakemake reads the files of ``--configfile`` before any rule, and prints a traceback if this fails. Therefore the
default profile (``profiles/default``) calls :func:`refuse_files`, and the Snakefile checks the files once more.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from gpukit.errors import InputError

MAX_BYTES = 4 << 20
MAX_DEPTH = 20
"""Most nested sections; the schema has 8 levels."""
MAX_VALUES = 200_000
"""Most values of a configuration after aliases are expanded."""


def refuse_files(command_line: Sequence[str]) -> None:
    """End the process with one line if a file of ``--configfile`` is unusable.

    Raises
    ------
    SystemExit
        With the line, so that Snakemake adds nothing to it.
    """
    try:
        files = list(named_files(command_line))
        for path in files:
            if path != files[0] and not path.exists():
                raise InputError(
                    f"there is no file {path}, and --configfile takes every word behind it; targets stand before it: "
                    f"snakemake {path} --configfile {files[0]}"
                )
            check_file(path)
    except InputError as error:
        sys.exit(f"config: {error}")


def named_files(command_line: Sequence[str]) -> Iterator[Path]:
    """Yield the files after ``--configfile``, which takes several words."""
    within = False
    for word in command_line:
        option, _, value = word.partition("=")
        if word.startswith("-"):
            within = option in ("--configfile", "--configfiles")
            word = value
        if within and word:
            yield Path(word)


def check_file(path: Path) -> None:
    """Check that a configuration file is plain data of bounded size, without repeated keys.

    A file that is not regular, such as a pipe, can be read only once, so only Snakemake reads it.

    Raises
    ------
    InputError
        If it is not so, or the file cannot be read.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        return
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} has more than {MAX_BYTES >> 20} MiB; a configuration has some kilobytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}; name a YAML or JSON file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    try:
        try:
            check_size(json.loads(text, object_pairs_hook=_once))
        except _Refused:
            raise
        except ValueError:  # read as YAML, like Snakemake does
            _check_nodes(yaml.compose(text, Loader=yaml.SafeLoader))
            yaml.load(text, Loader=yaml.FullLoader)  # it is bounded, as checked above
    except _Refused as error:
        raise InputError(f"{path}: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: {_TOO_DEEP}") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:  # the last two come from impossible dates and numbers
        raise InputError(f"{path} is no YAML: {' '.join(str(error).split())[:300]}") from None


class _Refused(InputError):
    """An error in a document; its message is the end of a line."""


_TOO_DEEP = _Refused(f"sections go deeper than {MAX_DEPTH} levels; none has as many")
_TOO_MANY = _Refused(f"there are more than {MAX_VALUES} values, aliases written out; a configuration has some hundred")


def check_size(value: Any) -> None:
    """Check the depth of sections and lists, the number of values, and that keys are texts.

    Raises
    ------
    InputError
        If a limit is exceeded, or a key is a number, a date, or empty.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        above, level = level, []
        for one in above:
            if isinstance(one, dict):
                if strange := [key for key in one if not isinstance(key, str)]:
                    raise _Refused(f"the key {strange[0]!r} is no text; leave it out, or put it into quotes")
                level.extend(one.values())
            elif isinstance(one, list):
                level.extend(one)
            if len(level) > MAX_VALUES:
                raise _TOO_MANY
    if level:
        raise _TOO_DEEP


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise _Refused(f"the key {name[:60]!r} stands twice in one section; leave one of them out")
        names.add(name)
    return dict(pairs)


def _check_nodes(document: yaml.Node | None) -> None:
    """Check a document before it is converted: depth, number of values after expansion of aliases, keys and tags.

    Raises
    ------
    InputError
        If a limit is exceeded, a key is repeated, or a tag requests more than data.
    """
    level = [] if document is None else [document]
    for depth in range(MAX_DEPTH):
        above, level = level, []
        for node in above:
            line = node.start_mark.line + 1
            if node.tag.startswith("tag:yaml.org,2002:python/"):
                raise _Refused(f"line {line} asks for a Python object; a configuration is data alone")
            if isinstance(node, yaml.MappingNode):
                _check_keys([key for key, _ in node.value], outermost=depth == 0)
                level.extend(value for _, value in node.value)
            elif isinstance(node, yaml.SequenceNode):
                level.extend(node.value)
            if len(level) > MAX_VALUES:
                raise _TOO_MANY
    if level:
        raise _TOO_DEEP


def _check_keys(keys: Sequence[yaml.Node], *, outermost: bool) -> None:
    """Check the keys of a section; raises InputError."""
    names: set[str] = set()
    for key in keys:
        line = key.start_mark.line + 1
        if key.value in names:
            raise _Refused(
                f"line {line}: the key {key.value[:60]!r} stands twice in one section; leave one of them out"
            )
        if key.value == "__use_yte__" and outermost:
            raise _Refused(f"line {line}: __use_yte__ makes a program of a configuration, which is data alone")
        names.add(key.value)
