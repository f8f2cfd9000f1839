"""Characters that YAML parsers mishandle, found before parsing and hidden from the parser.

The C parser breaks lines at U+0085, U+2028 and U+2029 (YAML 1.2 and editors do not), which turns
such a character in a comment into a syntax error on the next line, and it refuses a whole file for
one control character. Each is replaced by one code point that means nothing to YAML, so offsets
stay right, and put back into the values afterwards.
"""

from __future__ import annotations

from itertools import islice

from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Problem
from dsec_cli.words import message_id, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Set

_CODECS: dict[str, str] = {
    "invalid start byte": say("invalid start byte"),
    "invalid continuation byte": say("invalid continuation byte"),
    "unexpected end of data": say("unexpected end of data"),
    "truncated data": say("truncated data"),
    "illegal encoding": say("illegal encoding"),
    "illegal UTF-16 surrogate": say("illegal UTF-16 surrogate"),
}
"""What Python's decoders say."""
_BREAKS = {
    "\x85": "U+0085 NEXT LINE",
    "\u2028": "U+2028 LINE SEPARATOR",
    "\u2029": "U+2029 PARAGRAPH SEPARATOR",
}
_INVISIBLE = {"\u200b": "U+200B ZERO WIDTH SPACE", "\ufeff": "U+FEFF ZERO WIDTH NO-BREAK SPACE"}
_MOST_PLACES = 9
"""So many are named: a file may be nothing but control characters."""
_BINARY = 8
"""So many kinds of control characters, NUL among them, are in no text by mistake."""
_LONG = 10_000
_SPACES = "\xa0\u3000 "
_INDICATORS = frozenset(":-?")
"""What needs a space behind it."""
_ENDS_WORD = frozenset("[]{}, \t\r\n")
_ENDS_VALUE = _ENDS_WORD | {""}
_PRIVATE = ((0xE000, 0xF900), (0xF0000, 0xFFFFE), (0x100000, 0x10FFFE))
"""Code points that mean nothing to YAML, nor to anybody else."""


class Prepared:
    """A text that the parser can take, and the way back."""

    __slots__ = ("problems", "restore", "text", "unknown")

    def __init__(self, text: str, restore: dict[int, str], problems: list[Problem], unknown: str) -> None:
        self.text = text
        self.restore = restore
        """Stand-in (as an ordinal, for `str.translate`) -> the character it stands for; often empty."""
        self.problems = problems
        self.unknown = unknown
        """A character that is nowhere in the text: it marks values that could not be read."""

    def with_text(self, text: str) -> Prepared:
        """The same with parts of the text blanked."""
        return Prepared(text, self.restore, self.problems, self.unknown)

    def without_inner_colons(self) -> Prepared:
        """The same with colons inside words hidden.

        The C parser refuses `[read:redis]` and `{source: ds://a}`; to YAML 1.2 they are plain words.
        """
        char = next(_absent({*self.text, self.unknown}))
        pieces = list(self.text)
        for at in _inner_colons(self.text):
            pieces[at] = char
        return Prepared("".join(pieces), {**self.restore, ord(char): ":"}, self.problems, self.unknown)


def _inner_colons(text: str) -> Iterator[int]:
    """Colons between two characters of a plain word; `"key":value` is a key and its value."""
    word = 0
    for at, char in enumerate(text):
        if char in _ENDS_WORD:
            word = at + 1
        elif char == ":" and at > word and text[at + 1 : at + 2] not in _ENDS_VALUE:
            # In tags, anchors and directives the colon has its own meaning.
            if text[word] in "!&*%" or text[at - 1] in "\"'":
                continue
            yield at


def prepare(source: SourceText) -> Prepared:
    """Report characters that are wrong in YAML and hide those the parser would trip over."""
    text = source.text
    problems: list[Problem] = []
    if source.undecodable is not None:
        span, reason = source.undecodable
        problems.append(_undecodable(source, span, reason))
    # One pass in C decides for nearly all files: everything but line ends and tabs is printable.
    if text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
        return Prepared(text, {}, problems, "\ue000")
    return _hide(text, problems)


def _absent(present: Set[str]) -> Iterator[str]:
    """Private characters that the text does not hold; should it hold all 137,000, replacement marks."""
    for start, end in _PRIVATE:
        yield from (char for char in map(chr, range(start, end)) if char not in present)
    while True:
        yield "\ufffd"


def _undecodable(source: SourceText, span: Span, reason: str) -> Problem:
    name = source.encoding.upper()
    at = source.byte_offset(span.start)
    return Problem(
        "DS001",
        span,
        say(
            "the file is not valid {name}: {reason} at byte {at}",
            "undecodable",
            name=name,
            reason=_CODECS.get(reason, reason),
            at=at,
        ),
        say("save the file as UTF-8; what cannot be decoded is read as U+FFFD"),
    )


def _hide(text: str, problems: list[Problem]) -> Prepared:
    present = set(text)
    stand_ins = _absent(present)
    restore: dict[int, str] = {}
    table: dict[int, str] = {}
    binary = _binary(text, present)
    if binary is not None:
        problems.append(binary)
    for char in sorted(char for char in present if not char.isprintable() and char not in "\n\t\r"):
        problem = None if binary is not None else _judge(text, char)
        if problem is not None:
            problems.append(problem)
        if char in _BREAKS or _refused(char):
            stand_in = next(stand_ins)
            table[ord(char)] = stand_in
            restore[ord(stand_in)] = char
    return Prepared(exchanged(text, table), restore, problems, next(stand_ins))


def _binary(text: str, present: Set[str]) -> Problem | None:
    """One problem for a program, an archive or weights: each of their characters would be one of its own."""
    if "\0" not in present:
        return None
    controls = sum(1 for char in present if char not in "\n\t\r" and char not in _BREAKS and _refused(char))
    if controls < _BINARY:
        return None
    message = say(
        "this is a binary file: it holds {count} kinds of control characters", "binary", count=controls
    )
    places = list(islice(_occurrences(text, "\0"), 1))
    return _problem("DS002", places, 1, message, say("name a contract, or save this one as UTF-8 text"))


def exchanged(text: str, table: dict[int, str]) -> str:
    """`text` with characters replaced by others that it does not hold."""
    if len(text) < _LONG:
        return text.translate(table)
    # Looking each character up takes a second of megabytes; few are to be replaced.
    for old, new in table.items():
        text = text.replace(chr(old), new)
    return text


def _refused(char: str) -> bool:
    """True for what the C parser's reader does not let into its buffer."""
    return char < " " or "\x7f" <= char <= "\x9f" or char in "\ufeff\ufffe\uffff"


def _judge(text: str, char: str) -> Problem | None:
    name = f"U+{ord(char):04X}"
    count = text.count(char)
    places = list(islice(_occurrences(text, char), _MOST_PLACES))
    if char in _BREAKS:
        message = say("{name} looks like a line break and is none in YAML", "line-break", name=_BREAKS[char])
        return _problem("DS005", places, count, message, say("replace it by a line break or a space"))
    if char in _INVISIBLE:
        message = say(
            "{name} is invisible and becomes part of a key or value", "invisible", name=_INVISIBLE[char]
        )
        return _problem("DS005", places, count, message, say("delete it"))
    if char == "\xa0" or char == "\u3000":
        return _space(text, char)
    if _refused(char):
        message = say("control character {name} is not allowed in YAML", "control", name=name)
        return _problem("DS002", places, count, message, _control_hint(char))
    return None


def _occurrences(text: str, char: str) -> Iterator[int]:
    at = text.find(char)
    while at >= 0:
        yield at
        at = text.find(char, at + 1)


def _control_hint(char: str) -> str:
    if char == "\0":
        return say("delete it; many of them mean UTF-16 without a byte order mark: save the file as UTF-8")
    escape = f"\\x{ord(char):02x}"
    return say('delete it, or write it as an escape in double quotes ("{escape}")', escape=escape)


def _space(text: str, char: str) -> Problem | None:
    """NBSP and ideographic space are fine inside a sentence, not where YAML wants a space."""
    found = _syntax_positions(text, char)
    wrong = list(islice(found, _MOST_PLACES))
    if not wrong:
        return None
    name = "U+00A0 NO-BREAK SPACE" if char == "\xa0" else "U+3000 IDEOGRAPHIC SPACE"
    message = say("{name} stands where YAML needs an ordinary space", "odd-space", name=name)
    count = len(wrong) + sum(1 for _ in found)
    return _problem("DS005", wrong, count, message, say("replace it by an ordinary space"))


def _syntax_positions(text: str, char: str) -> Iterator[int]:
    """Places in front of a line's first word, or behind an indicator that needs a space."""
    import re  # costs start-up, and is many times quicker where a text is full of such spaces

    seen, first = 0, ""
    """How far lines have been looked for, and the first word's first character on the last."""
    for run in re.finditer(f"(\\A|[\n\r:?-])[{_SPACES}]*{char}[{_SPACES}]*", text):
        if run[1] in _INDICATORS:
            line = max(text.rfind("\n", seen, run.start()), text.rfind("\r", seen, run.start())) + 1
            first = text[line : run.end()].lstrip()[:1] if line or not first else first
            seen = run.start()
            if first == "#":
                continue
        yield from (run.start() + at for at in _occurrences(run[0], char))


def _problem(code: str, places: list[int], count: int, message: str, advice: str) -> Problem:
    """The problem of the first place, with a few more of all that there are."""
    first, *others = (Span(at, at + 1) for at in places)
    if others:
        message = say("{message} ({count} places)", message_id(message), message=message, count=count)
    related = tuple((span, say("also here")) for span in others)
    return Problem(code, first, message, advice, related)
