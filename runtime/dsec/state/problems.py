"""What can be wrong with saved states."""

from __future__ import annotations


class StateError(Exception):
    """A state cannot be saved or read; the text says which, why, and what to do."""


class NoStateError(StateError, LookupError):
    """There is no complete state, or the one that was asked for is not whole."""
