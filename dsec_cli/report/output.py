"""Puts finished output where it was asked for: standard output, or a file as a whole."""

from __future__ import annotations

import os
import sys

from dsec.errors import FileProblem
from dsec.special import open_special
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_AT_ONCE = 2**16
"""Characters that are written together."""


def emit(text: str, path: str | None = None, *, color: bool = False) -> None:
    """Write `text` to the file `path` (whole or not at all), or to standard output.

    `color`: it may hold colours, which are ours.
    """
    if path is None or path == "-":
        to_stdout(harmless(text, color=color))
    else:
        to_file(path, text.encode("utf-8", "backslashreplace"))


def emit_diff(text: str, path: str | None = None) -> None:
    """Like `emit` of a unified diff, which `patch` has to take as it is, and people do not."""
    if (path is None or path == "-") and not sys.stdout.isatty():
        to_stdout(text)
    else:
        emit(text, path)


def harmless(text: str, *, color: bool = False) -> str:
    """`text` for standard output: JSON stays JSON, and of all else nothing acts on a terminal or in a CI log.

    What others wrote is made harmless where it is put into a text, too; this is for what was forgotten.
    """
    from dsec.markup import json_lines, terminal_lines  # a lint does without

    if text.startswith(("{", "[")):
        return json_lines(text)
    if text.startswith(("<!", "<svg", "<?xml")):
        return text  # a page, whose texts are escaped
    return terminal_lines(text, color=color)


def to_stderr(text: str) -> None:
    """Write lines of notes to standard error, with nothing in them that a terminal would obey."""
    from dsec.markup import terminal_lines

    sys.stderr.write(terminal_lines(text))


def stream(pieces: Iterable[str], path: str | None = None) -> None:
    """Like `emit` of all the pieces, of which only a few are held at a time; they are harmless already."""
    if path is None or path == "-":
        for text in _joined(pieces):
            to_stdout(text)
    else:
        to_file(path, encoded(pieces))


def encoded(pieces: Iterable[str]) -> Iterator[bytes]:
    """The pieces as bytes of a file, small ones together."""
    return (text.encode("utf-8", "backslashreplace") for text in _joined(pieces))


def _joined(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces, small ones together: each write has its price."""
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _AT_ONCE:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting)


def emit_bytes(data: bytes, path: str | None = None) -> None:
    """Write `data` to the file `path` (whole or not at all), or to standard output."""
    if path is None or path == "-":
        sys.stdout.flush()
        write_all(sys.stdout.fileno(), data)
    else:
        to_file(path, data)


def to_stdout(text: str) -> None:
    """Write `text`; what the terminal's encoding lacks is written as an escape."""
    data = text.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
    sys.stdout.flush()
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stand-in without a file behind it
        sys.stdout.write(data.decode(sys.stdout.encoding or "utf-8"))
        return
    write_all(descriptor, data)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: unbuffered Python (-u) takes what the first write took for the whole.

    Some parents leave a pipe that does not block; then we wait until it takes more.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            from select import select

            select([], [descriptor], [])
        except BrokenPipeError:
            raise
        except OSError as problem:
            if descriptor != 1:
                raise
            raise FileProblem(
                say("{path} could not be written: {why}", path=say("standard output"), why=system(problem)),
                hint=say("free some space, or write to another place"),
            ) from problem


def to_file(path: str, data: bytes | Iterable[bytes]) -> None:
    """Replace the file `path` by `data` in one step; devices and pipes are written to as they are."""
    pieces = (data,) if isinstance(data, bytes) else data
    try:
        special = open_special(path)
        if special is not None:
            _write(special, pieces)
        else:
            refuse_stray(path)
            _replace(os.path.realpath(path), pieces)
    except OSError as problem:
        from dsec.wholefile import remedy  # only who fails pays for it

        raise FileProblem(
            say("{path} could not be written: {why}", path=path, why=system(problem)),
            hint=remedy(problem),
        ) from problem


def refuse_stray(path: str) -> None:
    """Raise FileProblem for a link that leads out of the project it stands in."""
    if not os.path.islink(path):
        return
    from dsec.containment import stray_target  # only links pay for it

    target = stray_target(path)
    if target:
        raise FileProblem(
            say(
                "{path} is a symbolic link that leads out of its project, to {target}",
                path=path,
                target=target,
            ),
            hint=say("remove the link, or name {target} itself", target=target),
        )


def _replace(target: str, pieces: Iterable[bytes]) -> None:
    from dsec.wholefile import create

    part = f"{target}.{os.getpid()}.part"
    # 0o666 less the umask, as any program that creates a file; mkstemp would make it private.
    descriptor = create(part, 0o666)
    try:
        if os.path.exists(target):
            os.fchmod(descriptor, os.stat(target).st_mode & 0o777)
        _write(descriptor, pieces)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise


def _write(descriptor: int, pieces: Iterable[bytes]) -> None:
    with open(descriptor, "wb") as file:
        file.writelines(pieces)
