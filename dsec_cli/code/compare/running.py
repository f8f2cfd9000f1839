"""Programs that the code starts, and text or data that it runs as code."""

from __future__ import annotations

from dsec_cli.code.compare.missing import Missing, label, listed, places, related
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.needs import Execution, Needs, Process
    from dsec_cli.contract.values import Contract

CODE = "DS804"
WHERE = ("security_policy",)


def programs_and_code(needs: Needs, contract: Contract) -> Iterator[Missing]:
    """One finding per program and per kind of execution; a model that chooses what runs is a warning."""
    tools = frozenset(tool.name for tool in needs.tools)
    programs: dict[tuple[str | None, bool], list[Process]] = {}
    for one in needs.subprocesses:
        programs.setdefault((one.program, _chosen(one, tools)), []).append(one)
    for (program, chosen), uses in programs.items():
        if not chosen and (program, True) in programs:
            continue
        yield _program(program, uses, tools if chosen else frozenset())
    kinds: dict[tuple[str, bool], list[Execution]] = {}
    for run in needs.execution:
        if not (run.fixed and run.what == "code"):
            kinds.setdefault((run.what, _chosen(run, tools)), []).append(run)
    for (what, chosen), runs in kinds.items():
        yield _execution(what, runs, tools if chosen else frozenset())


def _chosen(one: Process | Execution, tools: frozenset[str]) -> bool:
    return not one.fixed and not tools.isdisjoint(one.reached)


def _program(program: str | None, uses: list[Process], tools: frozenset[str]) -> Missing:
    name = program or say("a program")
    first = uses[0]
    seen = say("{label} ({places})", label=label(first), places=places(uses))
    if tools:
        by = listed([name for name in first.reached if name in tools])
        what = say("a model chooses what {tool} runs: {program}", "chosen", tool=by, program=name)
        reason = say("what it starts has the job's rights; {seen}", seen=seen)
        advice = say("let the tool choose from a list of commands, without a shell")
        if any(one.shell for one in uses):
            reason = say("a shell reads it, and runs whatever is put in; {seen}", seen=seen)
        elif program is not None:
            what = say(
                "a model chooses arguments of {program} through {tool}", "arguments", tool=by, program=name
            )
            advice = say("let the tool choose from a list, or put -- in front of what it is given")
        return _finding(what, reason, advice, Severity.WARNING, uses)
    what = say("the code starts {program}", "started", program=name)
    reason = say("it has the job's rights, and what it calls is not seen here; {seen}", seen=seen)
    return _finding(what, reason, "", Severity.INFO, uses)


def _what(what: str) -> str:
    if what == "code":
        return say("text is run as code", "code")
    if what == "data":
        return say("data is read in a way that can run code", "data")
    if what == "download":
        return say("code that is downloaded is run", "download")
    if what == "function":
        return say("a function of a library is called by a computed name", "function")
    return say("a module is imported by a name that is not fixed", "import")


def _advice(what: str) -> str:
    if what == "code":
        return say("take eval and exec out, or run them in a Step of their own")
    if what == "data":
        return say("use a format that holds data only: safetensors, JSON, torch.load(weights_only=True)")
    if what == "download":
        return say("take trust_remote_code out, or keep the code and fix its revision")
    if what == "function":
        return say("choose from a dictionary of functions instead")
    return say("import from a list of names")


def _execution(what: str, uses: list[Execution], tools: frozenset[str]) -> Missing:
    first = uses[0]
    seen = say("{label} ({places})", label=label(first), places=places(uses))
    if tools:
        by = listed([name for name in first.reached if name in tools])
        message = say(
            "{what}, and a model chooses it through {tool}", "chosen-code", what=_what(what), tool=by
        )
        reason = say("it can do whatever the job may do; {seen}", seen=seen)
        return _finding(message, reason, _advice(what), Severity.WARNING, uses)
    reason = say("whoever makes it has the job's rights; {seen}", seen=seen)
    if what == "function":
        reason = say("which one, and what it touches, cannot be known; {seen}", seen=seen)
    return _finding(_what(what), reason, _advice(what), Severity.INFO, uses)


def _finding(
    message: str, reason: str, advice: str, severity: Severity, uses: list[Process] | list[Execution]
) -> Missing:
    return Missing(Finding(CODE, severity, WHERE, message, reason, advice, related=related(uses)))
