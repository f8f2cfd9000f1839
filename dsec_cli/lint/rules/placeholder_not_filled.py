"""A placeholder where none is filled in.

Why: Only `inputs` and `outputs` have `{run}`, `{iteration}` and `{previous}` filled in. A command
gets them as they are, and writes into a folder called `{run}`; what it needs stands in its
environment (`DSEC_RUN_DIR`, `DSEC_ITERATION`, `DSEC_CARRIED`), and a call's in its context. Any other
name in braces is filled in nowhere.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: roll
        run: python roll.py --out {run}/rollouts.npz
        outputs: ["{run}/rollouts.npz"]
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    steps:
      - id: roll
        run: |
          python roll.py --out "$DSEC_RUN_DIR/rollouts.npz"
        outputs: ["{run}/rollouts.npz"]
        timeout: 60s

Source: SPEC A5. A script may hold braces of its own, so there only a path that the Step declares
counts.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Run, Step
    from dsec_cli.source.tree import Path

KNOWN = {
    "{run}": ("DSEC_RUN_DIR", "run_dir"),
    "{iteration}": ("DSEC_ITERATION", "iteration"),
    "{previous}": ("DSEC_CARRIED", "carried"),
}
"""Placeholders, and what a command finds in its environment and a call in its context instead."""


def check(facts: Facts) -> Iterator[Finding]:
    """Placeholders in commands and arguments, unknown ones in paths."""
    for step in facts.contract.steps:
        if step.kind == "step" and step.run is not None:
            yield from _command(step, step.run)
        for path, text in (*step.inputs, *step.outputs):
            unknown = _unknown(text)
            if unknown:
                yield _finding(
                    path,
                    say(
                        "Step {id}: {unknown} is no placeholder, so it stays in the path as it is",
                        "no-placeholder",
                        id=step.id,
                        unknown=unknown,
                    ),
                    say("write one of {known}, or the path without braces", known=", ".join(KNOWN)),
                )


def _command(step: Step, run: Run) -> Iterator[Finding]:
    key, text = ("args", step.args) if run.call else ("run", " ".join(run.argv))
    found = [name for name in KNOWN if name in text]
    if run.shell:
        declared = [text for _, text in (*step.inputs, *step.outputs) if text in run.shell]
        found = [name for name in KNOWN if any(name in path for path in declared)]
    braces = _template(run.shell or " ".join(run.argv)) if not run.call else ""
    if braces:
        yield _finding(
            (*step.path, "run"),
            say("Step {id}: nothing fills in {braces}", "template", id=step.id, braces=braces),
            say("write the value, or read it from the environment in a script (`run: |`)"),
        )
    if found:
        verb = say("is") if len(found) == 1 else say("are")
        message = say(
            "Step {id}: {found} in {key} {verb} not filled in",
            "step-filled",
            id=step.id,
            found=joined(" and ", found),
            key=key,
            verb=verb,
        )
        yield _finding((*step.path, key), message, _advice(found, call=bool(run.call)))


def _template(text: str) -> str:
    """The first `{{ name }}` of a template; "" for none. Those of Go begin with a dot."""
    at = text.find("{{")
    while at >= 0:
        end = text.find("}}", at)
        if end < 0:
            return ""
        name = text[at + 2 : end].strip(" -")
        if name.replace(".", "_").replace(" ", "").isidentifier() and not name.startswith("."):
            return text[at : end + 2]
        at = text.find("{{", end)
    return ""


def _advice(found: list[str], *, call: bool) -> str:
    if call:
        return say(
            "read {names} in the function",
            names=joined(" and ", [f"ctx.{KNOWN[name][1]}" for name in found]),
        )
    variables = joined(" and ", [f"${KNOWN[name][0]}" for name in found])
    return say("read {variables} from the environment; a script below `run: |` can", variables=variables)


def _unknown(text: str) -> str:
    """The first name in braces that is no placeholder, or ""."""
    at = text.find("{")
    while at >= 0:
        end = text.find("}", at)
        name = text[at : end + 1]
        word = name[1:-1].partition(":")[0].partition("!")[0]  # `{iteration:04d}`, as Python's format has it
        offset = word.replace(" ", "").replace("+", "-").partition("-")  # `{iteration-1}`
        if end > at and name not in KNOWN and (word.isidentifier() or f"{{{offset[0]}}}" in KNOWN):
            return name
        at = text.find("{", at + 1)
    return ""


def _finding(where: Path, message: str, advice: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=where,
        message=message,
        reason=say("only inputs and outputs have their placeholders filled in"),
        help=advice,
    )


RULE = Rule("DS512", "placeholder-not-filled", Severity.WARNING, check, when=("step",))
