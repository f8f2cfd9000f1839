"""Ed25519 (RFC 8032) in plain Python: signatures can be checked where nothing is installed but Python.

Checking is stricter than the standard asks: a scalar S of L or more, points in other than their one
form, and keys or R of small order are refused, so that a signature has exactly one form and one key.
Signing takes time that depends on the key, as all arithmetic of Python does; where `cryptography` is
installed its code signs instead. Curve, formulas and test vectors: RFC 8032, sections 5.1 and 7.1;
extended coordinates: Hisil, Wong, Carter, Dawson, "Twisted Edwards Curves Revisited" (2008).
"""

from __future__ import annotations

import hashlib

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)
"""A square root of -1."""

_Point = tuple[int, int, int, int]
"""X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z."""
_ZERO: _Point = (0, 1, 1, 0)

SEED_BYTES = KEY_BYTES = 32
SIGNATURE_BYTES = 64


def _add(one: _Point, other: _Point) -> _Point:
    x1, y1, z1, t1 = one
    x2, y2, z2, t2 = other
    a = (y1 - x1) * (y2 - x2) % _P
    b = (y1 + x1) * (y2 + x2) % _P
    c = 2 * t1 * t2 * _D % _P
    d = 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _double(one: _Point) -> _Point:
    x, y, z, _ = one
    a, b = x * x % _P, y * y % _P
    c, h = 2 * z * z % _P, a + b
    e, g = h - (x + y) * (x + y) % _P, a - b
    f = c + g
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(count: int, point: _Point) -> _Point:
    """A point added to itself so often, four bits at a time."""
    table = [_ZERO, point]
    for _ in range(14):
        table.append(_add(table[-1], point))
    total = _ZERO
    for at in range(count.bit_length() + -count.bit_length() % 4 - 4, -1, -4):
        total = _double(_double(_double(_double(total))))
        total = _add(total, table[count >> at & 15])
    return total


def _root(y: int, odd: int) -> int | None:
    """The x of a point with this y; None: there is none."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * _ROOT % _P
    if x * x % _P != square or (x == 0 and odd):
        return None
    return _P - x if x & 1 != odd else x


def _point(data: bytes) -> _Point | None:
    """The point of 32 bytes; None: they are none, or not in the one form that it has."""
    number = int.from_bytes(data, "little")
    y, odd = number & ((1 << 255) - 1), number >> 255
    if y >= _P or (x := _root(y, odd)) is None:
        return None
    return x, y, 1, x * y % _P


def _packed(point: _Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    return ((x * inverse % _P & 1) << 255 | y * inverse % _P).to_bytes(32, "little")


_Y = 4 * pow(5, -1, _P) % _P
_X = _root(_Y, 0)
assert _X is not None  # the base point of RFC 8032
_BASE: _Point = (_X, _Y, 1, _X * _Y % _P)


def _small(point: _Point) -> bool:
    """Whether a point's order is at most 8."""
    return _same(_double(_double(_double(point))), _ZERO)


def _same(one: _Point, other: _Point) -> bool:
    return (one[0] * other[2] - other[0] * one[2]) % _P == 0 and (
        one[1] * other[2] - other[1] * one[2]
    ) % _P == 0


def _scalar(seed: bytes) -> tuple[int, bytes]:
    digest = hashlib.sha512(seed).digest()
    number = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | 1 << 254
    return number, digest[32:]


def _challenge(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % _L


def public_key(seed: bytes) -> bytes:
    """The 32 bytes of the key that checks what `seed` (32 bytes) signs."""
    return _packed(_times(_scalar(seed)[0], _BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    """64 bytes of signature; `seed` is the 32 bytes that the key was made of."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        return sign_plainly(seed, message)
    return bytes(Ed25519PrivateKey.from_private_bytes(seed).sign(message))


def sign_plainly(seed: bytes, message: bytes) -> bytes:
    """`sign` without anything but Python."""
    number, prefix = _scalar(seed)
    key = _packed(_times(number, _BASE))
    nonce = _challenge(prefix, message)
    point = _packed(_times(nonce, _BASE))
    s = (nonce + _challenge(point, key, message) * number) % _L
    return point + s.to_bytes(32, "little")


def verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` (64 bytes) is of this message by the owner of `key` (32 bytes)."""
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    s = int.from_bytes(signature[32:], "little")
    owner, point = _point(key), _point(signature[:32])
    if s >= _L or owner is None or point is None or _small(owner) or _small(point):
        return False
    challenge = _challenge(signature[:32], key, message)
    return _same(_times(s, _BASE), _add(point, _times(challenge, owner)))
