"""Dynamic symbols, their versions, and relocations of an image: what the loader binds."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from dsec_cli.plugins.elf import EM_AARCH64, EM_X86_64, Image, Malformed

_SYM = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
_VERNEED = struct.Struct("<HHIII")
_VERNAUX = struct.Struct("<IHHII")
STT_FUNC, STT_OBJECT, STT_TLS, STT_IFUNC = 2, 1, 6, 10
_RELATIVE = {EM_X86_64: (8,), EM_AARCH64: (1027,)}
_IRELATIVE = {EM_X86_64: (37,), EM_AARCH64: (1032,)}
_SLOTS = {EM_X86_64: (1, 6, 7), EM_AARCH64: (257, 1025, 1026)}
_LINKAGE = {EM_X86_64: (6, 7), EM_AARCH64: (1025, 1026)}
_HARMLESS = {EM_X86_64: (0, 16, 17, 18, 36), EM_AARCH64: (0, 1028, 1029, 1030, 1031)}
"""Nothing at all, and places of thread-local data."""
_COPY = {EM_X86_64: (5,), EM_AARCH64: (1024,)}
_MOST_CHAIN = 1 << 24


class Symbol(NamedTuple):
    """One dynamic symbol; `section` 0 means that it is imported. Large files have a hundred thousand."""

    name: str
    value: int
    size: int
    kind: int
    bind: int
    hidden: bool
    section: int

    @property
    def imported(self) -> bool:
        """Whether another object must provide it."""
        return self.section == 0


@dataclass(slots=True)
class Bindings:
    """What the loader writes into the image, by address."""

    relative: dict[int, int] = field(default_factory=dict)
    """Address of a pointer to the address in this image that it holds."""
    named: dict[int, int] = field(default_factory=dict)
    """Address of a pointer to the index of the symbol whose address it holds."""
    resolvers: dict[int, int] = field(default_factory=dict)
    """Address of a pointer to the IFUNC resolver that computes it."""
    shifted: dict[int, int] = field(default_factory=dict)
    """Of those of `named` that do not hold the symbol's own address: how far behind it, in bytes."""
    jumps: set[int] = field(default_factory=set)
    """Those that are there for calls alone, which no code reads or writes."""
    copies: dict[int, int] = field(default_factory=dict)
    linkage: set[int] = field(default_factory=set)
    """Those of `named` that the linker made for calls and loads; the others are part of the data."""
    others: int = 0
    """Relocations of kinds that are not followed."""
    text: int = 0
    """Relocations that lie in an executable segment."""


def read_symbols(image: Image) -> tuple[Symbol, ...]:
    """The dynamic symbols, as many as the hash tables, the relocations and the file agree to."""
    table = image.first(6)
    if table is None:
        return ()
    entry = image.first(11)
    if entry not in (None, _SYM.size):
        image.problems.append(f"symbols are {entry} bytes long, not {_SYM.size}")
        return ()
    held = image.left(table) // _SYM.size
    count = min(held, _count(image, held))
    raw = image.take(table, count * _SYM.size)
    if table % 8 or any(raw[: _SYM.size]):
        image.problems.append("the symbol table does not begin as one does")
    return tuple(
        Symbol(image.string(name), value, size, info & 15, info >> 4, other & 3 in (1, 2), section)
        for name, info, other, section, value, size in _SYM.iter_unpack(raw)
    )


def _count(image: Image, held: int) -> int:
    counts = [_by_hash(image), _by_gnu_hash(image, held), 1 + _highest_used(image)]
    strings, table = image.first(5), image.first(6)
    unlisted = image.first(4) is None and image.first(0x6FFFFEF5) is None
    if unlisted and strings is not None and table is not None and strings > table:
        # No table says how many there are; most linkers put the names right behind them.
        between = (strings - table) // _SYM.size
        counts.append(between if between <= held else 0)
    wanted = max(counts)
    if wanted > held:
        image.problems.append(f"{wanted} symbols are announced, {held} fit into the file")
    return wanted


def _by_hash(image: Image) -> int:
    table = image.first(4)
    if table is None:
        return 0
    try:
        _, chains = struct.unpack("<II", image.take(table, 8))
    except Malformed:
        image.problems.append("the hash table is outside of the file")
        return 0
    return int(chains)


def _by_gnu_hash(image: Image, held: int) -> int:
    table = image.first(0x6FFFFEF5)
    if table is None:
        return 0
    try:
        buckets, offset, bloom, _ = struct.unpack("<IIII", image.take(table, 16))
        start = table + 16 + bloom * 8
        highest = max(struct.unpack(f"<{buckets}I", image.take(start, buckets * 4)), default=0)
        if highest < offset:
            return int(offset)
        return _chain_end(image, start + buckets * 4, highest, offset=offset, held=held)
    except (Malformed, struct.error):
        image.problems.append("the GNU hash table is outside of the file")
        return 0


def _chain_end(image: Image, chains: int, index: int, *, offset: int, held: int) -> int:
    at = chains + (index - offset) * 4
    raw = image.take(at, min(image.left(at), 4 * max(0, held - index)) // 4 * 4)
    for step, (value,) in enumerate(struct.iter_unpack("<I", raw)):
        if value & 1:
            return index + step + 1
    image.problems.append("a chain of the GNU hash table has no end")
    return index + len(raw) // 4


def _highest_used(image: Image) -> int:
    highest = 0
    for table, size in _rela_tables(image):
        for _, info, _ in _RELA.iter_unpack(_whole(image, table, size)):
            if info >> 32 > highest:
                highest = info >> 32
    return highest


def _rela_tables(image: Image) -> list[tuple[int, int]]:
    found = []
    for table_tag, size_tag in ((7, 8), (23, 2)):
        table, size = image.first(table_tag), image.first(size_tag)
        if table is not None and size:
            found.append((table, size))
    if len(found) == 2 and found[0][0] <= found[1][0] < found[0][0] + found[0][1]:
        return found[:1]  # the one table holds the other
    return found


def _whole(image: Image, table: int, size: int) -> bytes:
    held = min(size, image.left(table))
    return bytes(image.take(table, held - held % _RELA.size)) if held >= _RELA.size else b""


def read_bindings(image: Image, symbols: tuple[Symbol, ...]) -> Bindings:
    """All dynamic relocations, sorted by kind."""
    found = Bindings()
    for table, size in _rela_tables(image):
        if size > image.left(table):
            image.problems.append("a relocation table runs past the end of its segment")
        if size % _RELA.size:
            image.problems.append("a relocation table is not as long as a number of relocations")
        _bind(image, _whole(image, table, size), found, len(symbols))
    if image.first(17) is not None:
        image.problems.append("relocations without addends (DT_REL), which this machine does not use")
    _relr(image, found)
    for segment in image.loads:
        if segment.executable and not segment.writable:
            low, high = segment.vaddr, segment.end
            for where in (found.relative, found.named, found.resolvers):
                found.text += sum(1 for at in where if low <= at < high)
    return found


def _bind(image: Image, raw: bytes, found: Bindings, count: int) -> None:
    machine = image.machine
    relative, resolver = _RELATIVE.get(machine, ()), _IRELATIVE.get(machine, ())
    slots, copy = _SLOTS.get(machine, ()), _COPY.get(machine, ())
    harmless = _HARMLESS.get(machine, ())
    bad = odd = 0
    for where, info, addend in _RELA.iter_unpack(raw):
        kind = info & 0xFFFFFFFF
        if kind in relative:
            found.relative[where] = addend
        elif kind in slots:
            bad += not _name(found, where, info, addend, machine=machine, count=count)
        elif kind in resolver:
            found.resolvers[where] = addend
        elif kind in copy:
            found.copies[where] = info >> 32
        else:
            found.others += 1
            odd += kind not in harmless
    if odd:
        image.problems.append(f"{odd} relocations are of kinds that linkers do not leave to loaders")
    if bad:
        image.problems.append(f"{bad} relocations name symbols that do not exist")


def _name(found: Bindings, where: int, info: int, addend: int, *, machine: int, count: int) -> bool:
    """Note a pointer that gets a symbol's address; whether there is such a symbol."""
    index, kind = info >> 32, info & 0xFFFFFFFF
    if not index:  # no symbol: the loader adds to the image's own address
        found.relative[where] = addend
    elif index < count:
        found.named[where] = index
        if addend:
            found.shifted[where] = addend
        if kind in _LINKAGE[machine]:
            found.linkage.add(where)
        if kind == _LINKAGE[machine][-1]:
            found.jumps.add(where)
    return index < count


def _relr(image: Image, found: Bindings) -> None:
    table, size = image.first(36), image.first(35)
    if table is None or not size:
        return
    held = min(size, image.left(table)) // 8 * 8
    where = 0
    for (entry,) in struct.iter_unpack("<Q", image.take(table, held) if held else b""):
        if entry & 1 == 0:
            _relr_one(image, entry, found)
            where = entry + 8
            continue
        for bit in range(63):
            if entry >> (bit + 1) & 1:
                _relr_one(image, where + bit * 8, found)
        where += 63 * 8


def _relr_one(image: Image, where: int, found: Bindings) -> None:
    held = image.word(where)
    if held is not None:
        found.relative[where] = held


def read_versions(image: Image) -> tuple[str, ...]:
    """The symbol versions that are needed, as `libc.so.6 GLIBC_2.34`."""
    table, count = image.first(0x6FFFFFFE), image.first(0x6FFFFFFF)
    found: set[str] = set()
    if table is None or not count:
        return ()
    try:
        for _ in range(min(count, 4096)):
            _, entries, file, aux, following = _VERNEED.unpack(image.take(table, _VERNEED.size))
            found.update(_needed_of(image, table + aux, entries, image.string(file)))
            if not following:
                break
            table += following
    except Malformed:
        image.problems.append("the table of needed versions is outside of the file")
    return tuple(sorted(found))


def _needed_of(image: Image, table: int, entries: int, file: str) -> set[str]:
    found = set()
    for _ in range(min(entries, 4096)):
        _, _, _, name, following = _VERNAUX.unpack(image.take(table, _VERNAUX.size))
        found.add(f"{file} {image.string(name)}")
        if not following:
            break
        table += following
    return found
