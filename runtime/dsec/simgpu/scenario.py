"""Scenarios: the rules of a box, of a ready-made fault, and of both with what the user adds."""

from __future__ import annotations

import os
import re

from dsec import cards
from dsec.devices.described import DRIVER_MIB, from_document
from dsec.devices.profiles import like, profile
from dsec.devices.profiles import names as boxes
from dsec.simgpu.rules import ScenarioProblem, check
from dsec.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.inventory import Device, Inventory

MOST_GPUS = 64
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scenarios")
_LEVELS = {"NODE": 40, "PHB": 30, "PIX": 10, "PXB": 20, "SYS": 50}
_BUSY = ("temperature 40", "power 100000", "throttle 0", "utilization holders", "holders rss")
"""Of every simulated GPU: it rests, and is as busy and as full as the processes that were given it."""
READY = {
    "gb10": say("memory is the host's: the driver says of its own that it is not supported"),
    "heat": say("GPU 0 heats up from 45 to 95 degrees in a minute, and slows itself down at the end"),
    "lost": say("GPU 0 falls off the bus after 10 s"),
    "mig": say("GPU 0 is cut into three MIG instances"),
    "mismatch": say("the library and the loaded driver differ in version"),
    "no-driver": say("the driver is not loaded"),
    "no-gpu": say("the driver runs, but has no GPU"),
    "no-permission": say("the user may not use the driver"),
    "old-driver": say("a driver that lacks the versioned questions"),
    "upgrade": say(
        "the driver's files are replaced after 10 s: who has begun goes on, nobody else can begin"
    ),
    "wsl": say("Linux on Windows: neither how busy a GPU is nor how much a process holds is told"),
    "xid": say("a program on GPU 0 touches memory that is not its own, after 10 s"),
}
"""Ready-made scenarios: what goes wrong, by the name of its file."""


def box(name: str) -> Inventory:
    """A built-in box by its name or the start of one, or `COUNTxTYPE`; raises ScenarioProblem."""
    if name in boxes():
        return profile(name)
    meant = like(name)
    if len(meant) == 1 and meant[0].startswith(name.lower()):
        return profile(meant[0])
    count, times, kind = name.lower().partition("x")
    # Of several types that the word may mean, the one that people have boxes of.
    types = [box.partition("x")[2] for box in meant] or (cards.resolve(kind) if times else ())
    if count.isdecimal() and int(count) <= MOST_GPUS and types:
        gpus = [{"type": types[0], "count": int(count), "memory": _memory(types[0])}] if int(count) else []
        return from_document({"name": name, "gpus": gpus}, name)
    raise ScenarioProblem(
        say("no box is called {name!r}", name=name),
        hint=say(
            "there are {names}, and COUNTxTYPE up to {most}",
            names=joined(", ", meant or boxes()),
            most=MOST_GPUS,
        ),
    )


def _memory(type_: str) -> str:
    row = cards.card(type_)
    return f"{row.gb if row is not None else 1}GB"


def of_box(inventory: Inventory) -> str:
    """The rules of a described box."""
    lines = [f"count {len(inventory.devices)}", *(f"gpu * {rule}" for rule in _BUSY)]
    places = {device.uuid: at for at, device in enumerate(inventory.devices)}
    for at, device in enumerate(inventory.devices):
        lines += [f"gpu {at} {rule}" for rule in (*_card(device), *_links(device, places))]
    return "\n".join(lines) + "\n"


def _card(device: Device) -> list[str]:
    row = cards.card(device.type)
    if row is None:
        return []
    rules = [f"name {row.names[0]}"]
    if row.mib is not None:  # else it shares the host's memory, and says of its own: not supported
        rules += [f"total {row.mib}", f"reserved {DRIVER_MIB}"]
    if "GeForce" not in row.names[0]:
        rules.append("ecc_uncorrected 0")
    return rules


def _links(device: Device, places: dict[str, int]) -> list[str]:
    nvlinks = {places[uuid]: int(link[2:]) for uuid, link in device.links if re.fullmatch(r"NV\d+", link)}
    rules = [f"level {places[uuid]} {_LEVELS[link]}" for uuid, link in device.links if link in _LEVELS]
    if len(nvlinks) == len(places) - 1 > 1 and len(set(nvlinks.values())) == 1:
        return [f"switch {next(iter(nvlinks.values()))}", *rules]
    return [*(f"peer {other} {count}" for other, count in nvlinks.items()), *rules]


def path_of(name: str) -> str:
    """The file of a scenario: `name` itself, or the ready-made one; raises ScenarioProblem."""
    if os.path.isfile(name):
        return os.path.abspath(name)
    if name in READY:
        return os.path.join(_FOLDER, f"{name}.txt")
    raise ScenarioProblem(
        say("there is no scenario {name}", name=name),
        hint=say("name a file, or one of {names}", names=joined(", ", list(READY))),
    )


def checked(path: str) -> str:
    """The text of a scenario's file; raises ScenarioProblem."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(1 << 20)
    check(text, path)
    return text


def driver(text: str) -> str:
    """The version of the driver that the rules state from the beginning; "": they state none."""
    stated: list[str] = re.findall(r"^driver (\S+)$", text, re.MULTILINE)
    return stated[-1] if stated else ""
