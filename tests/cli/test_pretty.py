"""JSON in pieces is the JSON that the standard library writes at once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.report.pretty import INDENT, listed, opened, pretty

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def whole(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


@pytest.mark.battery
@given(VALUES)
def test_a_value_is_written_as_by_the_standard_library(value: object) -> None:
    assert pretty(value) == whole(value)


@given(st.lists(VALUES, max_size=4))
def test_a_list_is_written_item_by_item(values: list[object]) -> None:
    pieces = list(listed(iter(values)))
    assert "".join(pieces) == whole(values)
    assert len(pieces) == len(values) + 1


@given(st.dictionaries(st.text(st.sampled_from("abc")), VALUES, max_size=3), st.lists(VALUES, max_size=3))
def test_an_object_is_begun_before_its_last_value_is_known(
    entries: dict[str, object], values: list[object]
) -> None:
    written = opened(entries, "last") + "".join(listed(values, "\n" + INDENT)) + "\n}"
    assert written == whole({**entries, "last": values})
