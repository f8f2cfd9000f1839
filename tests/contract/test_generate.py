"""Generated files are fresh, and what the linter runs off starts without the model's libraries."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.units import UnitProblem
from dsec_cli.contract import generate
from dsec_cli.contract.check import check
from dsec_cli.contract.forms import FORMS
from dsec_cli.contract.leaves import pattern
from dsec_cli.contract.model import KINDS, Statement
from dsec_cli.contract.quantities import BY_NAME, GPU_MEMORY, read
from dsec_cli.contract.shapes import reachable
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Path as Path_
from dsec_cli.source.yaml import parse

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"pydantic", "typer", "rich", "jsonschema", "json", "dataclasses", "logging", "pathlib", "inspect"}


@pytest.mark.battery
def test_generated_files_are_fresh() -> None:
    assert generate.stale(generate.outputs(), root=ROOT) == [], "run make generate"


@pytest.mark.battery
def test_generation_is_deterministic() -> None:
    code = "from dsec_cli.contract import generate; import sys; sys.stdout.write(repr(generate.outputs()))"
    seen = {_python(code, PYTHONHASHSEED=seed) for seed in ("1", "2")}
    assert len(seen) == 1


def test_what_is_missing_or_changed_is_stale(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").write_text("same")
    files = {"a": "new", "b": "same", "c": "new"}
    assert generate.stale(files, root=tmp_path) == ["a", "c"]


@pytest.mark.battery
def test_check_answers_1_when_something_is_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert generate.main(["--check"]) == 1
    assert list(tmp_path.iterdir()) == [], "--check writes nothing"
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


def test_building_a_contract_imports_nothing_heavy() -> None:
    code = (
        "import sys; from dsec_cli.source.text import SourceText; from dsec_cli.source.yaml import parse\n"
        "from dsec_cli.contract.build import build_all\n"
        "tree = parse(SourceText.from_bytes('f', b'name: 5\\nsteps: [{id: a, run: x y}]\\nzz: 1'))\n"
        "[built] = build_all(tree, 'f'); assert built.findings and built.contract.steps\n"
        "print(*sorted(sys.modules))"
    )
    loaded = set(_python(code).split())
    assert not loaded & HEAVY
    assert "dsec_cli.contract.model" not in loaded


def _python(code: str, **extra: str) -> str:
    path = os.pathsep.join((str(ROOT), str(ROOT / "runtime")))
    env = {"PYTHONPATH": path, "PATH": os.environ["PATH"], **extra}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "section", reachable([Statement, *KINDS.values()]).values(), ids=lambda s: s.__name__
)
def test_every_key_is_described(section: type) -> None:
    assert section.__doc__
    for name, field in section.model_fields.items():  # type: ignore[attr-defined]
        assert field.description.endswith("."), name
        assert field.json_schema_extra["x-seed"], name


@pytest.mark.battery
def test_schemas_name_their_dialect_and_version() -> None:
    for path, text in generate.outputs().items():
        if path.endswith(".json"):
            body = json.loads(text)
            assert body["$schema"].endswith("2020-12/schema")
            name = path.rpartition("/")[2].removesuffix(".schema.json")
            assert body["$id"] == f"urn:dsec:schema:{name}:{body['x-dsec-version']}"
            assert body["x-dsec-version"]


PAGE = (ROOT / "docs/reference/contract.md").read_text("utf-8")
DEPLOYMENT = ("deploy", "resources", "lifecycle")


def _shown_examples() -> list[tuple[str, str, str]]:
    """Heading of the section, key and example of every row of the page that has one."""
    found = []
    for section in re.split(r"(?m)^## ", PAGE)[1:]:
        heading = section.splitlines()[0].strip("`").replace("Root keys", Statement.heading)
        for row in re.finditer(r"(?m)^\| `([\w-]+)` \|.* Example: `(.*)`\. \|$", section):
            found.append((heading, row[1], row[2].replace("\\|", "|")))
    return found


def _written_out(heading: str, key: str, example: str) -> tuple[str, Path_]:
    """A document that states the example at its place, and its path."""
    text, path = f"{key}: {example}\n", (key,)
    roots = (Statement.heading, "deploy", "plugin")
    for part in reversed([] if heading in roots else heading.split(".")):
        name, _, item = part.partition("[")
        if item:
            also = item.rstrip("]")
            text += f"{also}: x\n" if also not in ("", key) else ""
            text, path = f"{name}:\n- " + text.replace("\n", "\n  ").rstrip(" "), (name, 0, *path)
        else:
            text, path = f"{name}:\n  " + text.replace("\n", "\n  ").rstrip(" "), (name, *path)
    return text, path


def test_the_page_shows_an_example_of_every_key_that_has_one() -> None:
    sections = reachable([Statement, *KINDS.values()]).values()
    stated = {(s.heading, f.alias or n) for s in sections for n, f in s.model_fields.items() if f.examples}
    shown = {(heading, key) for heading, key, _ in _shown_examples()}
    assert stated == shown


@pytest.mark.parametrize(("heading", "key", "example"), _shown_examples(), ids=str)
def test_every_example_on_the_page_can_be_copied(heading: str, key: str, example: str) -> None:
    text, path = _written_out(heading, key, example)
    tree = parse(SourceText.from_bytes("example.yaml", text.encode()))
    assert tree.problems == (), text
    kind = (
        "deploy"
        if heading in DEPLOYMENT
        else "plugin"
        if heading in ("plugin", "allow_unknown[]")
        else "contract"
    )
    checked = check(tree.documents[0], kind)
    stated: object = checked.values
    for part in path:
        stated = stated[part]  # type: ignore[index]
    assert stated is not None
    assert [one for one in checked.findings if one.where[: len(path)] == path] == [], text


@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_example_of_each_form_is_legal(name: str) -> None:
    form = FORMS[name]
    assert form.accepts(form.example)
    assert not form.accepts("")


@given(
    st.sampled_from(sorted(FORMS)), st.text(alphabet="aZ9_.-: \néА/@[],", max_size=8) | st.text(max_size=70)
)
def test_forms_are_what_their_patterns_say(name: str, text: str) -> None:
    form = FORMS[name]
    assert form.accepts(text) == bool(re.fullmatch(form.pattern.rstrip("$"), text))


@given(
    st.sampled_from([*BY_NAME, GPU_MEMORY]),
    st.text(alphabet="059.+- GBMKTiPsmhdµbpcreqntoFLOS/°C", max_size=10),
)
def test_patterns_accept_whatever_is_read(kind: str, text: str) -> None:
    try:
        read(kind, text)
    except UnitProblem:
        return
    assert re.search(pattern(kind), text)
