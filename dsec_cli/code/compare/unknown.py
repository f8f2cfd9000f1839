"""What could not be known by reading the code: said once per kind, with the places."""

from __future__ import annotations

from dsec_cli.code.compare.missing import Missing, places, related
from dsec_cli.code.compare.reasons import worded
from dsec_cli.code.compare.settled import unknowns
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.needs import Needs, Unknown
    from dsec_cli.contract.values import Contract

CODE = "DS806"
_NETWORK = ("security_policy", "network")
KINDS: dict[str, tuple[str, ...]] = {
    "egress": (*_NETWORK, "egress"),
    "environment": ("runtime_context", "env_vars"),
    "file": ("security_policy", "filesystem"),
    "listen": _NETWORK,
}
"""Where it is said, by kind of need; programs that are not known are findings of DS804."""


def not_known(needs: Needs, contract: Contract) -> Iterator[Missing]:
    """One remark per kind of need, and one for files that could not be read."""
    every = unknowns(needs, contract)
    for kind, where in KINDS.items():
        found = [one for one in every if one.kind == kind]
        if found:
            yield Missing(_finding(kind, where, found))
    if needs.unread:
        yield Missing(_unread(needs))


def _message(kind: str, count: int) -> str:
    if kind == "egress":
        return say("{count} of the destinations cannot be known", "egress", count=count)
    if kind == "environment":
        return say("{count} of the variables read cannot be known", "environment", count=count)
    if kind == "file":
        return say("{count} of the paths cannot be known", "file", count=count)
    return say("{count} of the ports listened on cannot be known", "listen", count=count)


def _finding(kind: str, where: tuple[str, ...], found: list[Unknown]) -> Finding:
    reason = say("{why} ({places})", why=worded(found[0].reason), places=places(found))
    advice = say("check these places by hand: what they need is not compared")
    message = _message(kind, len(found))
    return Finding(CODE, Severity.INFO, where, message, reason, advice, related=related(found))


def _unread(needs: Needs) -> Finding:
    first = needs.unread[0]
    return Finding(
        CODE,
        Severity.INFO,
        (),
        say("{count} of the code's files could not be read", "unread", count=len(needs.unread)),
        say("{file}: {why}", file=first.file, why=worded(first.reason)),
        say("what they need is not compared"),
    )
