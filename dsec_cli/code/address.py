"""Reads addresses: which host, port and scheme a text with holes means."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.code.abstract import HOLE
from dsec_cli.code.known.network import DEFAULT_PORTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.abstract import Text


MOST_SHOWN = 100
"""Characters of a host that is not known in full."""


class Address(Record):
    """A destination; the host is "" where it is not known, and `why` then says so."""

    host: str
    port: int | None
    scheme: str
    why: str = ""
    variable: str = ""


def read(text: Text, *, bare: bool = False) -> Address | None:
    """The address that `text` is; None: it is none (a path, say). `bare`: `host:port` is one too."""
    scheme, mark, rest = text.text.partition("://")
    if not mark:
        if text.text.startswith(HOLE):
            return Address("", None, "", text.why, text.variable)
        if not bare or not text.text:
            return None
        scheme, rest = "", text.text
    scheme = scheme.rpartition(HOLE)[2].lower().partition("+")[0]
    authority = _up_to(rest, "/?#").rpartition("@")[2]
    authority = authority.partition(",")[0]
    host, port = _split(authority)
    known = port if port is not None else DEFAULT_PORTS.get(scheme)
    if HOLE not in authority:
        return _plain(host, known, scheme, text)
    before, _, after = host.partition(HOLE)
    if _whole(before) and not after:
        why = f"what follows {_short(before)} in the address is not known: without a / it changes the host"
        return Address(before.lower(), known, scheme, why, text.variable)
    where = f" ({_short(host.replace(HOLE, '*'))})" if host.strip(HOLE) else ""
    why = f"the host{where} is not known: {text.why or 'it is computed'}"
    return Address("", known, scheme, why, text.variable)


def _short(host: str) -> str:
    return host if len(host) <= MOST_SHOWN else f"{host[:MOST_SHOWN]}..."


def _plain(host: str, port: int | None, scheme: str, text: Text) -> Address | None:
    if not host or any(ch.isspace() or not ch.isprintable() for ch in host) or len(host) > 253:
        return None
    if host.count(":") == 1:
        return Address("", None, scheme, f"{host.rpartition(':')[2]} is no port") if scheme else None
    # A variable that fills a hole further on does not decide the host.
    variable = "" if HOLE in text.text else text.variable
    return Address(host.lower().rstrip("."), port, scheme, "", variable)


def _up_to(text: str, marks: str) -> str:
    ends = [at for at in (text.find(mark) for mark in marks) if at >= 0]
    return text[: min(ends)] if ends else text


def _split(authority: str) -> tuple[str, int | None]:
    if authority.startswith("["):
        host, _, rest = authority[1:].partition("]")
        return host, _port(rest.lstrip(":"))
    host, mark, port = authority.partition(":")
    return (host, _port(port)) if mark and (HOLE in port or _port(port)) else (authority.rstrip(":"), None)


def _port(text: str) -> int | None:
    digits = text.partition(HOLE)[0]
    return int(digits) if digits.isascii() and digits.isdecimal() and 0 < int(digits[:6]) < 65536 else None


def _whole(host: str) -> bool:
    """Whether a text in front of a hole reads as a complete host."""
    name = host.partition(":")[0]
    return name == "localhost" or ("." in name and name[-1:].isalnum() and len(name.rpartition(".")[2]) > 1)
