"""What a TCP connection of this host may hold: settings that bound its rate over a long path."""

from __future__ import annotations

from dsec_cli.netcheck.facts import Look, Seen
from dsec_cli.netcheck.wording import size_text

_FOLDER = "/proc/sys/net/ipv4"
_NAMES = ("tcp_wmem", "tcp_rmem")


def see(_name: str, *, folder: str = _FOLDER) -> Seen:
    """The most of both; the interface of the path plays no part."""
    found = [(name, _most(f"{folder}/{name}")) for name in _NAMES]
    values = tuple((name, most) for name, most in found if most is not None)
    if len(values) != len(_NAMES):
        return Seen("buffers", (), "", f"{folder}/tcp_rmem cannot be read")
    send, receive = (size_text(most) for _, most in values)
    return Seen(
        "buffers", values, f"a TCP connection holds at most {send} to send and {receive} received", ""
    )


def _most(path: str) -> int | None:
    """The last of `least default most`, in bytes."""
    try:
        with open(path, encoding="ascii") as file:
            words = file.read().split()
    except (OSError, ValueError):
        return None
    return int(words[2]) if len(words) == 3 and words[2].isdecimal() else None


LOOK = Look("buffers", see)
