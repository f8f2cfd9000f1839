"""The shell of a script: what is recorded in a plan, and what only bash understands."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec_cli.commands import pipeline
from dsec_cli.commands.inventory import read_inventory
from dsec_cli.commands.pipeline import Refused, prepare
from dsec_cli.dag.bashism import bashism

FOR_BASH = {
    "set -euo pipefail": "pipefail",
    "if [[ -f x ]]; then x; fi": "[[",
    "cd x && source env.sh": "source",
    "a=(1 2)": "a=(",
    "((i++))": "((",
    "diff <(a) <(b)": "<(",
    'for i in "${a[@]}"; do x; done': "${a[@]}",
    "declare -A m": "declare",
    "x &> log": "&>",
    "echo ${x^^}": "${x^^}",
    'y="${x//a/b}"': "${x//a/b}",
    "echo ${x:0:3} ${y: -2}": "${x:0:3}",
    "echo ${!x}": "${!x}",
    "echo ${PIPESTATUS[0]}": "$PIPESTATUS",
    'echo "$HOSTNAME"': "$HOSTNAME",
    "for i in {1..3}; do x; done": "{1..3}",
    "mkdir -p out/{a,b}": "out/{a,b}",
    "trap 'rm x' ERR": "trap ERR",
    "wait -n": "wait -n",
    "echo -e x": "echo -e",
    '[ "$a" == b ] && x': "[ $a ==",
    "read -a words": "read -a",
    "echo $RANDOM": "$RANDOM",
    "cat <<< x": "<<<",
    "function f { :; }": "function",
}
FOR_ANY = (
    "echo $((1 + 2))",
    "x=$(( (1+2)*3 ))",
    "echo '[[ x'",
    "# [[ x",
    "cat <<EOF\n[[ source ]]\nEOF\necho",
    "f() { :; }",
    'echo "it\'s"',
    "awk '{a[$1]+=(3)}' f",
    ". ./env.sh",
    "python x.py 'f((a))' > x 2>&1",
    "echo ${x:-a} ${x:=b} ${#x} ${x%.*} ${x##*/} ${x:+--flag}",
    "awk '{print $1, $2}' f; curl -d '{\"a\": 1, \"b\": 2}' u",
    "find . -exec rm {} +; git log HEAD~{0}",
    'echo "a {b,c} == [d]" "$UIDX"',
    "trap 'rm x' EXIT INT; wait $pid; read -r x; echo -n x",
    *("", "'", '"', "<<", "$"),
)


@pytest.mark.parametrize("script", FOR_BASH)
def test_what_only_bash_understands(script: str) -> None:
    assert bashism(f"true\n{script}\n") == FOR_BASH[script]


@pytest.mark.parametrize("script", FOR_ANY)
def test_what_any_shell_understands(script: str) -> None:
    assert bashism(script) == ""


CONTRACT = """\
version: "1.0.0"
name: shells
baseline: {cpu: 1}
elasticity: {gpu: {min_count: 0, max_count: 0}}
fault_tolerance: {level: critical}
dependencies: []
SHELL
steps:
  - id: a
    timeout: 1m
    run: |
      SCRIPT
"""


def commands(tmp_path: Path, shell: str, *, script: str = "[[ -f x ]]") -> list[dict[str, object]] | Refused:
    path = tmp_path / "dsandbox.yaml"
    path.write_text(CONTRACT.replace("SHELL", shell).replace("SCRIPT", script))
    plan = prepare(str(path), read_inventory("builtin:8xa100-sxm-80gb"))
    if isinstance(plan, Refused):
        return plan
    return [{"argv": step.command.argv, "shell": step.command.shell} for step in plan.steps]


def test_a_script_is_read_by_bash_where_it_is_installed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pipeline, "_shell", lambda: "bash")
    (found,) = commands(tmp_path, "")
    assert found == {"argv": ("bash", "-e", "-c", "[[ -f x ]]\n"), "shell": ""}
    (found,) = commands(tmp_path, "shell: bash -o pipefail")
    assert found["argv"] == ("bash", "-e", "-o", "pipefail", "-c", "[[ -f x ]]\n")
    (found,) = commands(tmp_path, "shell: sh", script="echo")
    assert found == {"argv": (), "shell": "echo\n"}


def test_a_script_for_bash_has_no_plan_where_there_is_only_sh(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pipeline, "_shell", lambda: "sh")
    refused = commands(tmp_path, "")
    assert isinstance(refused, Refused)
    assert [one.code for one in refused.diagnostics] == ["DS530"]
    (found,) = commands(tmp_path, "", script="echo")
    assert found == {"argv": (), "shell": "echo\n"}
