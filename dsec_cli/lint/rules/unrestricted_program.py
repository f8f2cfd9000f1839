"""The agent's code starts programs, or runs text or data as code.

Why: A program that is started has the job's rights, and what it calls is not in the Python that was read.
Where a model chooses the command or the text, whoever can talk to the model can run what they like.

Bad (yaml):
    # agent-train-sandbox.yaml
    # project: shell-agent
    base: deepseek/dsec-python311-cu121:v1

Good (yaml):
    # agent-train-sandbox.yaml
    # code: import json; json.loads("{}")
    base: deepseek/dsec-python311-cu121:v1

Source: SPEC B6. A fixed command is a remark; a command, or text for `eval`, that a tool takes from its
model is a warning. Unpickling (`pickle.load`, `torch.load` without `weights_only=True`) runs what the file
says. The contract has no key that restricts programs, so nothing is to be added to it.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.held import held
from dsec_cli.lint.rule import Facts, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """What the code was found to need, where code was read."""
    return held(facts, RULE.code)


RULE = Rule("DS804", "unrestricted-program", Severity.WARNING, check, when=("given:code",))
