"""Asks: is the file put together as linkers do it, and could all of its code be read."""

from __future__ import annotations

import math
from collections import Counter

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.elf import ET_EXEC, MACHINES
from dsec_cli.plugins.loader_rules import refusals
from dsec_cli.plugins.notes import build_id
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.package import Unit
    from dsec_cli.plugins.result import Finding

_PACKED_BITS = 7.2
"""Bits of information per byte above which code is no code: compiled code has about 6."""
_SAMPLE = 1 << 18
_LEAST = 4096


def check(facts: Facts) -> Iterator[Finding]:
    """All findings about the shape of the files."""
    for index, unit in enumerate(facts.package.units):
        image = unit.analysis.image
        for problem in dict.fromkeys((*refusals(unit.analysis), *image.problems)):
            yield finding("malformed", problem, facts, unit=index)
        if MACHINES.get(image.machine) != "x86_64":
            yield finding("arch", MACHINES.get(image.machine, f"machine {image.machine}"), facts, unit=index)
        elif image.kind == ET_EXEC:
            told = "a program that is not position independent keeps addresses where they are not followed"
            yield finding("arch", told, facts, unit=index)
        elif unit.analysis.graph is None and not unit.analysis.swept:
            yield finding("no-disassembler", "", facts, unit=index)
        if unit.analysis.swept:
            told = f"{image.size / 1e6:.0f} MB; calls of watched names were found, ways to them were not"
            yield finding("too-large", told, facts, unit=index)
        if build_id(image) is None:
            yield finding("no-build-id", "", facts, unit=index)
        graph = unit.analysis.graph
        if graph is not None and not graph.functions.unwind and graph.functions.by_start:
            yield finding("no-unwind", "", facts, unit=index)
        bits = _information(unit)
        if bits is not None and bits > _PACKED_BITS:
            yield finding("packed", f"{bits:.1f} bits of information per byte", facts, unit=index)


def _information(unit: Unit) -> float | None:
    """Entropy of the executable bytes (Shannon), in bits per byte; None: too few to tell."""
    raw = b"".join(
        bytes(unit.analysis.image.data[one.offset : one.offset + min(one.filesz, _SAMPLE)])
        for one in unit.analysis.image.loads
        if one.executable
    )
    if len(raw) < _LEAST:
        return None
    counts = Counter(raw)
    return -sum(n / len(raw) * math.log2(n / len(raw)) for n in counts.values())


CHECK = Check(
    "shape",
    ("malformed", "arch", "no-disassembler", "too-large", "no-build-id", "no-unwind", "packed"),
    check,
)
