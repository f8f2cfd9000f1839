"""A script that no shell can read: a word that opens something and is not closed, or a quote without its end.

Why: A shell reads a script as it goes. It runs all commands before the fault, for hours perhaps, and
then ends the Step with a syntax error.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: keep
        run: |
          if [ -s scores.csv ]; then
            cp scores.csv kept.csv
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    steps:
      - id: keep
        run: |
          if [ -s scores.csv ]; then
            cp scores.csv kept.csv
          fi
        timeout: 60s

Source: POSIX.1-2024, Shell Command Language, 2.10. Only what is certain is found; `bash -n` finds more.
"""

from __future__ import annotations

from itertools import pairwise

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.dag.script_syntax import Break
    from dsec_cli.source.tree import Path


OPTIONS = frozenset(
    (
        *("allexport", "braceexpand", "emacs", "errexit", "errtrace", "functrace", "hashall", "histexpand"),
        *("history", "ignoreeof", "interactive-comments", "keyword", "monitor", "noclobber", "noexec"),
        *("noglob", "nolog", "notify", "nounset", "onecmd", "physical", "pipefail", "posix", "privileged"),
        *("verbose", "vi", "xtrace", "debug", "nolog"),
    )
)
"""What `-o` of bash, dash and POSIX shells takes."""


def check(facts: Facts) -> Iterator[Finding]:
    """Scripts of Steps that a shell reads, and the options of shells."""
    yield from _options(("shell",), facts.contract.shell or "")
    for step in facts.contract.steps:
        yield from _options((*step.path, "shell"), step.shell or "")
    for step in facts.contract.steps:
        script = step.run.shell if step.run is not None else None
        if not script or step.kind != "step":
            continue
        from dsec_cli.dag.script_syntax import first_break  # only a script pays for them
        from dsec_cli.dag.shell import other_language

        if other_language(step.shell or facts.contract.shell or ""):
            continue
        if script.startswith("#!") and other_language(script.partition("\n")[0]):
            continue
        broken = first_break(script)
        if broken is not None:
            message, advice = _words(step.id, broken)
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*step.path, "run"),
                message=message,
                reason=say("the shell runs what stands before it, and ends the Step there"),
                help=advice,
            )


def _options(path: Path, shell: str) -> Iterator[Finding]:
    """`bash -o pipefial`: the shell ends with a usage error before it reads the script."""
    words = shell.split()
    if not words or words[0].rpartition("/")[2] not in ("bash", "sh", "dash"):
        return
    for before, word in pairwise(words):
        if before[:1] in ("-", "+") and before[1:2] != "-" and before[-1:] == "o" and word not in OPTIONS:
            from dsec_cli.lint.nearest import did_you_mean  # only a finding pays for it

            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=path,
                message=say("{shell} has no option {word}", "no-option-of-shell", shell=words[0], word=word),
                reason=say("the shell ends with a usage error before it reads the script"),
                help=did_you_mean(word, OPTIONS),
            )


def _words(step: str, broken: Break) -> tuple[str, str]:
    """What is wrong, and what to write instead."""
    word, wanted = broken.word, broken.wanted
    place = {"step": step, "word": word, "line": broken.line, "wanted": wanted}
    if broken.kind == "quote":
        return (
            say("Step {step}: `{word}` is not closed in the script, from line {line}", "unclosed", **place),
            say("close it with `{wanted}`, or write a backslash before it where it is a letter", **place),
        )
    if broken.kind == "stray":
        return (
            say("Step {step}: `{word}` in line {line} of the script belongs to no `{wanted}`", **place),
            say("remove it, or write the `{wanted}` that it belongs to", **place),
        )
    if broken.kind == "instead":
        return (
            say("Step {step}: `{word}` in line {line} of the script stands for `{wanted}`", **place),
            say("write `{wanted}` instead of `{word}`", **place),
        )
    message = say("Step {step}: `{word}` in line {line} of the script lacks its `{wanted}`", **place)
    if broken.kind == "joined":
        return message, say("write `;` or a new line before `{wanted}`", **place)
    if broken.kind == "spaced":
        return message, say("write ` {wanted}` at its end, with a space before it", **place)
    return message, say("add `{wanted}`", **place)


RULE = Rule("DS531", "script-not-readable", Severity.ERROR, check, when=("step",))
