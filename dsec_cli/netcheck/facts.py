"""What this host says of itself to the other end of a measurement: interface, clock, counts."""

from __future__ import annotations

import platform
import socket
import time
from typing import Any

from dsec.codec import encode
from dsec.record import Record
from dsec_cli import discovery
from dsec_cli.netcheck import host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Seen(Record):
    """What a look found; None for `missing` reads: it is there."""

    name: str
    values: tuple[tuple[str, int], ...]
    """Counters and settings, by name."""
    text: str
    """What there is, in words."""
    missing: str
    """Why there is nothing to read; "": there is."""


class Look(Record):
    """One thing that hosts may have; found by being there."""

    name: str
    see: Callable[[str], Seen]
    """By the name of the interface."""


class Facts(Record):
    """One end of a path at one moment."""

    hostname: str
    kernel: str
    at_ns: int
    """Its wall clock."""
    interface: host.Interface
    seen: tuple[Seen, ...]


def look(address: str) -> Facts:
    """This host, by the address that the path uses."""
    interface = host.interface_of(address)
    looks = sorted(discovery.instances("dsec_cli.netcheck.looks", Look))
    seen = tuple(one.see(interface.name) for one in looks)
    return Facts(socket.gethostname(), platform.release(), time.time_ns(), interface, seen)


def facts(address: str) -> dict[str, Any]:
    """The same, as it travels."""
    found = encode(look(address))
    assert isinstance(found, dict)
    return found
