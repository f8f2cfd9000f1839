"""Edits by path: what to replace in a text so that a value, a key or an entry changes and nothing else.

Each function answers `()` where no edit can be right: what an alias, a merge key or an anchor makes
readable in other places is left alone, and so is what is written in a way that is not understood.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.diagnostics import Edit
from dsec_cli.source.spelling import spelled
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Alias, Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.lint.rule import Facts
    from dsec_cli.source.tree import Document, Entry, Node, Path

MARK = Span(-1, 0)
"""Where the byte order mark stands: before the first code point of the text."""
INDENT = 2


class Written(str):
    """A value that is YAML of one line already, such as `{name: a}`."""

    __slots__ = ()


class Spot(Record):
    """A node that is read through one path only."""

    node: Scalar | Sequence | Mapping
    parent: Sequence | Mapping | None
    at: int
    """Its place among the entries or items of the parent."""
    flow: bool
    """It stands inside brackets."""

    @property
    def entry(self) -> Entry | None:
        """The entry whose value it is."""
        return self.parent.entries[self.at] if isinstance(self.parent, Mapping) else None


def spot(document: Document, path: Path) -> Spot | None:
    """What stands at `path`; None where nothing does, or where other paths lead to it as well."""
    parent, at, flow, node = None, 0, False, document.root
    for part in path:
        if not isinstance(node, Mapping | Sequence) or node.anchor:
            return None
        at, parent, flow = _index(node, part), node, flow or node.flow
        if at < 0:
            return None
        node = node.entries[at].value if isinstance(node, Mapping) else node.items[at]
    if node is None or isinstance(node, Alias) or node.anchor or node.tag:
        return None
    return Spot(node, parent, at, flow or (isinstance(node, Mapping | Sequence) and node.flow))


def _index(node: Mapping | Sequence, part: str | int) -> int:
    """Place of a child; the last of keys that are alike, which is the one that counts."""
    if isinstance(node, Sequence):
        return part if isinstance(part, int) and 0 <= part < len(node.items) else -1
    for at in range(len(node.entries) - 1, -1, -1):
        key = node.entries[at].key
        if isinstance(key, Scalar) and key.text == part:
            return at
    return -1


def replaced(facts: Facts, path: Path, value: str | int | bool) -> tuple[Edit, ...]:
    """The scalar at `path` as `value`: a text keeps the quotes it has, a number gets none."""
    here = spot(facts.document, path)
    if here is None or not isinstance(here.node, Scalar):
        return ()
    node = here.node
    if node.style in ("literal", "folded"):
        return ()
    bare = isinstance(value, Written) and node.style == "plain"
    text = str(value) if bare else spelled(value, node.style, flow=here.flow)
    if node.start == node.end:
        # Nothing is written yet; in `{a, b: 1}` there is not even a colon behind `a`.
        text = f" {text}"
        if facts.text.text[node.start - 1 : node.start] not in (":", "-"):
            return ()
    return (Edit(node.span, text),)


def quoted(facts: Facts, path: Path) -> tuple[Edit, ...]:
    """The plain scalar at `path`, as it is written, in double quotes."""
    here = spot(facts.document, path)
    if here is None or not isinstance(here.node, Scalar) or here.node.style != "plain" or not here.node.text:
        return ()
    return (Edit(here.node.span, spelled(here.node.text, "double", flow=here.flow)),)


def swapped(facts: Facts, path: Path, other: Path) -> tuple[Edit, ...]:
    """The scalars at two paths of one mapping in each other's place, each as it is written."""
    here, there = spot(facts.document, path), spot(facts.document, other)
    if here is None or there is None or here.parent is not there.parent:
        return ()
    spans = (here.node.span, there.node.span)
    for node in (here.node, there.node):
        if not isinstance(node, Scalar) or node.style in ("literal", "folded") or node.start == node.end:
            return ()
    left, right = (facts.text.text[start:end] for start, end in spans)
    return (Edit(spans[0], right), Edit(spans[1], left))


def renamed(facts: Facts, path: Path, name: str) -> tuple[Edit, ...]:
    """The key at the end of `path` as `name`, in the quotes that it has."""
    here = _entry_spot(facts.document, path)
    if here is None or here.entry is None:
        return ()
    key = here.entry.key
    if not isinstance(key, Scalar) or key.anchor or key.tag or key.style in ("literal", "folded"):
        return ()
    flow = here.parent is not None and here.parent.flow
    return (Edit(key.span, spelled(name, key.style, flow=flow)),)


def _entry_spot(document: Document, path: Path) -> Spot | None:
    """The entry at `path`, whose value may be anything, an alias or an anchored one too."""
    owner = spot(document, path[:-1]) if path else None
    if owner is None or not isinstance(owner.node, Mapping):
        return None
    at = _index(owner.node, path[-1])
    return None if at < 0 else Spot(owner.node, owner.node, at, owner.flow)


def inserted(facts: Facts, path: Path, key: str, value: str | int | bool) -> tuple[Edit, ...]:
    """`key: value` as the last entry of the mapping at `path`, which may still be empty."""
    here = spot(facts.document, path)
    if here is None:
        return ()
    node, text = here.node, facts.text.text
    if isinstance(node, Mapping) and node.flow:
        added = f"{spelled(key, flow=True)}: {_value(value, flow=True)}"
        return _into_flow(text, node.span, [_extent(entry) for entry in node.entries], added)
    added = f"{spelled(key)}: {_value(value)}"
    if isinstance(node, Mapping):
        return _below(text, node, added, before="") if _index(node, key) < 0 else ()
    if isinstance(node, Scalar) and node.style == "plain" and node.start == node.end:
        return _into_nothing(text, here, added)
    return ()


def appended(facts: Facts, path: Path, item: str | int | bool) -> tuple[Edit, ...]:
    """`item` as the last one of the list at `path`, which may still be empty."""
    here = spot(facts.document, path)
    if here is None:
        return ()
    node, text = here.node, facts.text.text
    if isinstance(node, Sequence) and node.flow:
        return _into_flow(text, node.span, [one.span for one in node.items], _value(item, flow=True))
    if isinstance(node, Sequence):
        return _below(text, node, f"- {_value(item)}", before="-")
    if isinstance(node, Scalar) and node.style == "plain" and node.start == node.end:
        return (Edit(node.span, f" [{_value(item, flow=True)}]"),)
    return ()


def _value(value: str | int | bool, *, flow: bool = False) -> str:
    return str(value) if isinstance(value, Written) else spelled(value, flow=flow)


def _extent(entry: Entry) -> Span:
    return Span(entry.key.span.start, max(entry.key.span.end, entry.value.span.end))


def _into_flow(text: str, outer: Span, inner: list[Span], added: str) -> tuple[Edit, ...]:
    if not inner:
        return (Edit(Span(outer.start + 1, outer.start + 1), added),)
    end = inner[-1].end
    start = line_start(text, inner[-1].start)
    alone = not text[start : inner[-1].start].strip() and start > outer.start
    if not alone:
        return (Edit(Span(end, end), f", {added}"),)
    # Each on a line of its own: so is the new one, and a comment stays with its entry.
    stop = line_end(text, end)
    fresh = f"{newline(text, stop)}{text[start : inner[-1].start]}{added}"
    if "}" in text[end:stop] or "]" in text[end:stop]:
        return (Edit(Span(end, end), f",{fresh}"),)
    if text[end:stop].lstrip().startswith(","):
        return (Edit(Span(stop, stop), f"{fresh},"),)
    return (Edit(Span(end, end), ","), Edit(Span(stop, stop), fresh))


def _below(text: str, node: Mapping | Sequence, added: str, *, before: str) -> tuple[Edit, ...]:
    """A line at the end of a block collection, in front of comments that follow it."""
    start = line_start(text, node.span.start)
    margin = text[start : node.span.start]
    if before and not text.startswith(before, node.span.start):
        return ()
    last = node.items[-1] if isinstance(node, Sequence) else node.entries[-1].value
    if margin.strip(" -") or _takes_what_follows(text, last):
        return ()
    end = line_end(text, max(node.span.end, node.span.start))
    return (Edit(Span(end, end), f"{newline(text, end)}{' ' * len(margin)}{added}"),)


def _into_nothing(text: str, here: Spot, added: str) -> tuple[Edit, ...]:
    """The first entry below a key that has no value yet."""
    if here.flow or here.entry is None:
        return (Edit(here.node.span, f" {{{added}}}"),) if here.entry is not None else ()
    at = here.entry.key.span.start
    margin = text[line_start(text, at) : at]
    if margin.strip(" -"):
        return ()
    end = line_end(text, here.node.span.end)
    return (Edit(Span(end, end), f"{newline(text, end)}{' ' * (len(margin) + INDENT)}{added}"),)


def _takes_what_follows(text: str, node: Node) -> bool:
    """Whether line ends behind `node` are a part of it: it ends with a `|+`, or with the text."""
    while isinstance(node, Mapping | Sequence) and not node.flow:
        children = [one.value for one in node.entries] if isinstance(node, Mapping) else list(node.items)
        if not children:
            return False
        node = children[-1]
    if not isinstance(node, Scalar) or node.style not in ("literal", "folded"):
        return False
    kept = "+" in text[node.start : line_end(text, node.start)].partition("#")[0]
    return kept or line_end(text, node.end) == len(text)


def as_block_text(facts: Facts, path: Path) -> tuple[Edit, ...]:
    """The one-line text at `path` below a `|`; a comment stays on the line of its key."""
    here = spot(facts.document, path)
    if here is None or here.flow or here.entry is None or not isinstance(here.node, Scalar):
        return ()
    node, text = here.node, facts.text.text
    at = here.entry.key.span.start
    margin = text[line_start(text, at) : at]
    if not node.text or node.text != node.text.strip() or not node.text.isprintable() or margin.strip(" -"):
        return ()
    end = line_end(text, node.end)
    below = f"{newline(text, end)}{' ' * (len(margin) + INDENT)}{node.text}"
    if end == node.end:
        return (Edit(node.span, f"|{below}"),)
    return (Edit(node.span, "|"), Edit(Span(end, end), below))


def line_start(text: str, at: int) -> int:
    """Start of the line of `at`."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def line_end(text: str, at: int) -> int:
    """End of the line of `at`, before its line end."""
    newline_at = text.find("\n", at)
    newline_at = len(text) if newline_at < 0 else newline_at
    carriage = text.find("\r", at, newline_at)
    return newline_at if carriage < 0 else carriage


def newline(text: str, end: int) -> str:
    """The line end at `end`; where the text ends there, the one that the text begins with."""
    for at in (end, line_end(text, 0)):
        if text.startswith("\r\n", at):
            return "\r\n"
        if at < len(text):
            return text[at]
    return "\n"
