"""What an installer is asked for to have recorded packages again, and what nobody can be asked for. Pure.

The record may be somebody else's: a line of a requirements file is made only of what cannot be anything
but a name, a version, an address.
"""

from __future__ import annotations

import re
import shlex

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.snapshot.manifest import Plain

OURS = "dsec"
_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,127}[a-z0-9])?\Z")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.!+_-]{0,127}\Z")
_ADDRESS = re.compile(r"(?:https?|ssh|git|file)://[!-~]{1,2000}\Z")
_COMMIT = re.compile(r"[0-9A-Za-z]{7,64}\Z")
_FOLDER = re.compile(r"[0-9A-Za-z._/-]{1,500}\Z")
_ARTIFACT = re.compile(r"sha256:[0-9a-f]{64}\Z")
_SYSTEMS = ("git", "hg", "svn", "bzr")


class Asked(Record):
    """What pip is asked for."""

    hashed: tuple[str, ...]
    """Lines with the hash of an archive, which pip compares."""
    plain: tuple[str, ...]
    wanted: tuple[Plain, ...]
    """The packages that these lines are for."""
    problems: tuple[str, ...]
    """Packages that nobody can be asked for: why, and what to do by hand."""


def asked(packages: Iterable[Plain], snapshot: str) -> Asked:
    """The lines for the packages of a snapshot, by name."""
    hashed: list[str] = []
    plain: list[str] = []
    wanted: list[Plain] = []
    problems: list[str] = []
    for one in sorted(packages, key=lambda one: str(one["name"])):
        if one["name"] == OURS or one.get("installer") == "conda":
            continue
        line = _line(one)
        if line is None:
            problems.append(_by_hand(one, snapshot))
            continue
        wanted.append(one)
        known = one["artifact"] if one.get("origin") in ("index", "archive") else None
        if known is not None and _ARTIFACT.match(known):
            hashed.append(f"{line} --hash={known}")
        else:
            plain.append(line)
    return Asked(tuple(hashed), tuple(plain), tuple(wanted), tuple(problems))


def _line(one: Plain) -> str | None:
    """The requirement; None: there is none that says it."""
    name, source, commit = one["name"], one.get("source") or "", one.get("commit") or ""
    if not _NAME.match(name):
        return None
    if one.get("origin") in ("index", "archive"):
        return f"{name}=={one['version']}" if _VERSION.match(one["version"]) else None
    if one.get("origin") != "vcs" or not _ADDRESS.match(source) or not _COMMIT.match(commit):
        return None
    system, folder = one.get("vcs") or "git", one.get("subdirectory") or ""
    if system not in _SYSTEMS or (folder and not _FOLDER.match(folder)) or "#" in source:
        return None
    return f"{name} @ {system}+{source}@{commit}" + (f"#subdirectory={folder}" if folder else "")


def _by_hand(one: Plain, snapshot: str) -> str:
    """Why a package is not rebuilt, and what brings it back."""
    name, origin, source = one["name"], one.get("origin"), one.get("source") or ""
    path = source.removeprefix("file://")
    told = f"{name} {one['version']}".rstrip()
    editable = one.get("editable") or {}
    if origin == "editable" and editable.get("own"):
        return f"{told}: it is the project itself; by hand: pip install --no-deps -e ."
    if origin == "editable" and editable.get("tree"):
        place = f"source-{name}"
        at = f" (commit {editable['commit'][:12]})" if editable.get("commit") else ""
        words = f"dsec snapshot restore {snapshot} {place} --section dependencies --to sources"
        return (
            f"{told}: installed in place from {source}{at}; "
            f"by hand: {words} && pip install --no-deps -e sources/{place}"
        )
    if origin in ("editable", "folder") and path:
        argv = ("pip", "install", "--no-deps", *(["-e"] if origin == "editable" else []), path)
        return (
            f"{told}: it came from {source}, of which the snapshot has no files; "
            f"where that is as it was, by hand: {shlex.join(argv)}"
        )
    if origin == "vcs":
        return f"{told}: its commit or address is not known ({source or 'none'}): install it by hand"
    if not one["version"]:
        return f"{told}: its version is not known"
    words = shlex.quote(f"{name}=={one['version']}")
    return f"{told}: nothing says where it came from; by hand: pip install --no-deps {words}"


def explicit(conda: Iterable[Plain]) -> tuple[str, tuple[str, ...]]:
    """The file that `conda create --file` takes, and the packages whose address is not known."""
    rows = list(conda)
    lines = [line for one in rows for line in _explicit(one)]
    unknown = [f"{one['name']} {one['version']}" for one in rows if not list(_explicit(one))]
    return "".join(f"{line}\n" for line in ("@EXPLICIT", *lines)), tuple(unknown)


def _explicit(one: Plain) -> Iterator[str]:
    source = one.get("source") or ""
    if not _ADDRESS.match(source) or "#" in source or "<redacted" in source:
        return
    digest = one.get("md5") or ""
    yield source + (f"#{digest}" if re.fullmatch(r"[0-9a-f]{32}", digest) else "")
