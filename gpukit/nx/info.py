"""The description of the backend that NetworkX reads when it is imported; this module imports nothing, to be fast."""

from typing import Any

_CORES = "Copies only the nodes and edges of the result, in NetworkX's order."
_TRIANGLES = "Counts the triangles of all nodes, also where few are asked for."
FUNCTIONS = {
    "average_clustering": f"Undirected graphs without weights. {_TRIANGLES}",
    "clustering": f"Undirected graphs without weights. {_TRIANGLES}",
    "core_number": "Directed graphs, too: a node's degree is that to and from it, as in NetworkX.",
    "generalized_degree": _TRIANGLES,
    "k_core": _CORES,
    "k_corona": _CORES,
    "k_crust": _CORES,
    "k_shell": _CORES,
    "k_truss": "Peels edges by their triangles once, for every k.",
    "onion_layers": "Layer by layer, in NetworkX's order.",
    "pagerank": "The same steps in the same order for any number of threads, and NetworkX's rule for dangling nodes.",
    "transitivity": "Undirected graphs.",
    "triangles": _TRIANGLES,
}
"""The functions of NetworkX that the backend has, and a note on each."""


def backend_info() -> dict[str, Any]:
    """Return the texts that NetworkX shows about the backend, also in the documentation of its functions."""
    return {
        "backend_name": "gpukit",
        "project": "gpukit",
        "package": "gpukit",
        "url": "https://gpukit.github.io/gpukit/networkx/",
        "short_summary": "PageRank, cores, trusses and triangles on all CPU cores; needs no GPU, and uses none.",
        "functions": {
            name: {
                "url": "https://github.com/gpukit/gpukit/tree/main/gpukit/nx",
                "additional_docs": f"{text} Runs on the CPU. Graphs, not multigraphs.",
            }
            for name, text in FUNCTIONS.items()
        },
    }
