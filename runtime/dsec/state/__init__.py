"""Training states, saved beside the training: only what changed, whole or not there at all.

    from dsec.sdk import state

    with state.Saver("states") as saver:
        for step in range(begin, 1000):
            train(step)
            saver.save(step, {"weights": weights, "moments": moments}, values={"cursor": step * batch})

    last = state.load("states")

Standard library only; numpy, zstandard and blake3 are used where they are installed.
"""

from __future__ import annotations

from dsec.state.folder import Stored, compact, stored
from dsec.state.handles import Handle
from dsec.state.problems import NoStateError, StateError
from dsec.state.randomness import random_states, set_random_states
from dsec.state.reading import State, load
from dsec.state.saver import Saver
from dsec.state.writing import Component, Result, prune

__all__ = [
    "Component",
    "Handle",
    "NoStateError",
    "Result",
    "Saver",
    "State",
    "StateError",
    "Stored",
    "compact",
    "load",
    "prune",
    "random_states",
    "set_random_states",
    "stored",
]
