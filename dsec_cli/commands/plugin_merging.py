"""What a plugin needs, put into the contract: its entry, its share of the baseline, hosts that it calls."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from dsec.units import Bytes, UnitProblem
from dsec.units import parse as quantity
from dsec_cli.contract.build import build_all
from dsec_cli.lint.edits import Written, appended, inserted, replaced
from dsec_cli.lint.rule import NOTHING, Facts
from dsec_cli.lint.splice import in_order, spliced
from dsec_cli.source.spelling import spelled
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Mapping, Scalar, Sequence, Tree
from dsec_cli.source.yaml import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsec_cli.diagnostics import Edit
    from dsec_cli.source.tree import Node, Path

EGRESS: Path = ("security_policy", "network", "egress")


class Wants(NamedTuple):
    """What a plugin.yaml asks of the contract."""

    name: str
    cpu: float | None
    memory: Bytes | None
    egress: tuple[tuple[str, str], ...]
    """Domain, and the item of the list as YAML of one line."""


class Merged(NamedTuple):
    """The contract with the plugin in it."""

    text: SourceText
    old: bytes
    """The contract that it was made from."""
    by_hand: tuple[str, ...]
    """What could not be written, for the user to add."""


def wants(source: SourceText, name: str) -> Wants:
    """What the plugin of this plugin.yaml asks for."""
    root = _root(source)
    cpu, memory = _scalar(root, ("baseline", "cpu")), _scalar(root, ("baseline", "memory"))
    items = _at(root, EGRESS)
    egress = []
    for item in items.items if isinstance(items, Sequence) else ():
        domain = _scalar(item, ("domain",))
        if domain:
            egress.append((domain, f"{{{', '.join(_fields(item))}}}"))
    return Wants(name, _number(cpu), _bytes(memory), tuple(egress))


def _fields(item: Node) -> list[str]:
    """The entries of a mapping of scalars and lists of scalars, as flow YAML."""
    return [
        f"{spelled(entry.key.text, flow=True)}: {_flow(entry.value)}"
        for entry in (item.entries if isinstance(item, Mapping) else ())
        if isinstance(entry.key, Scalar)
    ]


def _flow(node: Node) -> str:
    if isinstance(node, Sequence):
        return f"[{', '.join(_flow(one) for one in node.items)}]"
    if isinstance(node, Mapping):
        return f"{{{', '.join(_fields(node))}}}"
    if isinstance(node, Scalar):
        return node.text if node.style == "plain" else spelled(node.text, "double", flow=True)
    return "null"


def merge(source: SourceText, new: Wants, old: Wants | None) -> Merged:
    """The contract with what `new` asks for; `old` is the plugin's version that it has in it already."""
    by_hand: list[str] = []
    before = source.data
    here = names_plugin(source, new.name)
    for what, make in _changes(source, new, old if here else None, entry=not here):
        edits = make(_facts(source))
        if edits:
            source = SourceText(source.name, spliced(source, in_order(edits)))
        else:
            by_hand.append(what)
    return Merged(source, before, tuple(by_hand))


def _changes(
    source: SourceText, new: Wants, old: Wants | None, *, entry: bool
) -> Iterator[tuple[str, Callable[[Facts], tuple[Edit, ...]]]]:
    """What is to be written, in words, and how."""
    if entry:
        item = f"{{name: {spelled(new.name, flow=True)}}}"
        yield f"plugins: [{item}]", partial(_into, path=("plugins",), item=item)
    for path, value in _shares(source, new, old):
        yield f"{'.'.join(map(str, path))}: {value}", partial(replaced, path=path, value=Written(value))
    known = _domains(source)
    for domain, item in new.egress:
        if domain not in known:
            yield f"{'.'.join(map(str, EGRESS))}: [{item}]", partial(_into, path=EGRESS, item=item)


def _into(facts: Facts, path: Path, item: str) -> tuple[Edit, ...]:
    """An item at the end of a list, which is made with all that leads to it where it is missing."""
    root = facts.document.root
    if _at(root, path) is not None:
        return appended(facts, path, Written(item))
    deep = len(path) - 1
    while deep and _at(root, path[:deep]) is None:
        deep -= 1
    value = f"[{item}]"
    for key in reversed(path[deep + 1 :]):
        value = f"{{{key}: {value}}}"
    return inserted(facts, path[:deep], str(path[deep]), Written(value))


def _shares(source: SourceText, new: Wants, old: Wants | None) -> list[tuple[Path, str]]:
    """The scalars of the baseline that change: the sum of the contract's own and the plugin's."""
    root = _root(source)
    found: list[tuple[Path, str]] = []
    here = _number(_scalar(root, ("baseline", "cpu")))
    added = (new.cpu or 0.0) - ((old.cpu or 0.0) if old else 0.0)
    if here is not None and added:
        found.append((("baseline", "cpu"), f"{max(0.0, here + added):g}"))
    memory = _bytes(_scalar(root, ("baseline", "memory")))
    more = int(new.memory or 0) - int((old.memory or 0) if old else 0)
    if memory is not None and more:
        found.append((("baseline", "memory"), str(Bytes(max(0, int(memory) + more)))))
    return found


def names_plugin(source: SourceText, name: str) -> bool:
    """Whether the contract names that plugin."""
    items = _at(_root(source), ("plugins",))
    return isinstance(items, Sequence) and any(_scalar(item, ("name",)) == name for item in items.items)


def _domains(source: SourceText) -> set[str]:
    items = _at(_root(source), EGRESS)
    return {_scalar(item, ("domain",)) for item in items.items} if isinstance(items, Sequence) else set()


def _root(source: SourceText) -> Node | None:
    documents = parse(source).documents
    return documents[0].root if documents else None


def _at(node: Node | None, path: Path) -> Node | None:
    for part in path:
        if not isinstance(node, Mapping):
            return None
        keys = [(entry.key, entry.value) for entry in node.entries]
        node = next((value for key, value in keys if isinstance(key, Scalar) and key.text == part), None)
    return node


def _scalar(node: Node | None, path: Path) -> str:
    found = _at(node, path)
    return found.text if isinstance(found, Scalar) else ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _bytes(text: str) -> Bytes | None:
    try:
        return quantity(Bytes, text)
    except UnitProblem:
        return None


def _facts(source: SourceText) -> Facts:
    """One document, for functions that edit it: they ask for nothing else."""
    tree = parse(source)
    built = build_all(tree, source.name)
    document = tree.documents[0]
    return Facts(
        text=source,
        tree=Tree((document,), (), ()),
        document=document,
        contract=built[0].contract,
        structural=(),
        around=NOTHING,
        file_name=source.name,
        codes=frozenset(),
        suppressions=(),
        drawn=[],
    )
