"""Answers that are split into several files, one per range of ids: the checks that ``gather`` makes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.cli.common import Run
from gpukit.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact


def read_parts(run: Run, files: Sequence[Path], kind: str) -> "list[Artifact]":
    """Return the parts of one answer in the order of their ids, and set the parameters of the whole answer in the run.

    Raises
    ------
    InputError
        If a file is no part, two parts belong to different answers, or a part is missing or given twice.
    """
    with run.phase("read"):
        from gpukit.artifacts import read
        from gpukit.artifacts.labels import some_labels_of

        parts = [read(path, kind) for path in files]
    for path, part in zip(files, parts, strict=True):
        if "part" not in part.params:
            raise InputError(f"{path} is not a part of an answer; make parts with --part I/N")
    count = parts[0].params["part"][1]
    made: list[dict[str, Any]] = [
        {
            "attributes": one.attributes,
            "params": one.params | {"part": one.params["part"][1:]},
            "inputs": one.inputs,
            "seed": one.seed,
        }
        for one in parts
    ]
    for path, other in zip(files[1:], made[1:], strict=True):
        for name, value in made[0].items():
            if other[name] != value:
                raise InputError(f"{files[0]} and {path} differ in {name} ({value}, {other[name]}); make them alike")
    numbers = [one.params["part"][0] for one in parts]
    if len(set(numbers)) < len(numbers):
        again = next(number for number in numbers if numbers.count(number) > 1)
        raise InputError(f"part {again} of {count} is given twice; give each once")
    if missing := sorted(set(range(1, count + 1)) - set(numbers)):
        raise InputError(f"part {missing[0]} of {count} is missing; give all of them")
    ordered = sorted(parts, key=lambda one: one.params["part"][0])
    run.params = {name: value for name, value in ordered[0].params.items() if name != "part"}
    run.seed, run.inputs = ordered[0].seed, ordered[0].inputs
    run.labels = some_labels_of(ordered)
    return ordered


def join_offsets(parts: "Sequence[Artifact]", name: str) -> "np.ndarray":
    """Return the offsets of the parts as those of the whole."""
    import numpy as np

    sizes = np.concatenate([np.diff(part.arrays[name]) for part in parts])
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
