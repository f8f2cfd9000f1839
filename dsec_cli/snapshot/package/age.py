"""Sealing in the format of age (age-encryption.org/v1), for X25519 recipients: the tool `age` opens it too.

The file key, the ephemeral key and the nonce are not drawn but derived from a secret of the sealer's and
from what is sealed, so that sealing the same twice gives the same bytes. Whoever sees two of them learns
that they are equal.
"""

from __future__ import annotations

import hmac
import itertools
from base64 import b64decode, b64encode
from binascii import Error
from hashlib import sha256

from dsec.hashing import blake3_of
from dsec_cli.snapshot.package import bech32
from dsec_cli.snapshot.package.crypto import (
    UnsealError,
    agreed,
    agreement_key,
    derived,
    seal,
    unseal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST = b"age-encryption.org/v1\n"
_CHUNK = 64 << 10
_TAG = 16
_X25519 = b"age-encryption.org/v1/X25519"
_ZERO = bytes(12)


def recipient(public: bytes) -> str:
    """A public key as age writes it: `age1...`."""
    return bech32.encode("age", public)


def identity(secret: bytes) -> str:
    """A secret key as age writes it: `AGE-SECRET-KEY-1...`."""
    return bech32.encode("age-secret-key-", secret).upper()


def public_key(text: str) -> bytes | None:
    """The key of `age1...`, or None."""
    found = bech32.decode("age", text)
    return found if found is not None and len(found) == 32 else None


def secret_key(text: str) -> bytes | None:
    """The key of `AGE-SECRET-KEY-1...`, or None."""
    found = bech32.decode("age-secret-key-", text)
    return found if found is not None and len(found) == 32 else None


def sealed(data: bytes, recipients: Sequence[bytes], *, secret: bytes) -> bytes:
    """`data`, to be opened by any of these public keys; `secret` is any 32 bytes of the sealer's."""
    salt = blake3_of()(len(recipients).to_bytes(8, "little") + b"".join(recipients) + data).digest()
    file_key = derived(secret, salt=salt, info=b"dsec.seal.file/1")[:16]
    header = _FIRST
    for number, one in enumerate(recipients):
        header += _stanza(file_key, one, derived(secret, salt=salt, info=b"dsec.seal.share/1 %d" % number))
    header += b"---"
    mac = hmac.digest(derived(file_key, salt=b"", info=b"header"), header, sha256)
    nonce = derived(secret, salt=salt, info=b"dsec.seal.nonce/1")[:16]
    return header + b" " + _coded(mac) + b"\n" + nonce + _streamed(file_key, nonce, data)


def _stanza(file_key: bytes, to: bytes, ephemeral: bytes) -> bytes:
    share = agreement_key(ephemeral)
    key = derived(agreed(ephemeral, to), salt=share + to, info=_X25519)
    return b"-> X25519 " + _coded(share) + b"\n" + _coded(seal(key, _ZERO, file_key)) + b"\n"


def _streamed(file_key: bytes, nonce: bytes, data: bytes) -> bytes:
    key = derived(file_key, salt=nonce, info=b"payload")
    parts = []
    for number, at in enumerate(range(0, max(1, len(data)), _CHUNK)):
        last = at + _CHUNK >= len(data)
        parts.append(seal(key, _counted(number, last=last), data[at : at + _CHUNK]))
    return b"".join(parts)


def _counted(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes((last,))


def _coded(data: bytes) -> bytes:
    return b64encode(data).rstrip(b"=")


def _decoded(text: bytes) -> bytes:
    try:
        data = b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except (Error, ValueError):
        raise UnsealError("its beginning is damaged") from None
    if _coded(data) != text:
        raise UnsealError("its beginning is damaged")
    return data


def opened(data: bytes, secret: bytes) -> bytes:
    """What was sealed for the holder of this key; raises UnsealError."""
    if not data.startswith(_FIRST):
        raise UnsealError("it is not sealed in the format of age")
    end = data.find(b"\n--- ")
    line = data.find(b"\n", end + 1)
    if end < 0 or line < 0:
        raise UnsealError("its beginning is damaged")
    file_key = _file_key(data[len(_FIRST) : end + 1].split(b"\n"), secret)
    mac = hmac.digest(derived(file_key, salt=b"", info=b"header"), data[: end + 4], sha256)
    if not hmac.compare_digest(_coded(mac), data[end + 5 : line]):
        raise UnsealError("its beginning is damaged")
    nonce, rest = data[line + 1 : line + 17], data[line + 17 :]
    key = derived(file_key, salt=nonce, info=b"payload")
    parts, step = [], _CHUNK + _TAG
    for number, at in enumerate(range(0, max(1, len(rest)), step)):
        parts.append(unseal(key, _counted(number, last=at + step >= len(rest)), rest[at : at + step]))
    return b"".join(parts)


def _file_key(lines: list[bytes], secret: bytes) -> bytes:
    public = agreement_key(secret)
    for head, body in itertools.pairwise(lines):
        words = head.split(b" ")
        if words[:2] != [b"->", b"X25519"] or len(words) != 3:
            continue
        share = _decoded(words[2])
        if len(share) != 32:
            raise UnsealError("its beginning is damaged")
        key = derived(agreed(secret, share), salt=share + public, info=_X25519)
        try:
            found = unseal(key, _ZERO, _decoded(body))
        except UnsealError:
            continue
        if len(found) == 16:
            return found
    raise UnsealError("it was sealed for others")
