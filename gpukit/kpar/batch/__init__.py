"""Batches of queries on a GPU: where they lie, and how many begin together."""
