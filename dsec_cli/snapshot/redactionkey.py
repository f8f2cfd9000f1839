"""The key of the digests that stand for secrets: made on first use, in the user's own folder."""

from __future__ import annotations

import os

from dsec.errors import FileProblem
from dsec.words import say, system
from dsec_cli.snapshot.secretfile import made_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZE = 32


def key_path(environ: Mapping[str, str]) -> str:
    """Where the key is: `~/.ds/keys/redaction`."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.join(home, ".ds", "keys", "redaction")


def redaction_key(environ: Mapping[str, str]) -> bytes:
    """The key, made where there is none; raises FileProblem."""
    path = key_path(environ)
    try:
        return _read(path) or _made(path)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=problem.filename or path, why=system(problem)),
            hint="the key of the digests that stand for secrets is kept there; HOME names another folder",
        ) from None


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            key = file.read(_SIZE + 1)
    except FileNotFoundError:
        return None
    if len(key) != _SIZE:
        raise FileProblem(
            say("{path} is no key of ours: it has not {size} bytes", path=path, size=_SIZE),
            hint="remove it; digests made with it can then no longer be compared",
        )
    return key


def _made(path: str) -> bytes:
    """A new key; where another process made one meanwhile, that one."""
    key = os.urandom(_SIZE)
    return key if made_once(path, key) else _read(path) or key
