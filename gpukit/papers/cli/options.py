"""How the options of papers' commands are declared."""

from typing import Any

from gpukit.cli.options import option


def ablation(spec: str, text: str) -> Any:
    """Return an option that rebuilds a variant of a paper, or takes something out of a method to see what it does."""
    return option(spec, text, rich_help_panel="Ablations")
