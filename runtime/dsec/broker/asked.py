"""What the broker says of itself to whoever asks: who has which GPU, and who waits for how many."""

from __future__ import annotations

import os

from dsec.broker import place
from dsec.broker.messages import MOST_BYTES, pack, told
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dsec.inventory import Inventory

_ANSWER_S = 1.0


class Waiting(Record):
    """A request that was not granted yet."""

    gpus: int
    waited_us: int
    urgent: bool


class Member(Record):
    """A run as the broker knows it."""

    job: str
    path: str
    pid: int
    connected: bool
    """False: its executor is gone, and something of it may be left."""
    devices: tuple[str, ...]
    waiting: tuple[Waiting, ...]
    used_us: int
    """Its account: the time that it held devices, less for the hungry, counted since it came."""


def members(environ: Mapping[bytes, bytes]) -> list[Member] | None:
    """The runs of this user on this machine that share GPUs; None: no broker answers."""
    try:
        sock = place.connect(place.named(environ))
    except OSError:
        return None
    if sock is None:
        return None
    try:
        sock.settimeout(_ANSWER_S)
        sock.send(pack({"say": "ask"}))
        said = told(sock.recv(MOST_BYTES + 1))
        return None if said is None else members_of(said)
    except OSError:
        return None
    finally:
        sock.close()


def members_of(said: Mapping[str, Any]) -> list[Member]:
    """The runs that a broker's answer names; none where it is of another form."""
    try:
        return [_member(one) for one in said["runs"]]
    except (KeyError, TypeError, ValueError):
        return []


def _member(one: Mapping[str, Any]) -> Member:
    waiting = tuple(Waiting(each["gpus"], each["waited_us"], each["urgent"]) for each in one["waiting"])
    named = (str(one["job"]), str(one["path"]), int(one["pid"]), bool(one["connected"]))
    return Member(*named, tuple(one["devices"]), waiting, int(one["used_us"]))


def without_others(inventory: Inventory) -> Inventory:
    """The inventory as it is once other runs have given back what they hold.

    How much is free of a device that another run has says nothing of what a Step will find there.
    """
    if not any(_is_used(one.memory_bytes, one.free_bytes) for one in inventory.devices):
        return inventory
    held = {uuid for one in members(os.environb) or () for uuid in one.devices}
    devices = [one._replace(free_bytes=None) if one.uuid in held else one for one in inventory.devices]
    return inventory._replace(devices=tuple(devices))


def _is_used(usable: int | None, free: int | None) -> bool:
    return usable is not None and free is not None and free < usable
