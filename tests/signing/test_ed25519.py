"""Ed25519 against the vectors of RFC 8032 and against OpenSSL's, and what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec import ed25519

VECTORS = (  # RFC 8032, section 7.1: tests 1 to 3, and SHA(abc)
    ("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
     "d25bf5f0595bbe24655141438e7a100b"),
    ("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
     "387b2eaeb4302aeeb00d291612bb0c00"),
    ("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
     "4a7c15e9716ed28dc027beceea1ec40a"),
)  # fmt: skip
ORDER = 2**252 + 27742317777372353535851937790883648493
SMALL = (  # points of order 1, 2, 4 and 8, in their one form
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
)


@pytest.mark.parametrize(("seed", "key", "message", "signature"), VECTORS)
def test_the_vectors_of_the_rfc(seed: str, key: str, message: str, signature: str) -> None:
    raw = bytes.fromhex(seed), bytes.fromhex(message)
    assert ed25519.public_key(raw[0]).hex() == key
    assert ed25519.sign_plainly(*raw).hex() == signature
    assert ed25519.sign(*raw).hex() == signature
    assert ed25519.verify(bytes.fromhex(key), raw[1], bytes.fromhex(signature))


@pytest.mark.battery
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=80), st.integers(0, 767))
@settings(max_examples=25)
def test_a_bit_changed_anywhere_is_refused(seed: bytes, message: bytes, bit: int) -> None:
    key, signature = ed25519.public_key(seed), ed25519.sign_plainly(seed, message)
    assert ed25519.verify(key, message, signature)
    changed = bytearray(key + signature)
    changed[bit // 8] ^= 1 << bit % 8
    assert not ed25519.verify(bytes(changed[:32]), message, bytes(changed[32:]))
    assert not ed25519.verify(key, message + b"x", signature)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=80))
@settings(max_examples=15)
def test_openssl_signs_and_checks_the_same(seed: bytes, message: bytes) -> None:
    kinds = pytest.importorskip(
        "cryptography.hazmat.primitives.asymmetric.ed25519", reason="it is compared with cryptography"
    )
    theirs = kinds.Ed25519PrivateKey.from_private_bytes(seed)
    assert theirs.sign(message) == ed25519.sign_plainly(seed, message)
    assert theirs.public_key().public_bytes_raw() == ed25519.public_key(seed)


def test_a_signature_has_one_form() -> None:
    seed, message = bytes(32), b"plugin"
    key, signature = ed25519.public_key(seed), ed25519.sign_plainly(seed, message)
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    assert not ed25519.verify(key, message, signature[:32] + scalar.to_bytes(32, "little"))
    assert not ed25519.verify(key, message, signature[:-1])
    assert not ed25519.verify(key[:-1], message, signature)


@pytest.mark.parametrize("point", SMALL)
def test_keys_of_small_order_sign_nothing(point: str) -> None:
    key = bytes.fromhex(point)
    # With such a key and S = 0 many messages would check.
    assert not ed25519.verify(key, b"any", key + bytes(32))
    real = ed25519.public_key(bytes(32))
    assert not ed25519.verify(real, b"any", key + bytes(32))


def test_a_point_in_another_form_is_refused() -> None:
    beyond = (2**255 - 19 + 1).to_bytes(32, "little")  # y = 1 once more
    assert not ed25519.verify(beyond, b"any", beyond + bytes(32))
    off = (2).to_bytes(32, "little")  # no point has this y
    assert not ed25519.verify(off, b"any", off + bytes(32))
