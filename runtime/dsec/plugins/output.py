"""What a plugin prints, on its way to the user: through a pipe, so that no terminal is in its hands."""

from __future__ import annotations

import os
import threading

_MOST_BYTES = 1 << 20
_PIECE = 1 << 12
_END_S = 2.0
_KEPT = frozenset("\n\t")


def cleaned(data: bytes) -> bytes:
    """Text without what a terminal would obey; bytes that are no text are spelled."""
    text = data.decode("utf-8", "backslashreplace")
    return "".join(map(_letter, text)).encode()


def _letter(one: str) -> str:
    return one if one in _KEPT or one.isprintable() else one.encode("unicode_escape").decode()


class Output:
    """A pipe for a plugin to print to, and the thread that passes on what comes."""

    def __init__(self, log: int) -> None:
        """`log`: where it goes."""
        self._log = log
        self._reading, self.writing = os.pipe()
        self._thread = threading.Thread(target=self._pass_on, daemon=True)

    def begin(self) -> None:
        """The other side has its end: let go of it here."""
        os.close(self.writing)
        self._thread.start()

    def end(self) -> None:
        """Wait for the last of it, for a moment: a reader that stands still must not hold us."""
        self._thread.join(_END_S)

    def _pass_on(self) -> None:
        left, rest = _MOST_BYTES, b""
        try:
            while piece := os.read(self._reading, _PIECE):
                if left <= 0:
                    continue  # read on, so that it does not stand still
                left -= len(piece)
                lines, end, rest = (rest + piece).rpartition(b"\n")
                if len(rest) > _PIECE:
                    lines, end, rest = lines + end + rest, b"\n", b""
                self._write(lines + end)
                if left <= 0:
                    self._write(rest + b"\n(what it prints from here on is not shown)\n")
                    rest = b""
            self._write(rest + b"\n" if rest else b"")
        except OSError:
            return
        finally:
            os.close(self._reading)

    def _write(self, data: bytes) -> None:
        """Each line behind a mark, so that none is taken for a command of the program that shows them."""
        lines = cleaned(data).splitlines(keepends=True)
        view = memoryview(b"".join(b"plugin: " + line for line in lines))
        while view:
            view = view[os.write(self._log, view) :]
