"""Plugins while they run: the C interface, the process that each lives in, and the line to it."""
