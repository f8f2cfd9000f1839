"""`config`, `explain`, `init` and `version` as a user meets them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.errors import FileProblem
from dsec_cli.settings import changed, stored

from .conftest import Ran

Ds = Callable[..., Ran]


@pytest.fixture
def file() -> Path:
    path = Path(os.environ["HOME"]) / ".ds" / "config.yaml"
    path.parent.mkdir()
    return path


def test_telemetry_is_off(ds: Ds) -> None:
    assert ds("dsctl", "config", "get", "telemetry").stdout == b"false\n"
    assert ds("dsctl", "config", "set", "telemetry", "false").returncode == 0
    assert ds("dsec", "config", "get", "telemetry").stdout == b"false\n"
    ran = ds("dsctl", "config", "set", "telemetry", "true")
    assert ran.returncode == 2
    assert b"cannot be switched on" in ran.stderr


def test_a_change_keeps_the_rest(ds: Ds, file: Path) -> None:
    file.write_text("# mine\ncolor: always   # loud\nother: [1, 2]\n")
    assert ds("dsctl", "config", "set", "color", "never").returncode == 0
    assert file.read_text() == "# mine\ncolor: never   # loud\nother: [1, 2]\n"
    assert ds("dsctl", "config", "unset", "color").returncode == 0
    assert file.read_text() == "# mine\nother: [1, 2]\n"
    assert sorted(path.name for path in file.parent.iterdir()) == ["config.yaml"]
    assert b"other: unknown setting" in ds("dsctl", "config", "list").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get", "colr"], "did you mean 'color'?"),
        (["get"], "needs the name"),
        (["set", "color"], "needs a value"),
        (["set", "color", "blue"], "auto or always or never"),
        (["get", "color", "never"], "takes no 'never'"),
        (["list", "color"], "takes no 'color'"),
    ],
)
def test_wrong_questions(ds: Ds, words: list[str], said: str) -> None:
    ran = ds("dsctl", "config", *words)
    assert ran.returncode == 2
    assert said in ran.stderr.decode()


DAMAGED = [b"a: [1\n", b"- a\n", b"\xff\xfe\x00", b"color: blue\n", b"a: 1\n---\nb: 2\n"]
LINES = ("# c", "", "other: 1", "color: auto # x", "color:", "color: 'auto'", "o: |\n  t", "a: {b: 1}", "---")


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_settings_file_is_named(ds: Ds, file: Path, content: bytes) -> None:
    file.write_bytes(content)
    ran = ds("dsctl", "config", "get", "color")
    assert ran.returncode == 3
    assert ran.stderr.decode().count("\n") == 1
    assert "config.yaml" in ran.stderr.decode()
    assert file.read_bytes() == content


def test_settings_that_cannot_be_written(ds: Ds) -> None:
    (Path(os.environ["HOME"]) / ".ds").write_text("a file")
    ran = ds("dsctl", "config", "set", "color", "never")
    assert ran.returncode == 3
    assert ran.stderr.decode().count("\n") == 1


@given(st.lists(st.sampled_from(LINES), max_size=5), st.booleans(), st.sampled_from(["never", None]))
def test_any_file_is_changed_rightly_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ended: bool, value: str | None
) -> None:
    path = tmp_path_factory.mktemp("settings") / "config.yaml"
    path.write_text("\n".join(lines) + ("\n" if ended else ""))
    try:
        before = stored(str(path))
        text = changed(str(path), "color", value)
    except FileProblem:
        return
    path.write_text(text)
    after = stored(str(path))
    assert after.pop("color", None) == value
    before.pop("color", None)
    assert after == before
    assert text.count("# c") == lines.count("# c")


def test_explain(ds: Ds) -> None:
    page = ds("dsec", "explain", "ds106").stdout.decode()
    assert page == ds("dsec", "explain", "bad-quantity").stdout.decode()
    assert page.startswith("DS106 bad-quantity (error)\n")
    assert "\nBad\n    " in page
    assert "\nGood\n    " in page
    assert "dsec: ignore[DS106]" in page
    every = ds("dsec", "explain").stdout.decode().splitlines()
    assert any(line.startswith("DS503  error") for line in every)
    assert every == sorted(every)
    ran = ds("dsec", "explain", "DS16")
    assert ran.returncode == 2
    assert b"did you mean" in ran.stderr


def test_init_lints_clean_and_runs(ds: Ds, tmp_path: Path) -> None:
    ran = ds("dsec", "init", "grpo-warmup")
    assert (ran.returncode, ran.stderr) == (0, b"")
    text = (tmp_path / "dsandbox.yaml").read_text()
    assert "\nname: grpo-warmup\n" in text
    first = text.split("\n")[0]
    schema = json.loads((tmp_path / first.removeprefix("# yaml-language-server: $schema=")).read_text())
    assert ds("ds-contract-lint").stdout == b"1 file checked, nothing found\n"
    assert _violations(schema, text) == []
    ran = ds("dsec", "run")
    assert ran.returncode == 0, ran.stderr


def _violations(schema: object, text: str) -> list[str]:
    import jsonschema

    from dsec_cli.source.resolve import plain_value
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.yaml import parse

    value = plain_value(parse(SourceText.from_bytes("x", text.encode())).documents[0].root)
    return [one.message for one in jsonschema.Draft202012Validator(schema).iter_errors(value)]  # type: ignore[arg-type]


def test_init_overwrites_nothing(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text("mine")
    ran = ds("dsec", "init")
    assert ran.returncode == 3
    assert b"exists already" in ran.stderr
    assert (tmp_path / "dsandbox.yaml").read_text() == "mine"


@pytest.mark.parametrize(("words", "code"), [(["x y"], 2), ([""], 2), (["-"], 2), (["--dir", "f/g"], 3)])
def test_init_refuses(ds: Ds, tmp_path: Path, words: list[str], code: int) -> None:
    (tmp_path / "f").touch()
    ran = ds("dsec", "init", *words)
    assert ran.returncode == code, ran
    assert ran.stderr.decode().count("\n") == 1


@pytest.mark.parametrize("name", [".", "jobs/my eval"])
def test_init_says_how_a_folder_is_named(ds: Ds, name: str) -> None:
    ran = ds("dsec", "init", name)
    assert ran.returncode == 2
    assert f"dsec init --dir {shlex.quote(name)}".encode() in ran.stderr


@pytest.mark.battery
def test_what_init_says_next_can_be_pasted(ds: Ds, tmp_path: Path) -> None:
    said = ds("dsec", "init", "--dir", "my job").stdout.decode()
    assert "next: dsec lint 'my job/dsandbox.yaml', then dsec run 'my job/dsandbox.yaml'" in said


@pytest.mark.battery
def test_init_leaves_nothing_where_it_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two files in turn meets a full disk."""
    from dsec_cli.commands import init
    from dsec_cli.options_args import Args

    for failing in ("dsandbox.schema.json", "dsandbox.yaml"):

        def full(path: str, data: bytes, failing: str = failing) -> None:
            if os.path.basename(path) == failing:
                raise FileProblem("no space")
            Path(path).write_bytes(data)

        monkeypatch.setattr(init, "to_file", full)
        with pytest.raises(FileProblem):
            init.main(Args({"dir": str(tmp_path / "a" / "b"), "name": None, "lang": None}))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.battery
def test_init_names_the_job_after_the_folder(ds: Ds, tmp_path: Path) -> None:
    assert ds("dsec", "init", "--dir", "训练 job/.x y").returncode == 0
    assert "\nname: x-y\n" in (tmp_path / "训练 job" / ".x y" / "dsandbox.yaml").read_text()


def test_version(ds: Ds) -> None:
    from dsec import __version__

    assert ds("dsec", "--version").stdout.decode() == f"dsec {__version__}\n"
    assert ds("ds-contract-lint", "--version").stdout.decode() == f"ds-contract-lint {__version__}\n"
    table = json.loads(ds("dsec", "version", "--json").stdout)
    assert table["dsec"] == __version__
    assert table["yaml parser"] == "own; for rare forms C (libyaml)"
    assert "ruamel.yaml.clib" in ds("dsctl", "version").stdout.decode()
