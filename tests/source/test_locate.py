"""From paths to places, through aliases and merge keys, and the diagnostics made of them."""

from __future__ import annotations

import random

import pytest

from dsec_cli.diagnostics import Diagnostic, Finding, Related, Severity, Silenced, arrange, concretise
from dsec_cli.source import locate as locate_module
from dsec_cli.source.locate import Keys, find, locate, spell, step_ids
from dsec_cli.source.text import Position, SourceText, Span
from dsec_cli.source.tree import Document, Entry, Path
from dsec_cli.source.yaml import parse
from dsec_cli.words import say

TEXT = """\
base: &b {timeout: 5, cpu: no}
steps:
  - id: S1
    <<: *b
    gpu: *b
    env:
      x: 1
  - {id: S2, needs: [S1, S9]}
  - id: S2
    timeout:
tasks:
  - name: t
"""


def _document(text: str = TEXT) -> tuple[SourceText, Document]:
    source = SourceText.from_bytes("dsandbox.yaml", text.encode())
    return source, parse(source).documents[0]


@pytest.mark.parametrize(
    ("path", "part", "written"),
    [
        (("steps", 1, "needs", 1), "value", "S9"),
        (("steps", 1, "needs"), "value", "[S1, S9]"),
        (("steps", 1, "needs"), "key", "needs"),
        (("steps", 1, "needs"), "entry", "needs: [S1, S9]"),
        (("steps",), "value", "steps"),
        (("steps", 0, "env"), "value", "env"),
        (("steps", 0, "env"), "entry", "env:\n      x: 1"),
        (("steps", 0, "env", "x"), "value", "1"),
        (("steps", 0, "env", "nope"), "value", "env"),
        (("steps", 0, "env", "x", "deep"), "value", "x"),
        (("steps", 0, "timeout"), "value", "5"),
        (("steps", 0, "timeout"), "key", "timeout"),
        (("steps", 0, "gpu", "cpu"), "value", "no"),
        (("steps", 0, "gpu"), "value", "{timeout: 5, cpu: no}"),
        (("steps", 0, "gpu"), "entry", "gpu: *b"),
        (("steps", 0), "value", "id: S1"),
        (("steps", 2, "run"), "value", "id: S2"),
        (("steps", 2, "timeout"), "value", ""),
        (("steps", 9), "value", "steps"),
        (("steps", "x"), "value", "steps"),
        (("elasticity",), "value", "base"),
        (("elasticity", "gpu", "min_count"), "value", "base"),
        ((), "value", "base"),
    ],
)
def test_locate(path: Path, part: str, written: str) -> None:
    source, document = _document()
    assert source.text[slice(*locate(document, path, part))] == written


@pytest.mark.parametrize("text", ["", "# only\n", "---\n", "~\n", "[]\n", "{}\n", "a\n"])
@pytest.mark.parametrize("path", [(), ("a",), (0,), ("a", 0, "b")])
def test_locate_in_documents_that_hold_nothing(text: str, path: Path) -> None:
    source = SourceText.from_bytes("a", text.encode())
    for document in parse(source).documents:
        for part in ("key", "value", "entry"):
            span = locate(document, path, part)
            assert 0 <= span.start <= span.end <= len(text)


def test_a_mapping_is_looked_through_once_however_many_keys_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = 0

    def counted(entry: Entry) -> str | None:
        nonlocal asked
        asked += 1
        return known(entry)

    known = locate_module._key_text
    monkeypatch.setattr(locate_module, "_key_text", counted)
    text = "".join(f"k{number}: {number}\n" for number in range(500)) + "k7: last\n"
    source = SourceText.from_bytes("f.yaml", text.encode())
    [document] = parse(source).documents
    keys = Keys()
    spans = [find(document, (f"k{number}",), keys=keys).span for number in range(500)]
    assert asked == 501
    assert text[slice(*spans[7])] == "last"
    assert [text[slice(*span)] for span in spans[8:]] == [str(number) for number in range(8, 500)]


def test_ids_and_spelling() -> None:
    _, document = _document()
    ids = step_ids(document)
    assert ids == {("steps", 0): "S1", ("steps", 1): "S2", ("tasks", 0): "t"}
    assert spell(("steps", 0, "env", "x"), ids) == "steps[S1].env.x"
    assert spell(("steps", 2, "timeout"), ids) == "steps[2].timeout"
    assert spell(("dependencies", 0), ids) == "dependencies[0]"
    assert spell((), ids) == ""


def _finding(where: Path | Span, **fields: object) -> Finding:
    return Finding("DS999", Severity.ERROR, where, "wrong")._replace(**fields)


def _concretise(finding: Finding) -> Diagnostic:
    source, document = _document()
    return concretise(finding, "some-rule", text=source, document=document)


def test_concretise() -> None:
    related = (Related(("steps", 0), "the first"), Related(Span(0, 4), "here"))
    one = _concretise(_finding(("steps", 1, "needs", 1), related=related, reason="why", help="do"))
    assert (one.code, one.name, one.path) == ("DS999", "some-rule", "steps[S2].needs[1]")
    assert (one.place.file, one.place.start, one.place.end) == (
        "dsandbox.yaml",
        Position(8, 26),
        Position(8, 28),
    )
    assert (one.message, one.reason, one.help) == ("wrong", "why", "do")
    assert [(place.start, label) for place, label in one.related] == [
        (Position(3, 5), "the first"),
        (Position(1, 1), "here"),
    ]


def test_an_empty_value_is_shown_by_its_entry() -> None:
    one = _concretise(_finding(("steps", 2, "timeout")))
    assert (one.place.start, one.place.end) == (Position(10, 5), Position(10, 13))


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        (("steps", 0, "timeout"), [((4, 9), "merged here through *b"), ((1, 10), "&b is defined here")]),
        (("steps", 0, "gpu", "cpu"), [((5, 10), "used here through *b"), ((1, 10), "&b is defined here")]),
        (("base", "cpu"), []),
    ],
)
def test_aliases_on_the_way_are_related(path: Path, labels: list[object]) -> None:
    assert [(place.start, label) for place, label in _concretise(_finding(path)).related] == labels


def test_a_finding_without_document_is_at_the_start() -> None:
    one = concretise(_finding(("a",)), "n", text=SourceText.from_bytes("x", b"# nothing\n"))
    assert (one.place.span, one.path) == (Span(0, 0), "a")


def test_what_one_anchor_causes_at_many_aliases_is_told_once() -> None:
    source, document = _document("a: &x {t: 5}\nb: *x\nc: *x\n")
    findings = [_finding((key, "t")) for key in "abc"]
    found = [concretise(finding, "n", text=source, document=document) for finding in findings]
    random.Random(3).shuffle(found)
    (one,) = arrange(found)
    assert one.path == "a.t"
    assert [place.start.line for place, _ in one.related] == [2, 1, 3]


def test_what_differs_only_in_path_and_step_is_told_once_where_it_is_written() -> None:
    source, document = _document("steps:\n  - {id: a}\n  - {id: z, t: &x 5}\nmore: [*x, *x]\n")
    ways: list[tuple[Path, str]] = [(("more", 1), "a"), (("steps", 1, "t"), "z"), (("more", 0), "b")]
    found = [
        concretise(
            _finding(path)._replace(
                message=say("{at}: {who} wants {n}", at=str(path), who=say("Step {id}", id=step), n=5)
            ),
            "n",
            text=source,
            document=document,
            ids={("steps", 1): "z", ("more", 0): "b", ("more", 1): "a"},
        )
        for path, step in ways
    ]
    (one,) = arrange(found)
    assert (one.path, [place.start.line for place, _ in one.related]) == ("steps[z].t", [4, 3, 4])
    other = found[0]._replace(message=say("{at}: {who} wants {n}", at="x", who="", n=6))
    hidden = found[0]._replace(silenced=Silenced("comment", "why"))
    assert len(arrange([*found, other])) == 2
    assert [each.silenced is None for each in arrange([hidden, *found])].count(True) == 1
    assert len(arrange([hidden, *found])) == 2


def test_order_is_by_place_whatever_came_first() -> None:
    source, document = _document()
    paths: list[Path] = [("steps", 1, "needs", 1), ("steps", 0, "env", "x"), ("base", "cpu"), ("nope",)]
    found = [concretise(_finding(path), "n", text=source, document=document) for path in paths]
    expected = arrange(found)
    assert [one.path for one in expected] == ["nope", "base.cpu", "steps[S1].env.x", "steps[S2].needs[1]"]
    for seed in range(5):
        random.Random(seed).shuffle(found)
        assert arrange(found) == expected
