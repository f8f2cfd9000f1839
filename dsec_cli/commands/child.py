"""Runs a program of somebody else's within a time and an amount of output.

Whatever it has started in its group ends with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

from dsec.record import Record
from dsec_cli.exit import Terminated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

_PIECE = 1 << 16


class Ended(Record):
    """What became of the program."""

    code: int | None
    """None: it had not ended when its time was over, or when it had written too much."""
    output: str
    errors: str
    too_much: bool = False


def run(
    argv: Sequence[str], *, given: str, env: Mapping[str, str], folder: str, until: float, most: int
) -> Ended:
    """Run it, with `given` as its input; raises OSError where it cannot be started.

    `until` is a reading of the monotonic clock, and `most` bounds each of its two outputs, in bytes.
    """
    asked = _Asked()
    with open(os.path.join(folder, "given"), "w+", encoding="utf-8") as source, asked:
        source.write(given)
        source.flush()
        source.seek(0)
        child = subprocess.Popen(
            argv,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(env),
            start_new_session=True,  # so that all that it starts can be ended with it
        )
        try:
            return _watched(child, until, most, asked)
        finally:
            _end(child)


class _Asked:
    """Whether somebody wants us to end: noted, so that it never comes between a start and its end.

    Outside the main thread, which alone hears signals, nothing is noted.
    """

    def __init__(self) -> None:
        self._number = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> None:
        with suppress(ValueError):  # this is not the main thread
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._note)

    def __exit__(self, *_: object) -> None:
        for number, action in self._before.items():
            signal.signal(number, action)  # type: ignore[arg-type]
        self.heed()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._number = number

    def heed(self) -> None:
        """End as it was asked; raises Terminated or KeyboardInterrupt."""
        number, self._number = self._number, 0
        if number == signal.SIGTERM:
            raise Terminated
        if number == signal.SIGINT:
            raise KeyboardInterrupt


def _watched(child: subprocess.Popen[bytes], until: float, most: int, asked: _Asked) -> Ended:
    import selectors

    assert child.stdout is not None
    assert child.stderr is not None
    held = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    out, err = held
    with selectors.DefaultSelector() as looking:
        for number in held:
            os.set_blocking(number, False)
            looking.register(number, selectors.EVENT_READ)
        ended = False
        while looking.get_map() and not ended and time.monotonic() < until and not _over(held, most):
            asked.heed()
            # A grandchild may hold the pipes open: once the program has ended, what is there is all.
            ended = child.poll() is not None
            for key, _ in looking.select(0 if ended else min(0.1, max(0.0, until - time.monotonic()))):
                if not _took(key.fd, held[key.fd], most + 1, all_there=ended):
                    looking.unregister(key.fd)
    too_much = _over(held, most)
    output, errors = (bytes(held[one][:most]).decode("utf-8", "replace") for one in (out, err))
    code = None if too_much else _code(child, until, asked)
    return Ended(code, output, errors, too_much)


def _over(held: dict[int, bytearray], most: int) -> bool:
    return any(len(one) > most for one in held.values())


def _took(number: int, held: bytearray, most: int, *, all_there: bool) -> bool:
    """Read what is there; False: there will be no more, or no more is wanted."""
    while True:
        try:
            piece = os.read(number, _PIECE)
        except BlockingIOError:
            return True
        held += piece
        if not piece or len(held) >= most:
            return False
        if not all_there:
            return True


def _code(child: subprocess.Popen[bytes], until: float, asked: _Asked) -> int | None:
    while child.poll() is None:
        asked.heed()
        if time.monotonic() >= until:
            return None
        time.sleep(0.05)
    return child.returncode


def _end(child: subprocess.Popen[bytes]) -> None:
    """End its whole group, and collect it."""
    with suppress(ProcessLookupError, PermissionError):  # none of it is left
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
