"""Follows functions that are looked up by name while the plugin runs: constant names become edges."""

from __future__ import annotations

from dsec_cli.plugins.constants import texts
from dsec_cli.plugins.uses import LOOKUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.hosting import Host
    from dsec_cli.plugins.libraries import Finder
    from dsec_cli.plugins.package import Package
    from dsec_cli.plugins.uses import Use

    Unresolved = list[tuple[Use, str, str]]

_LOADS = frozenset(("dlopen", "dlmopen", "__libc_dlopen_mode"))


def loaded_names(package: Package, found: list[Use]) -> list[str]:
    """Libraries that are loaded by a constant name while the plugin runs."""
    names: list[str] = []
    for use in found:
        if use.name in _LOADS:
            image = package.units[use.unit].analysis.image
            names += texts(use, image, 1 if use.name == "dlmopen" else 0) or ()
    return [name for name in dict.fromkeys(names) if name and "/" not in name]


def follow_lookups(package: Package, host: Host | None, finder: Finder, first: list[Use]) -> Unresolved:
    """Add what is looked up to the package's graph; what cannot be is returned with its code and why."""
    found: Unresolved = []
    for use in first:
        if use.name in LOOKUPS:
            found += _lookup(package, host, use)
        elif use.name in _LOADS:
            found += _load(package, use, finder)
    return found


def _lookup(package: Package, host: Host | None, use: Use) -> Unresolved:
    if use.arguments is None:
        return [(use, "dlsym-computed", f"{use.name} is handed on")]
    names = texts(use, package.units[use.unit].analysis.image, 1)
    if names is None:
        return [(use, "dlsym-computed", f"{use.name} gets a name that is no constant")]
    unknown: Unresolved = []
    for name in names:
        package.extra.setdefault((use.unit, use.function), []).append((use.ip, name))
        at_hand = host is not None and host.provides(name) is not None
        if not at_hand and not any(name in unit.exports for unit in package.units):
            unknown.append((use, "dlsym-unknown", name))
    return unknown


def _load(package: Package, use: Use, finder: Finder) -> Unresolved:
    names = texts(use, package.units[use.unit].analysis.image, 1 if use.name == "dlmopen" else 0)
    unknown: Unresolved = []
    for name in names or ():
        if not name or any(name == unit.name for unit in package.units):
            continue
        if finder.find(name, ()) is None:
            unknown.append((use, "dlopen-unknown", name))
    return unknown
