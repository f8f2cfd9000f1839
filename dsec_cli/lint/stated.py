"""Statements that the typed contract does not hold, read from the tree where a rule needs them."""

from __future__ import annotations

from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.tree import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.lint.rule import Facts
    from dsec_cli.source.tree import Node, Path


def entries(facts: Facts, path: Path) -> Iterator[tuple[Path, dict[str, Node]]]:
    """The mappings of the list at `path`, each with its own path and what its keys hold."""
    section = facts.node(path)
    for at, item in enumerate(section.items if isinstance(section, Sequence) else ()):
        entry = follow(item)
        if isinstance(entry, Mapping):
            yield (*path, at), {pair.key: pair.value for pair in pairs(entry)}


def texts(node: Node | None, path: Path) -> Iterator[tuple[Path, str]]:
    """The scalars of a list that stands at `path`, as written."""
    section = follow(node)
    for at, item in enumerate(section.items if isinstance(section, Sequence) else ()):
        scalar = follow(item)
        if isinstance(scalar, Scalar):
            yield (*path, at), scalar.text


def text(node: Node | None) -> str | None:
    """What a scalar says; None for anything else."""
    scalar = follow(node)
    return scalar.text if isinstance(scalar, Scalar) else None


def truth(node: Node | None) -> bool | None:
    """`true` or `false`; None for anything else."""
    said = text(node)
    return said.lower() == "true" if said is not None and said.lower() in ("true", "false") else None
