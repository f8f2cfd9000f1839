"""What a shell is offered, by the tables alone and without Typer."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec_cli import grammar
from dsec_cli.completing import answer, offers, split
from dsec_cli.options import COMMANDS, PROGRAMS
from tests.cli.conftest import Ran, command
from tests.cli.test_grammar import WORDS
from tests.cli.test_imports import HEAVY, modules

OFFERED = [
    ("dsec l|", ["lint", "logs", "lsp"]),
    ("dsctl |", ["config", "version"]),
    ("dsec --v|", ["--version"]),
    ("dsec lint --f|", ["--fail-on", "--fix", "--format"]),
    ("dsec lint --fix --f|", ["--fail-on", "--format"]),
    ("dsec lint --output x --outp|", ["--output", "--output-file"]),
    ("dsec lint --format js|", ["json", "jsonl"]),
    ("dsec lint -f js|", ["json", "jsonl"]),
    ("dsec lint -qf js|", ["json", "jsonl"]),
    ("dsec lint --format =|", ["concise", "github", "gitlab", "json", "jsonl", "junit", "markdown"]),
    ("dsec lint --format = js|", ["json", "jsonl"]),
    ("ds-dag-analyze --output s|", ["svg"]),
    ("dsec import |", ["compose", "dvc", "skypilot", "slurm", "wfcommons"]),
    ("dsec import compose |", []),
    ("dsec import -o compose s|", ["skypilot", "slurm"]),
    ("dsctl config get |", []),
    ("dsec lint -- --f|", []),
    ("dsec lint dsand|", []),
    ("dsec nope |", []),
]


@pytest.mark.parametrize(("line", "wanted"), OFFERED)
def test_what_may_stand_at_the_cursor(line: str, wanted: list[str]) -> None:
    words = line.removesuffix("|")
    program, *before = split(words)
    begun = "" if words.endswith(" ") else before.pop()
    found = [value for value, _ in offers(program, before, begun)]
    assert found[: len(wanted)] == wanted
    assert bool(found) == bool(wanted)


@pytest.mark.battery
@settings(max_examples=200)
@given(
    st.sampled_from(sorted(PROGRAMS)),
    st.sampled_from(["", *(row[0] for row in COMMANDS)]),
    st.lists(st.sampled_from(WORDS), max_size=4),
    st.sampled_from(["", "-", "--", "--f", "j", "=", "'"]),
)
def test_every_offer_can_follow(program: str, name: str, words: list[str], begun: str) -> None:
    before = [*([name] if name else []), *words]
    for value, _ in offers(program, before, begun):
        assert value.startswith("" if begun == "=" else begun)


def test_a_completed_value_is_taken_by_the_parser() -> None:
    for row in COMMANDS:
        words = [(choices or ("x",))[0] for _, arity, choices, _ in row[3] if arity in ("one", "some")]
        for option in row[4]:
            for value, _ in offers("dsec", [row[0], f"--{option[0]}"], ""):
                assert grammar.parse("dsec", [row[0], *words, f"--{option[0]}", value]) is not None or (
                    option[2] == "flag"
                )


SHELLS = [
    ("bash", {"COMP_WORDS": "dsec lint --format js", "COMP_CWORD": "3"}, "json\njsonl\n"),
    ("zsh", {"_TYPER_COMPLETE_ARGS": "dsec lint --format js"}, '_arguments \'*: :(("json"\n"jsonl"))\'\n'),
    ("zsh", {"_TYPER_COMPLETE_ARGS": "dsec lint "}, "_files\n"),
    ("fish", {"_TYPER_COMPLETE_ARGS": "dsec sta"}, "status\tSay how far a run is.\n"),
    (
        "pwsh",
        {"_TYPER_COMPLETE_ARGS": "dsec sta", "_TYPER_COMPLETE_WORD_TO_COMPLETE": "sta"},
        "status:::Say how far a run is.\n",
    ),
]


@pytest.mark.parametrize(("shell", "environ", "text"), SHELLS)
def test_each_shell_gets_its_own_form(shell: str, environ: dict[str, str], text: str) -> None:
    assert answer("dsec", {"_DSEC_COMPLETE": f"complete_{shell}", **environ}) == (text, 0)


def test_fish_asks_first_whether_there_is_anything() -> None:
    asked = {"_DSEC_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "is-args"}
    assert answer("dsec", {**asked, "_TYPER_COMPLETE_ARGS": "dsec l"}) == ("", 0)
    assert answer("dsec", {**asked, "_TYPER_COMPLETE_ARGS": "dsec lint d"}) == ("", 1)


def test_a_broken_question_gets_an_answer() -> None:
    for environ in ({}, {"COMP_WORDS": "dsec 'l", "COMP_CWORD": "x"}, {"COMP_WORDS": "", "COMP_CWORD": "9"}):
        assert answer("dsec", {"_DSEC_COMPLETE": "complete_bash", **environ}) is not None
    assert answer("dsec", {"_DSEC_COMPLETE": "source_bash"}) is None


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_with_the_script_that_is_installed(ds: Callable[..., Ran], tmp_path: Path) -> None:
    script = ds("ds-contract-lint", _DS_CONTRACT_LINT_COMPLETE="source_bash").stdout.decode()
    assert "COMP_WORDS" in script
    program = tmp_path / "ds-contract-lint"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command("ds-contract-lint"))} "$@"\n')
    program.chmod(0o755)
    typed = (
        f"{script}\nCOMP_WORDS=(ds-contract-lint --format js); COMP_CWORD=2\n"
        '_ds_contract_lint_completion ds-contract-lint\necho "${COMPREPLY[@]}"\n'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", typed], capture_output=True, timeout=60, env=os.environ | {"PATH": path}
    )
    assert ran.stdout.decode() == "json jsonl\n", ran.stderr.decode()


def test_completion_imports_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DSEC_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "dsec lint --f")
    monkeypatch.setenv("COMP_CWORD", "2")
    loaded = modules("dsec")
    assert sorted(loaded & (HEAVY | {"re", "enum", "shlex", "dsec_cli.options", "dsec_cli.commands"})) == []
