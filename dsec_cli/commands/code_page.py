"""The page of `dsec code`: needs by kind, each with its first place and who reaches it."""

from __future__ import annotations

from dsec_cli.code.needs import MODULE, UNREACHED
from dsec_cli.report.cells import shown, wrap

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
    from dsec_cli.report.terminal import Paint

INDENT = "  "
DETAIL = "      "


def page(needs: Needs, ink: Paint, width: int) -> str:
    """The whole page."""
    lines: list[str] = []
    for title, rows in _sections(needs):
        if rows:
            lines += [ink(title, "1"), *(line for row in rows for line in _row(row, ink, width)), ""]
    lines += _unread(needs, ink, width)
    return "\n".join([*lines, _summary(needs)]) + "\n"


def _sections(needs: Needs) -> Iterable[tuple[str, list[tuple[str, str]]]]:
    """Titles with their rows: what is needed, and where."""
    return (
        ("tools", [_tool(one) for one in needs.tools]),
        ("environment", _joined(needs.environment, _variable)),
        ("network", _joined(needs.egress, _egress)),
        ("listens", _joined(needs.listens, _listen)),
        ("files", _joined(needs.files, _file)),
        ("programs", _joined(needs.subprocesses, _process)),
        ("runs as code", _joined(needs.execution, _execution)),
        ("not known", _joined(needs.unknowns, _unknown)),
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
    more = f" and {len(uses) - 1} more" if len(uses) > 1 else ""
    reached = list(dict.fromkeys(name for one in uses for name in one.reached))
    names = [_entry(name) for name in reached[:4]]
    names += [f"{len(reached) - 4} more"] if len(reached) > 4 else []
    place = f"{first.place.file}:{first.place.start.line}:{first.place.start.column}"
    return f"{place} {first.by}{more}; from {', '.join(names)}"


def _entry(name: str) -> str:
    return {MODULE: "the module itself", UNREACHED: "no entry"}.get(name, name)


def _tool(tool: Tool) -> tuple[str, str]:
    what = f"{tool.name}({', '.join(tool.parameters)})"
    place = f"{tool.place.file}:{tool.place.start.line}:{tool.place.start.column} {tool.framework}"
    return what, f"{place}: {tool.summary}" if tool.summary else place


def _variable(one: Variable) -> str:
    words = ["secret"] if one.secret else []
    words += ["required"] if one.required else []
    words += [f"default {one.default!r}"] if one.default is not None else []
    return f"{one.name} ({', '.join(words)})" if words else one.name


def _egress(one: Egress) -> str:
    port = f":{one.port}" if one.port is not None else ""
    rate = f", at most {one.rate}" if one.rate else ""
    variable = f", unless {one.variable} says otherwise" if one.variable else ""
    return f"{one.host}{port}{f' ({one.scheme})' if one.scheme else ''}{rate}{variable}"


def _listen(one: Listen) -> str:
    port = "a port that is not known" if one.port is None else f"port {one.port}"
    return f"{port} on {one.host}" if one.host else port


def _file(one: FileUse) -> str:
    return f"{one.mode:<6} {one.path}"


def _process(one: Process) -> str:
    words = ["shell"] if one.shell else []
    words += ["fixed"] if one.fixed else ["arguments not fixed"]
    return f"{one.program or 'a program that is not known'} ({', '.join(words)})"


def _execution(one: Execution) -> str:
    return _RUN[one.what] + (" (fixed)" if one.fixed else "")


_RUN = {
    "code": "text as code",
    "data": "data that can run code",
    "download": "code that is downloaded",
    "import": "an import by name",
}


def _unknown(one: Unknown) -> str:
    return f"{one.kind}: {one.reason}"


def _unread(needs: Needs, ink: Paint, width: int) -> list[str]:
    if not needs.unread:
        return []
    rows = [line for one in needs.unread for line in _row((one.file, one.reason), ink, width)]
    return [ink("not read", "1"), *rows, ""]


def _summary(needs: Needs) -> str:
    counts = (
        (len(needs.tools), "tool"),
        (len({one.name for one in needs.environment}), "variable"),
        (len({one.host for one in needs.egress}), "host"),
        (len({one.path for one in needs.files}), "path"),
        (len(needs.unknowns), "unknown"),
    )
    said = ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
    return f"{needs.files_read} file{'' if needs.files_read == 1 else 's'} read: {said}"
