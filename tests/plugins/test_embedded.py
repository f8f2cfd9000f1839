"""Programs hidden in a file: plain, or masked by a short key."""

from __future__ import annotations

import struct

import pytest

from dsec_cli.plugins.checks.embedded import _found, _masked
from dsec_cli.plugins.elf import Image

HEADER = (
    b"\x7fELF\x02\x01\x01"
    + bytes(9)
    + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
)


def image(data: bytes) -> Image:
    return Image(data, len(data), 3, 62, 0, (), {}, [], (), ())


@pytest.mark.parametrize("key", ["5a", "ff", "0001", "1337beef", "0123456789abcdef", "a5"])
def test_a_masked_program_is_found(key: str) -> None:
    mask = bytes.fromhex(key)
    hidden = bytes(one ^ mask[at % len(mask)] for at, one in enumerate(HEADER))
    for before in (0, 1, 4097) if key != "5a" else ((1 << 22) - 20,):
        held = image(bytes(before) + hidden + bytes(100))
        assert _masked(held)[0] == (before, mask)
        assert list(_found(held)) == []


def test_a_plain_one_is_no_masked_one() -> None:
    held = image(bytes(100) + HEADER + bytes(100))
    assert list(_found(held)) == [100]
    assert _masked(held) == []
    assert _masked(image(bytes(1000))) == _masked(image(b"")) == _masked(image(bytes(range(256)) * 9)) == []
