"""What is kept about an installed plugin, sealed: nobody without the user's own key can change it unnoticed.

The seal is a keyed BLAKE2b (RFC 7693) over all that is kept. The key never leaves the user's folder of keys,
which no plugin can read; a plugin that may write into the job's folder could else give itself system calls.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import threading

from dsec.errors import FileProblem
from dsec_cli.plugins.signing import keyring
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_BYTES = 32
OURS, BROKEN, FOREIGN = "ours", "broken", "foreign"
"""A seal that holds; one of this user's that does not; one of somebody else's, or none."""


def key_path(environ: Mapping[str, str]) -> str:
    """Where the user's own key for seals is; raises FileProblem where there is no home folder."""
    return os.path.join(keyring.folder(environ), "install.key")


def own_key(environ: Mapping[str, str]) -> bytes | None:
    """The user's key; None: there is none yet. Raises FileProblem."""
    path = key_path(environ)
    try:
        with open(path, "rb") as file:
            key = file.read(_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
    if len(key) != _BYTES:
        raise FileProblem(
            say("{path} is no key of {count} bytes", path=path, count=_BYTES),
            hint=say("move it away, and install your plugins again"),
        )
    return key


def made_key(environ: Mapping[str, str]) -> bytes:
    """The user's key, made where there is none; raises FileProblem."""
    key = own_key(environ)
    if key is not None:
        return key
    path = key_path(environ)
    aside = f"{path}.{os.getpid()}.{threading.get_native_id()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):  # another command was quicker
                os.link(aside, path)
        finally:
            os.unlink(aside)
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
    found = own_key(environ)
    assert found is not None  # it was linked there, by us or by another
    return found


def sealed(key: bytes, name: str, version: str, said: dict[str, object]) -> dict[str, object]:
    """What is kept about a version of a plugin, with its seal."""
    return {**said, "seal": {"key": _number(key), "mac": _mac(key, name, version, said)}}


def judged(key: bytes | None, name: str, version: str, said: dict[str, object]) -> str:
    """OURS, BROKEN or FOREIGN."""
    seal = said.get("seal")
    if key is None or not isinstance(seal, dict) or seal.get("key") != _number(key):
        return FOREIGN
    rest = {word: value for word, value in said.items() if word != "seal"}
    good = hmac.compare_digest(str(seal.get("mac")).encode(), _mac(key, name, version, rest).encode())
    return OURS if good else BROKEN


def _number(key: bytes) -> str:
    """Tells keys apart; says nothing about them."""
    return hashlib.blake2b(b"number", key=key, digest_size=8).hexdigest()


def _mac(key: bytes, name: str, version: str, said: dict[str, object]) -> str:
    text = json.dumps([name, version, said], sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), key=key, digest_size=32).hexdigest()
