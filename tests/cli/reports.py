"""A report that has everything a format must cope with, for the tests of all formats."""

from __future__ import annotations

from typing import Any

from dsec_cli.diagnostics import Diagnostic, Edit, Fix, Place, Severity, Silenced
from dsec_cli.report.format import Report, RuleInfo
from dsec_cli.source.text import SourceText, Span
from dsec_cli.words import say

RULES = (
    RuleInfo(
        "DS106", "bad-quantity", Severity.ERROR, "A quantity without a unit.", "# DS106\n", "Units differ."
    ),
    RuleInfo("DS310", "pause-keeps", Severity.INFO, "A pause keeps memory.", "# DS310\n"),
    RuleInfo("DS503", "cycle", Severity.WARNING, "A cycle.", "# DS503\n"),
    RuleInfo("DS601", "secret", Severity.ERROR, "A secret.", "# DS601\n"),
)

TEXT = SourceText.from_bytes(
    "a b/合同.yaml", "\ufeff# 智能体\n内存: 😀 24G\t# x\ntoken: hunter2secret\nend:\n  - 1\n  - 2\n".encode()
)
OTHER = SourceText.from_bytes("other.yaml", b"steps: []\n")
CLEAN = SourceText.from_bytes("clean.yaml", b"a: 1\n")


def place(text: SourceText, start: int, end: int) -> Place:
    return Place(text.name, Span(start, end), text.position(start), text.position(end))


def at(text: SourceText, part: str) -> Place:
    start = text.text.index(part)
    return place(text, start, start + len(part))


def found(text: SourceText, part: str, **more: Any) -> Diagnostic:
    """A diagnostic about `part` of `text`."""
    values: dict[str, Any] = {
        "code": "DS106", "name": "bad-quantity", "severity": Severity.ERROR, "place": at(text, part),
        "path": "baseline.memory", "message": say("{text!r} has no meaning", "none", text=part),
        "reason": "", "help": "", "related": (), "fixes": (), "silenced": None,
    }  # fmt: skip
    return Diagnostic(**(values | more))


def report(*diagnostics: Diagnostic, texts: tuple[SourceText, ...], **more: Any) -> Report:
    return Report(
        files=tuple(text.name for text in texts),
        texts={text.name: text for text in texts},
        diagnostics=diagnostics,
        rules=lambda: RULES,
        **more,
    )


def everything(**more: Any) -> Report:
    """Errors, a warning, a remark, related places in two files, a fix, silenced ones, a secret, a note."""
    span = at(TEXT, "24G").span
    return report(
        found(
            TEXT, "24G", reason="G is two things.", help="write 24Gi",
            fixes=(
                Fix("write 24Gi", (Edit(span, "24Gi"),)),
                Fix("write 24GB", (Edit(span, "24GB"),), safe=False),
            ),
        ),
        found(
            TEXT, "hunter2secret", code="DS601", name="secret", path="token",
            message=say("token is a secret"), silenced=Silenced("baseline", "rotated, ticket 7"),
        ),
        found(
            TEXT, "- 1\n  - 2", code="DS503", name="cycle", severity=Severity.WARNING,
            path="steps[S1].needs[0]", message=say("cycle: a | b -> <a> & 'c', 100%"), reason="it\nwaits",
            related=((at(TEXT, "内存"), "first: here"), (at(OTHER, "steps"), "")),
        ),
        found(
            TEXT, "end", code="DS310", name="pause-keeps", severity=Severity.INFO, path="",
            message=say("pausing keeps memory"), silenced=Silenced("comment", "we know"),
        ),
        found(
            OTHER, "[]", code="DS310", name="pause-keeps", severity=Severity.INFO, path="steps",
            message=say("pausing keeps memory"),
        ),
        texts=(TEXT, OTHER, CLEAN),
        notes=("3 findings are older than main and not shown",),
        **more,
    )  # fmt: skip
