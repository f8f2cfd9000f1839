"""Columns of tables whose names say that they hold secrets: `user,password`. Pure."""

from __future__ import annotations

import csv
import io

from dsec_cli.snapshot.secretvalues import is_meant, strength

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ENDS = (".csv", ".tsv")
"""What names of tables end in."""
_DELIMITERS = ",;\t"
_LONGEST = 1 << 12
"""Characters of a line of names, and of any other line."""


def values(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of the secrets in such columns of a table."""
    end = text.find("\n")
    head = text[:end]
    if not 0 < end <= _LONGEST or not any(map(strength, _cells(head.lower(), _delimiter(head)))):
        return
    delimiter = _delimiter(head)
    names = _cells(head, delimiter)
    wanted = [(number, name) for number, name in enumerate(names) if strength(name)]
    at = end + 1
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        cells = _cells(text[at:stop], delimiter) if stop - at <= _LONGEST else []
        for number, name in wanted:
            if number < len(cells) and is_meant(name, cells[number]):
                start = text.find(cells[number], at, stop)
                yield start, start + len(cells[number])
        at = stop + 1


def _delimiter(head: str) -> str:
    return max(_DELIMITERS, key=head.count)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader(io.StringIO(line), delimiter=delimiter), [])]
    except csv.Error:
        return []
