"""Two hundred contracts as people write them: not one false alarm, and every key of the language in them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from generating.jobs import JOBS, documents
from generating.writing import written

from dsec_cli.contract.kinds import classify
from dsec_cli.contract.table import ROOTS, SECTIONS

COUNT = 200
REMARKS = {"DS310": "pausing keeps GPU memory", "DS506": "many Steps", "DS116": "not applied yet"}
"""Informational findings that are right about these contracts."""
DOCUMENTS = documents(COUNT)


@pytest.mark.parametrize("at", range(COUNT))
def test_a_real_looking_contract_is_no_alarm(at: int, cases) -> None:
    name, values = DOCUMENTS[at]
    found = cases.run(written(values), name=name)
    alarms = [one for one in found if one.severity.value != "info" or one.code not in REMARKS]
    assert alarms == [], f"{name}\n{written(values)}\n{cases.show(tuple(alarms))}"


def test_the_contracts_differ_and_are_of_every_kind() -> None:
    texts = {written(values) for _, values in DOCUMENTS}
    assert len(texts) >= COUNT * 9 // 10
    kinds = Counter(classify(frozenset(values), name) for name, values in DOCUMENTS)
    assert set(kinds) == set(ROOTS)
    assert min(kinds.values()) >= COUNT // len(JOBS) - 1


def test_the_contracts_are_the_same_every_time() -> None:
    assert documents(COUNT) == DOCUMENTS


def test_the_contracts_use_every_key_and_choice_of_the_language() -> None:
    used: set[tuple[str, str]] = set()
    for name, values in DOCUMENTS:
        _collect(("section", ROOTS[classify(frozenset(values), name)]), values, used)
    wanted = {(heading, key) for heading, _, keys in SECTIONS.values() for key in keys}
    choices = {
        choice for _, _, keys in SECTIONS.values() for kind in keys.values() for choice in _choices(kind)
    }
    assert wanted - used == set()
    assert choices - used == set()


def _collect(kind: tuple[Any, ...], value: object, used: set[tuple[str, str]]) -> None:
    """Note which keys and choices of the language a value has."""
    match kind[0], value:
        case "section", dict():
            heading, _, keys = SECTIONS[kind[1]]
            for key, inner in value.items():
                used.add((heading, key))
                _collect(keys[key], inner, used)
        case "keyed", dict():
            _collect(("section", kind[2] if kind[1] in value else kind[3]), value, used)
        case "list", list():
            for item in value:
                _collect(kind[1], item, used)
        case "either", _:
            branch = kind[3] if isinstance(value, dict) else kind[2] if isinstance(value, list) else kind[1]
            used.add(_branch(kind, branch))
            _collect(branch, value, used)
        case "enum", str():
            used.add(("|".join(kind[1]), value))
        case _:
            pass


def _branch(kind: tuple[Any, ...], branch: tuple[Any, ...]) -> tuple[str, str]:
    return repr(kind), repr(branch)


def _choices(kind: tuple[Any, ...]) -> set[tuple[str, str]]:
    """Every choice that a type leaves open."""
    if kind[0] == "enum":
        return {("|".join(kind[1]), choice) for choice in kind[1]}
    if kind[0] == "list":
        return _choices(kind[1])
    if kind[0] == "either":
        inner = set().union(*(_choices(branch) for branch in kind[1:] if branch))
        return inner | {_branch(kind, branch) for branch in kind[1:] if branch}
    return set()
