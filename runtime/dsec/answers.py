"""What workers answer to calls, read from their packets."""

from __future__ import annotations

import json

from dsec.record import Record


class Answer(Record):
    """How a call ended."""

    cause: str
    detail: str
    result: str | None
    log_from: int | None
    log_to: int | None
    cpu_us: int | None
    """What the worker's threads took for it; None: it did not live to tell."""


def decode(packet: bytearray, serial: int) -> Answer | None:
    """The answer to call `serial` in a packet; None where it is something else."""
    try:
        number, begin, end, cpu, cause, text = packet.decode().split(" ", 5)
        if int(number) != serial or "\n" in text:
            return None
        if cause == "ok":
            if text != "null":
                json.loads(text)  # a journal with anything else in it could not be read again
            return Answer("ok", "", text, int(begin), int(end), int(cpu))
        if cause in ("raised", "bad-result"):
            return Answer(cause, text, None, int(begin), int(end), int(cpu))
    except ValueError:
        return None
    return None
