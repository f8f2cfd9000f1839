"""Asks: does the plugin ask for what no plugin may do: an administrator's work, or the user's terminal."""

from __future__ import annotations

from dsec_cli.plugins.apis import ROOT_LIKE
from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding


_SETTINGS = frozenset(("tcsetattr", "tcflow", "tcflush", "tcsendbreak", "tcdrain", "getpass"))
"""They set how an open terminal reads and waits, as each prompt for a password does; they type nothing."""


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each use: an error where a way leads to it, else a remark."""
    for use, judged in facts.judged:
        for permission, target in judged.asks:
            told = f"{permission}{'=' + target if target else ''} by {use.name}"
            if permission == "io-uring":
                yield finding("io-uring", use.name, facts, unit=use.unit, node=use.function, ip=use.ip)
            elif permission in ROOT_LIKE:
                linked = facts.tier(use.unit, use.function) == "linked"
                severity = "info" if linked else "warning" if use.name in _SETTINGS else ""
                told += " (linked, but no way leads to it)" if linked else ""
                yield finding(
                    "root-like", told, facts, unit=use.unit, node=use.function, ip=use.ip, severity=severity
                )


CHECK = Check("root_like", ("root-like", "io-uring"), check)
