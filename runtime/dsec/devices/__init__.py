"""Devices, measured or described."""
