"""What the configuration silences or leaves out: marked, ended by its day, and told where it does nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, Ran

Ds = Callable[..., Ran]
BAD = (ROOT / "examples" / "bad" / "dsandbox.yaml").read_bytes()


IGNORES = """[[lint.per-file-ignores]]
files = ["legacy/**", "*.old.yaml"]
codes = ["ds5", "DS601"]
reason = "owned by another team"
"""


def codes(ran: Ran) -> list[str]:
    return [one["code"] for one in json.loads(ran.stdout)["diagnostics"] if one["silenced"] is None]


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    return tmp_path


def test_what_the_configuration_ignores_is_marked(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / ".dsec.toml").write_text(IGNORES)
    for name in ("legacy/a/dsandbox.yaml", "x.old.yaml", "new.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(BAD)
    ran = ds("ds-contract-lint", "legacy/a", "x.old.yaml", "new.yaml", "-f", "json")
    document = json.loads(ran.stdout)
    silenced: dict[str, set[str]] = {name: set() for name in document["files"]}
    for one in document["diagnostics"]:
        if one["silenced"]:
            assert one["silenced"] == {"by": "config", "reason": "owned by another team"}
            silenced[one["place"]["file"]].add(one["code"])
    ignored = {"DS503", "DS505", "DS601"}
    assert silenced == {"legacy/a/dsandbox.yaml": ignored, "x.old.yaml": ignored, "new.yaml": set()}


def test_an_ignore_ends_with_its_day(ds: Ds, bad: Path) -> None:
    entry = IGNORES.replace('"*.old.yaml"', '"dsandbox.yaml"')
    (bad / ".dsec.toml").write_text(entry + 'until = "2999-12-31"\n')
    assert "DS503" not in codes(ds("ds-contract-lint", "-f", "json"))
    (bad / ".dsec.toml").write_text("\n" + entry + 'until = "2020-12-31"\n')
    ran = ds("ds-contract-lint", "-f", "json")
    assert "DS503" in codes(ran)
    (note,) = json.loads(ran.stdout)["notes"]
    assert note.startswith(".dsec.toml:2: ")
    assert "2020-12-31" in note


@pytest.mark.battery
def test_an_ignore_that_silences_nothing_is_told(ds: Ds, bad: Path) -> None:
    (bad / ".dsec.toml").write_text(
        '[[lint.per-file-ignores]]\nfiles = "*.yaml"\ncodes = "DS503"\nreason = "used"\n'
        '[[lint.per-file-ignores]]\nfiles = "*.yaml"\ncodes = ["DS609"]\nreason = "idle"\n'
        '[[lint.per-file-ignores]]\nfiles = "other.yaml"\ncodes = ["DS609"]\nreason = "not met"\n'
    )

    def notes(*words: str) -> list[str]:
        return json.loads(ds("ds-contract-lint", "-f", "json", *words).stdout)["notes"]

    (note,) = notes()
    assert note == ".dsec.toml:5: this entry of per-file-ignores silences nothing: remove it"
    assert notes(".") == [note]
    assert notes("dsandbox.yaml") == []  # other files may need it
    assert notes("--select", "DS503") == []
    (bad / "dsandbox.yaml").write_bytes(b"a: [1\n")
    assert notes() == []


def test_a_text_that_cannot_be_read_is_never_ignored(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(b"a: [1\n")
    (tmp_path / ".dsec.toml").write_text(
        '[[lint.per-file-ignores]]\nfiles = "**"\ncodes = "DS"\nreason = "no"\n'
    )
    assert ds("ds-contract-lint").returncode == 1


def test_an_ignore_of_a_code_that_no_rule_has(ds: Ds, bad: Path) -> None:
    (bad / ".dsec.toml").write_text(IGNORES.replace("ds5", "DS5O"))
    ran = ds("ds-contract-lint")
    assert ran.returncode == 2
    assert b".dsec.toml:1: no rule's code begins with 'DS5O'" in ran.stderr


def test_excluded_files_are_named_and_no_failure(ds: Ds, bad: Path) -> None:
    (bad / ".dsec.toml").write_text('[lint]\nexclude = ["dsandbox.yaml"]\n')
    ran = ds("ds-contract-lint")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout == b"note: excluded: dsandbox.yaml\n0 files checked, nothing found\n"
    assert ds("ds-contract-lint", "--exclude", "other/**").returncode == 1
    assert ds("ds-contract-lint", "-", "--stdin-name", "dsandbox.yaml", stdin=BAD).returncode == 0
