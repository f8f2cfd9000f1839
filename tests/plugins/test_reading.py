"""The reader of ELF files against others', and the analysis on any bytes."""

from __future__ import annotations

from pathlib import Path

import lief
import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec_cli.plugins.decoding import open_door
from dsec_cli.plugins.elf import Image, NotElf, read_image
from dsec_cli.plugins.libraries import open_image
from dsec_cli.plugins.notes import build_id
from dsec_cli.plugins.propagation import follow
from dsec_cli.plugins.symbols import read_bindings, read_symbols, read_versions
from dsec_cli.plugins.syscalls import AARCH64, I386, X86_64
from dsec_cli.plugins.unwind import function_ranges
from dsec_cli.plugins.values import combine, extend, join, narrow, number
from tests.plugins.building import HOSTILE, build

LIBRARIES = [
    path
    for folder in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64")
    for name in (
        "libc.so.6",
        "libm.so.6",
        "libgcc_s.so.1",
        "libstdc++.so.6",
        "libz.so.1",
        "ld-linux-x86-64.so.2",
    )
    if (path := Path(folder) / name).exists()
]


@pytest.mark.parametrize("path", LIBRARIES, ids=str)
def test_symbols_are_those_of_pyelftools(path: Path) -> None:
    image = open_image(str(path))
    ours = [(one.name, one.value, one.size, one.imported) for one in read_symbols(image)]
    with path.open("rb") as file:
        other = ELFFile(file)
        table = other.get_section_by_name(".dynsym")
        theirs = [
            (s.name, s["st_value"], s["st_size"], s["st_shndx"] == "SHN_UNDEF") for s in table.iter_symbols()
        ]
        notes = other.get_section_by_name(".note.gnu.build-id")
        assert build_id(image) == next(iter(notes.iter_notes()))["n_desc"]
        needed = [tag.needed for tag in other.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
    assert ours == theirs
    assert list(image.names(1)) == needed
    assert image.problems == []


@pytest.mark.parametrize("path", LIBRARIES, ids=str)
def test_relocations_are_those_of_lief(path: Path) -> None:
    image = open_image(str(path))
    found = read_bindings(image, read_symbols(image))
    other = lief.ELF.parse(str(path))
    theirs = {one.address for one in other.dynamic_relocations} | {
        one.address for one in other.pltgot_relocations
    }
    theirs |= {one.address for one in other.relocations if one.purpose.name == "RELR"}
    ours = {*found.relative, *found.named, *found.resolvers, *found.copies}
    assert ours <= theirs | set(found.relative)
    assert len(theirs - ours) <= found.others
    assert all(version.count(" ") == 1 for version in read_versions(image))


def test_functions_are_those_of_the_unwind_data() -> None:
    path = next(one for one in LIBRARIES if one.name == "libgcc_s.so.1")
    with path.open("rb") as file:
        entries = [one for one in ELFFile(file).get_dwarf_info().EH_CFI_entries() if isinstance(one, FDE)]
        starts = [(one["initial_location"], one["address_range"]) for one in entries]
        theirs = {(start, start + size) for start, size in starts}
    assert set(function_ranges(open_image(str(path)))) == theirs


def test_tables_of_system_calls_are_plausible() -> None:
    assert (X86_64[0], X86_64[59], X86_64[322], X86_64[435]) == ("read", "execve", "execveat", "clone3")
    assert (I386[1], I386[11], I386[102]) == ("exit", "execve", "socketcall")
    assert (AARCH64[63], AARCH64[64], AARCH64[221]) == ("read", "write", "execve")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_an_image_or_refused(data: bytes) -> None:
    for body in (data, b"\x7fELF\x02\x01\x01" + data):
        try:
            image = read_image(body)
        except NotElf:
            continue
        assert isinstance(image, Image)
        read_bindings(image, read_symbols(image))
        function_ranges(image)


@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_are_followed(code: bytes) -> None:
    for name in ("iced-x86", "capstone"):
        door = open_door(name)
        assert door is not None
        flow = door.flow(code, 0x1000, whole=True)
        assert flow.end == 0x1000 + len(code)
        assert list(flow.ips) == sorted(flow.ips)
        follow(door.operations(code, 0x1000), 0x1000, reader=lambda _a, _s: None, entries=(), end=flow.end)


SMALL = st.one_of(st.none(), st.frozensets(st.integers(0, (1 << 64) - 1), min_size=1, max_size=4))


@given(SMALL, SMALL)
def test_joining_forgets_and_never_invents(one: frozenset[int] | None, other: frozenset[int] | None) -> None:
    both = join(one, other)
    assert both == join(other, one)
    assert join(one, one) == one
    if both is not None:
        assert both == (one or frozenset()) | (other or frozenset())


@given(st.integers(0, (1 << 64) - 1), st.sampled_from((1, 2, 4, 8)))
def test_widths_are_the_processors(value: int, size: int) -> None:
    low = value & ((1 << 8 * size) - 1)
    assert narrow(number(value), size) == number(low)
    signed = low - (1 << 8 * size) if low >> (8 * size - 1) else low
    assert extend(number(value), size) == number(signed)
    assert combine(number(value), number(1), lambda a, b: a + b, size) == number(
        (low + 1) & ((1 << 8 * size) - 1)
    )


def test_section_headers_are_not_needed(tmp_path: Path) -> None:
    path = build(HOSTILE / "administrator.c", tmp_path)
    whole = open_image(str(path))
    body = bytearray(path.read_bytes())
    body[40:48], body[58:64] = bytes(8), bytes(6)
    image = read_image(bytes(body))
    assert read_symbols(image) == read_symbols(whole)
    assert read_bindings(image, read_symbols(image)) == read_bindings(whole, read_symbols(whole))
