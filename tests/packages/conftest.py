"""Small tables of packages, drawn in a test."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from packaging.version import Version

from dsec_cli.packages.conflicts import Entry
from dsec_cli.packages.known import Facts, Row, Shelf

Table = Mapping[str, Mapping[str, Mapping[str, str]]]


def facts(name: str, releases: Mapping[str, Mapping[str, str]]) -> Facts:
    """`{"1": {"b": ">=2"}}` as facts."""
    rows = tuple(
        Row(name, (version,), "", on, needs, "", f"https://example.org/{name}/{version}")
        for version, wants in releases.items()
        for on, needs in wants.items()
    )
    return Facts(name, tuple(sorted(releases, key=Version)), frozenset(releases), rows)


class Making:
    """Builds shelves and entries."""

    @staticmethod
    def shelf(table: Table, *, known: Mapping[str, str] | None = None, extra: tuple[Row, ...] = ()) -> Shelf:
        found = {name: facts(name, releases) for name, releases in table.items()}
        for row in extra:
            before = found.get(row.package, Facts(row.package, (), frozenset(), ()))
            found[row.package] = before._replace(rows=(*before.rows, row))
        return Shelf(found.get, known=known or {})

    @staticmethod
    def entries(*texts: str) -> tuple[Entry, ...]:
        return tuple(
            Entry(*text.split(" ", 1), path=("dependencies", at))
            if " " in text
            else Entry(text, "", path=("dependencies", at))
            for at, text in enumerate(texts)
        )


@pytest.fixture(scope="session")
def making() -> type[Making]:
    """The builders."""
    return Making
