"""How the options of papers' commands are declared."""

from typing import Any

from gpukit.cli.options import option
from gpukit.errors import UsageError


def ablation(spec: str, text: str) -> Any:
    """Return an option that rebuilds a variant of a paper, or takes something out of a method to see what it does."""
    return option(spec, text, rich_help_panel="Ablations")


def check_groups(groups: int | None) -> None:
    """Check β, the number of groups by load in MERIT's update; raises UsageError."""
    if groups not in (None, 1, 2, 4, 8, 16):
        raise UsageError(f"--groups is {groups}; 1, 2, 4, 8 and 16 are allowed")
