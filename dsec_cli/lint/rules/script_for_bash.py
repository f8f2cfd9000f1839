"""A script for bash is read by sh, which does not understand it.

Why: `[[ ... ]]`, `source`, arrays or `set -o pipefail` are bash. Where /bin/sh is dash, as on Debian and
Ubuntu, the Step ends at the first of them, with a message that names neither the shell nor the line.
Scripts are read by bash where it is installed; `shell: sh` says otherwise, and a `checkpoint_cmd` is
always read by sh.

Bad (yaml):
    # ds_config.yaml
    shell: sh
    steps:
      - id: load
        run: |
          set -euo pipefail
          cat parts/* | sort > all
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    shell: bash
    steps:
      - id: load
        run: |
          set -euo pipefail
          cat parts/* | sort > all
        timeout: 60s

Source: POSIX.1-2024, Shell Command Language, and what Debian's checkbashisms looks for.
"""

from __future__ import annotations

from dsec_cli.dag.shell import is_plain, other_language
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Path


def check(facts: Facts) -> Iterator[Finding]:
    """Scripts whose shell is stated and knows no more than sh, and commands that save state."""
    yield from _other_languages(facts)
    yield from findings(facts, "", RULE.severity)


def _other_languages(facts: Facts) -> Iterator[Finding]:
    """Scripts that another interpreter is to read: `#!/usr/bin/env python3`, `shell: python`."""
    for step in facts.contract.steps:
        if step.run is None or not step.run.shell:
            continue
        path = (*step.path, "run")
        name = other_language(step.shell or facts.contract.shell or "")
        if name:
            path = (*step.path, "shell") if step.shell else ("shell",)
        elif step.run.shell.startswith("#!"):
            name = other_language(step.run.shell.partition("\n")[0])
        if name:
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=path,
                message=say(
                    "Step {step}: the script is for {name}, but a shell reads it",
                    "for-another-language",
                    step=step.id,
                    name=name,
                ),
                reason=say(
                    "scripts are handed over as `SHELL -e -c SCRIPT`, and to a shell `#!` is a comment"
                ),
                help=say("put it into a file and write `run: {name} FILE`", name=name),
            )


def findings(facts: Facts, default: str, severity: Severity) -> Iterator[Finding]:
    """The same where scripts without a stated shell are read by `default`; "": that is not known."""
    for step in facts.contract.steps:
        shell = step.shell or facts.contract.shell or default
        if step.run is not None and step.run.shell and shell and is_plain(shell):
            found = _bashism(step.run.shell)
            if found:
                yield _finding((*step.path, "run"), step.id, shell, found=found, severity=severity)
        found = _bashism(step.checkpoint_cmd) if step.checkpoint_cmd and severity is RULE.severity else ""
        if found:
            yield _finding((*step.path, "checkpoint_cmd"), step.id, "sh", found=found, severity=severity)


def _bashism(script: str) -> str:
    from dsec_cli.dag.bashism import bashism  # most contracts have no script for a plain sh

    return bashism(script)


def _finding(path: Path, step: str, shell: str, *, found: str, severity: Severity) -> Finding:
    advice = (
        say("write `bash -c '...'`, or what sh understands")
        if path[-1] == "checkpoint_cmd"
        else say("write `shell: bash`, install bash where it is missing, or write what sh understands")
    )
    return Finding(
        code=RULE.code,
        severity=severity,
        where=path,
        message=say(
            "Step {step}: {shell} reads this script and does not understand `{found}`",
            "for-bash",
            step=step,
            shell=shell,
            found=found,
        ),
        reason=say("it is bash; a plain sh ends the Step there"),
        help=advice,
    )


RULE = Rule("DS530", "script-for-bash", Severity.WARNING, check, when=("plain-shell",))
