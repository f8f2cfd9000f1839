"""Pointers that the loader sets, patched as a linker never writes them: none gives a clean verdict."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dsec_cli.plugins.libraries import open_image
from tests.plugins.building import build, scanned

SOURCE = """
#include <unistd.h>
static int one(void) { return 1; }
static int (*volatile way)(void) = one;
int f(void) { return way() + (int)getppid(); }
"""
CODE = b"\x31\xff\xb8\x69\0\0\0\x0f\x05\xc3"
"""setuid(0)."""
RELATIVE, ABSOLUTE, PC32, SLOT = 8, 1, 2, 7


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    (folder / "p.c").write_text(SOURCE)
    path = build(folder / "p.c", folder)
    assert scanned(path).verdict() == "ok"
    return path


class Patched:
    """A copy of the plugin whose relocations can be changed."""

    def __init__(self, path: Path) -> None:
        self.image = open_image(str(path))
        self.data = bytearray(path.read_bytes())
        self.code = next(one for one in self.image.loads if one.executable)

    def offset(self, address: int) -> int:
        segment = self.image.load_of(address)
        assert segment is not None
        return segment.offset + address - segment.vaddr

    def relocation(self, kind: int) -> int:
        """Where the last one of a kind is in the file (the pointer `way`, a call's slot)."""
        found = 0
        for table, size in ((7, 8), (23, 2)):
            start = self.offset(self.image.first(table) or 0)
            for at in range(start, start + (self.image.first(size) or 0), 24):
                if struct.unpack_from("<Q", self.data, at + 8)[0] & 0xFFFFFFFF == kind:
                    found = at
        assert found
        return found

    def put(self, at: int, *, info: int | None = None, addend: int | None = None) -> None:
        if info is not None:
            struct.pack_into("<Q", self.data, at + 8, info)
        if addend is not None:
            struct.pack_into("<q", self.data, at + 16, addend)

    def hide(self, address: int) -> None:
        """Write code behind the end of the code, on its last page."""
        at = self.code.offset + address - self.code.vaddr
        self.data[at : at + len(CODE)] = CODE

    def codes(self, folder: Path) -> set[str]:
        path = folder / "p.so"
        path.write_bytes(self.data)
        found = scanned(path)
        assert found.verdict() != "ok"
        return {one.code for one in found.findings}


def test_code_behind_the_end_of_the_code(sound: Path, tmp_path: Path) -> None:
    patched = Patched(sound)
    hidden = (patched.code.end + 15) & -16
    patched.hide(hidden)
    patched.put(patched.relocation(RELATIVE), addend=hidden)
    assert "computed-call" in patched.codes(tmp_path)


def test_a_branch_behind_the_end_of_the_code(sound: Path, tmp_path: Path) -> None:
    patched = Patched(sound)
    hidden = (patched.code.end + 15) & -16
    patched.hide(hidden)
    start = next(one.value for one in scanned_symbols(patched) if one.name == "f")
    at = patched.offset(start)
    patched.data[at : at + 5] = b"\xe9" + struct.pack("<i", hidden - start - 5)
    assert "computed-call" in patched.codes(tmp_path)


def scanned_symbols(patched: Patched):  # type: ignore[no-untyped-def]
    from dsec_cli.plugins.symbols import read_symbols

    return read_symbols(patched.image)


def test_a_pointer_without_a_symbol_is_one_into_the_image(sound: Path, tmp_path: Path) -> None:
    patched = Patched(sound)
    hidden = (patched.code.end + 15) & -16
    patched.hide(hidden)
    patched.put(patched.relocation(RELATIVE), info=ABSOLUTE, addend=hidden)
    assert "computed-call" in patched.codes(tmp_path)


def test_a_slot_behind_the_function_that_it_is_for(sound: Path, tmp_path: Path) -> None:
    patched = Patched(sound)
    patched.put(patched.relocation(SLOT), addend=7)
    assert "borrowed-code" in patched.codes(tmp_path)


def test_a_relocation_of_a_kind_that_is_not_followed(sound: Path, tmp_path: Path) -> None:
    patched = Patched(sound)
    patched.put(patched.relocation(RELATIVE), info=PC32)
    assert "malformed" in patched.codes(tmp_path)
