"""Declared permissions as what the sandbox grants, and why some cannot be granted here."""

from __future__ import annotations

import ipaddress
import os

from dsec.plugins.grants import ANY, Endpoint, Grants, is_terminal
from dsec.sandbox import landlock, namespaces
from dsec_cli.plugins.apis import BASE, ROOT_LIKE
from dsec_cli.plugins.constants import is_secret
from dsec_cli.plugins.declared import parse_permission
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec_cli.plugins.declared import Permission

_KINDS = ("process", "gpu", "dynload", "code-gen", "ipc", "sched")
_NOT_PASSED = ("LD_", "GLIBC_", "MALLOC_", "PYTHON")
"""What a loader or an interpreter obeys is not meant by a permission for all variables."""


class NotGranted(Exception):
    """A permission that cannot be granted; the text says which and why."""


def grant(permissions: Iterable[str], environ: Mapping[str, str]) -> Grants:
    """What permissions grant; raises NotGranted."""
    found = [_one(text) for text in permissions]
    by_name: dict[str, list[str]] = {}
    for one in found:
        by_name.setdefault("net:egress" if one.name not in BASE else one.name, []).append(one.target)
    libraries = [one for one in by_name.get("dynload", ()) if one.startswith("/")]
    return Grants(
        read=tuple(one or "/" for one in (*by_name.get("read:fs", ()), *libraries)),
        write=tuple(one or "/" for one in by_name.get("write:fs", ())),
        execute=tuple(by_name.get("exec", ())),
        egress=tuple(_endpoint(one) for one in by_name.get("net:egress", ())),
        listen=tuple(_endpoint(one, listens=True) for one in by_name.get("net:listen", ())),
        local=tuple(by_name.get("net:local", ())),
        environ=_variables(by_name.get("env", ()), by_name.get("secret", ()), environ),
        kinds=tuple(one for one in _KINDS if one in by_name),
    )


def _one(text: str) -> Permission:
    """A permission whose target is one that it can have."""
    try:
        one = parse_permission(text)
    except ValueError as problem:
        raise NotGranted(str(problem)) from None
    if one.name in ROOT_LIKE:
        raise NotGranted(say("{text}: no plugin is granted that", text=text))
    why = _wrong_target(one)
    if why:
        raise NotGranted(f"{text}: {why}")
    return one


def _wrong_target(one: Permission) -> str:
    """Why a permission cannot have its target, or ""."""
    target = one.target
    if not target:
        return ""
    if one.name in ("read:fs", "write:fs"):
        if not target.startswith("/"):
            return say("a path from / on is needed")
        return say("a plugin gets no terminal") if is_terminal(target) else ""
    if one.name in ("net:egress", "net:listen") or one.name not in BASE:
        try:
            _endpoint(target, listens=one.name == "net:listen")
        except ValueError:
            return say("HOST, HOST:PORT or :PORT is needed, with a port up to 65535")
        return ""
    if one.name == "net:local":
        return "" if target.startswith("/") else say("a path from / on is needed")
    if one.name in ("exec", "dynload"):
        plain = target.startswith("/") or "/" not in target
        return "" if plain else say("a name or a path from / on is needed")
    return "" if one.name in ("env", "secret") else say("it takes no target")


def _endpoint(text: str, *, listens: bool = False) -> Endpoint:
    """`host`, `host:port`, `:port`, `[address]:port`, `*:port`; of a listener `port`, too. ValueError."""
    if not text or text == "*":
        return Endpoint()
    if listens and text.isdecimal():
        return Endpoint(ANY, _port(text))
    if text.startswith("["):
        inner, _, rest = text[1:].partition("]")
        ipaddress.IPv6Address(inner)
        if rest and not rest.startswith(":"):
            raise ValueError(rest)
        return Endpoint(inner, _port(rest[1:]) if rest else 0)
    if text.count(":") > 1:
        return Endpoint(str(ipaddress.IPv6Address(text)), 0)
    host, colon, port = text.partition(":")
    if "/" in host or (colon and not port):
        raise ValueError(text)
    return Endpoint(ANY if host == "*" else host, _port(port) if colon and port != "*" else 0)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) < 65536:
        raise ValueError(text)
    return int(text)


def _variables(env: Iterable[str], secret: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the user's environment that are granted by name, or all of a kind."""
    named = {one for one in (*env, *secret) if one}
    every = {False: ANY in env, True: ANY in secret}
    return {
        name: value
        for name, value in environ.items()
        if name in named or (every[is_secret(name)] and not name.startswith(_NOT_PASSED))
    }


def unavailable(grants: Grants) -> str:
    """Why this machine cannot give what is granted, or ""."""
    version = landlock.interface()
    if "process" in grants.kinds and version < 6 and not namespaces.available():
        return say(
            "process: this kernel gives us neither namespaces nor Landlock for signals (Linux 6.12), so "
            "others' processes could not be kept from it"
        )
    if grants.narrow() and os.uname().machine != "x86_64":
        return say("addresses are compared on x86-64 only: grant net:egress as a whole")
    return ""
