"""Reasons of the code's analysis against the table that gives them words."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from dsec_cli.code.compare.reasons import TEMPLATES, worded
from dsec_cli.languages import catalogue
from dsec_cli.words import Said, arguments, translated

from .saying import ROOT

CHINESE = catalogue("zh")
GIVEN = {"Unknown": (0, 1), "NotKnown": (0,), "Text": (1,), "Binding": (1,), "Unread": (1,), "unknown": (1,)}
"""Which arguments of which calls are reasons."""


def _reasons() -> Iterator[tuple[str, str]]:
    """Every reason that stands in the analysis, placeholders filled with a name, and its file."""
    for path in sorted((ROOT / "dsec_cli" / "code").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                for at in GIVEN.get(name, ()):
                    for text in _texts(node.args[at]) if at < len(node.args) else ():
                        yield text, path.name
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "why":
                for text in _texts(node.value):
                    yield text, path.name


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        yield node.value
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _texts(value)
    elif isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "name" for part in node.values]
        yield "".join(map(str, parts)).replace("hostname", "host (name)").replace("to name is", "to read is")


FOUND = dict(_reasons())


def test_the_analysis_gives_reasons() -> None:
    assert len(FOUND) > 40


@pytest.mark.parametrize("reason", sorted(FOUND))
def test_a_reason_of_the_analysis_has_words(reason: str) -> None:
    said = worded(reason)
    assert isinstance(said, Said), f"{FOUND[reason]}: add it to dsec_cli/code/compare/reasons.py"
    assert said == reason
    assert translated(said, CHINESE) != reason


def test_a_reason_within_a_reason_is_told_too() -> None:
    said = worded("the host (*.example.com) is not known: it is computed")
    assert translated(said, CHINESE) == "主机（*.example.com）无法得知：它是计算出来的"
    assert arguments(said) == {"host": "*.example.com", "why": "it is computed"}


def test_what_is_not_known_stays_as_it_is() -> None:
    assert worded("the user names the host") == "the user names the host"
    assert not isinstance(worded("the user names the host"), Said)
    assert len(set(TEMPLATES)) == len(TEMPLATES)
