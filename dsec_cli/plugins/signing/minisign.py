"""Keys and signatures as minisign writes them, so that either program checks what the other signed.

Form: https://jedisct1.github.io/minisign/ ("Signature format", "Public key format", "Secret key
format"). Only prehashed signatures (`ED`, over the BLAKE2b-512 of the file) are taken; the older `Ed` is
refused. The trusted comment is signed too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import NamedTuple

from dsec import ed25519
from dsec.errors import DSecError
from dsec_cli.words import say

PUBLIC_COMMENT = "untrusted comment: minisign public key "
SECRET_COMMENT = "untrusted comment: dsec plugin secret key"  # noqa: S105 - what stands above one
SIGNATURE_COMMENT = "untrusted comment: signature from dsec plugin sign"
_TRUSTED = "trusted comment: "
_OPS, _MEMORY = 1 << 22, 1 << 26
"""What a key with a password costs to open: libsodium's units, 64 MiB and a fraction of a second."""
_MOST_MEMORY = 1 << 31


class KeyProblem(DSecError):
    """A key or a signature cannot be read."""


class PublicKey(NamedTuple):
    """What checks signatures."""

    id: bytes
    """8 bytes, as they stand in files."""
    key: bytes
    """32 bytes."""

    @property
    def text(self) -> str:
        """The line that people copy."""
        return base64.b64encode(b"Ed" + self.id + self.key).decode()

    @property
    def shown(self) -> str:
        """The key's number as minisign prints it."""
        return shown_id(self.id)


class SecretKey(NamedTuple):
    """What signs."""

    id: bytes
    seed: bytes
    """32 bytes."""

    @property
    def public(self) -> PublicKey:
        """The key that checks what this one signs."""
        return PublicKey(self.id, ed25519.public_key(self.seed))


class Signature(NamedTuple):
    """A signature with its comment; both were made by the key of this number, if they check."""

    id: bytes
    over_data: bytes
    trusted: str
    """The trusted comment."""
    over_comment: bytes

    @property
    def shown(self) -> str:
        """The number of the key that it says it is of, as minisign prints it."""
        return shown_id(self.id)


def shown_id(number: bytes) -> str:
    """A key's number in hexadecimal, the most significant byte first."""
    return number[::-1].hex().upper()


def new_key(random: bytes) -> SecretKey:
    """A key of 40 random bytes."""
    return SecretKey(random[:8], random[8:40])


def public_text(key: PublicKey) -> str:
    """A file with a public key."""
    return f"{PUBLIC_COMMENT}{key.shown}\n{key.text}\n"


def read_public(text: str, where: str) -> PublicKey:
    """The key of a file or of the bare line; raises KeyProblem."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 2 and lines[0].startswith("untrusted comment:"):
        lines = lines[1:]
    data = _decoded(lines[0], where, "a public key") if len(lines) == 1 else b""
    if len(data) != 42 or data[:2] != b"Ed":
        raise KeyProblem(
            say("{where}: this is no minisign public key", where=where),
            hint="a key is a line that starts with RW",
        )
    return PublicKey(data[2:10], data[10:])


def secret_text(secret: SecretKey, password: str, salt: bytes) -> str:
    """A file with a secret key; without a password it is kept as it is."""
    pair = secret.id + secret.seed + secret.public.key
    body = pair + _checksum(pair)
    how = b"Sc" if password else b"\0\0"
    costs = (_OPS, _MEMORY) if password else (0, 0)
    if password:
        body = _mixed(body, _stream(password, salt, *costs))
    numbers = b"".join(one.to_bytes(8, "little") for one in costs)
    data = b"Ed" + how + b"B2" + (salt if password else bytes(32)) + numbers + body
    return f"{SECRET_COMMENT}\n{base64.b64encode(data).decode()}\n"


def needs_password(text: str, where: str) -> bool:
    """Whether a secret key's file is encrypted; raises KeyProblem."""
    return _secret_data(text, where)[2:4] == b"Sc"


def read_secret(text: str, password: str, where: str) -> SecretKey:
    """The key of a secret key's file; raises KeyProblem."""
    data = _secret_data(text, where)
    body = data[54:]
    if data[2:4] == b"Sc":
        costs = (int.from_bytes(data[38:46], "little"), int.from_bytes(data[46:54], "little"))
        if costs[1] > _MOST_MEMORY:
            raise KeyProblem(
                say(
                    "{where}: opening this key would take {costs} MiB of memory",
                    where=where,
                    costs=costs[1] >> 20,
                )
            )
        body = _mixed(body, _stream(password, data[6:38], *costs))
    pair = body[:72]
    plain = data[2:4] == b"\0\0" and body[72:] == bytes(32)  # minisign -W leaves the checksum out
    if not plain and not hmac.compare_digest(_checksum(pair), body[72:]):
        what = "the password is wrong, or the key is damaged" if data[2:4] == b"Sc" else "the key is damaged"
        raise KeyProblem(say("{where}: {what}", where=where, what=what))
    secret = SecretKey(pair[:8], pair[8:40])
    if secret.public.key != pair[40:]:
        raise KeyProblem(
            say("{where}: the key is damaged: its two halves do not belong together", where=where)
        )
    return secret


def _secret_data(text: str, where: str) -> bytes:
    lines = text.splitlines()
    data = _decoded(lines[1].strip(), where, "a secret key") if len(lines) >= 2 else b""
    known = len(data) == 158 and data[:2] == b"Ed" and data[4:6] == b"B2" and data[2:4] in (b"Sc", b"\0\0")
    if not known:
        raise KeyProblem(
            say("{where}: this is no minisign secret key", where=where), hint="dsec plugin keygen makes one"
        )
    return data


def _checksum(pair: bytes) -> bytes:
    return hashlib.blake2b(b"Ed" + pair, digest_size=32).digest()


def _mixed(data: bytes, stream: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(data, stream, strict=True))


def _stream(password: str, salt: bytes, ops: int, memory: int) -> bytes:
    """104 bytes from a password, with libsodium's choice of scrypt's parameters for these costs."""
    n_log, p = _parameters(ops, memory)
    return hashlib.scrypt(
        password.encode(), salt=salt, n=1 << n_log, r=8, p=p, maxmem=2 * memory + (1 << 24), dklen=104
    )


def _parameters(ops: int, memory: int) -> tuple[int, int]:
    """log2 of N, and p, for r = 8 (libsodium: crypto_pwhash_scryptsalsa208sha256, pickparams)."""
    ops = max(ops, 1 << 15)
    if ops < memory // 32:
        return _log(ops // 32), 1
    n_log = _log(memory // 1024)
    return n_log, min((ops // 4) >> n_log, 0x3FFFFFFF) // 8


def _log(most: int) -> int:
    at = 1
    while at < 63 and 1 << at <= most // 2:
        at += 1
    return at


def signed(secret: SecretKey, data: bytes, trusted: str) -> str:
    """The signature file of `data` with a trusted comment of one line."""
    over = ed25519.sign(secret.seed, hashlib.blake2b(data).digest())
    over_comment = ed25519.sign(secret.seed, over + trusted.encode())
    first = base64.b64encode(b"ED" + secret.id + over).decode()
    second = base64.b64encode(over_comment).decode()
    return f"{SIGNATURE_COMMENT}\n{first}\n{_TRUSTED}{trusted}\n{second}\n"


def read_signature(text: str, where: str) -> Signature:
    """A signature file, not checked yet; raises KeyProblem."""
    lines = text.splitlines()
    if len(lines) != 4 or not lines[0].startswith("untrusted comment:") or not lines[2].startswith(_TRUSTED):
        raise KeyProblem(say("{where}: this is no minisign signature", where=where))
    data, over_comment = (_decoded(lines[at].strip(), where, "a signature") for at in (1, 3))
    if len(data) != 74 or len(over_comment) != 64:
        raise KeyProblem(say("{where}: this is no minisign signature", where=where))
    if data[:2] != b"ED":
        raise KeyProblem(
            say("{where}: it is of the older kind, which is not prehashed", where=where),
            hint="sign it with minisign -H",
        )
    return Signature(data[2:10], data[10:], lines[2].removeprefix(_TRUSTED), over_comment)


def checks(signature: Signature, key: PublicKey, data: bytes) -> bool:
    """Whether the signature and its comment are of this data by the owner of this key."""
    if not hmac.compare_digest(signature.id, key.id):
        return False
    return ed25519.verify(key.key, hashlib.blake2b(data).digest(), signature.over_data) and ed25519.verify(
        key.key, signature.over_data + signature.trusted.encode(), signature.over_comment
    )


def _decoded(line: str, where: str, what: str) -> bytes:
    try:
        return base64.b64decode(line.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise KeyProblem(
            say("{where}: this is not {what}: a line is no base64", where=where, what=what)
        ) from None
