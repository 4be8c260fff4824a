"""Checks of the configuration of a paper, in addition to the checks of every configuration."""

import re
from collections.abc import Mapping
from typing import Any

from gpukit.cli.workflow.config_graphs import OWN_OPTIONS, command_options, words
from gpukit.cli.workflow.configuration import NAME
from gpukit.errors import InputError
from gpukit.papers.report.items import DENSITY, ITEMS
from gpukit.wording import facing


@facing("workflow")
def check_paper(config: Mapping[str, Any]) -> None:
    """Check the measures and experiments behind a paper's tables and figures.

    Parameters
    ----------
    config : mapping
        A configuration that :func:`gpukit.cli.workflow.configuration.check_configuration` has checked, of a paper.

    Raises
    ------
    InputError
        In one line: the key, the value, and the allowed values.
    """
    paper, scale = config["paper"], config["scales"][config["scale"]]
    graphs = [entry["name"] for entry in scale["graphs"]]
    for name, one in scale["measures"].items():
        key = f"scales.{config['scale']}.measures.{name}"
        if not re.fullmatch(NAME, name):
            raise InputError(f"{key[:120]!r}: a measure's name is a file name of letters, digits, dots, - and _")
        check_measure(key, one["command"])
        if lost := [item for item in one["items"] if item not in ITEMS[paper]]:
            raise InputError(f"{key}.items: {lost[0]!r} is no item of paper {paper}; known: {', '.join(ITEMS[paper])}")
        if lost := [graph for graph in one["graphs"] if graph not in graphs]:
            raise InputError(f"{key}: a measure names the graph {lost[0]}, which this scale does not have")
    for name, one in config["experiments"].items() if paper == "gim" else ():
        if name not in ITEMS[paper] or name == "table-1":
            raise InputError(f"experiments: {name[:60]!r} shows no runs of gIM; known: {', '.join(ITEMS[paper])}")
        dense = one["graphs"] == "density"
        if not any(graph.startswith(DENSITY) == dense for graph in graphs):
            raise InputError(f"experiments.{name}.graphs is {one['graphs']}, and this scale has no such graph; add one")
    for graph in graphs if paper == "gim" else ():
        if graph.startswith(DENSITY) and not re.fullmatch(rf"{DENSITY}[0-9]{{1,9}}", graph):
            raise InputError(f"graph {graph}: {DENSITY}R is the graph of density R, a number, as in {DENSITY}8")


def check_measure(key: str, command: str) -> None:
    """Check that the command of a measure exists, with its options; raise InputError."""
    given = words(command, key)
    own = 3 if given[:1] == ["papers"] else 2
    options = command_options(key, given[:own], ["G.h5", *given[own:]])
    lists = [value if isinstance(value, list | tuple) else [value] for value in options.values()]
    if ["G.h5"] not in [[str(one) for one in values] for values in lists]:
        raise InputError(f"{key}: {command[:80]!r} takes another argument than a graph; name options alone")
    for name in OWN_OPTIONS & options.keys():
        raise InputError(f"{key}: {name} is the workflow's to say; leave it out")
