"""A terminal that is drawn on: its own screen, keys one by one, and all put back whatever happens."""

from __future__ import annotations

import os
import select
import signal
import termios
import tty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType, TracebackType

_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[2J"
_LEAVE = b"\x1b[0m\x1b[?25h\x1b[?1049l"
_KEYS = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1bOA": "up",
    b"\x1bOB": "down",
    b"\x1b[Z": "up",
    b"\t": "down",
    b"k": "up",
    b"j": "down",
    b"\x1b": "back",
    b"\x03": "q",
}


class Ended(Exception):
    """A signal asks to leave."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Terminal:
    """A context: inside, the terminal is ours; draws only lines that changed."""

    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = source, target
        self._before: list[object] = []
        self._drawn: list[str] = []
        self._size = (0, 0)
        self._old: dict[int, object] = {}
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __enter__(self) -> Terminal:
        """Take the terminal."""
        self._before = termios.tcgetattr(self._source)
        for number in (signal.SIGTERM, signal.SIGHUP):
            self._old[number] = signal.signal(number, _end)
        self._old[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._wake)
        self._old[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._stand_still)
        self._take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back as it was."""
        self._give_back()
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() gave
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _take(self) -> None:
        tty.setcbreak(self._source, termios.TCSANOW)
        os.write(self._target, _ENTER)
        self._drawn = []

    def _give_back(self) -> None:
        try:
            os.write(self._target, _LEAVE)
            termios.tcsetattr(self._source, termios.TCSANOW, self._before)  # type: ignore[arg-type]
        except (OSError, termios.error):
            return  # it is gone

    def _wake(self, _number: int, _frame: FrameType | None) -> None:
        os.write(self._wake_write, b".")

    def _stand_still(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-Z: the terminal is the shell's until we go on."""
        self._give_back()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._stand_still)
        self._take()
        self._wake(0, None)

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        try:
            found = os.get_terminal_size(self._target)
        except OSError:
            return (80, 24)
        return (found.columns or 80, found.lines or 24)

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines; one that is there already is not sent again."""
        size = self.size()
        out: list[str] = []
        if size != self._size or len(lines) != len(self._drawn):
            self._size, self._drawn = size, []
            out.append("\x1b[2J")
        old = self._drawn
        for at, line in enumerate(lines):
            if not old or line != old[at]:
                out.append(f"\x1b[{at + 1};1H{line}\x1b[K")
        self._drawn = list(lines)
        if out:
            data = "".join(out).encode("utf-8", "replace")
            while data:
                data = data[os.write(self._target, data) :]

    def keys(self, timeout_s: float) -> list[str] | None:
        """Keys that were pressed; [] after the time or when the window changed; None: no terminal is left."""
        ready, _, _ = select.select([self._source, self._wake_read], [], [], max(0.0, timeout_s))
        if self._wake_read in ready:
            os.read(self._wake_read, 64)
        if self._source not in ready:
            return []
        data = os.read(self._source, 256)
        return _named(data) if data else None


def _named(data: bytes) -> list[str]:
    found: list[str] = []
    while data:
        length = 3 if data[:3] in _KEYS else 1
        key = data[:length]
        found.append(_KEYS.get(key, key.decode("ascii", "replace")))
        data = data[length:]
        if key == b"\x1b" and data[:1] in (b"[", b"O"):  # a key that is not ours
            found.pop()
            data = data[1:].lstrip(b"0123456789;")[1:]
    return found


def _end(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)
