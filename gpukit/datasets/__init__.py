"""The graphs of the five papers: a catalogue, and their download."""

from gpukit.datasets.catalogue import Dataset, find_dataset, load_catalogue, shipped_file
from gpukit.datasets.download import Fetched, fetch, local_copy

__all__ = ["Dataset", "Fetched", "fetch", "find_dataset", "load_catalogue", "local_copy", "shipped_file"]
