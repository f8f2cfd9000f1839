"""A command whose program is a misspelt interpreter or launcher, or `-m` with a file in place of a module.

Why: The Step ends at once with "not found" or "No module named", after the Steps before it have used
their hours.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: pyhton -m trainer.main
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        run: python -m trainer.main
        timeout: 60s

Source: mistakes in contracts as people make them. Names of other programs are not judged.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ("python", "python3", "torchrun", "accelerate", "deepspeed")
OTHERS = frozenset(("ipython", "ipython3", "bpython", "cpython", "jython", "mython"))
"""Programs whose names are near to one of these, and right."""
SHORTEST = min(map(len, PROGRAMS)) - 1
"""Letters below which no name is one slip away from any of them."""
PYTHONS = ("python", "python3")


def check(facts: Facts) -> Iterator[Finding]:
    """Commands of one line; the first word is the program."""
    for step in facts.contract.steps:
        argv = step.run.argv if step.run is not None and step.kind == "step" else ()
        if not argv:
            continue
        meant = _meant(argv[0])
        module = _module(argv)
        if meant:
            message = say("Step {step} starts {program!r}", "program", step=step.id, program=argv[0])
            reason = say("no program of this name is usual, and the Step ends at once without it")
            advice = say("did you mean {word}?", word=meant)
        elif module:
            message = say("Step {step}: `-m` takes a module, not a file", "module", step=step.id)
            reason = say("Python looks for a module of this name and finds none")
            written = module.removesuffix(".py").replace("/", ".").lstrip(".")
            advice = say("write `-m {module}`, or {file} without `-m`", module=written, file=module)
        else:
            continue
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=(*step.path, "run"),
            message=message,
            reason=reason,
            help=advice,
        )


def _meant(program: str) -> str:
    """The usual program that is one slip away; "" where the name is one of its own."""
    if program in PROGRAMS or program in OTHERS or not program.isalnum() or len(program) < SHORTEST:
        return ""
    from dsec_cli.contract.suggest import distance, without_numbers  # most programs are known

    near = [one for one in PROGRAMS if distance(program, one, most=1) == 1]
    return next((one for one in near if without_numbers(one) != without_numbers(program)), "")


def _module(argv: tuple[str, ...]) -> str:
    """What stands behind `-m` of a Python and is a path; "" where there is none."""
    if argv[0] not in PYTHONS:
        return ""
    for at, word in enumerate(argv[1:-1], 1):
        if not word.startswith("-"):
            return ""
        if word == "-m":
            name = argv[at + 1]
            return name if "/" in name or name.endswith(".py") else ""
    return ""


RULE = Rule("DS532", "program-misspelt", Severity.WARNING, check, when=("step",))
