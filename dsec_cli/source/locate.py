"""From a path to the place where it is written, through aliases and merge keys."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.source.resolve import follow, is_merge, merge_sources
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Alias, Document, Entry, Mapping, Node, Path, Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping as Table

_IDENTITIES = {"steps": ("id",), "tasks": ("id", "name")}
"""Lists whose items are called by a key of theirs, in logical paths."""


class Located(Record):
    """Where a path leads."""

    span: Span
    exact: bool
    """False: the path does not exist, this is its nearest ancestor."""
    related: tuple[tuple[Span, str], ...]
    """Aliases and merge keys on the way, with the anchors they lead to."""


class Keys:
    """The entries of a document's mappings by key; each mapping is looked through once.

    A mapping with thousands of wrong keys is asked for each of them.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[Mapping, dict[str, Entry]] = {}

    def entry(self, mapping: Mapping, key: str) -> Entry | None:
        """The last entry that `mapping` itself has under `key`."""
        entries = self._entries.get(mapping)
        if entries is None:
            entries = {name: one for one in mapping.entries if (name := _key_text(one)) is not None}
            self._entries[mapping] = entries
        return entries.get(key)


class _Walk:
    """One step after the other down a path; keeps the last entry and what was passed."""

    def __init__(self, root: Node | None, keys: Keys) -> None:
        self.node = root
        self._keys = keys
        self.key: Node | None = None
        self.related: list[tuple[Span, str]] = []

    def enter(self) -> Node | None:
        """Follow the alias that the walk stands on, if it does."""
        if isinstance(self.node, Alias) and self.node.target is not None:
            self._pass(self.node, say("used here through *{name}", name=self.node.name))
            self.node = follow(self.node)
        return self.node

    def descend(self, part: str | int) -> bool:
        """Go to a child; False when there is none."""
        node = self.enter()
        if isinstance(node, Sequence) and isinstance(part, int) and 0 <= part < len(node.items):
            self.key, self.node = None, node.items[part]
            return True
        if isinstance(node, Mapping):
            entry = self._entry(node, str(part))
            if entry is not None:
                self.key, self.node = entry.key, entry.value
                return True
        return False

    def _entry(self, mapping: Mapping, key: str) -> Entry | None:
        own = self._keys.entry(mapping, key)
        if own is not None and not is_merge(own):
            return own
        for merge in filter(is_merge, mapping.entries):
            for source in merge_sources(merge.value):
                found = self._entry(source, key)
                if found is not None:
                    self._merged(merge, source)
                    return found
        return None

    def _merged(self, merge: Entry, source: Mapping) -> None:
        value = merge.value
        items = value.items if isinstance(value, Sequence) else (value,)
        for item in items:
            if isinstance(item, Alias) and follow(item) is source:
                self._pass(item, say("merged here through *{name}", name=item.name))

    def _pass(self, alias: Alias, how: str) -> None:
        self.related.append((alias.span, how))
        target = follow(alias)
        if target is not None:
            self.related.append((_head(target), say("&{name} is defined here", name=alias.name)))


def locate(document: Document, path: Path, part: str = "value") -> Span:
    """Where `path` is written: its `key`, `value` or `entry`; else its nearest ancestor's key."""
    return find(document, path, part).span


def find(document: Document, path: Path, part: str = "value", *, keys: Keys | None = None) -> Located:
    """Like `locate`, with the aliases on the way; `keys` of the document spare repeated searches.

    A value in block style is shown by its key: a range of many lines points nowhere.
    """
    walk = _Walk(document.root, Keys() if keys is None else keys)
    for depth, step in enumerate(path):
        if not walk.descend(step):
            if depth == 0:
                return Located(_root_head(document), False, ())
            return Located(_as_key(walk), False, tuple(walk.related))
    if part == "key":
        return Located(_as_key(walk), True, tuple(walk.related))
    if part == "entry":
        return Located(_as_entry(walk), True, tuple(walk.related))
    node = walk.enter()
    if node is None:
        return Located(Span(document.span.start, document.span.start), not path, ())
    block = isinstance(node, Mapping | Sequence) and not node.flow
    span = _as_key(walk) if block else node.span
    return Located(span, True, tuple(walk.related))


def _root_head(document: Document) -> Span:
    root = document.root
    return _head(root) if root is not None else Span(document.span.start, document.span.start)


def _as_key(walk: _Walk) -> Span:
    """The key of the entry the walk stands on; items of lists have none and show their head."""
    if walk.key is not None:
        return walk.key.span
    return _head(walk.node) if walk.node is not None else Span(0, 0)


def _as_entry(walk: _Walk) -> Span:
    if walk.node is None:
        return Span(0, 0)
    start = walk.key.span.start if walk.key is not None else walk.node.span.start
    return Span(start, max(walk.node.span.end, start))


def _head(node: Node) -> Span:
    """A part of `node` that fits on a line: block mappings and lists show their first child."""
    while isinstance(node, Mapping | Sequence) and not node.flow:
        if isinstance(node, Sequence):
            if not node.items:
                break
            node = node.items[0]
            continue
        entry = node.entries[0] if node.entries else None
        if entry is None:
            break
        plain = isinstance(entry.value, Scalar | Alias)
        return Span(entry.key.span.start, entry.value.span.end) if plain else entry.key.span
    return node.span


def _key_text(entry: Entry) -> str | None:
    # Aliases followed; None where it is no scalar.
    key = entry.key if type(entry.key) is Scalar else follow(entry.key)
    return key.text if isinstance(key, Scalar) else None


def step_ids(document: Document) -> dict[Path, str]:
    """Ids of the items of `steps` and `tasks`, by path; an id used twice names only the first."""
    found: dict[Path, str] = {}
    index = Keys()
    for section, keys in _IDENTITIES.items():
        walk = _Walk(document.root, index)
        items = walk.enter() if walk.descend(section) else None
        if not isinstance(items, Sequence):
            continue
        taken: set[str] = set()
        for at in range(len(items.items)):
            name = _identity(items.items[at], keys, index)
            if name and name not in taken:
                taken.add(name)
                found[section, at] = name
    return found


def _identity(item: Node, keys: tuple[str, ...], index: Keys) -> str | None:
    mapping = follow(item)
    if not isinstance(mapping, Mapping):
        return None
    for key in keys:
        if mapping.plain:
            # The id stands first in most Steps, so looking for it costs less than a table of all keys.
            value = follow(next((entry.value for entry in mapping.entries if _key_text(entry) == key), None))
        else:
            walk = _Walk(item, index)
            value = follow(walk.enter()) if walk.descend(key) else None
        if isinstance(value, Scalar):
            return value.text
    return None


def spell(path: Path, ids: Table[Path, str]) -> str:
    """`steps[S3].timeout`: a path for people, with Step ids where known."""
    text = ""
    for depth, part in enumerate(path):
        if isinstance(part, int):
            text += f"[{ids.get(path[: depth + 1], part)}]"
        else:
            text += f".{part}" if text else part
    return text
