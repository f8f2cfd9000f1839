"""The quick way to a path's place finds what the slow one does."""

import pytest

from dsec_cli.source.locate import locate
from dsec_cli.source.placing import placing
from dsec_cli.source.resolve import follow
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Mapping, Sequence
from dsec_cli.source.yaml import parse

TEXTS = {
    "block": "a: 1\nsteps:\n  - id: S0\n    needs: [A, B]\n  - run: |\n      x\n    needs:\n      - C\n",
    "unlike": "steps:\n  - {id: A, needs: [B]}\n  - needs: [C, D]\n    id: B\n  - id: C\n    x: y\n  - x:\n",
    "flow": "{steps: [{id: S0, needs: []}, {}, [1, [2]]], b: {c: }}\n",
    "alias": "x: &x {id: S0, needs: [A]}\nsteps:\n  - *x\n  - <<: *x\n    run: y\n  - &z S\nk: *z\n",
    "twice": "a: 1\na: {b: 2}\n1: x\n'2': y\n",
    "list": "- 1\n- - 2\n  - a: 3\n",
    "word": "hello\n",
    "nothing": "",
}


def paths(node, path=()):
    """Every path there is, and some that are not."""
    yield path
    yield from ((*path, part) for part in ("no", 7, -1))
    node = follow(node) if node is not None else None
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield from paths(entry.value, (*path, entry.key.text))
    elif isinstance(node, Sequence):
        for at, item in enumerate(node.items):
            yield from paths(item, (*path, at))


@pytest.mark.parametrize("name", TEXTS)
def test_it_begins_where_the_located_range_does(name):
    text = SourceText.from_bytes("x.yaml", TEXTS[name].encode())
    for document in parse(text).documents:
        place = placing(document, text.line_starts, "x", tuple)
        for path in paths(document.root):
            at = text.position(locate(document, path).start)
            assert place(path) == ("x", at.line, at.column), path


def test_lines_are_not_counted_before_a_place_is_asked_for():
    text = SourceText.from_bytes("x.yaml", TEXTS["block"].encode())
    asked = []

    def lines():
        asked.append(1)
        return text.line_starts()

    place = placing(parse(text).documents[0], lines, "x", tuple)
    assert not asked
    assert place(("steps", 0)) == ("x", 3, 5)
    assert asked
