"""The page of `dsec code`: needs by kind, each with its first place and who reaches it."""

from __future__ import annotations

from dsec_cli.cells import shown, wrap
from dsec_cli.code.compare.egress import destination
from dsec_cli.code.compare.reasons import worded
from dsec_cli.code.needs import MODULE, UNREACHED
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec_cli.code.found import Need
    from dsec_cli.code.needs import (
        Egress,
        Execution,
        FileUse,
        Listen,
        Needs,
        Process,
        Tool,
        Unknown,
        Variable,
    )
    from dsec_cli.report.format import Tell
    from dsec_cli.report.terminal import Paint

INDENT = "  "
DETAIL = "      "


def page(needs: Needs, ink: Paint, width: int, tell: Tell = str) -> str:
    """The whole page."""
    lines: list[str] = []
    for title, rows in (*_sections(needs), (say("not read"), _unread(needs))):
        if rows:
            lines.append(ink(tell(title), "1"))
            for what, where in rows:
                lines += _row((tell(what), tell(where)), ink, width)
            lines.append("")
    return "\n".join([*lines, tell(_summary(needs))]) + "\n"


def _sections(needs: Needs) -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Titles with their rows: what is needed, and where."""
    return (
        (say("tools"), [_tool(one) for one in needs.tools]),
        (say("environment"), _joined(needs.environment, _variable)),
        (say("network"), _joined(needs.egress, _egress)),
        (say("listens"), _joined(needs.listens, _listen)),
        (say("files"), _joined(needs.files, _file)),
        (say("programs"), _joined(needs.subprocesses, _process)),
        (say("runs as code"), _joined(needs.execution, _execution)),
        (say("not known"), _joined(needs.unknowns, _unknown)),
    )


def _row(row: tuple[str, str], ink: Paint, width: int) -> list[str]:
    what, where = row
    return [
        *(f"{INDENT}{line}" for line in wrap(shown(what), width - len(INDENT))),
        *(ink(f"{DETAIL}{line}", "2") for line in wrap(shown(where), width - len(DETAIL))),
    ]


def _joined(needs: Iterable[Need], words: Callable[..., str]) -> list[tuple[str, str]]:
    """One row per thing that is needed, however often; its first place, and all that reach it."""
    groups: dict[str, list[Need]] = {}
    for one in needs:
        groups.setdefault(words(one), []).append(one)
    return [(what, _where(uses)) for what, uses in groups.items()]


def _where(uses: list[Need]) -> str:
    first = uses[0]
    more = say(" and {count} more", count=len(uses) - 1) if len(uses) > 1 else ""
    reached = list(dict.fromkeys(name for one in uses for name in one.reached))
    names = [_entry(name) for name in reached[:4]]
    names += [say("{count} more", count=len(reached) - 4)] if len(reached) > 4 else []
    place = f"{first.place.file}:{first.place.start.line}:{first.place.start.column}"
    entries = joined(", ", names)
    return say("{place} {by}{more}; from {entries}", place=place, by=first.by, more=more, entries=entries)


def _entry(name: str) -> str:
    if name == MODULE:
        return say("the module itself")
    return say("no entry") if name == UNREACHED else name


def _tool(tool: Tool) -> tuple[str, str]:
    what = f"{tool.name}({', '.join(tool.parameters)})"
    place = f"{tool.place.file}:{tool.place.start.line}:{tool.place.start.column} {tool.framework}"
    return what, f"{place}: {tool.summary}" if tool.summary else place


def _variable(one: Variable) -> str:
    words: list[str] = [say("secret")] if one.secret else []
    words += [say("required")] if one.required else []
    words += [say("default {value!r}", value=one.default)] if one.default is not None else []
    return say("{what} ({facts})", what=one.name, facts=joined(", ", words)) if words else one.name


def _egress(one: Egress) -> str:
    place = f"{destination(one.host, one.port)}{f' ({one.scheme})' if one.scheme else ''}"
    rate = say(", at most {rate}", rate=one.rate) if one.rate else ""
    variable = say(", unless {variable} says otherwise", variable=one.variable) if one.variable else ""
    return say("{place}{rate}{variable}", place=place, rate=rate, variable=variable)


def _listen(one: Listen) -> str:
    port = say("a port that is not known") if one.port is None else say("port {port}", port=one.port)
    return say("{port} on {host}", port=port, host=one.host) if one.host else port


def _file(one: FileUse) -> str:
    return f"{one.mode:<6} {one.path}"


def _process(one: Process) -> str:
    words: list[str] = [say("shell")] if one.shell else []
    words.append(say("fixed") if one.fixed else say("arguments not fixed"))
    program = one.program or say("a program that is not known")
    return say("{what} ({facts})", what=program, facts=joined(", ", words))


def _execution(one: Execution) -> str:
    what = _RUN[one.what]
    return say("{what} ({facts})", what=what, facts=say("fixed")) if one.fixed else what


_RUN = {
    "code": say("text as code"),
    "data": say("data that can run code"),
    "download": say("code that is downloaded"),
    "function": say("a function by a computed name"),
    "import": say("an import by name"),
}


def _unknown(one: Unknown) -> str:
    return say("{kind}: {reason}", kind=one.kind, reason=worded(one.reason))


def _unread(needs: Needs) -> list[tuple[str, str]]:
    return [(one.file, worded(one.reason)) for one in needs.unread]


def _summary(needs: Needs) -> str:
    tools, unknowns = len(needs.tools), len(needs.unknowns)
    variables = len({one.name for one in needs.environment})
    hosts = len({one.host for one in needs.egress})
    paths = len({one.path for one in needs.files})
    found = joined(
        ", ",
        [
            say("1 tool") if tools == 1 else say("{count} tools", count=tools),
            say("1 variable") if variables == 1 else say("{count} variables", count=variables),
            say("1 host") if hosts == 1 else say("{count} hosts", count=hosts),
            say("1 path") if paths == 1 else say("{count} paths", count=paths),
            say("1 unknown") if unknowns == 1 else say("{count} unknowns", count=unknowns),
        ],
    )
    read = needs.files_read
    files = say("1 file") if read == 1 else say("{count} files", count=read)
    return say("{files} read: {found}", files=files, found=found)
