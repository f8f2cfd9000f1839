"""The door to `cryptography`: key agreement (X25519) and sealing (ChaCha20-Poly1305)."""

from __future__ import annotations

import hmac
from hashlib import sha256

from dsec.errors import DSecError
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEY_BYTES = 32


class NoSealingError(DSecError):
    """Nothing can be sealed or opened here."""


class UnsealError(Exception):
    """Sealed bytes are not what was sealed, or the key is another; caught where they are opened."""


def _library(name: str) -> Any:
    """A module of `cryptography`; raises NoSealingError where that is not installed."""
    from importlib import import_module

    try:
        return import_module(f"cryptography.hazmat.primitives.{name}")
    except ImportError:
        raise NoSealingError(
            say("sealing needs the package cryptography, which is not installed"),
            hint=say("pip install 'dsec[snapshot]'"),
        ) from None


def agreement_key(secret: bytes) -> bytes:
    """The public half of an X25519 key."""
    key = _library("asymmetric.x25519").X25519PrivateKey.from_private_bytes(secret)
    made: bytes = key.public_key().public_bytes_raw()
    return made


def agreed(secret: bytes, public: bytes) -> bytes:
    """The secret that two X25519 keys share; raises UnsealError for a public key that is none."""
    library = _library("asymmetric.x25519")
    try:
        key = library.X25519PublicKey.from_public_bytes(public)
        made: bytes = library.X25519PrivateKey.from_private_bytes(secret).exchange(key)
    except ValueError:
        raise UnsealError("a key is of low order") from None
    return made


def derived(secret: bytes, *, salt: bytes, info: bytes) -> bytes:
    """32 bytes of HKDF with SHA-256 (RFC 5869)."""
    inner = hmac.digest(salt or bytes(32), secret, sha256)
    return hmac.digest(inner, info + b"\x01", sha256)


def seal(key: bytes, nonce: bytes, data: bytes) -> bytes:
    """Sealed bytes, 16 longer."""
    made: bytes = _library("ciphers.aead").ChaCha20Poly1305(key).encrypt(nonce, data, None)
    return made


def unseal(key: bytes, nonce: bytes, data: bytes) -> bytes:
    """The bytes that were sealed; raises UnsealError."""
    library = _library("ciphers.aead")
    from cryptography.exceptions import InvalidTag

    try:
        made: bytes = library.ChaCha20Poly1305(key).decrypt(nonce, data, None)
    except (InvalidTag, ValueError):
        raise UnsealError("it is damaged, or the key is another") from None
    return made
