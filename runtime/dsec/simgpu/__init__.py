"""Simulated GPUs for development: an NVML library that answers what a scenario file says."""
