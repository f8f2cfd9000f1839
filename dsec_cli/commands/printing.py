"""How logs are printed: whole, or the lines of them that match."""

from __future__ import annotations

import codecs
import re
import sys
from typing import NamedTuple

from dsec.markup import terminal_lines
from dsec_cli.exit import UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from dsec_cli.report.format import Tell
else:
    Protocol = object

_LONGEST = 1 << 20
"""A line of more bytes is looked through in pieces."""


class Part(NamedTuple):
    """An attempt's output: a file, or (calls) a part of the worker's."""

    step: str
    iteration: int
    attempt: int
    path: str
    begin: int
    end: int | None
    """None: up to where the file ends."""


class Printer(Protocol):
    """Takes what logs hold, part by part."""

    any: bool
    """Whether something was found that was looked for."""

    def begin(self, part: Part) -> None:
        """What follows is of this part."""

    def write(self, data: bytes) -> None:
        """Some of its bytes, in their order."""

    def missing(self, count: int) -> None:
        """So many bytes were given back to the disk."""

    def end(self) -> None:
        """Nothing more comes of it."""


def printer(pattern: str | None, *, single: bool, tell: Tell) -> Printer:
    """Prints all, or the lines that match; raises UsageError."""
    if pattern is None:
        return _Whole(tell, single=single)
    try:
        wanted = re.compile(pattern.encode("utf-8", "surrogateescape"))
    except re.error as problem:
        raise UsageError(
            say("--grep {pattern}: no regular expression: {why}", pattern=pattern, why=str(problem)),
            hint=say("put a backslash before what is meant as it is, such as \\["),
        ) from None
    return _Matching(wanted, tell, single=single)


class _Whole:
    """Everything, with a line before each attempt where there are several."""

    def __init__(self, tell: Tell, *, single: bool) -> None:
        self._tell = tell
        self._single = single
        self.any = True
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace") if sys.stdout.isatty() else None

    def begin(self, part: Part) -> None:
        """Print the line between two attempts."""
        if self._single:
            self._single = False  # what may begin while a run is followed is another one
            return
        called = f"{part.step}@{part.iteration}"
        _write(self._tell(say("==> {step} attempt {number} <==", step=called, number=part.attempt)))

    def write(self, data: bytes) -> None:
        """Print it as it is; on a terminal without what that would obey, but for colours."""
        if self._decoder is not None:
            data = _seen(self._decoder.decode(data))
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def missing(self, count: int) -> None:
        """Say so, in a line of its own."""
        _write("\n" + self._tell(_missing(count)))

    def end(self) -> None:
        """Nothing was kept back."""


class _Matching:
    """The lines that match."""

    def __init__(self, wanted: re.Pattern[bytes], tell: Tell, *, single: bool) -> None:
        self._wanted = wanted
        self._tell = tell
        self._single = single
        self._prefix = b""
        self._rest = b""
        self.any = False

    def begin(self, part: Part) -> None:
        """Lines are of this attempt from now on."""
        self.end()
        if not self._single:
            self._prefix = f"{part.step}@{part.iteration}.{part.attempt}:".encode()
        self._single = False

    def write(self, data: bytes) -> None:
        """Print what matches of the lines that are whole now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line)
        if len(self._rest) > _LONGEST:
            self.end()
        sys.stdout.buffer.flush()

    def _line(self, line: bytes) -> None:
        if self._wanted.search(line):
            self.any = True
            shown = _seen(line.decode("utf-8", "replace")) if sys.stdout.isatty() else line
            sys.stdout.buffer.write(b"%s%s\n" % (self._prefix, shown))

    def missing(self, count: int) -> None:
        """What lay on both sides is no line; say on standard error that not all could be looked through."""
        self.end()
        sys.stderr.write(self._tell(_missing(count)) + "\n")

    def end(self) -> None:
        """Take a line without its end for one."""
        rest, self._rest = self._rest, b""
        if rest:
            self._line(rest)
            sys.stdout.buffer.flush()


def _seen(text: str) -> bytes:
    """What a Step printed, for a terminal; a progress bar, which goes back in its line, gets lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return terminal_lines(lines, color=True).encode("utf-8", "surrogateescape")


def _missing(count: int) -> str:
    return say(
        "[{size:.1f} MiB are missing here: they were given back to the disk, DSEC_LOG_MAX]",
        size=count / 2**20,
    )


def _write(line: str) -> None:
    sys.stdout.buffer.write(f"{line}\n".encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
