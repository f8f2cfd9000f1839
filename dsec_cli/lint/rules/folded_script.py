"""A script of several commands stands below `run: >`, which folds its lines into one.

Why: `>` joins lines by blanks, so the second command becomes arguments of the first one. `|` keeps the lines.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: evaluate
        run: >
          set -eu
          python evaluate.py
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    steps:
      - id: evaluate
        run: |
          set -eu
          python evaluate.py
        timeout: 60s

Source: users of YAML tools who mix up the two kinds of blocks.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.tree import Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = frozenset(
    (
        *(
            "python",
            "python3",
            "bash",
            "sh",
            "cd",
            "echo",
            "export",
            "set",
            "source",
            "mkdir",
            "rm",
            "cp",
            "mv",
        ),
        *("pip", "torchrun", "accelerate", "deepspeed", "tar", "wget", "curl", "exit", "test"),
    )
)
"""Words that begin a command, and are seldom the argument of one."""
_ENDED = frozenset(("set", "cd", "source"))
"""Commands that no further line goes on with, but for options."""
PREFIXES = frozenset(("exec", "time", "nohup", "env", "uv", "srun", "mpirun", "xvfb-run", "numactl", "conda"))
"""Programs that take a command as their arguments, maybe on the next line."""
JOINS = ("\\", "&&", "||", "|", ";", "{", "(", "do", "then", "else")


def check(facts: Facts) -> Iterator[Finding]:
    """Folded scripts in which a later line begins a command."""
    for step in facts.contract.steps:
        if step.run is None or not step.run.shell:
            continue
        path = (*step.path, "script" if step.kind == "task" else "run")
        node = facts.node(path)
        if not isinstance(node, Scalar) or node.style != "folded":
            continue
        start, end = node.span
        second = _second_command(facts.text.text[start:end].split("\n")[1:])
        if second:
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=path,
                message=say(
                    "`>` folds the script of Step {step} into one line: {command} is an argument there",
                    "folded",
                    step=step.id,
                    command=second,
                ),
                reason=say(
                    "only an empty line, or one that is indented further, ends a line of a folded block"
                ),
                help=say("write `run: |`, which keeps the lines"),
            )


def _second_command(lines: list[str]) -> str:
    """The first word of a line that begins a command, though the line before it is not done."""
    before: list[str] = []
    for line in lines:
        words = line.split()
        if words and before:
            joined = before[-1].endswith(JOINS) or before[0] in PREFIXES or "-c" in before
            if words[0] in COMMANDS and before[0] in COMMANDS and not joined:
                return words[0]
            ended = before[0] in _ENDED and len(before) > 1 and not joined
            if ended and words[0][0] not in "-#" and "=" not in words[0]:
                return words[0]
        before = words
    return ""


RULE = Rule("DS522", "folded-script", Severity.WARNING, check, when=("script-folded",))
