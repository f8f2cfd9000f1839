"""`dsec schema` as a user meets it: every printed schema is one, and accepts what the linter accepts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from dsec_cli.commands.schema import OWN
from dsec_cli.contract.generate_schema import FILES, LANGUAGE_VERSION
from dsec_cli.source.resolve import plain_value
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

from .conftest import ROOT, Ran

Ds = Callable[..., Ran]


@pytest.mark.battery
def test_the_list_names_every_kind_and_its_version(ds: Ds) -> None:
    ran = ds("dsec", "schema", "list")
    rows = [line.split(maxsplit=2) for line in ran.stdout.decode().splitlines()]
    assert [row[0] for row in rows] == [*FILES, *OWN]
    assert [row[1] for row in rows] == [LANGUAGE_VERSION] * len(FILES) + ["-"] * len(OWN)
    assert ran.returncode == 0


@pytest.mark.battery
@pytest.mark.parametrize("kind", FILES)
def test_every_kind_is_printed_as_it_lies_in_the_repository(ds: Ds, kind: str) -> None:
    ran = ds("dsec", "schema", "print", kind)
    assert ran.returncode == 0
    assert ran.stdout == (ROOT / "schemas" / f"{FILES[kind]}.schema.json").read_bytes()
    body = json.loads(ran.stdout)
    Draft202012Validator.check_schema(body)
    assert body["$id"] == f"urn:dsec:schema:{FILES[kind]}:{LANGUAGE_VERSION}"


@pytest.mark.battery
@pytest.mark.parametrize("name", OWN)
def test_our_own_files_have_schemas_too(ds: Ds, name: str) -> None:
    ran = ds("dsec", "schema", "print", name)
    body = json.loads(ran.stdout)
    Draft202012Validator.check_schema(body)
    assert body == json.loads((ROOT / "schemas" / f"{name}.schema.json").read_bytes())


@pytest.mark.battery
@pytest.mark.parametrize(
    ("named", "kind"),
    [
        (".dsec.toml", "lint-config"),
        ("dsandbox.yaml", "contract"),
        ("jobs/ds_config.yaml", "steps"),
        ("config", "steps"),
        ("agent-train-sandbox.yaml", "environment"),
        ("plugin.yml", "plugin"),
        ("schemas/hermes-deploy.schema.json", "deploy"),
    ],
)
def test_a_file_names_its_kind(ds: Ds, named: str, kind: str) -> None:
    assert ds("dsec", "schema", "print", named).stdout == ds("dsec", "schema", "print", kind).stdout


@pytest.mark.battery
def test_without_a_kind_it_is_the_contract_s_and_goes_to_a_file(ds: Ds, tmp_path: Path) -> None:
    assert ds("dsec", "schema", "print", "-o", "x.json").stdout == b""
    schema = json.loads((tmp_path / "x.json").read_bytes())
    text = SourceText("dsandbox.yaml", (ROOT / "examples" / "hello" / "dsandbox.yaml").read_bytes())
    contract = plain_value(parse(text).documents[0].root)
    assert list(Draft202012Validator(schema).iter_errors(contract)) == []
    assert list(Draft202012Validator(schema).iter_errors({"baseline": 1}))


@pytest.mark.battery
@pytest.mark.parametrize(
    ("words", "said"),
    [(["print", "contrct"], "did you mean 'contract'?"), (["list", "contract"], "list takes no 'contract'")],
)
def test_wrong_questions(ds: Ds, words: list[str], said: str) -> None:
    ran = ds("dsec", "schema", *words)
    assert ran.returncode == 2
    assert said in ran.stderr.decode()
