"""Timed runs: what was measured, on what, beside the least that memory traffic allows."""
