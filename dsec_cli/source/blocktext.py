"""The text of a literal or folded scalar, from its lines."""

from __future__ import annotations

from dsec_cli.source.oneline import NotPlain, scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.source.tree import Scalar

HEADERS = frozenset(("|", "|-", "|+", ">", ">-", ">+"))


def block_text(text: str, start: int, header_end: int, outside: int) -> tuple[Scalar, int]:
    """The block scalar whose header starts at `start`, and where the first line behind it starts.

    `outside` is the indent of what it belongs to; the text has one line end more than what is read.
    """
    lines: list[str] = []
    at = header_end + 1
    last = len(text) - 1
    while at < last:
        newline = text.find("\n", at)
        if newline == last:
            raise NotPlain  # what a last line without end says is disputed
        line = text[at:newline]
        written = line.lstrip(" ")
        if written and len(line) - len(written) <= outside:
            break
        lines.append(line)
        at = newline + 1
    indent = next((len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")), 0)
    content = "\n".join(_cut(line, indent) for line in lines)
    written = content.rstrip("\n")
    if not written:
        raise NotPlain
    end = start + len(text[start:at].rstrip(" \n"))
    chomping = text[start + 1 : header_end]
    ending = "\n"
    if chomping:
        ending = "" if chomping == "-" else content[len(written) :] + "\n"
    if text[start] == "|":
        return scalar(start, end, written + ending, "literal"), at
    return scalar(start, end, _folded(written.split("\n")) + ending, "folded"), at


def _cut(line: str, indent: int) -> str:
    """A line without its indent; one that has less, or is made of more spaces, is for others to judge."""
    rest = line[indent:]
    if line[:indent].strip(" ") or (rest and not rest.strip(" ")):
        raise NotPlain
    return rest


def _folded(lines: list[str]) -> str:
    """Lines as one paragraph; a blank line between two is a line break."""
    pieces: list[str] = []
    between = ""
    for line in lines:
        if line.startswith(" ") or not (line or pieces):
            raise NotPlain
        if line:
            pieces += (between, line)
            between = " "
        else:
            pieces.append("\n")
            between = ""
    return "".join(pieces)
