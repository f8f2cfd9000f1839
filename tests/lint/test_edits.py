"""Edits by path: what they make of a text is what the data say, and nothing else has moved."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.diagnostics import Edit
from dsec_cli.lint import edits, removal
from dsec_cli.lint.proof import change_elsewhere
from dsec_cli.lint.rule import Facts
from dsec_cli.lint.splice import Shift, in_order, spliced, text_with
from dsec_cli.source.resolve import plain_value, resolve
from dsec_cli.source.spelling import is_plain, reads_as_other, spelled
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Document, Path, Scalar, Tree
from dsec_cli.source.yaml import parse


class Read(NamedTuple):
    """As much of `Facts` as edits look at."""

    text: SourceText
    tree: Tree
    document: Document

    @property
    def facts(self) -> Facts:
        return cast("Facts", self)

    @property
    def value(self) -> Any:
        return plain_value(self.document.root)


def read(data: str | bytes) -> Read:
    text = SourceText("x.yaml", data.encode() if isinstance(data, str) else data)
    tree = parse(text)
    assert not tree.problems, (data, tree.problems)
    return Read(text, tree, tree.documents[0])


def made(before: Read, changes: tuple[Edit, ...]) -> str:
    return text_with(before.text.text, in_order(changes))


INSERTED = [
    ("a:\n  b: 1  # c\n  # d\ne: 2\n", "a:\n  b: 1  # c\n  k: 30s\n  # d\ne: 2\n"),
    ("a:\n  b: 1", "a:\n  b: 1\n  k: 30s"),
    ("a:\r\n  b: 1\r\n", "a:\r\n  b: 1\r\n  k: 30s\r\n"),
    ("a: {b: 1}  # c\n", "a: {b: 1, k: 30s}  # c\n"),
    ("a: {b: 1,}\n", "a: {b: 1, k: 30s,}\n"),
    ("a: {}\n", "a: {k: 30s}\n"),
    ("a: { }\n", "a: {k: 30s }\n"),
    ("a: {\n  b: 1,\n  c: 2  # x\n}\n", "a: {\n  b: 1,\n  c: 2,  # x\n  k: 30s\n}\n"),
    ("a: {\n  b: 1,\n  c: 2,  # x\n}\n", "a: {\n  b: 1,\n  c: 2,  # x\n  k: 30s,\n}\n"),
    ("a: {\n  b: 1,\n  c: 2}\n", "a: {\n  b: 1,\n  c: 2,\n  k: 30s}\n"),
    ("a:   # c\nb: 1\n", "a:   # c\n  k: 30s\nb: 1\n"),
    ("a:", "a:\n  k: 30s"),
    ("b: [{a: }]\na:\n- x\n", None),
    ("a:\n  b: |\n    x\n\nc: 1\n", "a:\n  b: |\n    x\n  k: 30s\n\nc: 1\n"),
    ("a:\n  b: |+\n    x\n\nc: 1\n", None),
    ("a: &x\n  b: 1\nc: *x\n", None),
    ("c: &x {b: 1}\na: *x\n", None),
    ("a:\n\tb: 1\n", None),
    ("a:\n  k: 1\n", None),
    ("a: text\n", None),
]


@pytest.mark.parametrize(("before", "after"), INSERTED)
def test_an_entry_is_inserted(before: str, after: str | None) -> None:
    text = SourceText("x.yaml", before.encode())
    tree = parse(text)
    found = edits.inserted(Read(text, tree, tree.documents[0]).facts, ("a",), "k", "30s")
    assert (text_with(before, in_order(found)) if found else None) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n- x # s\n# k\nb: 2\n", "a:\n- x # s\n- new\n# k\nb: 2\n"),
        ("a:\n  - {x: 1}\n", "a:\n  - {x: 1}\n  - new\n"),
        ("a: [x]\n", "a: [x, new]\n"),
        ("a: []\n", "a: [new]\n"),
        ("a:\nb: 2\n", "a: [new]\nb: 2\n"),
        ("a: [\n  x,  # c\n]\n", "a: [\n  x,  # c\n  new,\n]\n"),
        ("a: {}\n", None),
    ],
)
def test_an_item_is_appended(before: str, after: str | None) -> None:
    source = read(before)
    found = edits.appended(source.facts, ("a",), "new")
    assert (made(source, found) if found else None) == after


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a:\n  # h\n  b: 1\n  # c\n  # cc\n  c: 2 # x\n  d: 3\n", ("a", "c"), "a:\n  # h\n  b: 1\n  d: 3\n"),
        ("a:\n  # h\n  b: 1\n  d: 3\n", ("a", "b"), "a:\n  # h\n  d: 3\n"),
        ("a:\n  b: 1\n  # about d\n  d: 3", ("a", "d"), "a:\n  b: 1\n"),
        ("a:\r\n  b: 1\r\n  d: 3\r\n", ("a", "b"), "a:\r\n  d: 3\r\n"),
        ("b: 1\n# dsec: ignore[DS203] x\nd: 3\n", ("d",), "b: 1\n# dsec: ignore[DS203] x\n"),
        ("s:\n- id: x\n  run: |\n    a\n\n- id: y\n", ("s", 0), "s:\n\n- id: y\n"),
        ("s:\n- id: x  # c\n  run: a\n", ("s", 0, "id"), "s:\n- run: a\n"),
        ("s:\n- id: x\n  # about run\n  run: a\n", ("s", 0, "id"), None),
        ("a: {b: 1, c: 2, d: 3}", ("a", "b"), "a: {c: 2, d: 3}"),
        ("a: {b: 1, c: 2, d: 3}", ("a", "d"), "a: {b: 1, c: 2}"),
        ("a: {b: 1, c: 2,}", ("a", "c"), "a: {b: 1,}"),
        ("a: {b: 1}", ("a", "b"), "a: {}"),
        ("a: {b: 1,}", ("a", "b"), None),
        ("a: [b, # of b\n  c]", ("a", 0), None),
        ("a: [b, c]", ("a", 0), "a: [c]"),
        ("a:\n- b\n- c\n", ("a", 1), "a:\n- b\n"),
        ("a:\n- b\n", ("a", 0), None),
        ("a:\n  b: &x 1\n  c: *x\n", ("a", "b"), None),
        ("a:\n  b: {d: &x 1}\n  c: *x\n", ("a", "b"), None),
        ("? a\n: 1\n? b\n: 2\n", ("b",), None),
    ],
)
def test_an_entry_is_removed(before: str, path: Path, after: str | None) -> None:
    source = read(before)
    found = removal.removed(source.facts, path)
    assert (made(source, found) if found else None) == after


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("a: x  # c\n", "z", "a: z  # c\n"),
        ("a: 'x'\n", "it's", "a: 'it''s'\n"),
        ('a: "x"\n', "y", 'a: "y"\n'),
        ("a: x\n", "1.10", 'a: "1.10"\n'),
        ("a: x\n", 4, "a: 4\n"),
        ("a: x\n", True, "a: true\n"),
        ("a:\n", 4, "a: 4\n"),
        ("a:\n", "x\ny", 'a: "x\\ny"\n'),
        ("a: |\n  x\n", "y", None),
        ("a: !!str 1\n", "2", None),
        ("a: &x 1\nb: *x\n", "2", None),
        ("b: &x 1\na: *x\n", "2", None),
        ("b: &x {a: 1}\n<<: *x\n", "2", None),
        ("{a, b: 1}\n", "2", None),
        ("{a: x}\n", "ds://m", '{a: "ds://m"}\n'),
    ],
)
def test_a_value_is_replaced(before: str, value: str | int | bool, after: str | None) -> None:
    source = read(before)
    found = edits.replaced(source.facts, ("a",), value)
    assert (made(source, found) if found else None) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1.10  # c\n", 'a: "1.10"  # c\n'),
        ("a: '1'\n", None),
        ("a:\n", None),
        ("a: &x 1\n", None),
    ],
)
def test_a_scalar_is_quoted(before: str, after: str | None) -> None:
    source = read(before)
    found = edits.quoted(source.facts, ("a",))
    assert (made(source, found) if found else None) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\n", "new: 1\n"),
        ("'a': 1\n", "'new': 1\n"),
        ("{a: 1}\n", "{new: 1}\n"),
        ("x: &q 1\na: *q\n", "x: &q 1\nnew: *q\n"),
        ("&q a: 1\n", None),
        ("x: &q {a: 1}\n<<: *q\n", None),
    ],
)
def test_a_key_is_renamed(before: str, after: str | None) -> None:
    source = read(before)
    found = edits.renamed(source.facts, ("a",), "new")
    assert (made(source, found) if found else None) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: x && y  # c\nb: 1\n", "a: |  # c\n  x && y\nb: 1\n"),
        ("a: 'x && y'", "a: |\n  x && y"),
        ("a:\n  x &&\n  y\n", "a:\n  |\n  x && y\n"),
        ("{a: x && y}\n", None),
        ("a: ' x'\n", None),
        ("a: &q x && y\n", None),
    ],
)
def test_a_text_goes_below_a_bar(before: str, after: str | None) -> None:
    source = read(before)
    found = edits.as_block_text(source.facts, ("a",))
    assert (made(source, found) if found else None) == after


def test_comments_are_removed_with_their_line_or_from_it() -> None:
    source = read("a: 1  # one\n# two\nb: 2\n# three")
    one, two, three = source.tree.comments
    assert made(source, removal.comment_removed(source.text.text, one)) == "a: 1\n# two\nb: 2\n# three"
    assert made(source, removal.comment_removed(source.text.text, two)) == "a: 1  # one\nb: 2\n# three"
    assert made(source, removal.comment_removed(source.text.text, three)) == "a: 1  # one\n# two\nb: 2\n"


@given(st.text(max_size=12), st.sampled_from(["plain", "single", "double"]), st.booleans())
def test_what_is_spelled_reads_as_the_same_text(value: str, style: str, flow: bool) -> None:
    written = spelled(value, style, flow=flow)
    document = read(f"{{k: [{written}]}}\n" if flow else f"k: {written}  # c\n")
    found = cast("Any", document.value)["k"]
    assert (found[0] if flow else found) == value
    assert len(document.tree.comments) == (0 if flow else 1)


@given(st.text(alphabet="0123456789abcdefox_.:+-eE~ynNoOtruefals", min_size=1, max_size=8))
def test_what_is_not_quoted_is_a_text_to_yaml_1_2(word: str) -> None:
    if is_plain(word):
        assert resolve(Scalar(Span(0, 0), word, "plain", None, None)) == ("str", word)
    assert reads_as_other(word) or resolve(Scalar(Span(0, 0), word, "plain", None, None))[0] == "str"


@pytest.mark.parametrize(
    "word", ["1:30", "0777", "1_000", "2027-01-31", "No", "0b11", "1e3", ".inf", "~", "="]
)
def test_words_that_other_readers_take_for_something_else_get_quotes(word: str) -> None:
    assert spelled(word) == f'"{word}"'


@pytest.mark.parametrize("word", ["30s", "24GB-class", "a100-pcie-40gb", "ds://m/x", "5d", "S1", "12Gi"])
def test_words_that_every_reader_takes_for_text_get_none(word: str) -> None:
    assert spelled(word) == word


WORD = st.sampled_from(["x", "30s", "a b", "1.10", "#no", "it's", "é😀", "y: z", "", "[k]"])
NAME = st.sampled_from(["a", "b", "c", "'d'", '"e"'])


@st.composite
def node(draw: st.DrawFn, depth: int = 0, flow: bool = False) -> list[str]:
    """A value as lines: the first goes behind its key, the others below it."""
    kind = draw(st.integers(0, 1 if depth > 2 else 5))
    if kind <= 1:
        return [spelled(draw(WORD), draw(st.sampled_from(["plain", "single", "double"])), flow=flow)]
    if flow or kind == 2:
        inner = draw(st.lists(node(depth + 1, flow=True), max_size=3))
        if draw(st.booleans()):
            return ["[" + ", ".join(one[0] for one in inner) + "]"]
        names = draw(st.lists(NAME, min_size=len(inner), max_size=len(inner), unique=True))
        return ["{" + ", ".join(f"{name}: {one[0]}" for name, one in zip(names, inner, strict=True)) + "}"]
    if kind == 3 and depth:
        return ["|", *("  " + draw(st.sampled_from(["text", "# no comment", "k: v"])) for _ in range(2))]
    lines = [draw(st.sampled_from(["", "  # head"]))]
    names = draw(st.lists(NAME, min_size=1, max_size=3, unique=True))
    for name in names:
        head, *below = draw(node(depth + 1))
        if draw(st.integers(0, 3)) == 0:
            lines.append("  # above " + name)
        start = "  - " if kind == 4 else f"  {name}: "
        text_block = head.startswith(("|", "\n"))
        if kind == 4 and head in ("", "  # head") and below:
            first = next(line for line in below if not line.strip().startswith("#"))
            rest = below[below.index(first) + 1 :]
            lines += [start + first.strip(" ") if first.startswith("  ") else start + first]
            lines += ["  " + line for line in rest]
            continue
        comment = draw(st.sampled_from(["", "  # of " + name])) if not text_block and not below else ""
        lines += [start + head + comment, *("  " + line for line in below)]
    return lines


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A YAML text of nested blocks, lists and brackets, with comments and either line end."""
    lines = []
    for name in draw(st.lists(NAME, min_size=1, max_size=4, unique=True)):
        head, *below = draw(node(1))
        lines += [f"{name}: {head}", *below]
        if draw(st.booleans()):
            lines += ["# between", ""]
    text = "\n".join(line.rstrip() for line in lines) + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))


def paths(value: Any, at: Path = ()) -> list[Path]:
    """All paths into a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, one in inner for path in paths(one, (*at, key)))]


def change(value: Any, path: Path, what: str) -> Any:
    """The value with the thing at `path` changed as `what` says."""
    if not path:
        if what == "insert":
            return {**(value or {}), "new": "30s"}
        return [*(value or []), "30s"] if what == "append" else "30s"
    key, *rest = path
    if isinstance(value, dict):
        if not rest and what == "remove":
            return {name: one for name, one in value.items() if name != key}
        if not rest and what == "rename":
            return {"new" if name == key else name: one for name, one in value.items()}
        return {name: change(one, tuple(rest), what) if name == key else one for name, one in value.items()}
    if not rest and what == "remove":
        return [one for at, one in enumerate(value) if at != key]
    return [change(one, tuple(rest), what) if at == key else one for at, one in enumerate(value)]


DO = {
    "insert": lambda facts, path: edits.inserted(facts, path, "new", "30s"),
    "append": lambda facts, path: edits.appended(facts, path, "30s"),
    "replace": lambda facts, path: edits.replaced(facts, path, "30s"),
    "rename": lambda facts, path: edits.renamed(facts, path, "new"),
    "remove": lambda facts, path: removal.removed(facts, path),
}


@pytest.mark.battery
@given(documents(), st.sampled_from(sorted(DO)), st.data())
def test_an_edit_does_what_it_says_and_nothing_else(text: str, what: str, data: st.DataObject) -> None:
    try:
        before = read(text)
    except AssertionError:  # the maker of documents is not that good
        return
    path = data.draw(st.sampled_from(paths(before.value)))
    found = DO[what](before.facts, path)
    if not found:
        return
    ordered = in_order(found)
    after = read(spliced(before.text, ordered))
    assert after.value == change(before.value, path, what), after.text.text
    assert change_elsewhere(before.tree, after.tree, Shift(ordered)) == "", after.text.text
    lost = len(before.tree.comments) - len(after.tree.comments)
    assert lost == 0 or (what == "remove" and lost > 0)
    assert what == "remove" or text.endswith("\n") == after.text.text.endswith("\n")


def test_edits_are_made_in_bytes() -> None:
    data = "\ufeffa: é😀 x\r\nb: 1".encode()
    text = SourceText("x.yaml", data)
    at = text.text.index("x")
    changes = in_order([Edit(Span(at, at + 1), "ü"), Edit(edits.MARK, "")])
    assert spliced(text, changes) == "a: é😀 ü\r\nb: 1".encode()
    wide = SourceText("x.yaml", "\ufeffa: é😀 x\n".encode("utf-16-le"))
    assert spliced(wide, changes[1:]) == "\ufeffa: é😀 ü\n".encode("utf-16-le")


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("a: 1\nb: 2\n", Edit(Span(0, 1), "c"), ""),
        ("a: x\nb: 2\n", Edit(Span(4, 4), "\n  more"), "read differently"),
        ("a: x # c\nb: 2\n", Edit(Span(4, 5), ""), "read differently"),
        ("a: 'x' # c\nb: 2\n", Edit(Span(5, 6), ""), "DS002"),
        ("a:\n  b: 1\n  c: 2\n", Edit(Span(10, 12), ""), "read differently"),
        ("a: 1\n# c\nb: 2\n", Edit(Span(4, 5), " # new "), "comment"),
        ("a: &x 1\nb: *x\n", Edit(Span(4, 5), "y"), "DS008"),
        ("a: {b: 1}\nc: 2\n", Edit(Span(8, 8), ", d: {}"), ""),
    ],
)
def test_the_proof_sees_what_an_edit_does_elsewhere(before: str, edit: Edit, after: str) -> None:
    old = SourceText("x.yaml", before.encode())
    new = SourceText("x.yaml", spliced(old, [edit]))
    said = change_elsewhere(parse(old), parse(new), Shift([edit]))
    assert (after in said) if after else said == "", said
