"""Which suppression silences a finding: the first that covers it; all that cover one are used."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.diagnostics import Diagnostic, Place, Severity, Silenced
from dsec_cli.lint.suppress import Suppression, apply
from dsec_cli.source.text import Position, Span

CODES = st.sampled_from(["DS101", "DS102"])
AT = st.integers(0, 12)


def found(code: str, at: int) -> Diagnostic:
    place = Place("a", Span(at, at + 1), Position(1, at + 1), Position(1, at + 2))
    return Diagnostic(code, "name", Severity.ERROR, place, "", "", "", "", (), ())


def covering(diagnostics: list[Diagnostic], suppressions: list[Suppression]) -> list[list[Suppression]]:
    """By the definition: every pair looked at."""
    return [
        [
            said
            for said in suppressions
            if said.code == one.code and said.covers.start <= one.place.span.start < said.covers.end
        ]
        for one in diagnostics
    ]


@given(st.lists(st.tuples(CODES, AT), max_size=8), st.lists(st.tuples(CODES, AT, AT), max_size=8))
def test_it_is_the_first_that_covers(places: list[tuple[str, int]], said: list[tuple[str, int, int]]) -> None:
    diagnostics = [found(code, at) for code, at in places]
    suppressions = [
        Suppression(code, Span(number, number), Span(min(ends), max(ends)), f"reason {number}")
        for number, (code, *ends) in enumerate(said)
    ]
    marked, used = apply(diagnostics, tuple(suppressions))
    covers = covering(diagnostics, suppressions)
    assert used == {one for ones in covers for one in ones}
    assert [one.silenced for one in marked] == [
        Silenced("comment", ones[0].reason) if ones else None for ones in covers
    ]
    assert [one._replace(silenced=None) for one in marked] == diagnostics
