"""Asks: where will the loader search for libraries, and which will it load."""

from __future__ import annotations

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.package import Unit
    from dsec_cli.plugins.result import Finding

DT_RPATH, DT_RUNPATH = 15, 29
_OWN = (
    "libc.so", "libc.musl", "ld-linux", "ld-musl", "libm.so", "libgcc_s.so", "libpthread.so", "libdl.so",
    "librt.so", "libutil.so", "libresolv.so", "libcrypt.so", "libanl.so",
)  # fmt: skip
_LOADING = {
    0x6FFFFEFB: "DT_DEPAUDIT",
    0x6FFFFEFC: "DT_AUDIT",
    0x7FFFFFFD: "DT_AUXILIARY",
    0x7FFFFFFF: "DT_FILTER",
}
DT_FLAGS_1, DF_1_GLOBAL, DF_1_INTERPOSE, DT_SYMBOLIC = 0x6FFFFFFB, 2, 0x400, 16


def check(facts: Facts) -> Iterator[Finding]:
    """All findings about the search for libraries and names."""
    bundled = {unit.name for unit in facts.package.units}
    for index, unit in enumerate(facts.package.units):
        yield from _paths(facts, index, unit)
        for name in unit.analysis.image.names(1):
            if "/" in name:
                yield finding("needed-path", name, facts, unit=index)
            elif not name.startswith(_OWN) and name not in bundled:
                yield finding("needed-other", name, facts, unit=index)
        for tag, word in _LOADING.items():
            for name in unit.analysis.image.names(tag):
                yield finding("audit", f"{word} {name}", facts, unit=index)
        flags = unit.analysis.image.first(DT_FLAGS_1) or 0
        for bit, word in ((DF_1_GLOBAL, "DF_1_GLOBAL"), (DF_1_INTERPOSE, "DF_1_INTERPOSE")):
            if flags & bit:
                yield finding("global-scope", word, facts, unit=index)


def _paths(facts: Facts, index: int, unit: Unit) -> Iterator[Finding]:
    for tag, word in ((DT_RUNPATH, "RUNPATH"), (DT_RPATH, "RPATH")):
        for text in unit.analysis.image.names(tag):
            for element in text.split(":"):
                yield from _element(facts, index, word, element)


def _element(facts: Facts, index: int, word: str, element: str) -> Iterator[Finding]:
    plain = element.replace("${ORIGIN}", "$ORIGIN")
    if not plain:
        yield finding(
            "runpath", f"{word} has an empty element, which is the current folder", facts, unit=index
        )
    elif plain == "$ORIGIN" or plain.startswith("$ORIGIN/"):
        yield finding("runpath-origin", f"{word} {element}", facts, unit=index)
    elif not plain.startswith("/"):
        yield finding("runpath", f"{word} {element}, from the current folder on", facts, unit=index)
    else:
        yield finding("runpath", f"{word} {element}", facts, unit=index)


CHECK = Check(
    "searching",
    ("runpath", "runpath-origin", "needed-path", "needed-other", "audit", "global-scope"),
    check,
)
