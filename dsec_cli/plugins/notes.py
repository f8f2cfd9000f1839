"""Notes of an image: the build id, and what the code promises about indirect branches."""

from __future__ import annotations

import struct

from dsec_cli.plugins.elf import PT_GNU_PROPERTY, PT_NOTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.elf import Image

_MOST = 1 << 20


def build_id(image: Image) -> str | None:
    """The linker's hash of the file, in hexadecimal digits; None where it left none."""
    for name, kind, body in _notes(image):
        if name == b"GNU" and kind == 3 and body:
            return body.hex()
    return None


def properties(image: Image) -> tuple[str, ...]:
    """Hardware checks that all of the code allows: `ibt`, `shstk` (x86-64), `bti`, `pac` (aarch64)."""
    for name, kind, body in _notes(image):
        if name != b"GNU" or kind != 5 or len(body) < 12:
            continue
        what, _, bits = struct.unpack("<III", body[:12])
        if what == 0xC0000002:
            return tuple(word for bit, word in ((1, "ibt"), (2, "shstk")) if bits & bit)
        if what == 0xC0000000:
            return tuple(word for bit, word in ((1, "bti"), (2, "pac")) if bits & bit)
    return ()


def _notes(image: Image) -> Iterator[tuple[bytes, int, bytes]]:
    for segment in image.segments:
        if segment.kind not in (PT_NOTE, PT_GNU_PROPERTY):
            continue
        raw = image.data[segment.offset : segment.offset + min(segment.filesz, _MOST)]
        at = 0
        while at + 12 <= len(raw):
            name_size, size, kind = struct.unpack("<III", raw[at : at + 12])
            name_end = at + 12 + name_size
            start = (name_end + 3) & ~3
            if start + size > len(raw):
                break
            yield raw[at + 12 : name_end].rstrip(b"\0"), kind, raw[start : start + size]
            align = 7 if segment.kind == PT_GNU_PROPERTY else 3
            at = (start + size + align) & ~align
