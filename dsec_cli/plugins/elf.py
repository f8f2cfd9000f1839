"""Reads an ELF image by its program headers, as a loader does; section headers are never believed.

All counts are clamped by the size of the file, so work is bounded by what is really there. What is wrong
with an image is collected in `problems`; only a file that is no 64-bit little-endian ELF at all raises.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap

    Buffer = bytes | mmap

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_TLS = 1, 2, 3, 4, 7
PT_GNU_EH_FRAME, PT_GNU_STACK, PT_GNU_RELRO, PT_GNU_PROPERTY = 0x6474E550, 0x6474E551, 0x6474E552, 0x6474E553
PF_X, PF_W, PF_R = 1, 2, 4
ET_EXEC, ET_DYN = 2, 3
EM_X86_64, EM_AARCH64 = 62, 183
MACHINES = {EM_X86_64: "x86_64", EM_AARCH64: "aarch64", 3: "i386", 40: "arm", 243: "riscv64", 21: "ppc64"}
_HEADER = struct.Struct("<HHIQQQIHHHHHH")
_PHDR = struct.Struct("<IIQQQQQQ")
_DYN = struct.Struct("<QQ")
_HEADERS = 64
_MOST_SEGMENTS = 4096
_MOST_DYNAMIC = 65536
_NAMELESS = "a name is outside of the string table"


class NotElf(Exception):
    """The bytes are no ELF image that we read; the text says why."""


class Malformed(Exception):
    """A table of the image points outside it; caught where the table is read."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One program header; `filesz` is what the file really holds of it."""

    kind: int
    flags: int
    offset: int
    vaddr: int
    filesz: int
    memsz: int

    @property
    def executable(self) -> bool:
        """Whether its bytes may run."""
        return bool(self.flags & PF_X)

    @property
    def writable(self) -> bool:
        """Whether its bytes may change."""
        return bool(self.flags & PF_W)

    @property
    def end(self) -> int:
        """Address after its last byte in the file."""
        return self.vaddr + self.filesz


@dataclass(slots=True)
class Image:
    """An ELF file: its bytes, its segments and its dynamic section."""

    data: Buffer
    size: int
    kind: int
    machine: int
    entry: int
    segments: tuple[Segment, ...]
    dynamic: dict[int, list[int]]
    problems: list[str]
    loads: tuple[Segment, ...]
    starts: tuple[int, ...]
    _strings: bytes | None = None
    pairs: dict[bytes, list[int]] | None = None
    """Where two-byte words stand that several checks look for, once `bytesearch` has looked."""

    def load_of(self, address: int) -> Segment | None:
        """The loaded segment that holds `address` in the file."""
        at = bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        segment = self.loads[at]
        return segment if address < segment.end else None

    def is_header(self, address: int) -> bool:
        """Whether an address lies in the file's own headers, where no program keeps a constant."""
        segment = self.load_of(address)
        return segment is not None and segment.offset + address - segment.vaddr < _HEADERS

    def parted(self) -> bool:
        """Whether constant data has a segment of its own, so that none stands among code."""
        return any(not one.executable and not one.writable and one.filesz for one in self.loads)

    def take(self, address: int, size: int) -> bytes:
        """`size` bytes at an address; Malformed where the file does not hold them."""
        segment = self.load_of(address)
        if segment is None or size < 0 or address + size > segment.end:
            raise Malformed(f"{size} bytes at {address:#x} are outside of the file")
        offset = segment.offset + address - segment.vaddr
        return self.data[offset : offset + size]

    def left(self, address: int) -> int:
        """How many bytes the file holds from `address` to the end of its segment."""
        segment = self.load_of(address)
        return segment.end - address if segment is not None else 0

    def word(self, address: int) -> int | None:
        """The 8 bytes at an address as a number; None where the file does not hold them."""
        try:
            found: int = struct.unpack("<Q", self.take(address, 8))[0]
        except Malformed:
            return None
        return found

    def text(self, address: int, most: int = 4096) -> str | None:
        """The zero-ended constant string at an address: printable, and in memory nobody writes."""
        segment = self.load_of(address)
        if segment is None or segment.writable:
            return None
        raw = self.take(address, min(most, segment.end - address))
        end = raw.find(b"\0")
        if end < 0:
            return None
        text = raw[:end].decode("utf-8", "replace")
        return text if text.isprintable() else None

    def first(self, tag: int) -> int | None:
        """The first value of a dynamic tag."""
        values = self.dynamic.get(tag)
        return values[0] if values else None

    def string(self, offset: int) -> str:
        """A name of the dynamic string table; "" where there is none."""
        if self._strings is None:
            self._strings = self._string_table()
        end = self._strings.find(b"\0", offset) if 0 <= offset < len(self._strings) else -1
        if end < 0 and offset and _NAMELESS not in self.problems:
            self.problems.append(_NAMELESS)
        return self._strings[offset:end].decode("utf-8", "replace") if end >= 0 else ""

    def _string_table(self) -> bytes:
        table, size = self.first(5), self.first(10)
        if table is None or size is None:
            return b""
        held = min(size, self.left(table))
        if held < size:
            self.problems.append("the string table runs past the end of its segment")
        return bytes(self.take(table, held)) if held else b""

    def names(self, tag: int) -> tuple[str, ...]:
        """The strings that a dynamic tag names: NEEDED, RUNPATH, ..."""
        return tuple(self.string(offset) for offset in self.dynamic.get(tag, ()))


def read_image(data: Buffer) -> Image:
    """The image in `data`; NotElf where it is none that we read."""
    size = len(data)
    _check_ident(data[:64])
    kind, machine, _, entry, phoff, _, _, _, phentsize, phnum, *_ = _HEADER.unpack(data[16:64])
    if kind not in (ET_EXEC, ET_DYN):
        raise NotElf(f"an ELF file of type {kind}, neither a shared object nor a program")
    if phnum and phentsize != _PHDR.size:
        raise NotElf(f"an ELF file whose program headers are {phentsize} bytes long, not {_PHDR.size}")
    problems: list[str] = []
    segments = _segments(data, phoff, phnum, problems)
    loads = _loads(segments, problems)
    starts = tuple(one.vaddr for one in loads)
    image = Image(data, size, kind, machine, entry, segments, {}, problems, loads, starts)
    image.dynamic = _dynamic(image)
    return image


def _check_ident(head: bytes) -> None:
    if head[:4] != b"\x7fELF":
        raise NotElf("not an ELF file")
    if len(head) < 64:
        raise NotElf("an ELF file that ends inside its header")
    if head[4] != 2:
        raise NotElf("a 32-bit ELF file; only 64-bit ones are read")
    if head[5] != 1:
        raise NotElf("a big-endian ELF file; only little-endian ones are read")


def _segments(data: Buffer, phoff: int, phnum: int, problems: list[str]) -> tuple[Segment, ...]:
    size = len(data)
    held = max(0, min(phnum, (size - phoff) // _PHDR.size, _MOST_SEGMENTS)) if phoff < size else 0
    if held < phnum:
        problems.append(f"{phnum} program headers are announced, {held} are there")
    found = []
    for at in range(held):
        start = phoff + at * _PHDR.size
        kind, flags, offset, vaddr, _, filesz, memsz, _ = _PHDR.unpack(data[start : start + _PHDR.size])
        there = max(0, min(filesz, size - offset))
        if there < filesz and kind in (PT_LOAD, PT_DYNAMIC):
            problems.append(f"program header {at} describes {filesz} bytes, the file holds {there} of them")
        found.append(Segment(kind, flags, min(offset, size), vaddr, there, memsz))
    return tuple(found)


def _loads(segments: tuple[Segment, ...], problems: list[str]) -> tuple[Segment, ...]:
    """The loaded segments by address; of two that overlap the later one wins, as in memory."""
    loads = sorted((one for one in segments if one.kind == PT_LOAD), key=lambda one: one.vaddr)
    for before, after in pairwise(loads):
        if before.vaddr + before.memsz > after.vaddr:
            problems.append(f"loaded segments overlap at {after.vaddr:#x}")
    if any(one.vaddr + max(one.memsz, one.filesz) >= 1 << 63 for one in loads):
        problems.append("a segment lies outside of the address space")
    if not loads:
        problems.append("nothing of the file is loaded (no PT_LOAD)")
    return tuple(loads)


def _dynamic(image: Image) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    where = [one for one in image.segments if one.kind == PT_DYNAMIC]
    if not where:
        return found
    if len(where) > 1:
        image.problems.append("more than one dynamic section")
    segment = where[0]
    raw = image.data[segment.offset : segment.offset + min(segment.filesz, _MOST_DYNAMIC * _DYN.size)]
    for tag, value in _DYN.iter_unpack(raw[: len(raw) // _DYN.size * _DYN.size]):
        if tag == 0:
            return found
        found.setdefault(tag, []).append(value)
    image.problems.append("the dynamic section has no end")
    return found
