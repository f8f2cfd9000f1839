"""A scan as SARIF 2.1.0: one result per finding and per permission, places by address in the binary."""

from __future__ import annotations

import json
import os
from urllib.parse import quote

from dsec import __version__
from dsec_cli.plugins.reasons import REASONS
from dsec_cli.plugins.view import Signature, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.result import Finding, Need, Scan

    Object = dict[str, object]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(found: Scan, path: str, signature: Signature) -> str:
    """One run; rules are the reason codes that occur."""
    codes = sorted({one.code for one in found.findings})
    index = {code: at for at, code in enumerate(codes)}
    results = [_result(one, path, index) for one in found.findings]
    results += [_permission(need, path) for need in found.needs]
    run: Object = {
        "tool": {
            "driver": {
                "name": "DSec",
                "semanticVersion": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "artifacts": [{"location": _artifact(path), "hashes": {"blake3": found.identity.blake3}}],
        "results": results,
        "properties": {"verdict": found.verdict(), "signature": signature.status},
    }
    return (
        json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2)
        + "\n"
    )


def _rule(code: str) -> Object:
    reason = REASONS[code]
    return {
        "id": code,
        "shortDescription": {"text": reason.what},
        "fullDescription": {"text": reason.what},
        "help": {"text": reason.action},
        "defaultConfiguration": {"level": _LEVELS[reason.severity]},
    }


def _result(one: Finding, path: str, index: dict[str, int]) -> Object:
    result: Object = {
        "ruleId": one.code,
        "ruleIndex": index[one.code],
        "level": _LEVELS[one.severity],
        "message": {"text": f"{_within(one.file)}{one.message}. {one.action}"},
        "locations": [_location(path, one.address, one.chain)],
        "properties": {"blind": one.blind, "tier": one.tier or None},
    }
    if one.allowed:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": one.allowed}]
    return result


def _within(file: str) -> str:
    return f"{file}: " if file else ""


def _permission(need: Need, path: str) -> Object:
    targets = ", ".join(target for target in need.targets if target)
    named = f"{need.permission}={targets}" if targets else need.permission
    return {
        "ruleId": f"permission/{need.permission}",
        "level": "none",
        "kind": "informational",
        "message": {"text": f"{named}, {need.tier}: {' -> '.join(need.chain)}"},
        "locations": [_location(path, None, need.chain)],
    }


def _location(path: str, address: int | None, chain: tuple[str, ...]) -> Object:
    physical: Object = {"artifactLocation": _artifact(path)}
    if address is not None:
        physical["address"] = {"absoluteAddress": address}
    # Code hosts refuse a result without a line; a binary has but one.
    physical["region"] = {"startLine": 1}
    found: Object = {"physicalLocation": physical}
    if chain:
        found["logicalLocations"] = [{"fullyQualifiedName": " -> ".join(chain), "kind": "function"}]
    return found


def _artifact(path: str) -> Object:
    uri = quote(os.fsencode(path))
    return {"uri": f"file://{uri}"} if os.path.isabs(path) else {"uri": uri, "uriBaseId": "%SRCROOT%"}


VIEW = View("sarif", render)
