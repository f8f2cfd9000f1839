"""Reads mappings of a located tree by key, so that every key that nobody asked for is told."""

from __future__ import annotations

from dsec_cli.importing.kind import ImportProblem
from dsec_cli.source.resolve import follow, key_problems, pairs, resolve
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.source.yaml import parse
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from collections.abc import Mapping as Dict

    from dsec_cli.importing.notes import Notes
    from dsec_cli.source.resolve import Pair
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Node

    Solid = Scalar | Sequence | Mapping

CLEAR = ("DS004", "DS005")
"""Complaints of the YAML door that leave the meaning clear: merge keys written over, odd characters."""
NUL = "\0"
NO_KEY = "a contract has no such key"


def documents(source: SourceText) -> list[Mapping]:
    """The mappings that the documents of a YAML or JSON text are; raises ImportProblem with the place."""
    refuse_undecodable(source)
    tree = parse(source)
    for problem in tree.problems:
        if problem.code not in CLEAR:
            where = source.position(problem.span.start)
            raise ImportProblem(
                f"{source.name}:{where.line}:{where.column}: {problem.message}", hint=problem.help
            )
    found = []
    if any(document.nul for document in tree.documents):
        raise ImportProblem(
            say("{name} holds a NUL character, with which nothing can be started", name=source.name),
            hint="take it out",
        )
    for document in tree.documents:
        root = follow(document.root)
        if isinstance(root, Mapping):
            found.append(root)
        elif root is not None and not (isinstance(root, Scalar) and resolve(root)[1] is None):
            where = source.position(span_of(root).start)
            raise ImportProblem(
                say(
                    "{name}:{line}:{column}: a mapping is expected here",
                    name=source.name,
                    line=where.line,
                    column=where.column,
                )
            )
    return found


def refuse_undecodable(source: SourceText) -> None:
    """Raise ImportProblem for a file that is no text."""
    if source.undecodable is not None:
        (start, _), reason = source.undecodable
        line, column = source.position(start)
        raise ImportProblem(
            say(
                "{name}:{line}:{column} is no text: {reason}",
                name=source.name,
                line=line,
                column=column,
                reason=reason,
            ),
            hint="save it as UTF-8",
        )
    if NUL in source.text:
        line, column = source.position(source.text.index(NUL))
        raise ImportProblem(
            say(
                "{name}:{line}:{column} is no text: a NUL character",
                name=source.name,
                line=line,
                column=column,
            ),
            hint="is it a text file?",
        )


def span_of(node: Node) -> Span:
    """Where a node stands."""
    return Span(node.start, node.end) if isinstance(node, Scalar) else node.span


class Table:
    """A mapping whose keys are taken one by one; `close` tells of the others."""

    def __init__(self, source: SourceText, mapping: Mapping, notes: Notes, *, label: str = "") -> None:
        self.source = source
        self.mapping = mapping
        self.notes = notes
        self.label = label
        """What the mapping is, for people: `service trainer`."""
        self.rows: dict[str, Pair] = {pair.key: pair for pair in pairs(mapping)}
        self._open = dict(self.rows)
        if not mapping.plain:
            for problem in key_problems(mapping):
                notes.left(source, problem.span, self._named("a key"), str(problem.message))

    def _named(self, key: str) -> str:
        return f"{self.label}.{key}" if self.label else key

    def span(self, key: str) -> Span:
        """Where the key stands."""
        return span_of(self.rows[key].key_node) if key in self.rows else self.mapping.span

    def left(self, key: str, why: str) -> None:
        """Tell that the key is not mapped."""
        self._open.pop(key, None)
        self.notes.left(self.source, self.span(key), self._named(key), why)

    def open(self, key: str, why: str) -> None:
        """Tell that the key is not mapped, and that the run cannot do without it."""
        self._open.pop(key, None)
        self.notes.open(self.source, self.span(key), self._named(key), why)

    def take(self, key: str) -> Solid | None:
        """The value of the key; None where it is absent or null."""
        pair = self._open.pop(key, None) or self.rows.get(key)
        node = None if pair is None else follow(pair.value)
        return None if isinstance(node, Scalar) and resolve(node)[1] is None else node

    def text(self, key: str) -> str | None:
        """The value as it is written; anything but a scalar is told."""
        node = self.take(key)
        if node is None or isinstance(node, Scalar):
            return None if node is None else node.text
        self.left(key, "a single value is expected")
        return None

    def number(self, key: str) -> float | None:
        """The value as a number of 0 or more; anything else is told."""
        node = self.take(key)
        value = resolve(node)[1] if isinstance(node, Scalar) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e18:
            return value
        if node is not None:
            self.left(key, "a number of 0 or more is expected")
        return None

    def table(self, key: str) -> Table | None:
        """The value as a table of its own; anything else is told."""
        node = self.take(key)
        if isinstance(node, Mapping):
            return Table(self.source, node, self.notes, label=self._named(key))
        if node is not None:
            self.left(key, "a mapping is expected")
        return None

    def items(self, key: str) -> tuple[Solid, ...]:
        """The items of a list; a single value counts as a list of one, null items are left out."""
        node = self.take(key)
        if isinstance(node, Sequence):
            return tuple(item for one in node.items if (item := follow(one)) is not None)
        return () if node is None else (node,)

    def texts(self, key: str) -> tuple[str, ...]:
        """The scalars of a list (or the one that stands for it); other items are told."""
        found = []
        for item in self.items(key):
            if isinstance(item, Scalar):
                found.append(item.text)
            else:
                self.notes.left(
                    self.source, span_of(item), self._named(key), "an item that is no single value"
                )
        return tuple(found)

    def tables(self) -> Iterator[tuple[str, Table]]:
        """Every entry that is a mapping, as a table; the others are told."""
        for key in self.rows:
            found = self.table(key)
            if found is not None:
                yield key, found

    def drop(self, *keys: str) -> None:
        """Nobody needs to be told of these keys."""
        for key in keys:
            self._open.pop(key, None)

    def close(
        self, reasons: Dict[str, str], quiet: Collection[str] = (), needed: Collection[str] = ()
    ) -> None:
        """Tell every key that was not taken, with its reason; the run cannot do without those of `needed`."""
        for key in tuple(self._open):
            if key not in quiet and not key.startswith("x-"):
                leave = self.open if key in needed else self.left
                leave(key, reasons.get(key, NO_KEY))
