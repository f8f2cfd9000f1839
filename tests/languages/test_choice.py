"""Who decides about the language, and what stays as it is in every one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dsec_cli.commands.language import FOR_PEOPLE, Speech, speech
from dsec_cli.exit import UsageError
from dsec_cli.options_lint import FORMATS
from tests.cli.conftest import command

CONTRACT = "baseline: {gpu: {count: 2}}\nelasticity: {}\nfault_tolerance: {}\n"
ZH, EN = "契约缺少 dependencies", "the contract lacks dependencies"
Lint = Callable[..., str]


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    """`lint("--quiet", LANG="zh_CN.UTF-8")`: standard output, in a folder with a faulty contract."""
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)

    def run(*words: str, program: str = "ds-contract-lint", code: int = 1, **environment: str) -> str:
        env = {name: value for name, value in os.environ.items() if name != "LC_ALL"}
        ran = subprocess.run(
            command(program, *words), capture_output=True, timeout=60, cwd=tmp_path, env=env | environment
        )
        assert ran.returncode == code, ran.stderr.decode()
        return (ran.stdout or ran.stderr).decode()

    return run


@pytest.mark.parametrize(
    ("option", "configured", "environ", "wanted"),
    [
        ("zh", "en", {"DSEC_LANG": "en", "LANG": "en_US.UTF-8"}, Speech("zh", "zh")),
        (None, "zh", {"DSEC_LANG": "en", "LANG": "zh_CN.UTF-8"}, Speech("en", "en")),
        (None, "zh", {"LANG": "en_US.UTF-8"}, Speech("zh", "zh")),
        ("auto", None, {"DSEC_LANG": "auto", "LANG": "zh_CN.UTF-8"}, Speech("", "zh")),
        (None, None, {"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}, Speech("", "en")),
        (None, None, {"LC_MESSAGES": "zh_TW.UTF-8", "LANG": "en_US.UTF-8"}, Speech("", "zh")),
        (None, None, {"LC_ALL": "", "DSEC_LANG": "", "LANG": "de_DE.UTF-8"}, Speech("", "en")),
        (None, None, {}, Speech("", "en")),
        (None, "auto", {"LANG": "zh_CN.UTF-8"}, Speech("", "zh")),
        (None, None, {"LC_ALL": "zh_CN.US-ASCII"}, Speech("", "en")),
        (None, None, {"LANG": "zh_CN.UTF-8", "LC_CTYPE": "POSIX"}, Speech("", "en")),
        (None, None, {"LANG": "zh_CN.UTF-8", "LC_CTYPE": "C"}, Speech("", "en")),
        (None, None, {"LANG": "zh_CN.UTF-8", "LC_CTYPE": "C.UTF-8"}, Speech("", "zh")),
    ],
)
def test_the_nearest_wish_decides(
    option: str | None, configured: str | None, environ: dict[str, str], wanted: Speech
) -> None:
    assert speech(option, configured, environ=environ) == wanted


def test_a_variable_that_names_no_language_is_refused(lint: Lint) -> None:
    with pytest.raises(UsageError, match="DSEC_LANG is 'fr'"):
        speech(None, environ={"DSEC_LANG": "fr"})
    said = lint(code=2, DSEC_LANG="fr")
    assert said == "dsec: error: DSEC_LANG is 'fr' (hint: one of en, zh, auto)\n"


def test_the_locale_speaks_to_people_only() -> None:
    local, asked = Speech("", "zh"), Speech("zh", "zh")
    assert {form for form in FORMATS if local.of(form) == "zh"} == set(FOR_PEOPLE)
    assert {asked.of(form) for form in FORMATS} == {"zh"}


@pytest.mark.parametrize("name", ["LANG", "LC_MESSAGES", "LC_ALL", "DSEC_LANG"])
def test_the_environment_is_heard_again_each_time(lint: Lint, name: str) -> None:
    """The cache keeps an answer of each language."""
    chinese, english = ("zh", "en") if name == "DSEC_LANG" else ("zh_CN.UTF-8", "en_US.UTF-8")
    for _ in range(2):
        assert ZH in lint("-q", **{name: chinese})
        assert EN in lint("-q", **{name: english})


def test_documents_follow_a_wish_and_not_the_locale(lint: Lint) -> None:
    plain = json.loads(lint("-f", "json", LANG="zh_CN.UTF-8"))
    asked = json.loads(lint("-f", "json", "--lang", "zh"))
    assert plain == json.loads(lint("-f", "json", LANG="C.UTF-8"))
    assert EN in plain["diagnostics"][0]["message"]
    assert ZH in asked["diagnostics"][0]["message"]
    for one, other in zip(plain["diagnostics"], asked["diagnostics"], strict=True):
        assert [one[key] for key in ("message_id", "arguments", "fingerprint")] == [
            other[key] for key in ("message_id", "arguments", "fingerprint")
        ]


def test_a_baseline_of_one_language_holds_in_the_other(lint: Lint) -> None:
    lint("--write-baseline", "b.json", "--lang", "zh", code=0)
    assert "没有发现问题" in lint("--baseline", "b.json", "--lang", "zh", code=0)
    assert "nothing found" in lint("--baseline", "b.json", code=0)


@pytest.mark.battery
def test_the_configuration_and_the_settings_name_a_language(lint: Lint, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ds").mkdir(parents=True)
    (home / ".ds" / "config.yaml").write_text("lang: zh\n")
    assert ZH in lint("-q", HOME=str(home))
    (tmp_path / ".dsec.toml").write_text('[lint]\nlang = "en"\n')
    assert EN in lint("-q", HOME=str(home))
    assert ZH in lint("-q", "--lang", "zh", HOME=str(home))
    (tmp_path / ".dsec.toml").write_text('[lint]\nlang = "auto"\n')
    assert ZH in lint("-q", HOME=str(home))
    assert EN in lint("-q", "--isolated", "--lang", "en", HOME=str(home))


def test_a_terminal_without_chinese_letters_gets_escapes_and_no_crash(lint: Lint) -> None:
    assert "\\u5951\\u7ea6" in lint("-q", "--lang", "zh", PYTHONIOENCODING="ascii")
    assert EN in lint("-q", LANG="zh_CN.UTF-8", PYTHONIOENCODING="ascii")


def test_gbk_is_written_as_gbk(tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    ran = subprocess.run(
        command("ds-contract-lint", "-q", "--lang", "zh"),
        capture_output=True,
        timeout=60,
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "gbk"},
    )
    assert ZH in ran.stdout.decode("gbk")


@pytest.mark.battery
def test_pages_and_the_list_of_rules_are_chinese_too(lint: Lint) -> None:
    page = lint("explain", "DS203", "--lang", "zh", program="dsec", code=0)
    assert "承诺的超出实际可能的需要" in page
    assert "正确示例" in page
    assert "下限高于上限" in lint("rules", "--lang", "zh", program="dsec", code=0)
    assert "下限高于上限" in lint("explain", program="dsec", code=0, LANG="zh_CN.UTF-8")
    listed = json.loads(lint("rules", "--json", program="dsec", code=0, LANG="zh_CN.UTF-8"))
    assert all(rule["summary"].isascii() for rule in listed["rules"])


def test_sarif_explains_its_rules_in_the_language(lint: Lint) -> None:
    document = json.loads(lint("-f", "sarif", "--lang", "zh"))
    rules = {rule["id"]: rule for rule in document["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["DS202"]["shortDescription"]["text"] == "下限高于上限。"
    assert "## 原因" in rules["DS202"]["help"]["markdown"]


def test_an_english_lint_does_not_load_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    probe = (
        "import sys; from dsec_cli import fast; fast.leave = lambda code: code; "
        "sys.argv = ['ds-contract-lint', '--no-cache', {}]; fast.contract_lint(); "
        "sys.stderr.write(' '.join(name for name in sys.modules if 'languages' in name))"
    )
    for word, loaded in (("'-q'", set[str]()), ("'--lang=zh'", {"dsec_cli.languages.zh"})):
        ran = subprocess.run(
            [sys.executable, "-c", probe.format(word)], capture_output=True, timeout=60, cwd=tmp_path
        )
        names = set(ran.stderr.decode().split())
        assert loaded <= names
        assert "dsec_cli.languages.zh.pages" not in names
        assert (names == loaded) == (word == "'-q'")


def test_other_commands_tell_findings_in_the_language_too(lint: Lint) -> None:
    said = lint("plan", program="dsec", DSEC_LANG="zh")
    assert ZH in said
    assert "个错误" in said
    assert EN in lint("plan", program="dsec")
