"""Keeps the maps of system libraries, by build id and hash of the file, for the next scan.

A cached map is used only where the file's bytes are the same, so a forged build id gains nothing. A cache
that cannot be read or written costs time, never an answer.
"""

from __future__ import annotations

import hashlib
import json
import os

from dsec.ownership import foreign_file
from dsec.wholefile import write_whole
from dsec_cli.plugins.libcmap import LibraryMap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 7
"""Raised whenever the analysis would answer differently."""
_MOST_BYTES = 8 << 20


def folder(environ: Mapping[str, str]) -> str:
    """Where maps are kept."""
    home = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "dsec", "plugin-scan")


def key(data: object, build: str | None, door: str) -> str:
    """The name of a library's map: build id, hash of its bytes, and what would read it."""
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()  # type: ignore[arg-type]  # any buffer
    return f"{(build or 'none')[:40]}-{digest}-{door}-{VERSION}.json"


def load(path: str) -> LibraryMap | None:
    """The map in a file; None where there is none that can be used."""
    try:
        if os.path.getsize(path) > _MOST_BYTES or foreign_file(path, os.environ):
            return None  # a verdict rests on it
        with open(path, "rb") as file:
            document = json.load(file)
        return _parsed(document)
    except (OSError, ValueError, KeyError, TypeError, AssertionError):
        return None


def _parsed(document: dict[str, object]) -> LibraryMap | None:
    if document.get("format") != f"dsec.library-map/{VERSION}":
        return None
    exports, groups = document["exports"], document["groups"]
    assert isinstance(exports, dict)
    assert isinstance(groups, list)
    parsed = tuple((tuple(int(one) for one in held), tuple(map(str, names))) for held, names in groups)
    found = {str(name): int(group) for name, group in exports.items()}
    if any(not 0 <= group < len(parsed) for group in found.values()):
        return None
    needed, objects = document["needed"], document["objects"]
    assert isinstance(needed, list)
    assert isinstance(objects, list)
    counts = (int(str(document["sites"])), int(str(document["unresolved"])))
    return LibraryMap(found, parsed, *counts, tuple(needed), frozenset(map(str, objects)))


def store(path: str, found: LibraryMap) -> None:
    """Leave a map for the next scan, if it can be."""
    document = {
        "format": f"dsec.library-map/{VERSION}",
        "sites": found.sites,
        "unresolved": found.unresolved,
        "needed": found.needed,
        "groups": found.groups,
        "exports": found.exports,
        "objects": sorted(found.objects),
    }
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_whole(path, (json.dumps(document).encode(),), durable=False)
    except OSError:
        return
