"""Sentences about a spread: the assumption about edge probabilities, the error, and a comparison with simple rules."""

from collections.abc import Mapping
from typing import Any

from gpukit.wording import reaches_as_many, with_error

_CHANCES = {
    "wc": "with probability 1/d, where d edges lead to the same vertex",
    "trivalency": "with probability 0.1, 0.01 or 0.001, by chance",
    "file": "with the probability that the file gives it",
}


def assumption(weights: str) -> str:
    """Return a sentence on the meaning of the edge probabilities."""
    scheme, _, numbers = weights.partition(":")
    drawn = f"with a probability drawn from {numbers.replace(':', ' to ')}" if scheme == "uniform" else ""
    chance = _CHANCES.get(scheme) or drawn or f"with probability {numbers}"
    return f"each edge passes things on {chance} ({weights})"


def reached_by(records: Mapping[str, Any]) -> tuple[float, float]:
    """Return the spread of the seeds and two standard errors; from the sets that judged simple rules, if there are any.

    ``records`` are those of ``gim run`` and ``evaluate spread``, under ``seeds`` and ``spread``.
    """
    seeds, spread = records["seeds"], records["spread"]
    if seeds["rules"]:
        return seeds["spread_estimate"], 2 * seeds["stderr"]
    return spread["spread"], 2 * spread["stderr"]


def compared(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the spread of each simple rule of ``gim run``, from the sets that also judged the seeds."""
    words = {}
    for name, spread in record["rules"].items():
        error = record["rules_stderr"][name]
        words[name] = with_error(spread, 2 * error)
        if reaches_as_many(record["spread_estimate"], record["stderr"], spread, error):
            words[name] += ", reaches as many as the seeds within the errors"
    return words
