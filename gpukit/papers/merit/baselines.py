"""The competitors of MERIT: the same campaigns with other methods to make and keep the sets."""

from dataclasses import dataclass, replace
from typing import Any

from gpukit.device.select import Device, cpu_name
from gpukit.errors import UsageError
from gpukit.merit.problem import Params
from gpukit.papers.merit.factory import Storage


@dataclass(frozen=True)
class Method:
    """A system of the comparison.

    Attributes
    ----------
    meaning : str
        A description in one line.
    options : dict
        The parameters that it changes.
    place : str
        ``any``, ``threads`` (of the CPU) or ``cuda``.
    thread_limit : int
        Most CPU threads; 0: all.
    storage : str or None
        How a GPU keeps the sets (:data:`gpukit.papers.merit.factory.Storage`); None: as requested.
    """

    meaning: str
    options: dict[str, Any]
    place: str = "any"
    thread_limit: int = 0
    storage: Storage | None = None


_ANEW = {"update": "regenerate", "ids": "fresh"}

METHODS: dict[str, Method] = {
    "merit": Method("sets keep their coins from round to round", {"update": "coupled"}),
    "reused": Method("batches are certified on the sets they were chosen from, as printed", {"certificate": "paper"}),
    "printed": Method(
        "update (biased) and certificate as printed", {"update": "paper", "certificate": "paper"}, "threads"
    ),
    "redrawn": Method("MERIT's sets, each drawn again every round: the same campaign", {"update": "regenerate"}),
    "segmented": Method("the paper's storage, other sets every round", _ANEW, storage="segments"),
    "gamcss": Method("a GPU draws all sets anew, as gIM does, into one array", _ANEW, "cuda", storage="global"),
    "pasti": Method("CPU threads draw all sets anew", _ANEW, "threads"),
    "pasti-4": Method("four CPU threads draw all sets anew", _ANEW, "threads", 4),
    "asti": Method("one CPU thread draws all sets anew", _ANEW, "threads", 1),
}
"""The systems of section 5 of the paper, its ablation of figures 11 to 15 (``segmented``), and MERIT without the update
(``redrawn``). ``nonadaptive.py`` is not among them."""


def configure(name: str, params: Params, device: Device) -> tuple[Params, Device]:
    """Return the parameters and the device of a method.

    Raises
    ------
    UsageError
        If there is no such method, or it needs a GPU and the device is the CPU.
    """
    if name not in METHODS:
        raise UsageError(f"method {name!r} is unknown; choose of {', '.join(METHODS)}")
    method = METHODS[name]
    if method.place == "cuda" and device.kind != "cuda":
        raise UsageError(f"{name} runs on a GPU only; use --device cuda or leave it out")
    asked = replace(params, **method.options)
    if method.place in ("any", "cuda"):
        return asked, device
    threads = min(method.thread_limit or device.threads, device.threads)
    return asked, Device("cpu", cpu_name(), (), threads, f"{name} runs there")
