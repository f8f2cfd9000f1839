"""What breaks the grammar of a shell is found, and nothing that a shell reads."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from dsec_cli.dag.script_syntax import first_break

BROKEN = {
    "if a; then b": ("open", "if", "fi"),
    "if a; do b; fi": ("instead", "do", "then"),
    "while a; then b; done": ("instead", "then", "do"),
    "for x in 1 2 do\n  b\ndone": ("joined", "for", "do"),
    "for x in 1 2\n  b\ndone": ("open", "for", "do"),
    "echo b; done": ("stray", "done", "do"),
    "if a; then b; elif c; fi": ("open", "if", "then"),
    "case x in\n a) b ;;": ("open", "case", "esac"),
    "(cd x && ls": ("open", "(", ")"),
    "f() { a; b": ("open", "{", "}"),
    "echo 'a": ("quote", "'", "'"),
    'echo "a': ("quote", '"', '"'),
    "a=$(date": ("quote", "$(", ")"),
    "if [ $a -gt 3]; then b; fi": ("spaced", "[", "]"),
    "echo a; [[ -f b": ("open", "[[", "]]"),
}
SOUND = (
    "if [ a ] 2> /dev/null; then b; fi",
    "for x do echo $x; done",
    "for ((i = 0; i < 3; i++)); do echo $i; done",
    "a=(1 2)\necho done if then",
    "cat <<E\nif it's\nE\necho",
    "case x in (a) echo ;; b|c) ;; esac",
    "f() (a)\nf",
    "echo a \\\n  b # it's",
    "while read -r x; do :; done < <(ls)",
    "{ a; } | b && ! c",
    'echo "$(echo \')\' ")")"',
    "x=${y:-'a}'}; echo `date`",
)


@pytest.mark.parametrize("script", BROKEN)
def test_what_breaks_the_grammar_is_named(script: str) -> None:
    found = first_break(script)
    assert found is not None
    assert (found.kind, found.word, found.wanted) == BROKEN[script]


@pytest.mark.parametrize("script", SOUND)
def test_what_a_shell_reads_is_no_finding(script: str) -> None:
    assert first_break(script) is None


@pytest.mark.skipif(shutil.which("bash") is None, reason="asks bash")
def test_bash_judges_alike() -> None:
    for script in (*BROKEN, *SOUND):
        judged = subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False).returncode
        assert (judged != 0) == (script in BROKEN and BROKEN[script][0] != "spaced"), script
