"""Snapshots and their differences as people and programs read them."""
