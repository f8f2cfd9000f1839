"""MANIFEST.json: which files a plugin's package has, and what it says of itself. The signature is over it."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import NamedTuple

from dsec.errors import StoredFormError
from dsec_cli.words import say

MANIFEST = "MANIFEST.json"
SIGNATURE = "MANIFEST.json.minisig"
DECLARED = "plugin.yaml"
UNLISTED = frozenset((MANIFEST, SIGNATURE))
"""Files of a package that its manifest does not list."""
FORMAT = "dsec.plugin"
VERSION = (1, 0)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")


class Entry(NamedTuple):
    """One file."""

    nbytes: int
    blake3: str


class Manifest(NamedTuple):
    """What a package says that it is."""

    name: str
    version: str
    expires: date | None
    """The last day on which it is to be installed; None: no end."""
    files: dict[str, Entry]
    """By path in the package, with `/`."""

    @property
    def comment(self) -> str:
        """What the signature's trusted comment must be: nobody can pass one plugin off as another."""
        return f"{self.name} {self.version}"


def is_name(text: str) -> bool:
    """Whether a text can name a plugin: it becomes a folder's name."""
    return _NAME.fullmatch(text) is not None and ".." not in text


def manifest_text(manifest: Manifest) -> bytes:
    """The manifest's file, always the same for the same content."""
    held = {
        "format": FORMAT,
        "format_version": list(VERSION),
        "name": manifest.name,
        "version": manifest.version,
        "expires": None if manifest.expires is None else manifest.expires.isoformat(),
        "files": {
            path: {"bytes": entry.nbytes, "blake3": entry.blake3}
            for path, entry in sorted(manifest.files.items())
        },
    }
    return (json.dumps(held, indent=1, ensure_ascii=False) + "\n").encode()


def read_manifest(data: bytes, where: str) -> Manifest:
    """The manifest of a file; raises StoredFormError."""
    try:
        held = json.loads(data, object_pairs_hook=_once)
    except (ValueError, RecursionError) as problem:
        raise StoredFormError(
            say("{where} is no manifest: {problem}", where=where, problem=problem)
        ) from None
    if not isinstance(held, dict) or held.get("format") != FORMAT:
        raise StoredFormError(
            say("{where} is no manifest of a plugin", where=where), hint="dsec plugin sign writes one"
        )
    version = held.get("format_version")
    if not isinstance(version, list) or version[:1] != [VERSION[0]]:
        raise StoredFormError(
            say("{where} is of version {version}", where=where, version=version),
            hint=say("this dsec reads {version}.x", version=VERSION[0]),
        )
    name, given, files = held.get("name"), held.get("version"), held.get("files")
    if not (isinstance(name, str) and isinstance(given, str) and isinstance(files, dict)) or not (
        is_name(name) and given.isprintable()
    ):
        raise StoredFormError(
            say("{where} names no plugin", where=where), hint="dsec plugin sign writes it anew"
        )
    return Manifest(name, given, _day(held.get("expires"), where), _entries(files, where))


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    held = dict(pairs)
    if len(held) != len(pairs):
        raise ValueError("a key stands twice in it")
    return held


def _day(text: object, where: str) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        raise StoredFormError(say("{where}: expires: {text!r} is no day", where=where, text=text)) from None


def _entries(files: dict[str, object], where: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for path, entry in files.items():
        size = entry.get("bytes") if isinstance(entry, dict) else None
        told = entry.get("blake3") if isinstance(entry, dict) else None
        hashed = isinstance(told, str) and _HASH.fullmatch(told) is not None
        if type(size) is not int or size < 0 or not hashed or not path.isprintable():
            raise StoredFormError(say("{where}: {path!r} has no size and hash", where=where, path=path))
        found[path] = Entry(size, str(told))
    return found


def differences(manifest: Manifest, files: dict[str, Entry]) -> list[str]:
    """What of a package's files is not as its manifest says, in words."""
    said = []
    for path in sorted(manifest.files.keys() | files.keys()):
        wanted, found = manifest.files.get(path), files.get(path)
        if wanted is None:
            said.append(f"{path} is not in the manifest")
        elif found is None:
            said.append(f"{path} is missing")
        elif found != wanted:
            said.append(f"{path} is not the one that was signed")
    return said
