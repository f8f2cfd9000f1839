"""What is being written at the cursor, and what is offered there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.editor import complete, cursor, hover, mend, outline, page
from dsec_cli.editor.positions import UTF8, UTF16, UTF32, offset_of, point_of
from dsec_cli.lint.linter import lint
from dsec_cli.source.text import SourceText

HERE = "\N{WHITE DOWN POINTING BACKHAND INDEX}"


def marked(text: str, name: str = "dsandbox.yaml") -> tuple[page.Page, int]:
    """The page of a text, and the offset of the hand in it."""
    offset = text.index(HERE)
    return page.read(SourceText.from_bytes(name, text.replace(HERE, "").encode())), offset


@pytest.mark.parametrize(
    ("text", "keys", "value", "word"),
    [
        (f"base{HERE}", (), False, "base"),
        (f"baseline:\n  {HERE}", ("baseline",), False, ""),
        (f"baseline:\n  gpu: {{count: 1, ty{HERE}}}\n", ("baseline", "gpu"), False, "ty"),
        (f"baseline:\n  gpu: {{count: 1, type: a{HERE}}}\n", ("baseline", "gpu", "type"), True, "a"),
        (f"steps:\n  - id: S1\n    ti{HERE}\n  - id: S2\n", ("steps", None), False, "ti"),
        (f"steps:\n- id: S1\n  resources:\n    gp{HERE}\n", ("steps", None, "resources"), False, "gp"),
        (f"steps:\n- {HERE}", ("steps", None), False, ""),
        (f"steps:\n  - id: S2\n    needs: [S1, {HERE}]\n", ("steps", None, "needs", None), True, ""),
        (f"steps:\n  - id: S2\n    needs:\n    - {HERE}\n", ("steps", None, "needs", None), False, ""),
        (f"steps: [{{id: S1}}, {{{HERE}\n", ("steps", None), False, ""),
        (f"a: {{b: [{{c: 1}}, 2], d{HERE}", ("a",), False, "d"),
        (f"fault_tolerance:\n  # why\n\n  level: {HERE}\n", ("fault_tolerance", "level"), True, ""),
        (f"a:\n  b: 1\n---\nc{HERE}", (), False, "c"),
        (f"x: &name\n  y{HERE}", ("x",), False, "y"),
    ],
)
def test_the_place_in_the_language(text, keys, value, word) -> None:
    here, offset = marked(text)
    found = cursor.at(here.text, offset)
    assert (found.keys, found.value, found.word) == (keys, value, word)


@pytest.mark.parametrize(
    "text",
    [
        f"a: 1 # com{HERE}ment",
        f"# c{HERE}",
        f"a: 'quo{HERE}",
        f"run: |\n  echo {HERE}",
        f"steps:\n  - run: >-\n      two\n      lines{HERE}",
    ],
)
def test_nothing_is_offered_in_comments_quotes_and_blocks(text) -> None:
    here, offset = marked(text)
    assert cursor.at(here.text, offset) is None
    assert complete.complete(here, offset).items == ()


def labels(text: str) -> list[str]:
    here, offset = marked(text)
    return [item.label for item in complete.complete(here, offset).items]


def test_keys_that_are_there_are_not_offered_again_and_required_ones_come_first() -> None:
    found = labels(f"steps:\n  - {HERE}\n    run: x\n    timeout: 5s\n")
    assert found[0] == "id"
    assert not {"run", "timeout"} & set(found)
    assert {"needs", "resources", "call"} <= set(found)


def test_values_are_those_the_key_takes() -> None:
    assert labels(f"fault_tolerance: {{level: {HERE}}}") == [
        "critical",
        "pauseable",
        "elastic",
        "discardable",
    ]
    steps = "steps:\n  - {id: S1, run: x}\n  - {id: S2, run: x}\n"
    assert labels(f"{steps}  - id: S3\n    needs: [{HERE}]\n") == ["S1", "S2", "S3"]
    assert {"S1", "S2", "step"} <= set(labels(f"{steps}  - id: S3\n    needs:\n      - {HERE}\n"))
    assert "a100-pcie-40gb" in labels(f"baseline:\n  gpu:\n    type: {HERE}\n")


def test_a_key_that_stands_alone_gets_its_colon() -> None:
    here, offset = marked(f"steps:\n  - id: S1\n    time{HERE}\n")
    offer = complete.complete(here, offset)
    [item] = [item for item in offer.items if item.label == "timeout"]
    assert (item.text, offer.back) == ("timeout: ", 4)
    assert "resources:" in {item.text for item in offer.items}


def test_hover_says_what_a_step_is() -> None:
    here, offset = marked(f"steps:\n  - {{id: S1, run: load}}\n  - {{id: S2, run: x, needs: [S{HERE}1]}}\n")
    said = hover.hover(here, offset)
    assert "Step **S1**" in said.markdown
    assert "run: load" in said.markdown


def test_the_outline_lists_steps_below_their_section() -> None:
    here, _ = marked(f"version: 1{HERE}\nsteps:\n  - {{id: S1, run: x}}\n")
    found = outline.outline(here)
    assert [(one.name, [inner.name for inner in one.below]) for one in found] == [
        ("version", []),
        ("steps", ["S1"]),
    ]


def test_an_excuse_is_offered_where_the_linter_reads_it() -> None:
    text = SourceText.from_bytes("ds_config.yaml", b"steps:\n  - id: S1\n    run: python a.py\n")
    [one] = lint(text)
    [offer] = [one for one in mend.offers(one, text) if "excuse" in one.title]
    [edit] = offer.edits
    excused = text.text[: edit.span.start] + edit.text + "because\n" + text.text[edit.span.end :].lstrip("\n")
    assert lint(SourceText.from_bytes("ds_config.yaml", excused.encode())) == ()


TEXTS = st.text(st.sampled_from("ab:- \n\r\t{}[],#'\"|>&*🚀é数\u2028\u0301"), max_size=60)


@given(TEXTS, st.sampled_from([UTF8, UTF16, UTF32]))
def test_positions_lead_back_to_their_offset(text: str, unit: str) -> None:
    source = SourceText.from_bytes("x.yaml", text.encode())
    for offset in range(len(source.text) + 1):
        point = point_of(source, offset, unit=unit)
        back = offset_of(source, *point, unit=unit)
        # Between CR and LF, and on them, the end of the line is meant.
        assert back == offset or source.text[back:offset].strip("\r\n") == ""


@given(TEXTS)
def test_any_text_is_answered_at_any_place(text: str) -> None:
    source = SourceText.from_bytes("dsandbox.yaml", text.encode())
    here = page.read(source)
    outline.outline(here)
    for offset in range(0, len(source.text) + 1, 3):
        complete.complete(here, offset)
        hover.hover(here, offset)
        page.references(here, offset)
        spot = page.spot_at(here, offset)
        if spot is not None:
            page.defined_at(here, spot)


def test_a_mark_is_nothing_that_an_editor_could_remove() -> None:
    text = SourceText("ds_config.yaml", "\ufeffnvlink_mode: p2p".encode())
    (untidy,) = lint(text)
    assert [edit.text for edit in untidy.fixes[0].edits] == ["", "\n"]
    assert [edit.text for offer in mend.offers(untidy, text) for edit in offer.edits] == ["\n"]
    (bare,) = lint(SourceText("ds_config.yaml", "\ufeffnvlink_mode: p2p\n".encode()))
    assert mend.offers(bare, text) == ()
