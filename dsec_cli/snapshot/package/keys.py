"""This user's keys, made on first use, and the keys of others that this user trusts: files in `~/.ds/keys`.

signing    64 hex digits: the seed of an Ed25519 key; DSEC_SIGNING_KEY_FILE names another file
identity   a key of age, in its own form: `age --decrypt -i` takes the file as it is
trusted    a line for each key: 64 hex digits, a space, whose it is as they say themselves
"""

from __future__ import annotations

import getpass
import os
import shlex
import socket

from dsec import ed25519, wholefile
from dsec.errors import FileProblem
from dsec.record import Record
from dsec.words import say, system
from dsec_cli.snapshot.package import age
from dsec_cli.snapshot.package.crypto import agreement_key
from dsec_cli.snapshot.secretfile import made_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIABLE = "DSEC_SIGNING_KEY_FILE"
_MOST = 1 << 16


def folder(environ: Mapping[str, str]) -> str:
    """Where they are."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.join(home, ".ds", "keys")


def signing_seed(environ: Mapping[str, str]) -> bytes:
    """The seed of this user's signing key; raises FileProblem."""
    named = environ.get(VARIABLE)
    path = named or os.path.join(folder(environ), "signing")
    text = _secret(path, lambda: os.urandom(32).hex() + "\n", make=not named)
    seed = _hex(text.strip())
    if seed is None:
        raise FileProblem(
            say("{path} is no signing key: it must be 64 hexadecimal digits", path=path),
            hint=say("remove it, and a new key is made; what was signed with it stays signed"),
        )
    return seed


def own_key(environ: Mapping[str, str]) -> str:
    """The public half of this user's signing key; "" if there is none yet, or it cannot be read."""
    try:
        seed = _hex(_read(environ.get(VARIABLE) or os.path.join(folder(environ), "signing")).strip())
    except (OSError, FileProblem):
        return ""
    return public_key(seed) if seed is not None else ""


def own_identity(environ: Mapping[str, str]) -> bytes:
    """The secret of this user's key of age; raises FileProblem, and DSecError without `cryptography`."""
    path = os.path.join(folder(environ), "identity")
    text = _secret(path, _new_identity, make=True)
    for line in text.splitlines():
        if (found := age.secret_key(line.strip())) is not None:
            return found
    raise FileProblem(
        say("{path} holds no key of age", path=path),
        hint=say("put it back, or remove it, and a new key is made; what was sealed for it stays sealed"),
    )


def _new_identity() -> str:
    secret = os.urandom(32)
    return f"# public key: {age.recipient(agreement_key(secret))}\n{age.identity(secret)}\n"


def _secret(path: str, new: Callable[[], str], *, make: bool) -> str:
    """The text of a file that only its owner may read; it is made where there is none."""
    try:
        try:
            return _read(path)
        except FileNotFoundError:
            if not make:
                raise
        text = new()
        return text if made_once(path, text.encode()) else _read(path)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=problem.filename or path, why=system(problem)),
            hint=say("keys are kept there; HOME names another folder"),
        ) from None


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        if os.fstat(fd).st_mode & 0o077:
            raise FileProblem(
                say("{path} can be read by others, and holds a key", path=path),
                hint=say("chmod 600 {path}", path=shlex.quote(path)),
            )
        return file.read(_MOST).decode("ascii", "replace")


def _hex(text: str) -> bytes | None:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return None
    return found if len(found) == 32 else None


def label(environ: Mapping[str, str]) -> str:
    """How this user signs: `user@host`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = str(os.getuid())
    name = f"{environ.get('LOGNAME') or user}@{socket.gethostname()}"
    return "".join(ch if ch.isprintable() and not ch.isspace() else "_" for ch in name)[:120]


def fingerprint(key: str) -> str:
    """A key as people compare it: its first 32 hex digits in groups of four."""
    return "-".join(key[at : at + 4] for at in range(0, 32, 4))


class Trusted(Record):
    """Keys of others by whose they are."""

    path: str
    keys: tuple[tuple[str, str], ...]
    """(label, key in hex digits), in the order of the file."""

    def key_of(self, label: str) -> str | None:
        """The key that was trusted for this label last."""
        return dict(self.keys).get(label)


def trusted(environ: Mapping[str, str]) -> Trusted:
    """What this user trusts; raises FileProblem."""
    path = os.path.join(folder(environ), "trusted")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(_MOST << 4).splitlines()
    except FileNotFoundError:
        return Trusted(path, ())
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, _, whose = line.strip().partition(" ")
        if _hex(key) is None or not whose:
            raise FileProblem(
                say("{path}, line {number} is no key with its owner", path=path, number=number),
                hint=say("it must be 64 hexadecimal digits, a space and a name; mend or remove the line"),
            )
        found.append((whose, key.lower()))
    return Trusted(path, tuple(found))


def trust(known: Trusted, *, label: str, key: str) -> None:
    """Trust a key from now on; raises FileProblem."""
    rows = [*known.keys, (label, key)]
    try:
        os.makedirs(os.path.dirname(known.path), mode=0o700, exist_ok=True)
        wholefile.write_whole(known.path, [f"{one} {whose}\n".encode() for whose, one in rows])
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=known.path, why=system(problem))) from None


def public_key(seed: bytes) -> str:
    """The public half of a signing key, in hex digits."""
    return ed25519.public_key(seed).hex()
