"""Devices: choice of cpu or cuda, GPU leases, random numbers, memory budget, phase timers."""
