"""What the dynamic loader refuses, or dies of: tables that do not fit together, as glibc reads them."""

from __future__ import annotations

import struct
from itertools import pairwise

from dsec_cli.plugins.elf import EM_X86_64, ET_DYN, PF_R, PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD, Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.analysis import Analysis
    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.symbols import Bindings, Symbol

_PHDR = struct.Struct("<IIQQQQQQ")
_RELA = struct.Struct("<QQq")
_PAGE = 4096
_MOST_MEMORY = 1 << 40
"""Bytes of addresses, and of alignment, that no plugin needs and few machines can give."""
_HASH, _GNU_HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT = 4, 0x6FFFFEF5, 5, 6, 10, 11
_RELA_TAG, _RELASZ, _RELAENT, _RELACOUNT = 7, 8, 9, 0x6FFFFFF9
_JMPREL, _PLTRELSZ, _PLTREL = 23, 2, 20
_VERSYM, _VERNEED, _VERNEEDNUM, _VERDEF, _VERDEFNUM = (
    0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF, 0x6FFFFFFC, 0x6FFFFFFD,
)  # fmt: skip
_TEXTREL, _FLAGS, _NEEDED = 22, 30, 1
_TOGETHER = (
    ((_SYMTAB, _SYMENT), "symbols"),
    ((_STRTAB, _STRSZ), "names"),
    ((_RELA_TAG, _RELASZ, _RELAENT), "relocations"),
    ((_JMPREL, _PLTRELSZ, _PLTREL), "relocations of calls"),
    ((25, 27), "functions of the start"),
    ((26, 28), "functions of the end"),
    ((_VERNEED, _VERNEEDNUM), "needed versions"),
    ((_VERDEF, _VERDEFNUM), "versions"),
)
_REPEATED = frozenset((0, _NEEDED, 0x7FFFFFFD, 0x7FFFFFFF, 0x6FFFFEFB, 0x6FFFFEFC))
_RELATIVE, _GLOB_DAT, _JUMP_SLOT = 8, 6, 7
_OF_CALLS = frozenset((_JUMP_SLOT, 36, 37))
_FUNCTION, _CHOSEN, _ABSOLUTE = 2, 10, 0xFF00
_KINDS = frozenset((0, 1, _FUNCTION, 5, 6, _CHOSEN))
_BINDS = frozenset((1, 2, 10))
"""Kinds and bindings of the symbols in which a loader looks for a name."""
_MOST_EXPORTS = 4096
"""Exports that are looked up, as a loader does; the hash table of a large library is checked by a share."""
_MOST_VERSIONS = 4096


def refusals(analysis: Analysis) -> Iterator[str]:
    """Everything about a shared object of x86-64 for which it would not load, or crash its loader."""
    image = analysis.image
    if image.machine != EM_X86_64 or image.kind != ET_DYN:
        return
    yield from _ident(image)
    yield from _segments(image)
    if not image.dynamic:
        yield "it has no dynamic section"
        return
    yield from _dynamic(image)
    try:
        yield from _relocations(image)
        yield from _symbols(analysis.symbols)
        yield from _functions(image, analysis.symbols)
        yield from _starts(image, analysis.bindings)
        yield from _lookups(image, analysis.symbols)
        yield from _versions(image, len(analysis.symbols))
    except (Malformed, struct.error, ZeroDivisionError):
        yield "a table that the loader reads is outside of the file"


def _ident(image: Image) -> Iterator[str]:
    head = image.data[:24]
    if head[6] != 1 or head[20:24] != b"\1\0\0\0":
        yield "its header is of no version that there is"
    if head[7] not in (0, 3) or head[8] or any(head[9:16]):
        yield "its header names another system"


def _segments(image: Image) -> Iterator[str]:
    offset, count = struct.unpack("<Q", image.data[32:40])[0], len(image.segments)
    rows = [_PHDR.unpack(image.data[offset + 56 * at : offset + 56 * at + 56]) for at in range(count)]
    loads = [row for row in rows if row[0] == PT_LOAD]
    for _, flags, start, vaddr, _, size, memory, align in loads:
        if align & (align - 1) or align % _PAGE or (vaddr - start) % max(align, _PAGE):
            yield f"the segment at {vaddr:#x} is not aligned as pages are"
        if size > memory:
            yield f"the segment at {vaddr:#x} is larger in the file than in memory"
        if not flags & PF_R and memory:
            yield f"the segment at {vaddr:#x} cannot be read"
    if any(one[3] >= other[3] for one, other in pairwise(loads)):
        yield "loaded segments are not in the order of their addresses"
    yield from _spans(image, rows)
    for kind, _, start, vaddr, _, size, _, _ in rows:
        if kind != PT_DYNAMIC:
            continue
        segment = image.load_of(vaddr)
        if segment is None or vaddr - segment.vaddr + segment.offset != start or vaddr + size > segment.end:
            yield "the dynamic section is not where it says"


def _spans(image: Image, rows: list[tuple[int, ...]]) -> Iterator[str]:
    """How much is mapped, and what of it is protected once it is bound."""
    if any(max(row[3] + row[6], row[7]) > _MOST_MEMORY for row in rows if row[0] == PT_LOAD):
        yield "its segments ask for more addresses than a process can get"
    for vaddr, memory in ((row[3], row[6]) for row in rows if row[0] == PT_GNU_RELRO and row[6]):
        segment = image.load_of(vaddr)
        if segment is None or vaddr + memory > _paged(segment.vaddr + segment.memsz):
            yield "what is to be protected after it is bound is not in one segment"


def _paged(address: int) -> int:
    """The end of the page that ends at an address, or holds it."""
    return -(-address // _PAGE) * _PAGE


def _dynamic(image: Image) -> Iterator[str]:
    for tags, what in _TOGETHER:
        present = [tag for tag in tags if tag in image.dynamic]
        if present and len(present) < len(tags):
            yield f"the dynamic section says half of where its {what} are"
    for tag in (_STRTAB, _SYMTAB):
        if tag not in image.dynamic:
            yield "the dynamic section lacks symbols or names"
    for tag, wanted in ((_RELAENT, 24), (_SYMENT, 24), (_PLTREL, _RELA_TAG)):
        if image.first(tag) not in (None, wanted):
            yield f"the dynamic section has {image.first(tag)} where the loader takes {wanted} alone"
    yield from _values(image)


def _values(image: Image) -> Iterator[str]:
    """What single entries of the dynamic section say, and how often."""
    for tag in (12, 13):  # DT_INIT, DT_FINI: called whatever they are
        value = image.first(tag)
        segment = image.load_of(value) if value is not None else None
        if value is not None and (segment is None or not segment.executable):
            yield "its first or last function is no code"
    if any(len(values) > 1 for tag, values in image.dynamic.items() if tag not in _REPEATED):
        yield "the dynamic section says something twice"
    if _VERSYM in image.dynamic and not {_VERNEED, _VERDEF} & set(image.dynamic):
        yield "symbols have versions, and there are none"
    elif {_VERNEED, _VERDEF} & set(image.dynamic) and _VERSYM not in image.dynamic:
        yield "there are versions, and symbols have none"
    section = next(one for one in image.segments if one.kind == PT_DYNAMIC)
    raw = image.data[section.offset : section.offset + section.filesz // 16 * 16]
    tags = [tag for tag, _ in struct.iter_unpack("<QQ", raw)]
    if 0 in tags and any(tags[tags.index(0) :]):
        yield "the dynamic section goes on behind its end"


def _table(image: Image, table_tag: int, size_tag: int) -> list[tuple[int, int, int]]:
    table, size = image.first(table_tag), image.first(size_tag)
    if table is None or not size:
        return []
    raw = image.take(table, size // 24 * 24)
    return list(_RELA.iter_unpack(raw))


def _relocations(image: Image) -> Iterator[str]:
    first, calls = _table(image, _RELA_TAG, _RELASZ), _table(image, _JMPREL, _PLTRELSZ)
    counted = image.first(_RELACOUNT) or 0
    if any(info & 0xFFFFFFFF != _RELATIVE for _, info, _ in first[:counted]) or counted > len(first):
        yield "its relative relocations are not as many as it says"
    if any(info & 0xFFFFFFFF not in _OF_CALLS for _, info, _ in calls):
        yield "its relocations of calls are of other kinds"
    if any(info & 0xFFFFFFFF in (_GLOB_DAT, _JUMP_SLOT) and not info >> 32 for _, info, _ in first + calls):
        yield "a relocation needs a symbol and names none"
    if image.first(_TEXTREL) is not None or (image.first(_FLAGS) or 0) & 4:
        return
    spans = [(one.vaddr, one.vaddr + one.memsz) for one in image.loads if one.writable]
    for where, info, _ in first + calls:
        if info & 0xFFFFFFFF and not any(low <= where and where + 8 <= high for low, high in spans):
            yield f"a relocation writes to {where:#x}, which cannot be written"
            return


def _starts(image: Image, bindings: Bindings) -> Iterator[str]:
    """Functions of the start and the end: the loader calls whatever stands in their tables."""
    for array, size in ((25, 27), (26, 28)):
        table, length = image.first(array), image.first(size) or 0
        for slot in range(table, table + length // 8 * 8, 8) if table is not None else ():
            if slot in bindings.named or slot in bindings.resolvers:
                continue
            segment = image.load_of(bindings.relative[slot]) if slot in bindings.relative else None
            if segment is None or not segment.executable:
                yield "a function of its start or end is no code"
                return


def _symbols(symbols: tuple[Symbol, ...]) -> Iterator[str]:
    for at, one in enumerate(symbols):
        if at and not one.name and one.bind:
            yield "a symbol without a name is needed, or offered"
            return
        if at and one.bind and (one.bind not in _BINDS or one.kind not in _KINDS):
            yield f"{one.name} is a symbol of no kind that there is"
            return
    if any(one.imported and one.kind == 10 for one in symbols):
        yield "a function is needed that is chosen while it is bound, from elsewhere"


def _functions(image: Image, symbols: tuple[Symbol, ...]) -> Iterator[str]:
    """Exported functions must be code."""
    for one in symbols:
        if not 0 < one.section < _ABSOLUTE or not one.bind or one.kind not in (_FUNCTION, _CHOSEN):
            continue
        segment = image.load_of(one.value)
        if segment is None or not segment.executable:
            yield f"{one.name} is a function, and no code is where it is"
            return


def gnu_hash(name: bytes) -> int:
    """The hash of a name in DT_GNU_HASH."""
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _lookups(image: Image, symbols: tuple[Symbol, ...]) -> Iterator[str]:
    """Every export must be found as the loader looks for it."""
    exports = [(at, one) for at, one in enumerate(symbols) if not one.imported and one.bind and one.name]
    table = image.first(_GNU_HASH)
    if table is None:
        if exports and image.first(_HASH) is None:
            yield "nothing of it can be found: it has no hash table"
        return
    buckets, offset, words, shift = struct.unpack("<IIII", image.take(table, 16))
    if not buckets or not words or words & (words - 1):
        yield "its hash table has no buckets, or a filter of no power of two"
        return
    start = table + 16 + 8 * words
    chains = start + 4 * buckets
    step = max(1, len(exports) // _MOST_EXPORTS)
    for at, one in exports[::step]:
        value = gnu_hash(one.name.encode())
        (word,) = struct.unpack("<Q", image.take(table + 16 + 8 * (value // 64 % words), 8))
        mask = 1 << value % 64 | 1 << (value >> shift) % 64
        (bucket,) = struct.unpack("<I", image.take(start + 4 * (value % buckets), 4))
        (held,) = struct.unpack("<I", image.take(chains + 4 * (at - offset), 4)) if at >= offset else (0,)
        if word & mask != mask or not offset <= bucket <= at or held | 1 != value | 1:
            yield f"{one.name} cannot be found: the hash table does not lead to it"
            return


def elf_hash(name: bytes) -> int:
    """The hash of a name in the tables of versions."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value


def _versions(image: Image, count: int) -> Iterator[str]:
    indices = {0, 1}
    needed = set(image.names(_NEEDED))
    for file, versions in _needed_versions(image):
        if file not in needed:
            yield f"a version of {file or 'nothing'} is needed, which is not loaded"
        for hashed, index, name in versions:
            if elf_hash(name.encode()) != hashed:
                yield f"the version {name or 'without a name'} has another hash"
            indices.add(index & 0x7FFF)
    indices |= set(_defined_versions(image))
    table = image.first(_VERSYM)
    if table is not None and count:
        held = struct.unpack(f"<{count}H", image.take(table, 2 * count))
        if table % 2 or any(one & 0x7FFF not in indices for one in held):
            yield "a symbol has a version that is in no table"


def _needed_versions(image: Image) -> Iterator[tuple[str, list[tuple[int, int, str]]]]:
    table, count = image.first(_VERNEED), image.first(_VERNEEDNUM) or 0
    if table is None:
        return
    for at in range(min(count, _MOST_VERSIONS)):
        version, entries, file, first, following = struct.unpack("<HHIII", image.take(table, 16))
        if version != 1:
            raise Malformed("of no version that there is")
        found, place = [], table + first
        for step in range(min(entries, _MOST_VERSIONS)):
            hashed, _, index, name, more = struct.unpack("<IHHII", image.take(place, 16))
            found.append((hashed, index, image.string(name)))
            if bool(more) != (step < entries - 1):
                raise Malformed("the versions are not as many as they say")
            place += more
        yield image.string(file), found
        if bool(following) != (at < count - 1):
            raise Malformed("the versions are not as many as they say")
        table += following


def _defined_versions(image: Image) -> Iterator[int]:
    table, count = image.first(_VERDEF), image.first(_VERDEFNUM) or 0
    if table is None:
        return
    for _ in range(min(count, _MOST_VERSIONS)):
        version, _, index, _, _, _, following = struct.unpack("<HHHHIII", image.take(table, 20))
        if version != 1:
            raise Malformed("of no version that there is")
        yield index & 0x7FFF
        if not following:
            break
        table += following
