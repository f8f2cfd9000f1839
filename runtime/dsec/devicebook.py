"""What earlier runs taught about devices, kept in `.dsec/devices.json`."""

from __future__ import annotations

import os

from dsec.core.experience import NOTHING, Experience, Pace
from dsec.core.marks import OUT_OF_DEVICE_MEMORY
from dsec.diagnosis import tail_of
from dsec.errors import FileProblem, StoredFormError
from dsec.wholefile import write_whole
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
NAME = "devices.json"
_HINT = say("delete it: what it holds is learned again")


def says_out_of_memory(log: str, detail: str) -> bool:
    """Whether the end of an attempt's log, or the exception it ended with, says that memory ran out."""
    text = tail_of(log) + detail.encode("utf-8", "replace")
    return any(mark in text for mark in OUT_OF_DEVICE_MEMORY)


def read_devices(state: str) -> Experience:
    """What the state folder holds; nothing when no run used a device yet."""
    path = os.path.join(state, NAME)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return NOTHING
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint="check its permissions, or delete it"
        ) from None
    return _parsed(data, path)


def _parsed(data: bytes, where: str) -> Experience:
    import json  # most runs find no such file

    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise StoredFormError(say("{where} is no JSON document", where=where), hint=_HINT) from None
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise StoredFormError(
            say("{where} is not of version {version}, which this DSec reads", where=where, version=VERSION),
            hint=_HINT,
        )
    try:
        return Experience(
            {
                step: {kind: _count(count) for kind, count in kinds.items()}
                for step, kinds in document["ran_out"].items()
            },
            {
                step: {uuid: _pace(one) for uuid, one in paces.items()}
                for step, paces in document["paces"].items()
            },
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise StoredFormError(say("{where} does not hold what it should", where=where), hint=_HINT) from None


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(value)
    return value


def _pace(value: dict[str, Any]) -> Pace:
    if set(value) != {"type", "ms", "n"} or not isinstance(value["type"], str):
        raise ValueError(value)
    return Pace(value["type"], _count(value["ms"]), _count(value["n"]))


def write_devices(state: str, known: Experience) -> None:
    """Replace the file as a whole; raises OSError when the folder cannot be written to."""
    import json

    paces = {step: {uuid: one._asdict() for uuid, one in all_.items()} for step, all_ in known.paces.items()}
    document = {"version": VERSION, "ran_out": known.ran_out, "paces": paces}
    write_whole(os.path.join(state, NAME), [json.dumps(document, sort_keys=True).encode(), b"\n"])
