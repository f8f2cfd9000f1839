"""The event notation of the yaml-test-suite, written from our tree and read from its files."""

from __future__ import annotations

from dsec_cli.source.tree import Alias, Mapping, Node, Scalar, Sequence, Tree

_SIGNS = {"plain": ":", "single": "'", "double": '"', "literal": "|", "folded": ">"}


def tree_events(tree: Tree) -> list[str]:
    """Lines such as `=VAL :text`, without flow and document markers, which the tree does not keep."""
    lines: list[str] = []
    for document in tree.documents:
        lines.append("+DOC")
        if document.root is not None:
            _write(document.root, lines)
        lines.append("-DOC")
    return lines


def suite_events(text: str) -> list[str]:
    """The lines of a `test.event` file in the same form."""
    lines = []
    for raw in text.split("\n"):
        line = raw if raw.startswith("=VAL") else raw.strip()
        if line.startswith(("+STR", "-STR")) or not line:
            continue
        if line.startswith(("+DOC", "-DOC")):
            line = line[:4]
        if line.startswith(("+MAP {}", "+SEQ []")):
            line = line[:4] + line[7:]
        lines.append(line)
    return lines


def _write(node: Node, lines: list[str]) -> None:
    match node:
        case Alias(name=name):
            lines.append(f"=ALI *{name}")
        case Scalar(text=text, style=style):
            lines.append(f"=VAL{_properties(node)} {_SIGNS[style]}{_escaped(text)}")
        case Sequence(items=items):
            lines.append(f"+SEQ{_properties(node)}")
            for item in items:
                _write(item, lines)
            lines.append("-SEQ")
        case Mapping(entries=entries):
            lines.append(f"+MAP{_properties(node)}")
            for key, value in entries:
                _write(key, lines)
                _write(value, lines)
            lines.append("-MAP")


def _properties(node: Scalar | Sequence | Mapping) -> str:
    anchor = f" &{node.anchor}" if node.anchor else ""
    return anchor + (f" <{node.tag}>" if node.tag else "")


def _escaped(text: str) -> str:
    for char, escape in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"), ("\b", "\\b")):
        text = text.replace(char, escape)
    return text
