"""A finding in an anchored value names where aliases and merge keys use it, in a plan as in a lint."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec_cli.commands.opened import diagnose, open_contract
from dsec_cli.diagnostics import Diagnostic, Finding, Related, Severity, arrange

CONTRACT = """\
version: "1.0.0"
steps:
  - id: a
    run: "true"
    resources: &big {cpu: 1, memory: &m 900GiB}
  - id: b
    run: "true"
    resources: *big
  - id: c
    run: "true"
    resources: {<<: *big, cpu: 2}
  - id: d
    run: "true"
    resources: {cpu: 1, memory: *m}
"""


def found(folder: Path, *paths: tuple[str | int, ...], file: str = "dsandbox.yaml") -> tuple[Diagnostic, ...]:
    opened = open_contract(str(folder / file))
    findings = tuple(Finding("DS210", Severity.ERROR, path, "it needs too much") for path in paths)
    return arrange(diagnose(opened, findings))


def places(one: Diagnostic) -> list[tuple[int, str]]:
    return [(place.start.line, label) for place, label in one.related]


@pytest.mark.parametrize(
    ("at", "uses"),
    [
        (0, []),
        (1, [(8, "used here through *big"), (5, "&big is defined here")]),
        (2, [(11, "merged here through *big"), (5, "&big is defined here")]),
        (3, [(14, "used here through *m"), (5, "&m is defined here")]),
    ],
)
def test_the_use_is_a_second_place(tmp_path: Path, at: int, uses: list[tuple[int, str]]) -> None:
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    (one,) = found(tmp_path, ("steps", at, "resources", "memory"))
    assert (one.place.start.line, one.place.start.column) == (5, 41)
    assert one.place.span.end - one.place.span.start == len("900GiB")
    assert places(one) == uses


def test_one_value_at_many_aliases_is_one_finding_with_all_uses(tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    (one,) = found(tmp_path, *(("steps", at, "resources", "memory") for at in range(4)))
    assert [line for line, label in places(one) if "through" in label] == [8, 11, 14]


def test_of_many_uses_those_that_come_first_are_named_first(tmp_path: Path) -> None:
    more = "".join(f"  - {{id: s{at}, run: 'true', resources: *big}}\n" for at in range(12))
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT + more)
    (one,) = found(tmp_path, *(("steps", at, "resources", "memory") for at in range(16)))
    lines = [line for line, label in places(one) if label == "used here through *big"]
    assert lines == sorted(lines)
    assert len(lines) == 13


def test_the_places_that_a_rule_names_stay(tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    related = (Related(("steps", 0), "this one"),)
    path = ("steps", 1, "resources", "memory")
    finding = Finding("DS210", Severity.ERROR, path, "it needs too much", related=related)
    (one,) = diagnose(open_contract(str(tmp_path / "dsandbox.yaml")), (finding,))
    assert [label for _, label in places(one)] == [
        "used here through *big",
        "&big is defined here",
        "this one",
    ]


def test_uses_in_the_file_beside_the_contract(tmp_path: Path) -> None:
    head, _, steps = CONTRACT.partition("steps:")
    (tmp_path / "dsandbox.yaml").write_text(head)
    (tmp_path / "ds_config.yaml").write_text(f"steps:{steps}")
    (one,) = found(tmp_path, ("steps", 1, "resources", "memory"))
    assert {Path(place.file).name for place, _ in one.related} == {"ds_config.yaml"}
    assert [line for line, _ in places(one)] == [7, 4]
