"""DSec runtime: what a machine needs to carry out a compiled plan."""

__version__ = "0.1.0"
