"""One open file as an editor sees it: its tree, its Steps, and what the cursor stands on."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.contract.kinds import classify
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Alias, Document, Mapping, Node, Path, Scalar, Sequence, Tree
from dsec_cli.source.yaml import parse

_IDS = {"steps": ("id",), "tasks": ("id", "name")}
"""Lists whose items have names, and the keys that hold them."""


class Page(Record):
    """A text with its tree."""

    text: SourceText
    tree: Tree


class Spot(Record):
    """What a place of the text belongs to: its path, and whether it is a key or a value."""

    document: Document
    path: Path
    part: str
    """`key` or `value`."""
    node: Scalar | Alias
    span: Span


class Step(Record):
    """A Step's name where it is defined."""

    id: str
    name: Span
    whole: Span


def read(text: SourceText) -> Page:
    """The page of a text."""
    return Page(text, parse(text))


def kind_at(page: Page, offset: int) -> str:
    """Kind of the document that `offset` lies in, from the root keys that can be read."""
    keys: set[str] = set()
    document = document_at(page, offset)
    root = follow(document.root) if document is not None else None
    if isinstance(root, Mapping):
        keys = {pair.key for pair in pairs(root)}
    return classify(frozenset(keys), page.text.name)


def document_at(page: Page, offset: int) -> Document | None:
    """The last document that begins before `offset`."""
    begun = [one for one in page.tree.documents if one.span.start <= offset]
    return begun[-1] if begun else next(iter(page.tree.documents), None)


def spot_at(page: Page, offset: int) -> Spot | None:
    """The scalar or alias at `offset`; its end counts as inside."""
    document = document_at(page, offset)
    if document is None or document.root is None:
        return None
    node: Node = document.root
    path: Path = ()
    while True:
        if isinstance(node, Mapping):
            entry = next(
                (
                    one
                    for one in node.entries
                    if one.key.span.start <= offset <= max(one.key.span.end, one.value.span.end)
                ),
                None,
            )
            if entry is None or not isinstance(entry.key, Scalar):
                return None
            path = (*path, entry.key.text)
            if offset <= entry.key.span.end:
                return Spot(document, path, "key", entry.key, entry.key.span)
            node = entry.value
        elif isinstance(node, Sequence):
            at = next(
                (at for at, item in enumerate(node.items) if item.span.start <= offset <= item.span.end), None
            )
            if at is None:
                return None
            path, node = (*path, at), node.items[at]
        elif node.span.start <= offset <= node.span.end:
            return Spot(document, path, "value", node, node.span)
        else:
            return None


def steps(page: Page) -> tuple[Step, ...]:
    """All Steps and tasks of the page, in order."""
    found = []
    for document in page.tree.documents:
        root = follow(document.root)
        if not isinstance(root, Mapping):
            continue
        for pair in pairs(root):
            items = follow(pair.value)
            if pair.key in _IDS and isinstance(items, Sequence):
                found += [step for item in items.items for step in _step(item, _IDS[pair.key])]
    return tuple(found)


def _step(item: Node, keys: tuple[str, ...]) -> list[Step]:
    mapping = follow(item)
    if not isinstance(mapping, Mapping):
        return []
    for key in keys:
        for pair in pairs(mapping):
            name = follow(pair.value)
            if pair.key == key and isinstance(name, Scalar):
                return [Step(name.text, name.span, item.span)]
    return []


def names_a_step(path: Path) -> bool:
    """Whether the value at `path` is the id of a Step that is defined elsewhere."""
    keys = [part for part in path if isinstance(part, str)]
    if not keys or keys[0] not in ("steps", "tasks", "communication", "iterations"):
        return False
    if keys[-1] == "needs" or keys[-2:] == ["needs", "step"] or keys[-1] == "break_point":
        return True
    return keys[-1] in ("from", "to") and keys[0] in ("communication", "iterations")


def references(page: Page, offset: int) -> tuple[Span, ...]:
    """Every place that names the Step under the cursor, its definition first."""
    spot = spot_at(page, offset)
    if spot is None or not isinstance(spot.node, Scalar):
        return ()
    name = spot.node.text
    defined = tuple(step.name for step in steps(page) if step.id == name)
    if not names_a_step(spot.path) and spot.span not in defined:
        return ()
    return defined + uses(page, name)


def uses(page: Page, name: str) -> tuple[Span, ...]:
    """Every place that names the Step `name` without defining it."""
    return tuple(
        node.span
        for document in page.tree.documents
        for path, node in _scalars(document.root, ())
        if node.text == name and names_a_step(path)
    )


def _scalars(node: Node | None, path: Path) -> list[tuple[Path, Scalar]]:
    found: list[tuple[Path, Scalar]] = []
    waiting: list[tuple[Node | None, Path]] = [(node, path)]
    while waiting:
        here, at = waiting.pop()
        if isinstance(here, Scalar):
            found.append((at, here))
        elif isinstance(here, Mapping):
            waiting += [
                (entry.value, (*at, entry.key.text))
                for entry in here.entries
                if isinstance(entry.key, Scalar)
            ]
        elif isinstance(here, Sequence):
            waiting += [(item, (*at, index)) for index, item in enumerate(here.items)]
    return sorted(found, key=lambda one: one[1].span)


def defined_at(page: Page, spot: Spot) -> Span | None:
    """Where what stands at `spot` is defined: a Step's id, or the value an alias stands for."""
    if isinstance(spot.node, Alias):
        target = spot.node.target
        if target is None:
            return None
        line_end = page.text.text.find("\n", target.span.start)
        end = target.span.end if line_end < 0 else min(target.span.end, line_end)
        return Span(target.span.start, max(end, target.span.start))
    if not names_a_step(spot.path):
        return None
    return next((step.name for step in steps(page) if step.id == spot.node.text), None)
