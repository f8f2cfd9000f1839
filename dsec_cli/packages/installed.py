"""What an installed package says of itself: the head of its METADATA file, as facts."""

from __future__ import annotations

from dsec_cli.packages.known import PYTHON, Facts, Row
from dsec_cli.packages.requirement import normalised, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT = ("name", "version", "requires-dist", "requires-python")


def facts_of(text: str, source: str = "") -> Facts | None:
    """The package that `text` is the METADATA of; None: it names none.

    `source` tells where the text comes from; default: that it is installed.
    """
    fields: dict[str, list[str]] = {key: [] for key in _KEPT}
    for key, value in _head(text):
        if key in fields:
            fields[key].append(value)
    name, version = "".join(fields["name"][:1]), "".join(fields["version"][:1])
    if not name or not version:
        return None
    own = normalised(name)
    source = source or f"METADATA of the installed {own} {version}"
    return Facts(own, (version,), frozenset({version}), tuple(_rows(own, version, fields, source)))


def _rows(name: str, version: str, fields: dict[str, list[str]], source: str) -> Iterator[Row]:
    for text in fields["requires-python"][:1]:
        found = read(f"{PYTHON} {text}")
        if found is not None and found.wanted:
            yield Row(name, (version,), "", PYTHON, found.wanted, "", source)
    for text in fields["requires-dist"]:
        found = read(text)
        if found is not None:
            extras = tuple(sorted(found.extras))
            yield Row(name, (version,), "", found.name, found.wanted, found.marker, source, extras=extras)


def _head(text: str) -> Iterator[tuple[str, str]]:
    """The header fields, lower-case; the description below the first blank line is not looked at."""
    field: tuple[str, str] | None = None
    for line in text.splitlines():
        if not line.strip():
            break
        if line[0] in " \t" and field is not None:
            field = (field[0], f"{field[1]} {line.strip()}")
            continue
        if field is not None:
            yield field
        key, _, value = line.partition(":")
        field = (key.strip().lower(), value.strip())
    if field is not None:
        yield field
