"""Graphs: CSR, building from edge lists, edge probabilities, generators, readers."""
