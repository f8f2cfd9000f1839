"""An input in the run's folder is one that no Step writes.

Why: The run's folder is empty when the run begins, so what a Step reads there is another Step's
output. An input with the same name makes it wait for that Step; a misspelt one makes it wait for
nobody, and it starts before its file is there, or reads what an earlier iteration left.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: rows, run: python rows.py, outputs: ["{run}/row-{iteration}"], timeout: 60s}
      - {id: mean, run: python mean.py, inputs: ["{run}/raw-{iteration}"], timeout: 60s}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: rows, run: python rows.py, outputs: ["{run}/row-{iteration}"], timeout: 60s}
      - {id: mean, run: python mean.py, inputs: ["{run}/row-{iteration}"], timeout: 60s}

Source: SPEC A5. An input with `{previous}` is the output with `{iteration}` of the iteration before;
an output that is a folder stands for all below it, and an input that is a folder for what Steps write in
it. A file that a Step writes only sometimes needs no declaration: state the order by `needs`.
"""

from __future__ import annotations

from dsec.core.paths import RUN, normal
from dsec_cli.dag.paths import Outputs, previous
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.text import Span
from dsec_cli.words import arguments, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step
    from dsec_cli.source.tree import Path

PLACEHOLDERS = ("{run}", "{iteration}", "{previous}")
MOST_SUGGESTIONS = 50
"""Each compares a path with every output; a text with more such inputs is generated, not misspelt."""


def check(facts: Facts) -> Iterator[Finding]:
    """Inputs below `{run}` without a writer, of this iteration or the one before."""
    steps = facts.contract.steps
    inputs = [(step, *one) for step in steps for one in step.inputs if _below_run(one[1])]
    if not inputs or _hides_outputs(facts):
        return
    outputs = Outputs(steps)
    known: list[str] | None = None
    count = 0
    for step, path, text in inputs:
        if outputs.writers(text) or (previous(text) and outputs.earlier_writers(text)):
            continue
        if known is None:
            known = sorted({normal(text) for step in steps for _, text in step.outputs})
        count += 1
        advice = _advice(step, text, known if count <= MOST_SUGGESTIONS else [])
        yield _mended(facts, _finding(step, path, text, advice), path)


def _mended(facts: Facts, found: Finding, path: Path) -> Finding:
    """The finding with the fix that writes the path which its advice proposes."""
    meant = arguments(found.help).get("meant")
    if meant is None:
        return found
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    return with_value(facts, found, path, str(meant))


def _below_run(text: str) -> bool:
    name = normal(text)
    return name.startswith(f"{RUN}/") and not name.startswith(f"{RUN}/..")


def _hides_outputs(facts: Facts) -> bool:
    """Whether a Step may write more than the contract knows, as part of it could not be read."""
    known = {step.path for step in facts.contract.steps}
    return bool(facts.document.gaps) or any(
        _may_hide(found.where, known, unknown_key=found.code == "DS101")
        for found in facts.structural
        if not isinstance(found.where, Span) and found.where[:1] == ("steps",)
    )


def _may_hide(where: Path, known: set[Path], *, unknown_key: bool) -> bool:
    """Whether what is wrong at `where` may have cost a Step, or a Step its outputs."""
    if where[:2] not in known or where[2:3] == ("outputs",):
        return True
    if not unknown_key or len(where) != 3:
        return False
    from dsec_cli.contract.suggest import nearest  # see `_nearest`

    return nearest(str(where[2]), ("outputs",)) is not None


def _advice(step: Step, text: str, known: list[str]) -> str:
    """The output that is meant, as this input has to spell it; else what to declare."""
    odd = next((path for path in known if _is_slip(path, text)), "")
    if odd:
        return say("a Step writes {odd}: write {text} in its outputs", odd=odd, text=text)
    meant = _nearest(step, text, [path for path in known if _readable(path)])
    return (
        say("did you mean {meant}?", meant=meant)
        if meant
        else say("add it to the outputs of the Step that writes it")
    )


def _nearest(step: Step, text: str, known: list[str]) -> str:
    # Only a wrong path pays for the import.
    from dsec_cli.contract.suggest import nearest

    own = {normal(text) for _, text in step.outputs}
    if previous(text):
        earlier = {path.replace("{iteration}", "{previous}") for path in known if "{iteration}" in path}
        best = nearest(normal(text), earlier)
    else:
        best = nearest(normal(text), (path for path in known if path not in own))
    return best.word if best is not None else _but_for_placeholders(normal(text), known, own)


def _but_for_placeholders(text: str, known: list[str], own: set[str]) -> str:
    """The only output that differs in its placeholders alone: `net-{iteration}.pt` is written as `net.pt`."""
    like = [path for path in known if path not in own and _stripped(path) == _stripped(text)]
    return like[0] if len(like) == 1 else ""


def _stripped(path: str) -> str:
    """The letters of a path without its placeholders and its first variable."""
    if path.startswith("$"):
        path = path.partition("/")[2]
    parts = path.replace("{", "\0{").replace("}", "}\0").split("\0")
    kept = "".join(part for part in parts if not (part[:1] == "{" and part[-1:] == "}"))
    return "".join(char for char in kept.lstrip("/") if char.isalnum() or char == "/")


def _is_slip(output: str, text: str) -> bool:
    """Whether an output that is odd, or the same in all iterations, is meant to be this input."""
    fixed = "{iteration}" in text and "{iteration}" not in output
    return (fixed or not _readable(output)) and _stripped(output) == _stripped(normal(text))


def _readable(path: str) -> bool:
    """Whether a path has no variable and no placeholder but those that are filled in."""
    for name in PLACEHOLDERS:
        path = path.replace(name, "")
    return not any(sign in path for sign in "{}$")


def _finding(step: Step, path: Path, text: str, advice: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=say("Step {id} reads {text}, which no Step writes", "step-reads-step", id=step.id, text=text),
        reason=say(
            "the run's folder is empty at first, and an input that is no Step's output orders nothing"
        ),
        help=advice,
    )


RULE = Rule("DS514", "input-nobody-writes", Severity.ERROR, check, when=("input",))
