"""Timed runs: times, the device, and the least time that memory traffic allows."""
