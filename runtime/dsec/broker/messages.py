"""What runs and their broker say to each other: one JSON object a packet, read strictly.

A run says hello once, then again and again what it gives back and what it lacks (`now`), and bye when
nothing of it is left. What it lacks replaces what it lacked before. `seen` counts the grants that it had
received when it wrote: what was written before a grant arrived is not to be taken for another wish.
"""

from __future__ import annotations

import json

from dsec.core.brokerage import Request
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeAlias

FORMAT = 1
MOST_BYTES = 64 * 1024
"""Of one packet."""
MOST_REQUESTS = 32
"""That a run sends at once; the next ones follow when it has got some."""
_MOST_COSTS = 1024
_FAR_US = 10**15
"""Longer than this nobody has waited."""


class Hello(Record):
    """A run is there."""

    job: str
    path: str
    """Its folder: no two executors work on one at a time."""
    held: tuple[str, ...]
    """What another broker granted it."""


class Now(Record):
    """What a run needs no longer, and all that it lacks."""

    seen: int
    back: tuple[str, ...]
    requests: tuple[Request, ...]
    """With `since_us` counted back from now: how long each has waited."""
    soft: tuple[str, ...]
    costs: tuple[tuple[str, int, int], ...] = ()
    """What it holds, with the level and the cost of giving it back (`brokerage.Cost`)."""


class Bye(Record):
    """Nothing of the run is left."""


class Ask(Record):
    """Somebody wants to know who has what."""


class Ping(Record):
    """A run wants to know whether the broker is well."""


Message: TypeAlias = "Hello | Now | Bye | Ask | Ping"
_PLAIN: dict[str, Message] = {"bye": Bye(), "ask": Ask(), "ping": Ping()}


def pack(message: Mapping[str, object]) -> bytes:
    """One packet."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogateescape")


def hello(job: str, path: str, held: Sequence[str]) -> bytes:
    """The packet of a hello."""
    return pack({"say": "hello", "format": FORMAT, "job": job, "path": path, "held": sorted(held)})


def now(
    seen: int,
    back: Sequence[str],
    requests: Sequence[Request],
    soft: Sequence[str],
    costs: Sequence[tuple[str, int, int]] = (),
) -> bytes:
    """The packet of a `now`, with as many of the requests as it takes."""
    many = min(len(requests), MOST_REQUESTS)
    while True:
        # A broker of an earlier version does not read the costs.
        packet = pack({**_now(seen, back, requests[:many], soft), "costs": [list(one) for one in costs]})
        if len(packet) <= MOST_BYTES or not many:
            return packet
        many //= 2


def _now(
    seen: int, back: Sequence[str], requests: Sequence[Request], soft: Sequence[str]
) -> dict[str, object]:
    sets: dict[tuple[str, ...], int] = {}
    wanted = [
        [one.many, [sets.setdefault(some, len(sets)) for some in one.sets], *one[2:4], int(one.urgent)]
        for one in requests
    ]
    told = {"say": "now", "seen": seen, "back": list(back), "sets": list(sets), "want": wanted}
    return {**told, "soft": list(soft)}


def read(packet: bytes) -> Message | str:
    """What a run said; a text says what is wrong with it."""
    try:
        told = json.loads(packet.decode("utf-8", "surrogateescape"))
        kind = told["say"]
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind == "hello":
            return _hello(told)
        if kind == "now":
            return _said_now(told)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return "it is no message of this form"
    return f"it is of an unknown kind: {str(kind)[:40]}"


def _hello(told: Mapping[str, Any]) -> Hello | str:
    if told["format"] != FORMAT:
        return f"it speaks form {str(told['format'])[:20]}, the broker form {FORMAT}"
    return Hello(_text(told["job"]), _text(told["path"]), _texts(told["held"]))


def _said_now(told: Mapping[str, Any]) -> Now:
    sets = [_texts(one) for one in told["sets"]]
    requests = [_request(one, sets) for one in told["want"]]
    costs = [(_text(device), _count(level), _count(cost)) for device, level, cost in told.get("costs", ())]
    held = _texts(told["back"]), tuple(requests), _texts(told["soft"])
    return Now(_count(told["seen"]), *held, tuple(costs[:_MOST_COSTS]))


def _request(told: Sequence[Any], sets: Sequence[tuple[str, ...]]) -> Request:
    many, which, waited_us, hunger, urgent = told
    among = tuple(sets[_count(at)] for at in which)
    return Request(
        _count(many), among, min(_count(waited_us), _FAR_US), min(_count(hunger), 1000), bool(urgent)
    )


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(value)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


_ANSWERS: dict[str, tuple[tuple[str, type], ...]] = {
    "welcome": (("others", int),),
    "company": (("others", int),),
    "grant": (("devices", list),),
    "recall": (("devices", list), ("urgent", bool)),
    "state": (("runs", list),),
    "refused": (("why", str),),
    "pong": (),
}


def told(packet: bytes) -> dict[str, Any] | None:
    """What a broker said; None: it is nothing that a broker says."""
    try:
        said = json.loads(packet.decode("utf-8", "surrogateescape"))
        whole = all(type(said[name]) is kind for name, kind in _ANSWERS[said["tell"]])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return said if whole else None
