"""The linter's configuration: where it is found, what it may say, and who goes first."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.errors import FileProblem
from dsec_cli.commands.configuration_file import read
from dsec_cli.commands.configuration_keys import KEYS, schema
from dsec_cli.commands.configuration_lines import Lines
from dsec_cli.commands.configuring import NOTHING, Configuration, speaks
from dsec_cli.exit import UsageError

from .conftest import ROOT, Ran, command
from .test_imports import modules

Ds = Callable[..., Ran]
BAD = (ROOT / "examples" / "bad" / "dsandbox.yaml").read_bytes()


def codes(ran: Ran) -> list[str]:
    return [one["code"] for one in json.loads(ran.stdout)["diagnostics"] if one["silenced"] is None]


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    return tmp_path


def wrong(folder: Path, text: str, name: str = ".dsec.toml") -> UsageError:
    """How a configuration is refused."""
    (folder / name).write_text(text, "utf-8")
    with pytest.raises(UsageError) as caught:
        read(str(folder / name), text.encode())
    return caught.value


@pytest.mark.parametrize(("name", "head"), [(".dsec.toml", "[lint]"), ("pyproject.toml", "[tool.dsec.lint]")])
def test_both_files_are_read(ds: Ds, bad: Path, name: str, head: str) -> None:
    (bad / name).write_text(f'{head}\nselect = ["DS5"]\nfail-on = "never"\n')
    ran = ds("ds-contract-lint", "-f", "json")
    assert codes(ran) == ["DS503", "DS505"]
    assert ran.returncode == 0


@pytest.mark.parametrize(("name", "head"), [(".dsec.toml", "[lint]"), ("pyproject.toml", "[tool.dsec.lint]")])
def test_a_byte_order_mark_hides_nothing(ds: Ds, bad: Path, name: str, head: str) -> None:
    (bad / name).write_text(f'{head}\r\nselect = ["DS503"]\r\n', "utf-8-sig")
    assert codes(ds("ds-contract-lint", "-f", "json")) == ["DS503"]


def test_the_own_file_goes_before_the_shared_one(ds: Ds, bad: Path) -> None:
    (bad / ".dsec.toml").write_text('[lint]\nselect = "DS503"\n')
    (bad / "pyproject.toml").write_text('[tool.dsec.lint]\nselect = "DS505"\n')
    assert codes(ds("ds-contract-lint", "-f", "json")) == ["DS503"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[project]\nname = "x"\ndependencies = ["dsec"]\n',
        "[tool.ruff]\nline-length = 9\n",
        "[tool.dsec]\n",
        "[tool.dsecurity.lint]\nx = 1\n",
        "this is [no TOML, and none of our business",
    ],
)
def test_a_shared_file_that_does_not_speak_of_us_configures_nothing(
    ds: Ds, tmp_path: Path, text: str
) -> None:
    job = tmp_path / "job"
    job.mkdir()
    (job / "dsandbox.yaml").write_bytes(BAD)
    (job / "pyproject.toml").write_text(text)
    (tmp_path / ".dsec.toml").write_text('[lint]\nselect = "DS503"\n')
    assert codes(ds("ds-contract-lint", "job", "-f", "json")) == ["DS503"]


@pytest.mark.parametrize(
    "text",
    [
        "[tool.dsec.lint]\n",
        "[ tool . 'dsec' . lint ] # x\n",
        '[tool]\ndsec.lint.select = "DS5"\n',
        '[tool]\n"dsec" = {}\n',
        'tool.dsec.lint.select = "DS5"\n',
        "tool = {dsec = {lint = {}}}\n",
        "[[tool.dsec.lint.per-file-ignores]]\n",
    ],
)
def test_every_spelling_of_our_table_is_seen(text: str) -> None:
    assert speaks(b"[project]\nname = 'x'\n" * text.startswith("[") + text.encode())


def test_each_file_has_the_nearest_configuration(ds: Ds, tmp_path: Path) -> None:
    for folder, code in (("a", "DS503"), ("b", "DS505")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "dsandbox.yaml").write_bytes(BAD)
        (tmp_path / folder / ".dsec.toml").write_text(f'[lint]\nselect = "{code}"\nfail-on = "never"\n')
    ran = ds("ds-contract-lint", "a", "b", "-f", "json")
    assert codes(ran) == ["DS503", "DS505"]
    assert ran.returncode == 1, "what a run has once is decided in the current folder"


def test_the_command_line_goes_first(ds: Ds, bad: Path) -> None:
    (bad / ".dsec.toml").write_text(
        '[lint]\nselect = "DS503"\nignore = ["DS5"]\nfail-on = "never"\noutput = ["json:out.json"]\n'
    )
    ran = ds("ds-contract-lint", "--select", "DS505", "--ignore", "DS1", "--fail-on", "error", "-f", "json")
    assert codes(ran) == ["DS505"]
    assert ran.returncode == 1
    assert not (bad / "out.json").exists()


def test_isolated_reads_none(ds: Ds, bad: Path) -> None:
    (bad / ".dsec.toml").write_text("[lint]\nnonsense = 1\n")
    assert ds("ds-contract-lint").returncode == 2
    assert "DS601" in codes(ds("ds-contract-lint", "--isolated", "-f", "json"))


def test_paths_in_it_are_relative_to_it(ds: Ds, tmp_path: Path) -> None:
    sub = tmp_path / "sub"
    sub.mkdir()
    (sub / "dsandbox.yaml").write_bytes(BAD)
    (tmp_path / ".dsec.toml").write_text(
        '[lint]\noutput = ["text", "json:out.json"]\nbaseline = "base.json"\n'
    )
    ran = ds("dsec", "lint", "--write-baseline", "base.json", "sub")
    assert ran.returncode == 0, ran.stderr
    done = subprocess.run(command("ds-contract-lint"), cwd=sub, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["summary"]["silenced"] == 6


MISTAKES = [
    ("[lint]\nselct = []\n", 2, "unknown key 'selct' in [lint]", "select"),
    ("[lnt]\n", 1, "unknown key 'lnt' in this file", "lint"),
    ("[lint]\n\nselect = 3\n", 3, "select is no list of texts", ""),
    ('[lint]\nselect = ["DS1", 3]\n', 2, "select is no list of texts", ""),
    ('[lint]\nfail-on = "errr"\n', 2, "fail-on cannot be 'errr'", "error"),
    ("[lint]\nfail-on = true\n", 2, "fail-on is no text", "error"),
    ('[lint]\nbaseline = ""\n', 2, "baseline is no text", ""),
    ("lint = 3\n", 1, "lint is no table", "[lint]"),
    (
        "[lint]\nper-file-ignores = {}\n",
        2,
        "per-file-ignores is no list of tables",
        "[[lint.per-file-ignores]]",
    ),
    (
        '[lint]\n[[lint.per-file-ignores]]\nfiles = "a"\ncodes = "DS1"\n',
        2,
        "this entry of per-file-ignores has no reason",
        "",
    ),
    (
        '[lint]\nper-file-ignores = [\n  {files = "a", codes = "DS1", reason = "x", untl = "x"},\n]\n',
        2,
        "unknown key 'untl' in [lint.per-file-ignores]",
        "until",
    ),
    (
        '# x\n[[lint.per-file-ignores]]\nfiles = "a"\ncodes = "DS1"\nreason = "x"\n\n'
        '[[lint.per-file-ignores]]\nfiles = "b"\ncodes = "DS1"\nreason = "x"\nuntil = "soon"\n',
        11,
        "until is no day: 'soon'",
        "2027-01-31",
    ),
    ("[lint\n", 1, "this is no TOML", ""),
    ("[lint]\na = 1\na = 2\n", 3, "this is no TOML", ""),
]


@pytest.mark.parametrize(("text", "line", "what", "hint"), MISTAKES)
def test_mistakes_are_named_with_their_line(
    tmp_path: Path, text: str, line: int, what: str, hint: str
) -> None:
    problem = wrong(tmp_path, text)
    file, number, said = problem.what.split(":", 2)
    assert file.endswith(".dsec.toml")
    assert (int(number), what in said) == (line, True), problem.what
    assert hint in problem.hint


def test_a_mistake_is_one_line_and_exit_2(ds: Ds, bad: Path) -> None:
    (bad / "pyproject.toml").write_text('[project]\nname = "x"\n\n[tool.dsec.lint]\nfail_on = "error"\n')
    ran = ds("ds-contract-lint")
    assert (ran.returncode, ran.stdout) == (2, b"")
    line = ran.stderr.decode()
    assert line.startswith("dsec: error: pyproject.toml:5: unknown key 'fail_on' in [tool.dsec.lint] (hint: ")
    assert line.endswith(")\n")
    assert line.count("\n") == 1
    assert "fail-on" in line


def test_a_code_that_no_rule_has_is_refused_with_its_line(ds: Ds, bad: Path) -> None:
    (bad / ".dsec.toml").write_text('[lint]\n# x\nselect = ["DS5O3"]\n')
    ran = ds("ds-contract-lint")
    assert ran.returncode == 2
    assert b".dsec.toml:3: no rule's code begins with 'DS5O3'" in ran.stderr
    (bad / ".dsec.toml").write_text('[lint]\noutput = "jsn"\n')
    ran = ds("ds-contract-lint")
    assert ran.returncode == 2
    assert b".dsec.toml:2: there is no format 'jsn'" in ran.stderr


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.dsec\.toml:2: this is no UTF-8"):
        read(str(tmp_path / ".dsec.toml"), b"[lint]\n# \xff\n")


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read("/x/.dsec.toml", b"[lint]\n" + data)
    except UsageError as problem:
        line = problem.what.split(":")[1]
    else:
        line = "1"
    assert line.isdigit()


TEXTS = st.sampled_from(["", " ", "DS5", "a/**", "text", "2027-01-31", "error", "en"])
ENTRY = st.dictionaries(
    st.sampled_from(["files", "codes", "reason", "until", "x"]),
    st.one_of(TEXTS, st.lists(TEXTS, max_size=2), st.integers()),
)
TABLE = st.dictionaries(
    st.sampled_from([key.name for key in KEYS] + ["x"]),
    st.one_of(TEXTS, st.booleans(), st.lists(st.one_of(TEXTS, st.integers(), ENTRY), max_size=2)),
    max_size=3,
)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


@given(TABLE)
def test_the_schema_and_the_reader_agree(table: dict[str, Any]) -> None:
    text = "[lint]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in table.items())
    try:
        read("/x/.dsec.toml", text.encode())
    except UsageError:
        accepted = False
    else:
        accepted = True
    assert accepted == jsonschema.Draft202012Validator(schema()).is_valid({"lint": table})


def test_lines_of_keys() -> None:
    lines = Lines(
        'a = 1\n[tool."dsec" . lint] # x\nselect = [\n  "[x]",\n  "b = 1",\n]\nb.c = {d = 1}\n'
        "[[tool.dsec.lint.e]]\nf = 1\n[[tool.dsec.lint.e]]\nf = 2\n"
    )
    top: tuple[str | int, ...] = ("tool", "dsec", "lint")
    wanted = {
        ("a",): 1, top: 2, (*top, "select"): 3, (*top, "b"): 2, (*top, "b", "c"): 7, (*top, "b", "c", "d"): 7,
        (*top, "e", 0): 8, (*top, "e", 0, "f"): 9, (*top, "e", 1, "f"): 11, (*top, "nowhere", "x"): 2, (): 1,
    }  # fmt: skip
    assert {path: lines.of(path) for path in wanted} == wanted


def test_folders_are_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (tmp_path / ".dsec.toml").write_text('[lint]\nselect = "DS5"\n')
    configuration = Configuration(isolated=False)
    found = configuration.of(str(deep / "x.yaml"))
    assert found.texts("select") == ("DS5",)
    (tmp_path / ".dsec.toml").unlink()
    assert configuration.of(str(deep / "y.yaml")) is found
    assert configuration.of(str(tmp_path / "a" / "z.yaml")) is found
    assert Configuration(isolated=True).of(str(deep / "x.yaml")) is NOTHING


def test_show_config(ds: Ds, bad: Path) -> None:
    (bad / "pyproject.toml").write_text(
        '[tool.dsec.lint]\nselect = ["DS5"]\n'
        '[[tool.dsec.lint.per-file-ignores]]\nfiles = "a"\ncodes = "DS1"\n'
        'reason = "theirs"\nuntil = 2027-01-31\n'
    )
    ran = ds("ds-contract-lint", "--show-config", "--fail-on", "info", "-f", "sarif", "-o", "x.sarif")
    assert ran.returncode == 0
    rows = [line.rsplit("  # ", 1) for line in ran.stdout.decode().splitlines()[1:]]
    assert {left.strip(): origin for left, origin in rows} == {
        "# baseline": "not set",
        "exclude = []": "default",
        'fail-on = "info"': "command line",
        "ignore = []": "default",
        "# lang": "not set",
        'output = ["sarif:x.sarif"]': "command line",
        'per-file-ignores = [{files = ["a"], codes = ["DS1"], reason = "theirs", until = "2027-01-31"}]': (
            "pyproject.toml:3"
        ),
        'select = ["DS5"]': "pyproject.toml:2",
    }


def test_show_config_is_a_configuration(ds: Ds, tmp_path: Path) -> None:
    shown = ds("ds-contract-lint", "--show-config", "--select", "DS5").stdout.decode()
    (tmp_path / ".dsec.toml").write_text("[lint]\n" + shown)
    assert ds("ds-contract-lint", "--show-config").returncode == 0


def test_what_does_not_configure_us_costs_no_library(tmp_path: Path) -> None:
    """A project that depends on DSec and says nothing about the linter starts as quickly as any."""
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = [\n  "dsec>=0.1",\n]\n')
    loaded = modules("contract_lint", folder=tmp_path)
    assert not loaded & {
        "tomllib",
        "re",
        "dsec_cli.commands.configuration_file",
        "dsec_cli.commands.matching",
    }
    (tmp_path / ".dsec.toml").write_text("[lint]\n")
    assert "tomllib" in modules("contract_lint", folder=tmp_path)


def test_a_configuration_that_cannot_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".dsec.toml").write_text("[lint]\n")

    def refuse(*_words: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileProblem, match=r"\.dsec\.toml could not be read: Permission denied"):
        Configuration(isolated=False).near(str(tmp_path))


@pytest.mark.parametrize("name", [".dsec.toml", "pyproject.toml"])
@pytest.mark.parametrize("kind", ["dangling", "loop", "folder", "pipe"])
def test_a_configuration_that_is_no_file_is_not_passed_over(ds: Ds, bad: Path, name: str, kind: str) -> None:
    assert ds("ds-contract-lint").returncode == 1  # an answer that is kept in the cache
    path = bad / name
    match kind:
        case "dangling":
            path.symlink_to("nowhere.toml")
        case "loop":
            path.symlink_to(name)
        case "folder":
            path.mkdir()
        case _:
            os.mkfifo(path)
    ran = ds("ds-contract-lint")
    assert ran.returncode == 3
    assert f"{name} is no file (hint: mend or remove it, or use --isolated)" in ran.stderr.decode()
    assert ds("ds-contract-lint", "--isolated").returncode == 1
