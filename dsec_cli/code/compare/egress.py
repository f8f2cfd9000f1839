"""Destinations that the code calls and the contract does not allow."""

from __future__ import annotations

from dsec_cli.code.compare.missing import Missing, label, places, quoted, related
from dsec_cli.code.compare.settled import called
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.needs import Egress, Needs
    from dsec_cli.contract.values import Contract
    from dsec_cli.contract.values import Egress as Allowed

CODE = "DS801"
PATH = ("security_policy", "network", "egress")
_SECONDS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "hour": 3600, "day": 86400, "d": 86400}


def missing_egress(needs: Needs, contract: Contract) -> Iterator[Missing]:
    """One finding per host and port that no entry allows, and per limit that the code goes beyond."""
    policy = contract.security_policy
    allowed = policy.egress if policy is not None else ()
    groups: dict[tuple[str, int | None], list[Egress]] = {}
    for one in called(needs, contract):
        if not is_loopback(one.host):
            groups.setdefault((one.host, one.port), []).append(one)
    for (host, port), uses in groups.items():
        named = [entry for entry in allowed if covers(entry.domain, host)]
        if not named:
            yield _host(host, port, uses, stated=policy is not None)
        elif port is not None and all(entry.ports and port not in entry.ports for entry in named):
            yield _port(named[0], port, uses)
        else:
            yield from _rates(named[0], uses)


def destination(host: str, port: int | None) -> str:
    """Host and port as addresses have them: `[fe80::1]:443`."""
    if port is None:
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    return host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.") or not host  # noqa: S104


def covers(domain: str | None, host: str) -> bool:
    """Whether an entry for `domain` allows `host`; `*` at the start of either stands for any labels."""
    if domain is None:
        return False
    domain, host = domain.lower().rstrip("."), host.lower().rstrip(".")
    if domain in (host, "*"):
        return True
    if domain.startswith("*."):
        return host.endswith(domain[1:])
    return host.startswith("*.") and domain.endswith(host[1:])


def _host(host: str, port: int | None, uses: list[Egress], *, stated: bool) -> Missing:
    ports = [port] if port is not None else []
    rate = next((one.rate for one in uses if one.rate), None)
    fields = [f"domain: {quoted(host)}"]
    fields += [f"ports: [{port}]"] if ports else []
    fields += [f"rate_limit: {rate}"] if rate else []
    item = "{" + ", ".join(fields) + "}"
    where = destination(host, port)
    refused = (
        say("what security_policy.network.egress does not list is refused")
        if stated
        else say("there is no security_policy, and a sandbox refuses what is not listed")
    )
    message = say("the code calls {where}, which is not allowed", "not-allowed", where=where)
    return Missing(_finding(PATH, message, refused, uses, _advice(host, item)), PATH, item)


def _advice(host: str, item: str) -> str:
    if host.startswith("*."):
        return say("allow the host that is used, in place of the *: - {item}", item=item)
    return say("add to security_policy.network.egress: - {item}", item=item)


def _port(entry: Allowed, port: int, uses: list[Egress]) -> Missing:
    message = say(
        "the code calls {domain} on port {port}, and only {ports} is allowed",
        "port-not-allowed",
        domain=entry.domain,
        port=port,
        ports=", ".join(map(str, entry.ports)),
    )
    path = (*entry.path, "ports")
    new = ", ".join(map(str, sorted({*entry.ports, port})))
    advice = say("write ports: [{ports}]", ports=new)
    reason = say("a port that is not listed is refused")
    return Missing(_finding(path, message, reason, uses, advice), path, str(port))


def _rates(entry: Allowed, uses: list[Egress]) -> Iterator[Missing]:
    """A limit in the code that lets more through than the contract does."""
    limit = per_day(entry.rate_limit)
    for one in uses:
        own = per_day(one.rate)
        if limit is None or own is None or own <= limit:
            continue
        message = say(
            "the code limits itself to {own} at {domain}, and only {limit} is allowed",
            "rate-above",
            own=one.rate,
            domain=entry.domain,
            limit=entry.rate_limit,
        )
        reason = say("the calls above the contract's limit are refused or delayed")
        advice = say("lower the limit in the code, or write rate_limit: {own}", own=one.rate)
        yield Missing(_finding((*entry.path, "rate_limit"), message, reason, [one], advice))
        return


def per_day(rate: str | None) -> float | None:
    """Requests a day that a rate such as `100req/min` allows."""
    count, _, unit = (rate or "").replace(" ", "").partition("req/")
    if not count.isascii() or not count.isdecimal() or unit not in _SECONDS:
        return None
    return int(count[:12]) * 86400 / _SECONDS[unit]


def _finding(
    path: tuple[str | int, ...], message: str, refused: str, uses: list[Egress], advice: str
) -> Finding:
    reason = say("{refused}; {label} ({places})", refused=refused, label=label(uses[0]), places=places(uses))
    return Finding(CODE, Severity.WARNING, path, message, reason, advice, related=related(uses))
