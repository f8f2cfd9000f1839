"""What a plugin declares in its plugin.yaml, and how that compares with what its binary uses.

A permission is `verb:resource`, or one word, with a target behind `=`: `read:fs=/etc`, `net:egress`,
`exec=/usr/bin/git`. Permissions of services (`read:redis`, `write:s3`) cannot be proved from a binary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dsec_cli.plugins.apis import BASE, ROOT_LIKE
from dsec_cli.plugins.reasons import REASONS
from dsec_cli.plugins.result import Finding, Scan
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.source.yaml import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.result import Need
    from dsec_cli.source.tree import Node

SERVICES = {
    "redis": (b"redis", b"RESP", b"HGETALL", b"SUBSCRIBE", b"6379"),
    "s3": (b"s3.amazonaws", b"amz-", b"AWS4-HMAC", b"s3://", b"X-Amz"),
    "db": (b"SELECT ", b"INSERT ", b"postgres", b"mysql", b"sqlite", b"PGPASSWORD"),
    "http": (b"HTTP/1.", b"http://", b"https://", b"Host: "),
    "kafka": (b"kafka", b"9092"),
}
"""Services that permissions can name, and bytes that programs which speak with them hold."""
VERBS = ("read", "write")


@dataclass(frozen=True, slots=True)
class Permission:
    """One declared permission."""

    name: str
    target: str

    def covers(self, name: str, target: str) -> bool:
        """Whether it grants a use of a permission: with all targets, or with this one or one below it."""
        if name != self.name:
            return False
        if not self.target or self.target == target:
            return True
        return bool(target) and target.startswith(self.target.rstrip("/") + "/")


@dataclass(frozen=True, slots=True)
class Allowed:
    """A blind spot that the plugin's author accounts for."""

    reason: str
    where: str
    """An address (`0x1240`), a symbol on the way, or "" for all."""
    why: str


@dataclass(frozen=True, slots=True)
class Declared:
    """What a plugin.yaml says about permissions."""

    permissions: tuple[str, ...]
    allowed: tuple[Allowed, ...]


def read_declared(data: bytes, name: str) -> Declared:
    """The permissions and allowances of a plugin.yaml; what is no list of texts there is none."""
    documents = parse(SourceText(name, data)).documents
    root = documents[0].root if documents else None
    permissions = _items(_member(root, "permissions"))
    allowed = []
    for item in _items(_member(root, "allow_unknown")):
        reason, where, why = (_text(_member(item, key)) for key in ("reason", "where", "why"))
        if reason:
            allowed.append(Allowed(reason, where, why or "no reason given"))
    return Declared(tuple(_text(one) for one in permissions if _text(one)), tuple(allowed))


def _member(node: Node | None, key: str) -> Node | None:
    if not isinstance(node, Mapping):
        return None
    found = (entry.value for entry in node.entries if isinstance(entry.key, Scalar) and entry.key.text == key)
    return next(found, None)


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.items if isinstance(node, Sequence) else ()


def _text(node: Node | None) -> str:
    return node.text.strip() if isinstance(node, Scalar) else ""


def parse_permission(text: str) -> Permission:
    """Split a written permission; ValueError where there is no such one."""
    name, _, target = text.partition("=")
    if name in BASE:
        return Permission(name, target)
    verb, colon, service = name.partition(":")
    if colon and verb in VERBS and service in SERVICES:
        return Permission(name, target)
    raise ValueError(f"{text!r} is no permission")


def compare(found: Scan, declared: Declared, *, data: bytes) -> Scan:
    """The scan with what the declaration adds: allowances, uses without a permission, and the reverse."""
    findings = [_allow(one, declared.allowed) for one in found.findings]
    permissions: list[Permission] = []
    for text in declared.permissions:
        try:
            permissions.append(parse_permission(text))
        except ValueError:
            findings.append(_told("bad-permission", text))
    findings = [_enforced(one, permissions) for one in findings]
    findings += _undeclared(found, permissions)
    told = replace(found, findings=tuple(findings))
    for one in permissions:
        findings += _overasked(told, one, data)
    return replace(found, findings=tuple(findings))


def _told(
    code: str, detail: str, *, severity: str = "", chain: tuple[str, ...] = (), tier: str = ""
) -> Finding:
    reason = REASONS[code]
    return Finding(
        code,
        severity or reason.severity,
        f"{reason.what}: {detail}",
        reason.action,
        reason.blind,
        tier,
        chain=chain,
    )


def _allow(one: Finding, allowed: tuple[Allowed, ...]) -> Finding:
    if not one.blind or one.code in ("malformed", "no-disassembler"):
        return one
    for entry in allowed:
        here = not entry.where or entry.where in one.chain or entry.where == f"{one.address or 0:#x}"
        if entry.reason == one.code and (
            here or any(step.startswith(entry.where + "+") for step in one.chain)
        ):
            return replace(one, allowed=entry.why)
    return one


_ENFORCED = {
    "exec-child": "exec",
    "dlopen-computed": "dynload",
    "dlopen-unknown": "dynload",
    "code-gen": "code-gen",
}
"""What a scan cannot see into, and the permission under which the sandbox holds for it all the same."""


def _enforced(one: Finding, permissions: list[Permission]) -> Finding:
    wanted = _ENFORCED.get(one.code, "")
    if one.allowed or not any(entry.name == wanted for entry in permissions):
        return one
    return replace(one, allowed=f"{wanted} is declared; what it does is in the same sandbox")


def _undeclared(found: Scan, permissions: list[Permission]) -> list[Finding]:
    told = []
    services = [one for one in permissions if _service(one)]
    for need in found.needs:
        if need.tier == "linked" or need.permission == "runtime":
            continue
        if need.tier == "unknown":
            if not any(one.name == need.permission for one in permissions):
                detail = f"{need.permission} may be used and is not declared, so it is not granted"
                told.append(_told("use-unknown", detail, chain=need.chain, tier=need.tier))
            continue
        missing = [target for target in need.targets if not _granted(need, target, permissions, services)]
        narrow = [one for one in permissions if one.name == need.permission and one.target]
        if "" in missing and narrow and need.permission not in ROOT_LIKE:
            missing.remove("")
            which = ", ".join(one.target for one in narrow)
            detail = f"{need.permission}: it gets {which} and no more"
            told.append(_told("target-unknown", detail, chain=need.chain, tier=need.tier))
        if missing:
            named = ", ".join(f"{need.permission}={one}" if one else need.permission for one in missing)
            told.append(_told("undeclared", named, chain=need.chain, tier=need.tier))
    return told


def _granted(need: Need, target: str, permissions: list[Permission], services: list[Permission]) -> bool:
    if any(one.covers(need.permission, target) for one in permissions):
        return True
    if need.permission == "process":  # who may run programs may start processes for them
        return any(one.name == "exec" for one in permissions)
    # A service is reached over the network: it expands to egress to its endpoint.
    return bool(services) and need.permission in ("net:egress", "net:local")


def _service(one: Permission) -> str:
    return one.name.partition(":")[2] if one.name not in BASE else ""


def _overasked(found: Scan, one: Permission, data: bytes) -> list[Finding]:
    service = _service(one)
    if service:
        return [_told("service-unproved", f"{one.name}: {_evidence(found, service, data)}")]
    if one.name in ROOT_LIKE:
        return [_told("root-like", f"{one.name} is declared")]
    used = [need for need in found.needs if need.permission == one.name and need.tier != "linked"]
    if used or one.name == "runtime":
        return []
    if found.blind():
        return []  # what cannot be seen may use it
    return [_told("over-asked", one.name)]


def _evidence(found: Scan, service: str, data: bytes) -> str:
    """`consistent`, `no evidence` or `contradicts`; never `proved`."""
    network = any(need.permission == "net:egress" for need in found.needs)
    if not network and not found.blind() and service != "db":
        return "contradicts: nothing in it reaches the network"
    if any(word in data for word in SERVICES[service]):
        return "consistent with its texts"
    return "no evidence in its texts"
