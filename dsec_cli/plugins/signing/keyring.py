"""The user's own keys and those that the user trusts, as files below ~/.ds."""

from __future__ import annotations

import os
import shlex

from dsec.errors import FileProblem
from dsec.wholefile import write_whole
from dsec_cli.plugins.signing.minisign import (
    KeyProblem,
    PublicKey,
    SecretKey,
    needs_password,
    public_text,
    read_public,
    read_secret,
    secret_text,
)
from dsec_cli.plugins.signing.trust import Trusted, read_trust, trust_text
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MOST = 1 << 20


def folder(environ: Mapping[str, str]) -> str:
    """Where keys are: `~/.ds/keys`; raises FileProblem where nobody knows the home folder."""
    home = environ.get("HOME") or os.path.expanduser("~")
    if home == "~":  # a user without an entry in passwd
        raise FileProblem("there is no home folder to keep keys in", hint="set HOME")
    return os.path.join(home, ".ds", "keys")


def secret_path(environ: Mapping[str, str]) -> str:
    """The user's own secret key."""
    return os.path.join(folder(environ), "plugin.key")


def trust_path(environ: Mapping[str, str]) -> str:
    """Whom the user trusts."""
    return os.path.join(folder(environ), "trusted.json")


def write_pair(path: str, secret: SecretKey, *, password: str, salt: bytes) -> str:
    """Write a secret key, for its owner's eyes, and the public one beside it; gives where that is.

    Raises FileProblem; a key that is there is never overwritten.
    """
    public = f"{path.removesuffix('.key')}.pub"
    try:
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
        _create(path, secret_text(secret, password, salt), 0o600)
        _beside(path, public, public_text(secret.public))
    except FileExistsError as problem:
        raise FileProblem(
            say("{filename} is there already", filename=problem.filename),
            hint="--output names another file; a lost key cannot be had again",
        ) from None
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=problem.filename or path, why=system(problem))) from None
    return public


def _beside(path: str, public: str, text: str) -> None:
    """Write the public key; without it the secret one is of no use, and would be in the way."""
    try:
        _create(public, text, 0o644)
    except OSError:
        os.unlink(path)
        raise


def _create(path: str, text: str, mode: int) -> None:
    """Write a new file whole, or none."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        os.unlink(path)
        raise


def open_secret(path: str, ask: Callable[[], str]) -> SecretKey:
    """The secret key of a file; `ask` gives its password. Raises FileProblem and KeyProblem."""
    text = _text(path, hint=say("dsec plugin keygen makes one"))
    mode = os.stat(path).st_mode & 0o777
    if mode & 0o077:
        raise KeyProblem(
            say("{path} can be read by others (mode {mode:o})", path=path, mode=mode),
            hint=say("chmod 600 {path}", path=shlex.quote(path)),
        )
    return read_secret(text, ask() if needs_password(text, path) else "", path)


def public_of(word: str) -> PublicKey:
    """The key of a line (`RW...`) or of a file; raises FileProblem and KeyProblem."""
    if word.startswith("RW") and len(word) == 56:
        return read_public(word, "the key")
    return read_public(_text(word, hint=say("give a key (RW...), or a file with one")), word)


def _text(path: str, *, hint: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST)
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem)), hint=hint) from None


def trusted(environ: Mapping[str, str]) -> tuple[Trusted, ...]:
    """Whom the user trusts; raises FileProblem, StoredFormError, KeyProblem."""
    path = trust_path(environ)
    try:
        with open(path, "rb") as file:
            return read_trust(file.read(_MOST), path)
    except FileNotFoundError:
        return ()
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None


def keep_trusted(environ: Mapping[str, str], keys: tuple[Trusted, ...]) -> None:
    """Write whom the user trusts; raises FileProblem."""
    path = trust_path(environ)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_whole(path, [trust_text(keys).encode()])
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
