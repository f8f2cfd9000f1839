"""A finding on the code's needs, with what the contract lacks, and how places in the code read."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.code.needs import MODULE, UNREACHED
from dsec_cli.diagnostics import Related
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsec_cli.code.found import Need
    from dsec_cli.diagnostics import Finding
    from dsec_cli.source.tree import Path

MOST_PLACES = 5


class Missing(Record):
    """A finding; `item` is the YAML that the list at `path` lacks, "" when nothing can be added."""

    finding: Finding
    path: Path = ()
    item: str = ""


def related(needs: Sequence[Need]) -> tuple[Related, ...]:
    """The first places in the code."""
    return tuple(Related(one.place, label(one)) for one in needs[:MOST_PLACES])


def label(need: Need) -> str:
    """`requests.get, reached from search`."""
    if need.reached == (UNREACHED,):
        return say("{by}, reached from no entry", by=need.by)
    if need.reached == (MODULE,):
        return say("{by}, in the module's own code", by=need.by)
    return say("{by}, reached from {entries}", by=need.by, entries=listed(need.reached))


def places(needs: Sequence[Need]) -> str:
    """Where the first few of `needs` stand, for a reason."""
    shown = ", ".join(f"{one.place.file}:{one.place.start.line}" for one in needs[:3])
    rest = len(needs) - 3
    return shown if rest <= 0 else say("{places} and {rest} more", places=shown, rest=rest)


def listed(names: Sequence[str]) -> str:
    """The first few names."""
    rest = len(names) - 4
    shown = ", ".join(names[:4])
    return shown if rest <= 0 else say("{places} and {rest} more", places=shown, rest=rest)


def grouped(needs: Iterable[Need], key: str) -> dict[object, list[Need]]:
    """Needs with the same value of a field, in order of first appearance."""
    found: dict[object, list[Need]] = {}
    for one in needs:
        found.setdefault(getattr(one, key), []).append(one)
    return found


def quoted(text: str) -> str:
    """A YAML scalar for `text`, in a flow list."""
    plain = text.isascii() and text and all(ch.isalnum() or ch in "._-/" for ch in text)
    if plain and text[0] not in "-." and not text[0].isdigit():
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
