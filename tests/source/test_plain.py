"""The reader of ordinary texts gives the tree that the C parser's events give, or none at all."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating.jobs import JOBS
from generating.writing import written
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dsec_cli.source import events, plain, yaml
from dsec_cli.source.characters import prepare
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Alias, Mapping, Node, Scalar, Sequence, Tree

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "tests" / "golden").rglob("*.y*ml"), *(ROOT / "examples").rglob("*.y*ml")])

ORDINARY = """\
# Every kind of line that an ordinary text has.
---
version: "1.4.0"  # quoted
name: small
base: python:3.11   # plain
'single': 'it''s'
"double": "a \\"b\\" \\\\ \\n"
baseline:
  gpu:   # nothing yet
    count: 2

    type: a100-pcie 40gb
  empty:
  flow: {cpu: 1, memory: 2GiB, gpu: {count: -1, of: []}, "q": 'x'}
steps:
- id: load
  run: |
    python -c "a: b"  # no comment
      deeper

    exit 0
  needs: []
  inputs:
  - "{run}/a.npy"
  - plain words: no
- id: train
  run: >-
    one line
    of words

    and another
  env: [{name: A, source: vault://a/b}, [S1, S2]]   # after
-
  - - nested
    - -1
  - b#c
  -   far: 1
      away: --flag
奖励 模型: 值：一
last-key: |+
  kept

"""


def shape(node: Node | None) -> Any:
    """All that a node holds, classes and exact types of its parts included."""
    match node:
        case None:
            return None
        case Scalar():
            return (Scalar, node.start, node.end, node.text, node.style, node.tag, node.anchor)
        case Sequence():
            items = tuple(shape(item) for item in node.items)
            return (Sequence, type(node.span), node.span, type(node.items), items, *kept(node))
        case Mapping():
            entries = tuple((type(one), shape(one.key), shape(one.value)) for one in node.entries)
            own = (node.plain, node.pairs, *kept(node))
            return (Mapping, type(node.span), node.span, type(node.entries), entries, *own)
        case Alias():
            raise AssertionError("no ordinary text has one")


def kept(node: Sequence | Mapping) -> tuple[object, ...]:
    return (node.flow, node.tag, node.anchor)


def whole(tree: Tree) -> Any:
    """All that a tree holds, in a form that can be compared."""
    documents = tuple(
        (shape(one.root), type(one), one.index, one.span, one.gaps, one.nul) for one in tree.documents
    )
    remarks = tuple((type(one), type(one.span), *one) for one in tree.comments)
    return (type(tree), documents, remarks, tree.problems)


def same(text: str) -> bool:
    """Whether the reader took the text; what it then says is what the C parser says."""
    source = SourceText.from_bytes("a.yaml", text.encode("utf-8", "surrogatepass"))
    prepared = prepare(source)
    ordinary = not prepared.problems and not prepared.restore
    read = plain.read(prepared.text, source.most_nodes) if ordinary else None
    if read is None:
        return False
    assert whole(read) == whole(events.read(source, prepared)), text
    return True


def test_an_ordinary_text_is_read() -> None:
    assert same(ORDINARY)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files(path: Path) -> None:
    same(path.read_bytes().decode("utf-8", "replace"))


def test_most_files_are_ordinary() -> None:
    taken = [same(path.read_bytes().decode("utf-8", "replace")) for path in FILES]
    assert sum(taken) > 0.75 * len(taken)


def test_the_benchmarks_contract_is_ordinary() -> None:
    assert same((ROOT / "benchmarks" / "small.yaml").read_text())


@given(st.sampled_from(JOBS), st.integers(0, 10**6))
@settings(max_examples=60)
def test_generated_contracts(job: Callable[[random.Random], tuple[str, dict[str, Any]]], seed: int) -> None:
    name, values = job(random.Random(seed))
    assert same(written(values, comment=name))


REFUSED = {
    "an anchor": "a: &x 1\n",
    "an alias": "a: *x\n",
    "a tag": "a: !!str 1\n",
    "a directive": "%YAML 1.2\n---\na: 1\n",
    "two documents": "a: 1\n---\nb: 2\n",
    "an end of document": "a: 1\n...\n",
    "a merge key": "<<: {a: 1}\n",
    "a quoted merge key": '"<<": 1\n',
    "a merge key in braces": "a: {<<: 1}\n",
    "a tab": "a:\t1\n",
    "a carriage return": "a: 1\r\n",
    "a key twice": "a: 1\nb: 2\na: 3\n",
    "a quoted key twice": "a: 1\n'a': 2\n",
    "a key twice in braces": "a: {b: 1, b: 2}\n",
    "a question mark": "? a\n: b\n",
    "a word over two lines": "a: b\n  c\n",
    "quotes over two lines": 'a: "b\n  c"\n',
    "brackets over two lines": "a: [b,\n  c]\n",
    "a word alone": "a\n",
    "a word below its key": "a:\n  b\n",
    "a colon too many": "a: b: c\n",
    "a colon at the end": "a: b:\n",
    "a dash behind a key": "a: - b\n",
    "a list beside a key": "- a\nb: 1\n",
    "a key deeper than the one above": "a: 1\n  b: 2\n",
    "an indent between two": "a:\n    b: 1\n  c: 2\n",
    "a template": "a: {{ b }}\n",
    "a comma at the end": "a: [b, ]\n",
    "two commas": "a: [b,, c]\n",
    "an open quote": 'a: "b\n',
    "something behind a quote": 'a: "b" c\n',
    "a comment too near": 'a: "b"#c\n',
    "an odd escape": 'a: "\\x41"\n',
    "an escaped nul": 'a: "\\0"\n',
    "a comment in a header": "a: | # b\n  c\n",
    "an indent in a header": "a: |2\n    c\n",
    "a block text without a last line end": "a: |\n  b",
    "an empty block text": "a: |\nb: 1\n",
    "a block text of spaces": "a: |\n  b\n     \nc: 1\n",
    "a folded text with an indent": "a: >\n  b\n    c\n",
    "nothing": "",
    "only a comment": "# a\n",
    "a long line": "a: " + "b" * 2000 + "\n",
    "deep brackets": "a: " + "[" * 40 + "]" * 40 + "\n",
    "deep blocks": "".join(f"{' ' * n}k:\n" for n in range(100)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_ordinary_is_left_to_the_c_parser(name: str) -> None:
    assert not same(REFUSED[name])


def test_a_text_that_is_not_ordinary_is_read_all_the_same() -> None:
    root = yaml.parse(SourceText.from_bytes("a", b"a: &x 1\nb: *x\n")).documents[0].root
    assert isinstance(root, Mapping)
    assert isinstance(root.entries[1].value, Alias)


PIECES = [
    *":-?,[]{}#&*!|>'\"%@`~ \n\t\r=+.a1\\",
    *(": ", " #", "- ", ":\n", "\n ", "\n  ", "---\n", "...\n", "<<: ", "''", '""', "{{", "}}", "[]", "{}"),
    *("|\n", ">-\n", "|+\n", " # c", "k: v\n", "- k: v\n", "a:b", "//", "\u3000", "\xa0", "中", "\x85", "\0"),
]


def mutant(text: str, chance: random.Random) -> str:
    """The text with one to three slips of the kind that hands make."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(5):
            case 0:
                text = text[:at] + text[at + chance.choice((1, 1, 2, 8)) :]
            case 1:
                text = text[:at] + chance.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + chance.choice(PIECES) + text[at + 1 :]
            case 3:
                start = text.rfind("\n", 0, at) + 1
                text = text[:start] + " " * chance.randrange(1, 5) + text[start:]
            case _:
                start = text.rfind("\n", 0, at) + 1
                width = len(text[start:]) - len(text[start:].lstrip(" "))
                text = text[:start] + text[start + chance.randrange(width + 1) :]
    return text


def excerpt(text: str, chance: random.Random) -> str:
    """Some twenty lines: a short text shows more of what a slip does."""
    lines = text.split("\n")
    start = chance.randrange(max(1, len(lines) - 20))
    return "\n".join(lines[start : start + 20]) + chance.choice(("", "\n"))


def check_mutants(count: int, seed: int) -> int:
    chance = random.Random(seed)
    texts = [path.read_bytes().decode("utf-8", "replace") for path in FILES]
    texts = [text for text in texts if len(text) < 4000]
    taken = 0
    for turn in range(count):
        text = ORDINARY if turn % 2 else chance.choice(texts)
        if turn % 3 == 0:
            text = excerpt(text, chance)
        taken += same(mutant(text, chance))
    return taken


@pytest.mark.battery
def test_mutants() -> None:
    assert check_mutants(1500, 1) > 300


@pytest.mark.battery
def test_twenty_thousand_mutants() -> None:
    assert check_mutants(20_000, 2) > 4000


LINES = st.lists(st.sampled_from([*PIECES, "key", "x y", "  ", "    ", "\n- ", "\nb: "]), max_size=24)


@pytest.mark.battery
@given(LINES.map("".join))
@settings(max_examples=500)
@example("a: 1\n b: 2\n")
@example("- - a\n  - b\n")
def test_any_text(text: str) -> None:
    same(text)


def test_the_public_suite(yaml_inputs: dict[str, bytes]) -> None:
    assert sum(same(data.decode("utf-8", "replace")) for data in yaml_inputs.values()) > 20
