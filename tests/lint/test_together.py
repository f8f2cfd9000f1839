"""Contracts that are linted together share one elastic pool."""

from __future__ import annotations

from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import Surroundings
from dsec_cli.lint.together import growths
from dsec_cli.source.text import SourceText

NAME = "elastic-demand-over-pool"


def _text(name: str, *pairs: tuple[int, int]) -> SourceText:
    documents = [
        f"baseline:\n  gpu: {{count: {low}, type: a100}}\nelasticity:\n  gpu: {{max_count: {high}}}\n"
        for low, high in pairs
    ]
    return SourceText.from_bytes(name, "---\n".join(documents).encode())


def _found(cases, *texts: SourceText, machines: str = "10 x a100-pcie-40gb"):  # type: ignore[no-untyped-def]
    around = Surroundings(inventory=cases.inventory(machines), growths=growths(texts))
    return [one for text in texts for one in lint(text, around=around, rules=(cases.rule(NAME),))]


def test_what_may_grow_is_found_with_its_place() -> None:
    found = growths([_text("a", (2, 4)), _text("b", (2, 2)), _text("c", (1, 2), (4, 3), (1, 4))])
    assert [(one.file, one.document, one.gpus) for one in found] == [("a", 0, 2), ("c", 0, 1), ("c", 2, 3)]
    assert (found[0].place.start.line, found[0].place.start.column) == (4, 20)


def test_texts_that_state_nothing_or_nonsense_do_not_grow() -> None:
    texts = [
        SourceText.from_bytes("x", data) for data in (b"", b"\xff", b"[", b"a: *b", b"baseline: {gpu: 1}\n")
    ]
    assert growths(texts) == ()


def test_several_that_fit_alone_and_not_together_are_told_once(cases) -> None:  # type: ignore[no-untyped-def]
    found = _found(cases, _text("a", (2, 3)), _text("b", (2, 4)), _text("c", (1, 2)))
    (one,) = found
    assert (one.place.file, one.path) == ("b", "elasticity.gpu.max_count")
    assert one.message == (
        "3 contracts may grow by 4 GPUs together (2 + 1 + 1), but the elastic pool is 3 GPUs, "
        "30 % of the inventory's 10: 1 too many"
    )
    assert [(place.file, label) for place, label in one.related] == [
        ("a", "this one may grow by 1 GPU"),
        ("c", "this one may grow by 1 GPU"),
    ]


def test_together_within_the_pool_is_quiet(cases) -> None:  # type: ignore[no-untyped-def]
    assert _found(cases, _text("a", (2, 4)), _text("b", (1, 2))) == []


def test_one_that_is_too_large_alone_does_not_count_for_the_others(cases) -> None:  # type: ignore[no-untyped-def]
    found = _found(cases, _text("a", (4, 8)), _text("b", (1, 3)))
    assert [(one.place.file, one.message.split("(")[0]) for one in found] == [("a", "may grow by 4 GPUs ")]
