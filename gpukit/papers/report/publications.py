"""The five papers: name, title and source of each; and the scales at which they are rebuilt."""

from typing import NamedTuple


class Publication(NamedTuple):
    """A paper: name of its method, title, authors, and place of publication."""

    name: str
    title: str
    authors: str
    where: str


PUBLICATIONS = {
    "gim": Publication(
        "gIM",
        "gIM: GPU Accelerated RIS-Based Influence Maximization Algorithm",
        "S. Shahrouz, S. Salehkaleybar, M. Hashemi",
        "IEEE TPDS, 2021",
    ),
    "imgpu": Publication(
        "IMGPU",
        "IMGPU: GPU-Accelerated Influence Maximization in Large-Scale Social Networks",
        "X. Liu, M. Li, S. Li, S. Peng, X. Liao, X. Lu",
        "IEEE TPDS 25(1), 2014",
    ),
    "kpar": Publication(
        "kPAR",
        "Realtime Top-k Personalized PageRank over Large Graphs on GPUs",
        "J. Shi, R. Yang, T. Jin, X. Xiao, Y. Yang",
        "PVLDB 13(1), 2019",
    ),
    "merit": Publication(
        "MERIT",
        "Efficient GPU-Accelerated Reverse Sampling for Adaptive Minimum Cost Seed Selection",
        "anonymous",
        "a manuscript",
    ),
    "diversity": Publication(
        "Structural diversity",
        "GPU-accelerated Structural Diversity Search in Graphs",
        "J. Huang, X. Huang, J. Xu, B. Choi, Y. Peng",
        "no venue named",
    ),
}
"""By the names of ``config/paper``, in the order of the documentation."""

SCALES = {
    "smoke": "minutes on two CPU cores, which decide nothing about speed",
    "small": "minutes on GPUs, most graphs a tenth of the paper's size",
    "full": "graphs of the paper's sizes",
}
"""A description of each scale."""
