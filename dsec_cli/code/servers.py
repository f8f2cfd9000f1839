"""Finds what clients of MCP servers start or call."""

from __future__ import annotations

from dsec_cli.code import access, displays
from dsec_cli.code.abstract import HOLE, Shape, Text, as_text
from dsec_cli.code.known.registrations import SERVERS
from dsec_cli.code.needs import Process
from dsec_cli.code.networking import call_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.abstract import Value
    from dsec_cli.code.found import Site

MOST_NESTED = 256
"""Dictionaries and lists that one description is made of."""


def servers(site: Site) -> bool:
    """Add the programs and addresses of MCP servers; False when the call is no client of one."""
    if site.name not in SERVERS:
        return False
    for name in ("command", "url"):
        for text in (site.texts(None, (name,)) or ()) if site.has(name) else ():
            _server(site, name, text, site.values(None, ("args",)) or ())
    for at in (0, 1):
        for value in site.values(at, ("params", "connections", "server_params", "serverparams")) or ():
            if isinstance(value, Shape):
                _described(site, value)
            elif isinstance(value, Text) and not site.has("url", "command"):
                _server(site, "url" if "://" in value.text else "command", value, ())
    return True


def _described(site: Site, shape: Shape) -> None:
    """Dictionaries with `command` and `args`, or with `url`, however they are nested; each one once."""
    waiting, seen = [shape], {shape}
    while waiting and len(seen) <= MOST_NESTED:
        here = waiting.pop()
        for one in displays.items(site.ev, here):
            if not isinstance(one, displays.Place):
                continue
            name = displays.word(one.part.key)
            for value in site.ev.values(one.part.value, one.scope):
                if name in ("command", "url"):
                    words = tuple(access.item(site.ev, here, (Text("args"),)))
                    _server(site, name, as_text(value), () if words == (access.NO_ENTRY,) else words)
                elif isinstance(value, Shape) and value not in seen:
                    seen.add(value)
                    waiting.append(value)


def _server(site: Site, name: str, text: Text, words: tuple[Value, ...]) -> None:
    if name == "url":
        if not call_address(site, (text,)):
            site.unknown("egress", text.why or "the address has no host", text.variable)
        return
    known = HOLE not in text.text and bool(text.text)
    fixed = known and all(HOLE not in as_text(one).text for one in access.elements(site.ev, words) if words)
    site.add(Process(text.text if known else None, False, fixed, site.by, site.place(), ()))
    if not known:
        site.unknown("process", f"the program is not known: {text.why or 'it is computed'}", text.variable)
