"""Environment variables that the code reads and the contract does not give."""

from __future__ import annotations

from dsec_cli.code.compare.missing import Missing, label, places, related
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.needs import Needs, Variable
    from dsec_cli.contract.values import Contract

CODE = "DS802"
PATH = ("runtime_context", "env_vars")
USUAL = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "PWD", "TMPDIR", "TZ", "HOSTNAME", "COLUMNS",
     "LINES", "NO_COLOR", "FORCE_COLOR", "CI", "VIRTUAL_ENV", "CUDA_VISIBLE_DEVICES", "EDITOR", "DISPLAY")
)  # fmt: skip
"""Variables that are there, or not, whatever the contract says."""
USUAL_STARTS = ("LC_", "PYTHON", "DSEC_", "XDG_", "SSH_", "GITHUB_", "SLURM_", "OMP_", "NCCL_")


def missing_variables(needs: Needs, contract: Contract) -> Iterator[Missing]:
    """One finding per variable, at its first place; those with a default are remarks."""
    given = given_names(contract)
    groups: dict[str, list[Variable]] = {}
    for one in needs.environment:
        if one.name not in given and not is_usual(one.name):
            groups.setdefault(one.name, []).append(one)
    for name, uses in groups.items():
        required = [one for one in uses if one.required]
        if required or any(one.by.startswith(("os.", "decouple.")) for one in uses):
            yield _missing(name, required or uses, required=bool(required))


def given_names(contract: Contract) -> frozenset[str]:
    """Variables that the contract gives the job, or one of its Steps."""
    steps = (name for step in contract.steps for name, _ in step.env)
    return frozenset((*(one.name for one in contract.env_vars if one.name), *steps))


def is_usual(name: str) -> bool:
    """Whether a variable is the machine's, the shell's or Python's own."""
    return name in USUAL or name.startswith(USUAL_STARTS)


def _missing(name: str, uses: list[Variable], *, required: bool) -> Missing:
    secret = any(one.secret for one in uses)
    default = next((one.default for one in uses if one.default is not None), None)
    if secret:
        item = f"{{name: {name}, source: vault://PATH/{name.lower().replace('_', '-')}}}"
    else:
        item = f"{{name: {name}, value: ...}}"
    seen = say("{label} ({places})", label=label(uses[0]), places=places(uses))
    if not required:
        what = say("the code reads {name}, which the contract does not give", "not-given", name=name)
        reason = say("the code goes on without it: {seen}", seen=seen)
        if default is not None and not secret and len(default) <= 60:
            reason = say("its default {default!r} is used: {seen}", default=default, seen=seen)
    elif secret:
        what = say("the code needs the secret {name}, which the contract does not give", "secret", name=name)
        reason = say("without it this fails: {seen}", seen=seen)
    else:
        what = say("the code needs {name}, which the contract does not give", "variable", name=name)
        reason = say("without it this fails: {seen}", seen=seen)
    severity = Severity.WARNING if required else Severity.INFO
    advice = say("add to runtime_context.env_vars: - {item}", item=item)
    finding = Finding(CODE, severity, PATH, what, reason, advice, related=related(uses))
    return Missing(finding, PATH, item if secret else "")
