"""`dsec knowledge`: what is known of common agent tools and client libraries."""

from __future__ import annotations

import json
import sys

from dsec_cli.cells import padded, shown, wrap
from dsec_cli.code.knowledge import lookup, named, search
from dsec_cli.commands.knowing import read_knowledge
from dsec_cli.commands.speaking import listener
from dsec_cli.commands.terminal import colored
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.report.output import emit, to_stderr
from dsec_cli.report.terminal import columns, paint
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.knowledge import Entry, Knowledge
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell
    from dsec_cli.report.terminal import Paint

_INDENT = 12


def main(args: Args) -> int:
    """List the entries, those that match WORD, or show the one that it names."""
    if args.word is not None and not args.word.strip():
        raise UsageError("WORD is empty", hint="name a tool, a module, a host or a variable")
    tell = listener(args.lang)
    found = _found(read_knowledge(), args.word)
    if args.json:
        emit(as_json(found))
    elif not found:
        to_stderr(tell(say("nothing is known of {word!r}", word=shown(args.word))) + "\n")
    else:
        emit(render(found, paint(wanted=colored("auto", sys.stdout)), columns(sys.stdout), tell))
    return YES if found else NO


def _found(knowledge: Knowledge, word: str | None) -> tuple[Entry, ...]:
    if word is None:
        return knowledge.entries
    entry = named(knowledge, word)
    if entry is not None:
        return (entry,)
    hits = search(knowledge, word)
    # A name below a known one, as code writes it: openai.OpenAI.chat.completions.
    below = lookup(knowledge, word) if not hits else None
    return hits if below is None else (below,)


def as_json(entries: tuple[Entry, ...]) -> str:
    """The entries in the form of the knowledge files."""
    rows = [_plain(entry) for entry in entries]
    return json.dumps({"version": 1, "entries": rows}, indent=2, ensure_ascii=False) + "\n"


def _plain(entry: Entry) -> dict[str, object]:
    row = entry._asdict()
    row["env"] = [one._asdict() for one in entry.env]
    row["files"] = [one._asdict() for one in entry.files]
    return row


def render(entries: tuple[Entry, ...], ink: Paint, width: int, tell: Tell = str) -> str:
    """One entry as a page, several as a list."""
    if len(entries) == 1:
        return "\n".join(_page(entries[0], ink, width, tell)) + "\n"
    lines = [line for entry in entries for line in _item(entry, ink, width)]
    count = tell(say("{count} entries; dsec knowledge NAME shows one", count=len(entries)))
    return "\n".join([*lines, "", count]) + "\n"


def _item(entry: Entry, ink: Paint, width: int) -> list[str]:
    return [ink(shown(entry.name), "1"), *(f"    {line}" for line in wrap(shown(entry.function), width - 4))]


def _page(entry: Entry, ink: Paint, width: int, tell: Tell) -> list[str]:
    lines = [f"{ink(shown(entry.name), '1')} ({entry.kind}, {shown(entry.framework)})"]
    lines += wrap(shown(entry.function), width)
    lines.append("")
    for label, texts in _facts(entry):
        for text in texts:
            rows = wrap(shown(tell(text)), width - _INDENT)
            lines += [padded(tell(label), _INDENT) + rows[0], *(" " * _INDENT + row for row in rows[1:])]
            label = ""
    return lines


def _facts(entry: Entry) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Label and lines of each part of a page; what is not known has none."""
    rate = f"{entry.rate} ({entry.rate_source})" if entry.rate_source else entry.rate
    source: str = entry.source or ""
    if source and entry.checked:
        source = say("{source} (read {day})", source=source, day=entry.checked)
    return (
        (say("calls"), entry.egress or (say("nobody"),)),
        (say("variables"), tuple(_variable(one.name, one.required, one.secret) for one in entry.env)),
        (say("files"), tuple(f"{one.access} {one.path}" for one in entry.files)),
        (say("programs"), _flag(entry.subprocess, say("starts other programs"))),
        (say("code"), _flag(entry.executes, say("runs code or commands that are its input"))),
        (say("may"), _text(entry.privileges)),
        (say("limit"), _text(rate)),
        (say("blocking"), _text(entry.calls and _BLOCKING[entry.calls])),
        (say("streams"), _flag(entry.streams, say("yes"))),
        (say("cost"), _text(entry.cost)),
        (say("notes"), _text(entry.notes)),
        (say("reached by"), entry.imports),
        (say("source"), _text(source)),
    )


_BLOCKING = {"async": say("no: asynchronous"), "blocking": say("yes"), "both": say("either way")}


def _variable(name: str, required: bool, secret: bool) -> str:
    words = [word for word, wanted in ((say("required"), required), (say("secret"), secret)) if wanted]
    return say("{what} ({facts})", what=name, facts=joined(", ", words)) if words else name


def _flag(value: bool | None, text: str) -> tuple[str, ...]:
    return (text,) if value else (say("not known"),) if value is None and text != "yes" else ()


def _text(text: str | None) -> tuple[str, ...]:
    return (text,) if text else ()
