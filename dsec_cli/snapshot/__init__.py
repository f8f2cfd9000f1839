"""Snapshots of a run: what they hold, where they are kept, how two differ."""
