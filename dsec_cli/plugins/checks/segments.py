"""Asks: is memory mapped as it should be: no executable stack, no writable code, no relocations in code."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.elf import PT_GNU_RELRO, PT_GNU_STACK
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.package import Unit
    from dsec_cli.plugins.result import Finding

DT_TEXTREL, DT_FLAGS, DF_TEXTREL, DT_PLTGOT = 22, 30, 4, 3
DT_FLAGS_1, DF_1_NOW, DF_BIND_NOW, DT_BIND_NOW = 0x6FFFFFFB, 1, 8, 24


def check(facts: Facts) -> Iterator[Finding]:
    """All findings about segments."""
    for index, unit in enumerate(facts.package.units):
        image = unit.analysis.image
        yield from _stack(facts, index, image)
        if image.first(DT_TEXTREL) is not None or (image.first(DT_FLAGS) or 0) & DF_TEXTREL:
            yield finding("text-relocation", f"{unit.analysis.bindings.text} of them", facts, unit=index)
        elif unit.analysis.bindings.text:
            yield finding("text-relocation", "unannounced", facts, unit=index)
        for segment in image.loads:
            if segment.executable and segment.writable:
                yield finding("writable-code", f"at {segment.vaddr:#x}", facts, unit=index)
        yield from _relro(facts, index, unit)
        if _mixed(image):
            yield finding("mixed-segment", "", facts, unit=index)


def _stack(facts: Facts, index: int, image: Image) -> Iterator[Finding]:
    stacks = [one for one in image.segments if one.kind == PT_GNU_STACK]
    if any(one.executable for one in stacks):
        yield finding("exec-stack", "", facts, unit=index)
    elif not stacks:
        yield finding("exec-stack", "the file does not say that it is not", facts, unit=index)


def _relro(facts: Facts, index: int, unit: Unit) -> Iterator[Finding]:
    image = unit.analysis.image
    slots = (*unit.analysis.bindings.named, *unit.analysis.bindings.resolvers)
    if not slots or not image.dynamic:
        return
    ranges = [one for one in image.segments if one.kind == PT_GNU_RELRO]
    now = (
        image.first(DT_BIND_NOW) is not None
        or (image.first(DT_FLAGS) or 0) & DF_BIND_NOW
        or (image.first(DT_FLAGS_1) or 0) & DF_1_NOW
    )
    table = image.first(DT_PLTGOT)
    if not ranges:
        yield finding("no-relro", "no part is protected", facts, unit=index)
    elif not now:
        yield finding("no-relro", "functions are bound late", facts, unit=index)
    elif table is not None and not any(one.vaddr <= table < one.vaddr + one.memsz for one in ranges):
        yield finding("no-relro", "the protected part does not hold the table", facts, unit=index)


def _mixed(image: Image) -> bool:
    """Whether read-only data lies in an executable segment: no other read-only segment is there."""
    return any(one.executable for one in image.loads) and not any(
        not one.executable and not one.writable and one.filesz for one in image.loads
    )


CHECK = Check(
    "segments", ("exec-stack", "text-relocation", "writable-code", "no-relro", "mixed-segment"), check
)
