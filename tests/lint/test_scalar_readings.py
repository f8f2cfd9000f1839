"""What rule DS006 says of YAML 1.1 and 1.2, held against a parser of each and our own reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from dsec_cli.contract.table import SECTIONS
from dsec_cli.lint.rules.ambiguous_scalar import NUMBERS, TEXT, readings
from dsec_cli.source.resolve import resolve
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Scalar

LIKE_NUMBERS = st.text("0123456789", min_size=1, max_size=6) | st.from_regex(
    r"[-+]?(0o[0-9]{1,4}|0b[01][0-2_]{0,4}|[0-9][0-9_]{0,6}|[0-9]{1,3}(:[0-9]{1,2}){1,2})", fullmatch=True
)
WORDS = st.sampled_from(["yes", "Yes", "YES", "no", "No", "on", "ON", "off", "Off", "true", "false", "maybe"])


def _old(text: str) -> object:
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 1)
    return reader.load(f"- {text}\n")[0]


def _new(text: str) -> object:
    return resolve(Scalar(Span(0, len(text)), text, "plain", None, None))[1]


@given(LIKE_NUMBERS | WORDS)
def test_the_readings_are_those_of_the_readers(text: str) -> None:
    old, new = _old(text), _new(text)
    said, number = readings(text)
    if not said:
        assert old == new or str(old) == str(new), f"{text}: {old!r} and {new!r} are not told apart"
        return
    assert old != new
    assert said == (TEXT if old == text else str(old).lower())
    assert number == ("" if new == text else str(new))


@pytest.mark.parametrize(
    "text", ["1e-4", "1e3", "2024-01-01", "0x1F", "y", "n", "=", "0.5", "07", "0", "-3", "~"]
)
def test_what_is_read_as_it_looks_is_left_alone(text: str) -> None:
    assert readings(text) == ("", "")


def test_every_key_that_holds_a_number_is_known() -> None:
    numbers = {key for _, _, keys in SECTIONS.values() for key, kind in keys.items() if _is_number(kind)}
    assert numbers == NUMBERS


def _is_number(kind: object) -> bool:
    if not isinstance(kind, tuple) or not kind:
        return False
    return kind[0] in ("whole", "number") or (kind[0] in ("list", "either") and _is_number(kind[1]))
