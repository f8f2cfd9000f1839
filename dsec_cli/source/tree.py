"""The located YAML tree: what was written and where, nothing resolved away.

Nodes are plain `__slots__` classes because a lint of a small file must cost milliseconds; their
range is two numbers, of which few ever become a `Span`. They are built once by `source.yaml` and
never changed afterwards.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Path = tuple["str | int", ...]
"""Keys and indices from a document's root: `("steps", 2, "needs")`."""


class Scalar:
    """A scalar as written. `text` is its content after YAML's own unquoting and folding."""

    __slots__ = ("anchor", "end", "start", "style", "tag", "text")

    def __init__(self, span: Span, text: str, style: str, tag: str | None, anchor: str | None) -> None:
        self.start, self.end = span
        self.text = text
        self.style = style
        """One of `plain`, `single`, `double`, `literal`, `folded`."""
        self.tag = tag
        self.anchor = anchor

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span._make((self.start, self.end))


class Sequence:
    """A block or flow sequence."""

    __slots__ = ("anchor", "flow", "items", "span", "tag")

    def __init__(
        self, span: Span, items: tuple[Node, ...], flow: bool, tag: str | None, anchor: str | None
    ) -> None:
        self.span = span
        self.items = items
        self.flow = flow
        self.tag = tag
        self.anchor = anchor


class Entry(Record):
    """One `key: value` as written, merge keys included."""

    key: Node
    value: Node


class Mapping:
    """A block or flow mapping, entries in document order, duplicates kept."""

    __slots__ = ("anchor", "entries", "flow", "pairs", "plain", "span", "tag")

    def __init__(
        self, span: Span, entries: tuple[Entry, ...], flow: bool, tag: str | None, anchor: str | None
    ) -> None:
        self.span = span
        self.entries = entries
        self.plain = False
        """Known to have scalars as keys, no two alike and none a merge key: what is written counts."""
        self.pairs: tuple[Any, ...] | None = None
        """What `resolve.pairs` has found; its only user."""
        self.flow = flow
        self.tag = tag
        self.anchor = anchor


class Alias:
    """`*name`, at its own place; `target` is the anchored node.

    The target is None where the value cannot be known: undefined or recursive (DS008), over the
    budget (DS010), or unreadable YAML or a template (DS002, DS009; then the name is empty). Each has
    been reported by the YAML door, so whoever meets one treats the value as unknown and stays quiet.
    """

    __slots__ = ("name", "span", "target")

    def __init__(self, span: Span, name: str, target: Node | None) -> None:
        self.span = span
        self.name = name
        self.target = target


Node = Scalar | Sequence | Mapping | Alias


class Document(Record):
    """One YAML document of a stream; `root` is None when it is empty."""

    index: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    root: Node | None
    span: Span
    gaps: tuple[Span, ...] = ()
    """Ranges that could not be read: what seems to be missing may stand there."""
    nul: bool = False
    """A text in it holds U+0000, as such or by an escape."""


class Comment(Record):
    """A comment with its place; `text` starts at the `#`."""

    span: Span
    text: str


class Problem(Record):
    """Something the YAML door could not accept; the code is a lint code (`DS002`)."""

    code: str
    span: Span
    message: str
    help: str
    related: tuple[tuple[Span, str], ...] = ()


class TooMany(Exception):  # it is a signal to `yaml.parse`, its only catcher
    """A text holds more nodes than are read of it."""


class Tree(Record):
    """All that could be read of a text: documents, comments, and what was wrong."""

    documents: tuple[Document, ...]
    comments: tuple[Comment, ...]
    problems: tuple[Problem, ...]


def with_document(tree: Tree, length: int) -> Tree:
    """The tree with at least one document: of a text of `length` characters that holds none, all of it.

    Where something could not be read, nobody can say that the document is empty.
    """
    if tree.documents:
        return tree
    whole = Span(0, length)
    return tree._replace(documents=(Document(0, None, whole, (whole,) if tree.problems else ()),))
