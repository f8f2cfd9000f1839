"""A choice is an enumeration to everybody who uses one."""

from __future__ import annotations

import copy
import pickle

import pytest

from dsec_cli.diagnostics import SEVERITIES, Severity


def test_members_are_found_by_name_and_by_value() -> None:
    assert Severity("error") is Severity.ERROR
    assert (Severity.INFO.name, Severity.INFO.value) == ("INFO", "info")
    assert repr(Severity.INFO) == "<Severity.INFO: 'info'>"
    assert str(Severity.INFO) == "Severity.INFO"
    with pytest.raises(ValueError, match="'fatal' is no Severity"):
        Severity("fatal")


def test_members_are_one_of_a_kind() -> None:
    for member in SEVERITIES:
        assert pickle.loads(pickle.dumps(member)) is member
        assert copy.deepcopy(member) is member
    assert len({*SEVERITIES, Severity("warning")}) == 3


def test_members_do_not_change() -> None:
    with pytest.raises(AttributeError, match=r"Severity\.ERROR cannot be changed"):
        Severity.ERROR.value = "other"  # type: ignore[misc]


def test_all_members_are_listed() -> None:
    named = [value for value in vars(Severity).values() if isinstance(value, Severity)]
    assert tuple(named) == SEVERITIES
