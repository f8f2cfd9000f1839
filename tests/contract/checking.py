"""Asks the structural checker about a part of a contract."""

from __future__ import annotations

from dsec_cli.contract.check import check
from dsec_cli.diagnostics import Finding
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse


def findings(text: str, kind: str = "steps") -> list[Finding]:
    return check(parse(SourceText.from_bytes("f.yaml", text.encode())).documents[0], kind).findings


def only(text: str, kind: str = "steps") -> Finding:
    [finding] = findings(text, kind)
    return finding


def applied(text: str, finding: Finding) -> str:
    [[edit]] = [fix.edits for fix in finding.fixes]
    return text[: edit.span.start] + edit.text + text[edit.span.end :]
