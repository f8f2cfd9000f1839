"""Whom the user trusts with which plugins, and where a signed package stands with them."""

from __future__ import annotations

import json
import re
from datetime import date
from fnmatch import fnmatchcase
from typing import NamedTuple

from dsec.errors import StoredFormError
from dsec.versions import is_semver, semver_order
from dsec_cli.plugins.signing.contents import Manifest
from dsec_cli.plugins.signing.minisign import PublicKey, Signature, checks, read_public
from dsec_cli.words import say

STATUSES = ("trusted", "unknown-key", "bad", "modified", "unsigned", "expired", "rollback")


class Trusted(NamedTuple):
    """One key that the user trusts."""

    name: str
    key: PublicKey
    plugins: tuple[str, ...]
    """Names of plugins (patterns of fnmatch) that it may sign."""
    permissions: tuple[str, ...]
    """Permissions (patterns) that such a plugin may have; none: all."""


class Standing(NamedTuple):
    """What a package's signature is worth."""

    status: str
    """One of STATUSES; only `trusted` is good."""
    why: str
    signer: str
    """The trusted key's name, or the number of an unknown one; "" without a signature."""


def trust_text(keys: tuple[Trusted, ...]) -> str:
    """The trust file."""
    rows = [
        {
            "name": one.name,
            "key": one.key.text,
            "plugins": list(one.plugins),
            "permissions": list(one.permissions),
        }
        for one in sorted(keys, key=lambda one: one.name)
    ]
    return json.dumps({"version": 1, "keys": rows}, indent=2, ensure_ascii=False) + "\n"


def read_trust(data: bytes, where: str) -> tuple[Trusted, ...]:
    """The keys of a trust file; raises StoredFormError and KeyProblem."""
    try:
        held = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise StoredFormError(
            say("{where} is no JSON: {problem}", where=where, problem=problem),
            hint="mend it, or move it away",
        ) from None
    if not isinstance(held, dict) or held.get("version") != 1 or not isinstance(held.get("keys"), list):
        raise StoredFormError(
            say("{where} is no trust file of version 1", where=where), hint="dsec plugin trust writes it"
        )
    return tuple(_trusted(row, where) for row in held["keys"])


def _trusted(row: object, where: str) -> Trusted:
    fields = row if isinstance(row, dict) else {}
    name, key = fields.get("name"), fields.get("key")
    lists = [fields.get("plugins"), fields.get("permissions", [])]
    good = all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in lists)
    if not isinstance(name, str) or not isinstance(key, str) or not good:
        raise StoredFormError(say("{where}: a key has not name, key, plugins and permissions", where=where))
    return Trusted(
        name, read_public(key, where), tuple(fields["plugins"]), tuple(fields.get("permissions", ()))
    )


def standing(
    manifest: Manifest,
    signature: Signature | None,
    data: bytes,
    changed: list[str],
    *,
    keys: tuple[Trusted, ...],
    today: date,
    installed: str | None,
) -> Standing:
    """Where a package stands: `data` is its manifest's file, `changed` what is not as that says.

    `installed`: the version that is here already; a lower one is a rollback.
    """
    if signature is None:
        return _modified(changed, "") or Standing("unsigned", "it has no signature", "")
    same = [one for one in keys if one.key.id == signature.id]  # anyone can make a key of any number
    if not same:
        why = f"it is signed by {signature.shown}, which you do not trust"
        return _modified(changed, signature.shown) or Standing("unknown-key", why, signature.shown)
    signers = [one for one in same if checks(signature, one.key, data)]
    owner = (signers or same)[0]
    if not signers:
        return Standing(
            "bad", f"the signature is not {owner.name}'s, or the manifest was changed", owner.name
        )
    if signature.trusted != manifest.comment:
        why = f"the signature is for {signature.trusted!r}, and this says that it is {manifest.comment!r}"
        return Standing("bad", why, owner.name)
    if not any(fnmatchcase(manifest.name, one) for one in owner.plugins):
        allowed = ", ".join(owner.plugins) or "no plugin"
        why = f"{owner.name} is trusted with {allowed}, not with {manifest.name}"
        return _modified(changed, owner.name) or Standing("unknown-key", why, owner.name)
    late = out_of_time(manifest, owner.name, today=today, installed=installed)
    return (
        _modified(changed, owner.name) or late or Standing("trusted", f"signed by {owner.name}", owner.name)
    )


def _modified(changed: list[str], signer: str) -> Standing | None:
    more = f", and {len(changed) - 3} more" if len(changed) > 3 else ""
    return Standing("modified", "; ".join(changed[:3]) + more, signer) if changed else None


def out_of_time(manifest: Manifest, signer: str, *, today: date, installed: str | None) -> Standing | None:
    """Whether a package is expired, or older than what is installed; None: neither."""
    if manifest.expires is not None and today > manifest.expires:
        return Standing("expired", f"it was to be used until {manifest.expires}", signer)
    if installed is not None and older(manifest.version, installed):
        return Standing("rollback", f"{installed} is installed, which is newer", signer)
    return None


def older(one: str, other: str) -> bool:
    """Whether a version comes before another; of what is no SemVer nothing is older."""
    return is_semver(one) and is_semver(other) and semver_order(one) < semver_order(other)


def beyond(permissions: tuple[str, ...], owner: Trusted) -> list[str]:
    """Declared permissions that the key's owner may not give."""
    if not owner.permissions:
        return []
    return [one for one in permissions if not any(fnmatchcase(one, allowed) for allowed in owner.permissions)]


_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


def is_label(text: str) -> bool:
    """Whether a text can name a key's owner."""
    return _LABEL.fullmatch(text) is not None
