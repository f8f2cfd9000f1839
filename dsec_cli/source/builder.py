"""The tree builder: a stream of parser events in, located documents out, without recursion.

Budgets are kept while building, because 200 bytes of aliases can stand for more nodes than any
machine holds: whoever walks the tree later, following aliases, meets at most as many nodes as the
text may have, `MAX_ALIASES` expansions and a depth of `MAX_DEPTH`.
"""

from __future__ import annotations

from dsec_cli.source import comments
from dsec_cli.source.characters import Prepared, exchanged
from dsec_cli.source.resolve import MERGE, key_problems
from dsec_cli.source.text import Span
from dsec_cli.source.tree import (
    Alias,
    Document,
    Entry,
    Mapping,
    Node,
    Problem,
    Scalar,
    Sequence,
    TooMany,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

MAX_DEPTH = 256
MAX_ALIASES = 10_000

_STYLES = {"": "plain", None: "plain", "'": "single", '"': "double", "|": "literal", ">": "folded"}
_BLOCK = frozenset(("literal", "folded"))
_BARE = frozenset(("", "'", '"'))
_NULS = ("\\0", "\\x0", "\\u0", "\\U0")
"""One of these is in every text that spells U+0000; where it stands as such, it was hidden."""
_new = tuple.__new__
_node: Callable[[type[Scalar]], Scalar] = object.__new__
_NOTHING_AFTER = frozenset(":-?,[{")


class BudgetSpent(Exception):  # it is a signal to `events.read`, its only catcher
    """Reading stops here: the text holds more than we are willing to build."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Frame:
    """A collection that is being read."""

    __slots__ = (
        "aliases",
        "anchor",
        "anchored",
        "children",
        "flow",
        "height",
        "mapping",
        "nodes",
        "start",
        "tag",
    )

    def __init__(self, start: int, anchor: str | None, tag: str | None) -> None:
        self.start = start
        self.anchor = anchor
        self.anchored = _Anchored(start) if anchor else None
        self.tag = tag
        self.children: list[Node] = []
        self.mapping = False
        self.flow = False
        self.height = 0
        """Deepest level reached so far, aliases followed, counted from the document."""
        self.nodes = 0
        self.aliases = 0


class _Anchored:
    """What an alias to an anchor costs; `node` is None while the anchored collection is open."""

    __slots__ = ("aliases", "height", "node", "nodes", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.node: Node | None = None
        self.nodes = 1
        self.aliases = 0
        self.height = 0


class Builder:
    """State of one pass over the events of a text."""

    def __init__(self, prepared: Prepared, events: Any, gaps: tuple[Span, ...], *, most: int) -> None:
        """`events` is the module that defines the event classes, `gaps` what was blanked before."""
        self.most = most
        self.text = prepared.text
        self.gaps = gaps
        self.documents: list[Document] = []
        self.problems: list[Problem] = []
        self.scalars: list[Scalar] = []
        """All of them in the order of the text, those that stand for unknown values included."""
        self.templates: list[int] = []
        """Where a flow mapping starts with `{{`."""
        self.end = 0
        """End of the last thing read."""
        self.end_of_reading = len(prepared.text)
        self.last: Scalar | Alias | None = None
        """The last scalar read."""
        self._unknown = prepared.unknown if gaps else ""
        self._gap_ends = dict(gaps)
        self._restore = prepared.restore
        self._frames: list[_Frame] = []
        self._children: list[Node] = []
        """What the innermost open collection holds so far."""
        self._anchors: dict[str, _Anchored] = {}
        self._nodes = 0
        self._aliases = 0
        self._spent = False
        self._nul = False
        self._start = 0
        self._previous = 0
        self._events = events

    def read(self, next_event: Callable[[], Any]) -> None:
        """Take events until there are no more; the parser's exceptions pass through."""
        # Ten thousand lines make twenty thousand scalars, nearly all of them plain and bare: those are
        # made here, without a call, by the shortest way to each value.
        steps, kind = self._steps(), self._events.ScalarEvent
        add, most = self.scalars.append, self.most
        careful = bool(self._restore or self._unknown) or any(nul in self.text for nul in _NULS)
        while (event := next_event()) is not None:
            if type(event) is not kind:
                steps[type(event)](event)
                continue
            start, end, style = event.start_mark.index, event.end_mark.index, event.style
            if careful or start == end or style not in _BARE or event.anchor or event.ctag:
                self._scalar(event)
                continue
            node = _node(Scalar)
            node.start, node.end, node.text, node.style = start, end, event.value, _STYLES[style]
            node.tag = node.anchor = None
            add(node)
            self._nodes += 1
            if self._nodes > most:
                raise TooMany
            self._children.append(node)
            self.end = end
            self.last = node

    def _steps(self) -> dict[type, Callable[[Any], None]]:
        """What is done on which event; were it kept, the builder would be a part of itself and stay."""
        events = self._events
        return {
            events.StreamStartEvent: self._ignore,
            events.StreamEndEvent: self._ignore,
            events.DocumentStartEvent: self._document_start,
            events.DocumentEndEvent: self._document_end,
            events.ScalarEvent: self._scalar,
            events.AliasEvent: self._alias,
            events.SequenceStartEvent: self._collection_start,
            events.SequenceEndEvent: self._collection_end,
            events.MappingStartEvent: self._mapping_start,
            events.MappingEndEvent: self._collection_end,
        }

    def abandon(self, length: int) -> None:
        """Finish what is open where the events ended early, in a text of `length` code points."""
        self.gaps = (*self.gaps, Span(self.end, length))
        self.end_of_reading = self.end
        while len(self._frames) > 1:
            frame = self._frames.pop()
            if frame.mapping and len(frame.children) % 2:
                frame.children.append(Alias(Span(self.end, self.end), "", None))
            self._finish(frame, max(self.end, frame.start))
        if self._frames:
            self._close_document(self.end)

    @property
    def covered(self) -> list[tuple[int, int]]:
        """Ranges of the scalars read so far, in order."""
        return [span for scalar in self.scalars for span in comments.covered(self.text, scalar)]

    def _ignore(self, _event: Any) -> None:
        pass

    def _document_start(self, event: Any) -> None:
        self._anchors = {}
        self._start = event.start_mark.index
        self.end = event.end_mark.index
        self._frames = [_Frame(self._start, None, None)]
        self._children = self._frames[0].children
        self._nul = False

    def _document_end(self, event: Any) -> None:
        self._close_document(event.start_mark.index)

    def _close_document(self, end: int) -> None:
        children = self._frames.pop().children
        root = children[0] if children else None
        span = Span(self._start, max(end, self._start, self.end))
        gaps = tuple(gap for gap in self.gaps if gap.start <= span.end and gap.end >= self._previous)
        self._previous = span.end
        self.documents.append(Document(len(self.documents), root, span, gaps, self._nul))

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        text, style, anchor, tag = event.value, _STYLES[event.style], event.anchor, event.tag
        block = style in _BLOCK
        if block or start == end or anchor or tag:
            start, end = self._extent(start, end, style=style, bare=not (anchor or tag))
        if self._restore:
            text = exchanged(text, self._restore)
        self._nul = self._nul or "\0" in text
        scalar = Scalar(Span(start, end), text, style, tag, anchor)
        self.scalars.append(scalar)
        node: Scalar | Alias = scalar
        if self._unknown and style == "plain" and text.startswith(self._unknown):
            end = max(end, self._gap_ends.get(start, end))
            node = Alias(Span(start, end), "", None)
        self._nodes += 1
        if self._nodes > self.most:
            raise TooMany
        self._children.append(node)
        self.end = end
        self.last = node
        if anchor:
            anchored = self._anchors[anchor] = _Anchored(start)
            anchored.node = node

    def _extent(self, start: int, end: int, *, style: str, bare: bool) -> tuple[int, int]:
        """Range of a scalar's own text, where the event's is wider or elsewhere."""
        if not bare:
            start = skip_properties(self.text, start, end)
        if style in _BLOCK:
            return start, self._block_scalar(start, end)
        if start == end and bare:
            start = end = self._empty(start)
        return start, end

    def _block_scalar(self, start: int, end: int) -> int:
        """The parser's end runs over trailing blank lines."""
        return start + len(self.text[start:end].rstrip(" \t\r\n"))

    def _empty(self, at: int) -> int:
        """An empty value is where its indicator ends, never at the next token further down."""
        before = self.text[at - 1 : at]
        return at if at >= self.end and (before in _NOTHING_AFTER or at == self.end) else self.end

    def _alias(self, event: Any) -> None:
        span = Span(event.start_mark.index, event.end_mark.index)
        name = event.anchor
        anchored = self._anchors.get(name)
        self._nodes += 1
        if self._nodes > self.most:
            raise TooMany
        target = None
        if anchored is None:
            self.problems.append(_words().undefined(name, span, self._anchors))
        elif anchored.node is None:
            self.problems.append(_words().recursive(name, span, anchored.start))
        elif self._affords(anchored, span):
            target = anchored.node
        self._children.append(Alias(span, name, target))
        self.end = span.end

    def _affords(self, anchored: _Anchored, span: Span) -> bool:
        frame = self._frames[-1]
        height = len(self._frames) - 1 + anchored.height
        spent = None
        if self._aliases + 1 + anchored.aliases > MAX_ALIASES:
            spent = _words().aliases_spent(span, MAX_ALIASES)
        elif self._nodes + anchored.nodes > self.most:
            spent = _words().nodes_spent(span, self.most)
        elif height > MAX_DEPTH:
            spent = _words().levels_spent(span, MAX_DEPTH)
        if spent is not None:
            if not self._spent:
                self._spent = True
                self.problems.append(spent)
            return False
        self._aliases += 1 + anchored.aliases
        self._nodes += anchored.nodes
        frame.height = max(frame.height, height)
        return True

    def _mapping_start(self, event: Any) -> None:
        self._collection_start(event)
        frame = self._frames[-1]
        frame.mapping = True
        if frame.flow and self.text.startswith("{{", frame.start):
            self.templates.append(frame.start)

    def _collection_start(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        anchor, tag = event.anchor, event.tag
        if anchor or tag:
            start = _content_start(self.text, end, flow=event.flow_style)
        self._nodes += 1
        if self._nodes > self.most:
            raise TooMany
        if len(self._frames) > MAX_DEPTH:
            raise BudgetSpent(_words().too_deep(Span(start, end), MAX_DEPTH))
        frame = _Frame(start, anchor, tag)
        # `[a: b]` holds a mapping without braces: its event is as wide as its `?`, or empty.
        frame.flow = bool(event.flow_style) and end > start and self.text[end - 1] in "[{"
        frame.nodes, frame.aliases, frame.height = self._nodes, self._aliases, len(self._frames)
        self._frames.append(frame)
        self._children = frame.children
        self.end = max(start, end)
        if frame.anchored:
            self._anchors[anchor] = frame.anchored

    def _collection_end(self, event: Any) -> None:
        frame = self._frames.pop()
        # Block ends are reported at the next token, past blank lines and comments.
        end = event.end_mark.index if frame.flow else self.end
        self._finish(frame, end)

    def _finish(self, frame: _Frame, end: int) -> None:
        span = _new(Span, (frame.start, end))
        children = frame.children
        node: Node
        if frame.mapping:
            entries = tuple(map(Entry._make, zip(children[::2], children[1::2], strict=True)))
            node = Mapping(span, entries, frame.flow, frame.tag, frame.anchor)
            self._check_keys(node, children[::2])
        else:
            node = Sequence(span, tuple(children), frame.flow, frame.tag, frame.anchor)
        parent = self._frames[-1]
        self._children = parent.children
        parent.children.append(node)
        if frame.height > parent.height:
            parent.height = frame.height
        self.end = end
        anchored = frame.anchored
        if anchored:
            anchored.node = node
            anchored.nodes = self._nodes - frame.nodes + 1
            anchored.aliases = self._aliases - frame.aliases
            anchored.height = frame.height - len(self._frames) + 1

    def _check_keys(self, mapping: Mapping, keys: list[Node]) -> None:
        texts = {key.text for key in keys if type(key) is Scalar}
        if len(texts) < len(keys) or MERGE in texts:
            self.problems.extend(key_problems(mapping))
        else:
            mapping.plain = True


def _words() -> ModuleType:
    """What refusals say: most texts have none, and importing costs start-up."""
    from dsec_cli.source import refusals

    return refusals


def _content_start(text: str, end: int, *, flow: bool) -> int:
    """Where a collection begins after its anchor and tag, from the end of its start event."""
    if flow:
        return end - 1
    # The start of `a:\n- b` includes the dash, that of every other block collection does not.
    return end if text[end : end + 1] == "-" or text[end - 1 : end] != "-" else end - 1


def skip_properties(text: str, start: int, end: int) -> int:
    """First offset of a node's content: behind anchor, tag, and the space and comments after them."""
    at = start
    while at < end:
        char = text[at]
        if char in " \t\r\n":
            at += 1
        elif char == "&":
            # The C parser ends an anchor at the first character that it does not know in one.
            at += 1
            while at < end and text[at].isascii() and (text[at].isalnum() or text[at] in "-_"):
                at += 1
        elif char == "!":
            at = _next(text, at, end, " \t\r\n")
        elif char == "#":
            at = _next(text, at, end, "\r\n")
        else:
            break
    return at


def _next(text: str, at: int, end: int, stops: str) -> int:
    while at < end and text[at] not in stops:
        at += 1
    return at
