"""The process that writes states: takes them from shared memory, until nobody asks any more.

When the training process dies, the state that it had handed over is still written.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

from dsec.state.layout import Placed, kept, views
from dsec.state.messages import receive, send
from dsec.state.staging import Slot
from dsec.state.writing import Base, Component, Result, Wish, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_NICE = 5


def base_of(result: Result, placed: tuple[Placed, ...], data: Mapping[str, memoryview]) -> Base:
    """What the next state is a delta upon; tensors that were kept lossily are not among it."""
    exact = {one.name: one for one in kept(placed) if result.components[one.name].greatest_error is None}
    return Base(result.file, result.id, exact, data, result.links, result.delta_bytes)


def main(link_handle: int, slot_handles: tuple[int, int]) -> None:
    """Serve the process at the other end of the socket until it closes it or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the training
    os.nice(_NICE)
    slots = [Slot(handle) for handle in slot_handles]
    base: Base | None = None
    with socket.socket(fileno=link_handle) as link:
        while (message := receive(link)) is not None:
            if "path" in message:
                sys.path[:] = message["path"]
                continue
            base, answer = _one(message, slots, base)
            try:
                send(link, answer)
            except OSError:
                return


def _one(message: dict[str, Any], slots: list[Slot], base: Base | None) -> tuple[Base | None, dict[str, Any]]:
    """Write one state; what the next one is a delta upon, and the answer."""
    wish = wish_of(message)
    data = views(wish.placed, slots[message["slot"]].fit(message["nbytes"]))
    try:
        result = write_state(wish, data, base)
    except (OSError, MemoryError) as problem:
        return base, {"problem": said(problem, wish.folder)}
    return base_of(result, wish.placed, data), told(result)


def said(problem: Exception, folder: str) -> str:
    """Why a state could not be written."""
    if isinstance(problem, OSError):
        return f"{problem.filename or folder}: {problem.strerror or problem}"
    return f"{folder}: there is not enough memory to write the state"


def message_of(wish: Wish, slot: int, nbytes: int) -> dict[str, Any]:
    """A wish as it goes to the writer."""
    return {**wish._asdict(), "placed": [list(one) for one in wish.placed], "slot": slot, "nbytes": nbytes}


def wish_of(message: dict[str, Any]) -> Wish:
    """The wish of a message."""
    placed = tuple(
        Placed(name, dtype, tuple(shape), *rest) for name, dtype, shape, *rest in message["placed"]
    )
    return Wish(
        message["folder"],
        message["at"],
        placed,
        message["values"],
        message["keep"],
        tuple(message["quantise"]),
    )


def told(result: Result) -> dict[str, Any]:
    """A result as it goes to the training process."""
    parts = {name: list(one) for name, one in result.components.items()}
    return {**result._asdict(), "components": parts}


def result_of(answer: dict[str, Any]) -> Result:
    """The result of a writer's answer."""
    parts = {name: Component(*one) for name, one in answer["components"].items()}
    return Result(**{**answer, "components": parts})
