"""What clients of services need, by the knowledge base: their hosts, keys, files and programs."""

from __future__ import annotations

from dsec_cli.code.abstract import HOLE, Symbol
from dsec_cli.code.known.network import BASE_NAMES
from dsec_cli.code.needs import Execution, FileUse, Process, Variable
from dsec_cli.code.networking import add_host, call_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.code.found import Site
    from dsec_cli.code.knowledge import Entry

    Lookup = Callable[[str], Entry | None]

_KEYS = (
    "api_key",
    "apikey",
    "token",
    "access_token",
    "api_token",
    "auth",
    "credentials",
    "secret_key",
    "key",
)


def client(site: Site, lookup: Lookup) -> bool:
    """Add what the knowledge base says of the call; False when it does not know it."""
    if site.receiver is not None:
        return False
    entry = _entry(site, lookup)
    if entry is None:
        return False
    if not _sent_elsewhere(site):
        _hosts(site, entry)
    _keys(site, entry)
    for use in entry.files:
        modes = ("read", "write") if use.access == "read-write" else (use.access,)
        if use.path != "argument":
            for mode in modes:
                site.add(FileUse(use.path, mode, site.by, site.place(), ()))
    if entry.subprocess:
        site.add(Process(None, False, False, site.by, site.place(), ()))
    if entry.executes:
        site.add(Execution("code", False, site.by, site.place(), ()))
    return True


def _entry(site: Site, lookup: Lookup) -> Entry | None:
    first = site.texts(0, ("service_name",)) if site.name.startswith("boto3.") else None
    if first and HOLE not in first[0].text:
        found = lookup(f"{site.name}({first[0].text})")
        if found is not None:
            return found
    return matching(site.name, lookup)


def matching(name: str, lookup: Lookup) -> Entry | None:
    """The entry for a call: of that very name, or of the class whose constructor it is."""
    entry = lookup(name)
    if entry is None or name in entry.imports or name == entry.name:
        return entry
    holder = name.rpartition(".")[0]
    made = holder.rpartition(".")[2][:1].isupper()
    return entry if made and holder in entry.imports else None


def _sent_elsewhere(site: Site) -> bool:
    """Whether an argument names another address than the usual one."""
    for name in BASE_NAMES:
        texts = site.texts(None, (name,)) if site.has(name) else None
        if texts and call_address(site, texts):
            return True
    return False


def _hosts(site: Site, entry: Entry) -> None:
    for item in entry.hosts:
        host, _, port = item.rpartition(":")
        scheme = "https" if port == "443" else ""
        add_host(site, host, int(port) if port.isdecimal() else None, scheme)
    for reason in entry.unknown_egress:
        site.unknown("egress", reason)


def _keys(site: Site, entry: Entry) -> None:
    given = any(keyword.arg is not None and keyword.arg.endswith(_KEYS) for keyword in site.call.keywords)
    for one in entry.env:
        if given and one.secret:
            continue
        site.add(Variable(one.name, None, one.required, one.secret, site.by, site.place(), ()))


__all__ = ["Symbol", "client", "matching"]
