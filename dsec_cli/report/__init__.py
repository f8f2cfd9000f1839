"""Diagnostics turned into output."""
