"""Snapshots as one file that others can open: its form, its parts, its signature and what is sealed in it."""
