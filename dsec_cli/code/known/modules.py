"""Modules and classes that have functions which matter."""

from __future__ import annotations

from dsec_cli.code.known import local, network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_TABLES: tuple[Iterable[str], ...] = (
    network.URLS, network.HOSTS, network.ADDRESSES, network.LISTEN_ADDRESSES, network.LISTEN_HOSTS,
    network.SERVERS, network.HUB_CALLS, local.OPENS, local.FILES, local.PROGRAMS, local.CODE, local.DATA,
    local.IMPORTS, local.AGENTS,
)  # fmt: skip
EFFECTS = frozenset(name for table in _TABLES for name in table)
"""Everything that is read as a call that matters."""
HOLDERS = frozenset(name.rpartition(".")[0] for name in EFFECTS)
