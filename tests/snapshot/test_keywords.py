"""The one pass over a text finds all that the regular expressions would find if they looked at all of it."""

from __future__ import annotations

from types import ModuleType

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from dsec_cli.snapshot import (
    declarations,
    encodedtexts,
    keywords,
    literals,
    secretphrases,
    secretplaces,
    secrettokens,
    secretvalues,
)
from dsec_cli.snapshot.secretplaces import Line, TextKind
from dsec_cli.snapshot.secretvalues import is_drawn, is_meant, is_password, is_wordy
from dsec_cli.source.secrets import looks_random

SEARCH = keywords.Search((*secretphrases.WORDS, *secretphrases.BEGINNINGS))
PIECES = st.sampled_from(
    (
        *"\"'",
        *"\n\r\t +.&\\#",
        "..",
        "a",
        "Z9",
        "-",
        "=",
        "f",
        "rb",
        "key",
        "ToKeN",
        "sk-",
        "ghp_",
        "://",
        "é",
    )
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@given(TEXTS)
@example('k = "ghp_" "aB3"')
@example("k = 'a' \\\n    'b'")
@example("k = \"a\" ..\r\n  .. rb'b'")
@example('k = "a"f"b" + \'c\'"d"')
def test_every_seam_is_found(text: str) -> None:
    data = text.encode()
    text = data.decode("latin-1")
    seams = [hit.span() for hit in literals.SEAM.finditer(text)]
    found = literals.joined(text, literals.SEAM, SEARCH(data).seams)
    assert (found is not None) == bool(seams)
    if found is not None:
        outside = [0, *(at for seam in seams for at in seam), len(text)]
        parts = [text[low:high] for low, high in zip(outside[::2], outside[1::2], strict=True)]
        assert found.text == "".join(parts)


@given(TEXTS)
def test_every_keyword_is_found(text: str) -> None:
    data = text.encode()
    text = data.decode("latin-1")
    known = SEARCH(data)
    low = text.lower()
    assert {at for at in range(len(low)) if low.startswith(keywords.NAMES, at)} == set(known.names)
    assert {at for at in range(len(low)) if text.startswith(keywords.PREFIXES, at)} == known.prefixes
    assert [at for at in range(len(low)) if text.startswith("://", at)] == known.addresses


@given(st.text(st.characters(codec="ascii", exclude_categories=("Nd",)), max_size=80))
def test_no_value_without_a_digit_is_a_secret(value: str) -> None:
    """Lines without one are not looked at."""
    assert not is_drawn(value)
    assert not looks_random(value)
    assert not is_password(value)
    assert not is_meant("password", value)


@given(TEXTS)
def test_lines_are_those_with_a_name_and_a_digit(text: str) -> None:
    text += "key\n"
    known = SEARCH(text.encode("latin-1", "replace"))
    found = list(secretplaces.lines(text, known.names, []))
    wanted, at = [], 0
    for line in text.split("\n"):
        if any(name in line.lower() for name in keywords.NAMES) and any(char.isdecimal() for char in line):
            wanted.append((at, at + len(line)))
        at += len(line) + 1
    assert [(line.start, line.end) for line in found] == wanted
    assert all(line.start <= name < line.end for line in found for name in line.names)


def test_a_word_of_many_letters_is_looked_at_once() -> None:
    """A search that tries every way to cut it into words would never end."""
    assert not is_wordy("a" * 200 + "1#")
    assert not is_wordy("Ab" * 100 + "1#")
    assert is_wordy("a" * 200)
    text = f'"secret_key" => sk_{"abcdefghijklmnopqrstuvwxyz" * 4}123,'
    line = Line(0, len(text), [1], below=False)
    kind = TextKind(settings=True, guarded=False, sums=False)
    assert list(secretplaces.of_line(text, line, kind)) == []


@pytest.mark.parametrize(
    "module", [declarations, encodedtexts, literals, secretphrases, secretplaces, secrettokens, secretvalues]
)
def test_every_pattern_compiles(module: ModuleType) -> None:
    """They are compiled when they are first used: a mistake in one would be met by a user."""
    found = [one for one in vars(module).values() if type(one).__name__ == "_Pattern"]
    assert len(found) > 1
    for one in found:
        assert one.search("") is None or one.search("").group() == ""
