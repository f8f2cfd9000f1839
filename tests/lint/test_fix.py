"""Fixes applied to a text: what stays, what is taken back, and that a second run changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.diagnostics import Diagnostic, Edit, Finding, Fix, Severity, Silenced, concretise
from dsec_cli.lint.edits import MARK
from dsec_cli.lint.fix import FEWEST_TRIALS, MOST_READ, MOST_ROUNDS, Outcome, accepted, fixed
from dsec_cli.lint.linter import lint
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Tree
from dsec_cli.source.yaml import parse
from dsec_cli.words import say

Lint = Callable[[SourceText], list[Diagnostic]]


def source(data: str | bytes) -> SourceText:
    return SourceText("x.yaml", data.encode() if isinstance(data, str) else data)


def finding(
    text: SourceText, span: Span, *fixes: Fix, code: str = "DS777", error: bool = False
) -> Diagnostic:
    severity = Severity.ERROR if error else Severity.WARNING
    one = Finding(code, severity, span, f"{text.text[span.start : span.end]} is bad", fixes=fixes)
    return concretise(one, "bad", text=text)


def words(bad: str, good: str, *, safe: bool = True, error: bool = False) -> Lint:
    """A lint that finds every `bad` and would write `good` for it."""

    def found(text: SourceText) -> list[Diagnostic]:
        spans, at = [], text.text.find(bad)
        while at >= 0:
            spans.append(Span(at, at + len(bad)))
            at = text.text.find(bad, at + len(bad))
        fix = [Fix(say("write {good}", good=good), (Edit(span, good),), safe) for span in spans]
        return [finding(text, span, one, code=bad, error=error) for span, one in zip(spans, fix, strict=True)]

    return found


def together(*lints: Lint) -> Lint:
    return lambda text: [one for find in lints for one in find(text)]


def mended(outcome: Outcome) -> list[str]:
    return [one.code for one in outcome.mended]


def why(outcome: Outcome) -> list[tuple[str, str]]:
    return [(one.code, one.why) for one in outcome.kept]


def test_every_finding_is_mended_in_one_go() -> None:
    outcome = fixed(source("a: bad # bad\nb: [bad, fine]\n"), words("bad", "good"))
    assert outcome.text.text == "a: good # good\nb: [good, fine]\n"
    assert mended(outcome) == ["bad"] * 3
    assert why(outcome) == []
    assert [(one.at.line, one.at.column) for one in outcome.mended] == [(1, 4), (1, 10), (2, 5)]


def test_an_unsafe_fix_needs_to_be_asked_for() -> None:
    text = source("a: bad\n")
    assert fixed(text, words("bad", "good", safe=False)).text.data == text.data
    assert fixed(text, words("bad", "good", safe=False), unsafe=True).text.text == "a: good\n"


def test_the_first_fix_that_may_be_applied_is() -> None:
    def find(text: SourceText) -> list[Diagnostic]:
        span = Span(3, 6)
        both = (Fix("one", (Edit(span, "one"),), safe=False), Fix("two", (Edit(span, "two"),)))
        return [finding(text, span, *both)] if text.text[3:6] == "bad" else []

    assert fixed(source("a: bad\n"), find).text.text == "a: two\n"
    assert fixed(source("a: bad\n"), find, unsafe=True).text.text == "a: one\n"


def test_what_is_silenced_is_left_alone() -> None:
    def find(text: SourceText) -> list[Diagnostic]:
        return [one._replace(silenced=Silenced("comment", "x")) for one in words("bad", "good")(text)]

    assert fixed(source("a: bad\n"), find).text.text == "a: bad\n"


def test_of_overlapping_fixes_the_leftmost_wins() -> None:
    outcome = fixed(source("a: xbady\n"), together(words("bady", "Y"), words("xbad", "X")))
    assert outcome.text.text == "a: Xy\n"
    assert mended(outcome) == ["xbad"]


def test_rounds_go_on_until_nothing_is_left() -> None:
    outcome = fixed(source("a: one\n"), together(words("one", "two"), words("two", "six")))
    assert outcome.text.text == "a: six\n"
    assert mended(outcome) == ["one", "two"]


def test_rounds_come_to_an_end() -> None:
    def find(text: SourceText) -> list[Diagnostic]:
        end = len(text.text) - 1
        longer = Edit(Span(3, end), text.text[3:end] + "x")
        return [finding(text, Span(3, end), Fix("more", (longer,)))]

    outcome = fixed(source("a: b\n"), find)
    assert outcome.text.text == "a: b" + "x" * MOST_ROUNDS + "\n"
    assert why(outcome) == [("DS777", f"there is still something to mend after {MOST_ROUNDS} rounds")]


REFUSED = [
    ("a: bad\nb: 1\n", "x: [", "it would bring DS002"),
    ("a: bad\nb: 1\n", '"x', "it would bring DS002"),
    ("a: 1 # c\nb: bad\n", "x # new", ""),
    ("a: bad # c\nb: 1\n", "x\nb: 2\n", "it would bring DS003"),
    ("b: bad\n  x # c\n", "|", "a comment would change"),
    ("bad: 1\n", "bad", "it changes nothing"),
    ("a: bad\n", "bad # bad", "bad would still be found"),
    ("a: bad\n", "x\x00", "it would bring DS002"),
]


@pytest.mark.parametrize(("text", "good", "said"), REFUSED)
def test_a_fix_that_does_more_than_it_says_is_taken_back(text: str, good: str, said: str) -> None:
    outcome = fixed(source(text), words("bad", good))
    if not said:
        assert outcome.kept == ()
        return
    assert outcome.text.text == text
    assert [said in told for _, told in why(outcome)] == [True], why(outcome)


def test_a_fix_that_brings_an_error_is_taken_back_and_the_others_stay() -> None:
    harmful = together(words("bad", "worse"), words("ugly", "fine"), _never("worse"))
    outcome = fixed(source("a: bad\nb: ugly\nc: ugly\n"), harmful)
    assert outcome.text.text == "a: bad\nb: fine\nc: fine\n"
    assert why(outcome) == [("bad", "it would bring DS666: worse is bad")]


def _never(word: str) -> Lint:
    """A lint that calls `word` an error."""

    def find(text: SourceText) -> list[Diagnostic]:
        at = text.text.find(word)
        return [finding(text, Span(at, at + len(word)), code="DS666", error=True)] if at >= 0 else []

    return find


def test_a_comment_that_leaves_with_its_entry_is_named() -> None:
    def find(text: SourceText) -> list[Diagnostic]:
        at = text.text.find("b: 1")
        end = text.text.find("\n", at) + 1
        fix = Fix("remove b", (Edit(Span(at, end), ""),))
        return [finding(text, Span(at, at + 1), fix)] if at >= 0 else []

    outcome = fixed(source("a: 1\nb: 1  # my b\nc: 2\n"), find)
    assert outcome.text.text == "a: 1\nc: 2\n"
    assert outcome.mended[0].comments == ("# my b",)


def test_what_no_decoder_can_read_is_left_alone() -> None:
    text = source(b"a: bad\nb: \xff\n")
    assert fixed(text, words("bad", "good")).text is text


def test_edits_outside_the_text_are_no_fixes() -> None:
    def find(text: SourceText) -> list[Diagnostic]:
        return [finding(text, Span(0, 1), Fix("x", (Edit(Span(3, 99), "x"),)))]

    assert fixed(source("a: b\n"), find).text.text == "a: b\n"


def test_the_byte_order_mark_can_be_taken_off_utf_8_only() -> None:
    def find(text: SourceText) -> list[Diagnostic]:
        marked = text.byte_offset(0) > 0
        return [finding(text, Span(0, 1), Fix("no mark", (Edit(MARK, ""),)))] if marked else []

    assert fixed(source("\ufeffa: 1\n"), find).text.data == b"a: 1\n"
    wide = source("\ufeffa: 1\n".encode("utf-16-le"))
    assert fixed(wide, find).text.data == wide.data


def test_insertions_at_one_place_all_stay() -> None:
    def missing(name: str) -> Lint:
        def find(text: SourceText) -> list[Diagnostic]:
            fix = Fix(f"add {name}", (Edit(Span(4, 4), f"\n{name}: 1"),))
            return [] if f"{name}:" in text.text else [finding(text, Span(0, 1), fix, code=name)]

        return find

    outcome = fixed(source("a: 1\n"), together(missing("c"), missing("b")))
    assert outcome.text.text == "a: 1\nb: 1\nc: 1\n"


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_halving_keeps_all_that_is_not_refused(units: set[int], wrong: set[int]) -> None:
    good, bad = accepted(sorted(units), lambda some: "no" if wrong.intersection(some) else "")
    assert good == sorted(units - wrong)
    assert bad == [(one, "no") for one in sorted(units & wrong)]


LINES = st.lists(
    st.sampled_from(
        [
            *("a: bad", "b: [bad, 'bad']", "c: {d: bad}", "# bad", "e: fine  # bad", "f: |\n  bad\n  text"),
            *("g: &x bad", "h: *x", "i: été bad", "j: 😀bad", "", "  ", "k: >-\n  bad", 'l: "bad\\n"'),
        ]
    ),
    unique=True,
)


@given(
    LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(), st.sampled_from(["g", "g: h", ""])
)
def test_unrelated_bytes_are_the_same(lines: list[str], end: str, mark: bool, last: bool, good: str) -> None:
    text = end.join(line.replace("\n", end) for line in lines) + (end if last else "")
    before = source(("\ufeff" if mark else "").encode() + text.encode())
    find = words("bad", good)
    outcome = fixed(before, find)
    pieces = before.data.split(b"bad")
    at = len(pieces[0])
    assert outcome.text.data.startswith(pieces[0])
    for piece in pieces[1:]:
        took = next(
            word for word in (b"bad", good.encode()) if outcome.text.data.startswith(word + piece, at)
        )
        at += len(took) + len(piece)
    assert at == len(outcome.text.data) or good == ""
    again = fixed(outcome.text, find)
    assert again.text.data == outcome.text.data
    assert again.mended == ()


def test_a_real_contract_with_its_mark_and_line_ends() -> None:
    data = (
        "\ufeff# dsandbox.yaml\r\n"
        'version: 1.10 # "é😀"\r\n'
        "name: x\r\nelasticity: {gpu: {min_count: 0, max_cuont: 0}}"
    ).encode()
    text = SourceText("dsandbox.yaml", data)
    outcome = fixed(text, lambda one: lint(one, ignore=["DS007"]))
    want = data.replace(b"1.10", b'"1.10"').replace(b"cuont", b"count")
    assert outcome.text.data == want
    assert mended(outcome) == ["DS103", "DS101"]
    outcome = fixed(text, lint)
    assert outcome.text.data == want.removeprefix("\ufeff".encode()) + b"\r\n"
    assert sorted(mended(outcome)) == ["DS007", "DS101", "DS103"]


@pytest.mark.battery
@pytest.mark.parametrize("fixes", [500, pytest.param(9000, marks=pytest.mark.battery)])
def test_fixes_that_are_in_each_others_way_are_not_tried_for_ever(fixes: int) -> None:
    asked: list[str] = []

    def reading(text: SourceText) -> list[Diagnostic]:
        asked.append(text.text)
        return words("bad", "bad # bad")(text)

    padding = "# " + "x" * (MOST_READ // FEWEST_TRIALS) + "\n"
    many = source(padding + "".join(f"k{number}: bad\n" for number in range(fixes)))
    outcome = fixed(many, reading)
    assert outcome.text.text == many.text
    assert len(asked) <= FEWEST_TRIALS + 1
    assert len(outcome.kept) == fixes
    reasons = [reason for _, reason in why(outcome)]
    given_up = "too many fixes of this file get into each other's way to try them one by one"
    assert {*reasons} <= {given_up, "bad would still be found"}
    assert reasons.count(given_up) > fixes * 9 // 10, "halving reaches a few of them in that many trials"


def test_what_was_accepted_is_not_read_and_linted_again() -> None:
    asked: list[str] = []

    def found(text: SourceText) -> list[Diagnostic]:
        asked.append(text.text)
        return together(words("bad", "good"), words("worse", "worse # worse"))(text)

    def read(text: SourceText) -> Tree:
        asked.append(f"tree of {text.text}")
        return parse(text)

    outcome = fixed(source("a: bad\nb: worse\nc: bad\n"), found, read=read)
    assert outcome.text.text == "a: good\nb: worse\nc: good\n"
    assert mended(outcome) == ["bad"] * 2
    assert asked.count(outcome.text.text) == asked.count(f"tree of {outcome.text.text}") == 1


@pytest.mark.battery
def test_a_small_file_is_tried_to_the_last_fix() -> None:
    text = source("".join(f"k{number}: {'worse' if number % 2 else 'bad'}\n" for number in range(60)))
    outcome = fixed(text, together(words("bad", "good"), words("worse", "worse # worse")))
    assert mended(outcome) == ["bad"] * 30
    assert {reason for _, reason in why(outcome)} == {"worse would still be found"}
