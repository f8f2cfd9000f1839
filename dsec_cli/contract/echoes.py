"""Findings that only repeat another one: what lacks a key has it, misspelt; what is wrong was not read.

Imported only where both kinds of finding are there.
"""

from __future__ import annotations

from dsec_cli.contract.amending import before_colon
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.words import Said, arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Finding
    from dsec_cli.source.tree import Document, Node, Path

_EITHER = {"neither run nor call": ("run", "call"), "neither value nor source": ("value", "source")}
"""Keys of which a Step, or a variable, has one."""


def without_echoes(findings: list[Finding]) -> list[Finding]:
    """The findings without those about a missing key that an unknown key beside it seems to be."""
    meant = {
        (one.where[:-1], word)
        for one in findings
        if one.code == "DS101" and isinstance(one.where, tuple)
        for word in (arguments(one.help).get("word"), before_colon(str(one.where[-1])))
    }
    return [one for one in findings if not any((one.where, key) in meant for key in _missing(one))]


def _missing(finding: Finding) -> tuple[object, ...]:
    """The keys of which one would have been enough."""
    if finding.code not in ("DS102", "DS109") or not isinstance(finding.message, Said):
        return ()
    if finding.message.id.startswith("exactly-one"):
        return _EITHER.get(str(finding.message.args["both"]), ())
    return (finding.message.args.get("key"),) if finding.message.id.startswith("lacks") else ()


def without_unread(findings: list[Finding], document: Document) -> list[Finding]:
    """The findings without those about a text in the midst of which something could not be read.

    It took in what stands below it, and is wrong only as long as the syntax is.
    """
    return [one for one in findings if isinstance(one.where, Span) or not _broken(document, one.where)]


def _broken(document: Document, path: Path) -> bool:
    node = _at(document.root, path)
    if not isinstance(node, Scalar):
        return False
    start, end = node.span
    return any(start < gap.start and gap.end < end for gap in document.gaps)


def _at(root: Node | None, path: Path) -> Node | None:
    here = follow(root)
    for part in path:
        if isinstance(here, Mapping):
            here = next((follow(pair.value) for pair in pairs(here) if pair.key == part), None)
        elif isinstance(here, Sequence) and isinstance(part, int) and part < len(here.items):
            here = follow(here.items[part])
        else:
            return None
    return here
