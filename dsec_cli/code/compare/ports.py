"""Ports that the code listens on."""

from __future__ import annotations

from dsec_cli.code.compare.missing import Missing, label, places, related
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.needs import Listen, Needs
    from dsec_cli.contract.values import Contract

CODE = "DS807"
WHERE = ("security_policy", "network")
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104


def listened_on(needs: Needs, contract: Contract) -> Iterator[Missing]:
    """One remark per port; port 0 takes a free one, which is right."""
    ports: dict[int | None, list[Listen]] = {}
    for one in needs.listens:
        if one.port != 0:
            ports.setdefault(one.port, []).append(one)
    for port, uses in ports.items():
        yield Missing(_finding(port, uses))


def _finding(port: int | None, uses: list[Listen]) -> Finding:
    seen = say("{label} ({places})", label=label(uses[0]), places=places(uses))
    if port is None:
        message = say("the code listens on a port that cannot be known", "unknown-port")
    else:
        message = say("the code listens on port {port}", "port", port=port)
    reason = say("two runs on one machine cannot both have it; {seen}", seen=seen)
    advice = say("listen on port 0 and pass on the port that was given")
    if any(one.host in EVERYWHERE for one in uses):
        reason = say("every machine that reaches this one can call it; {seen}", seen=seen)
        advice = say("listen on 127.0.0.1, unless others are meant to call it")
    return Finding(CODE, Severity.INFO, WHERE, message, reason, advice, related=related(uses))
