"""Batches of queries on a GPU: their placement, and how many queries begin together."""
