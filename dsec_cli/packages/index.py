"""What a package index says of one project, in the JSON of the simple repository API (PEP 691)."""

from __future__ import annotations

from dsec.core.pep440 import parse, public, satisfies
from dsec.errors import DSecError
from dsec.record import Record
from dsec_cli.packages.requirement import normalised
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from dsec_cli.packages.known import Facts

    class Index(Protocol):
        """Somewhere that releases and their metadata come from."""

        def releases(self, name: str) -> tuple[Release, ...]:
            """All releases of a package, in ascending order; empty: there is none. Raises IndexProblem."""

        def facts(self, name: str, release: Release) -> Facts | None:
            """What a release requires; None: the index does not tell. Raises IndexProblem."""


MEDIA_TYPE = "application/vnd.pypi.simple.v1+json"
_SDISTS = (".tar.gz", ".zip", ".tar.bz2", ".tgz")


class IndexProblem(DSecError):
    """The index did not answer, or not what an index answers."""


class File(Record):
    """One file of a project."""

    version: str
    url: str
    python: str
    """Requires-Python; "": any."""
    yanked: str | None
    """The publisher's reason; None: not taken back."""
    metadata: str
    """Hash of its separate metadata (`sha256=...`); "-": there are some without; "": there are none."""
    wheel: str
    """Compatibility tags, `py3-none-any`; "": a source distribution."""


class Release(Record):
    """One version of a project."""

    version: str
    python: str
    yanked: str | None
    metadata_url: str
    """Where its metadata are, or may be, without the package; "": there is no wheel."""
    metadata_hash: str
    """`sha256=...`, or "-"; "": the index does not say that it offers them, so they may not be there."""
    wheel_url: str = ""
    """The wheel that they are the metadata of."""


MOST_FILES = 100_000
"""On the page of one project; the fullest pages of public indexes list some ten thousand."""


def files_of(document: object, name: str) -> tuple[File, ...]:
    """The files that a project's page lists; what is no package file is left out. Raises IndexProblem."""
    listed = document.get("files") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise IndexProblem(say("the index's page of {name} lists no files", name=name), hint="check --index")
    if len(listed) > MOST_FILES:
        raise IndexProblem(
            say(
                "the index's page of {name} lists {count} files, more than {most}",
                name=name,
                count=len(listed),
                most=MOST_FILES,
            ),
            hint="check --index",
        )
    found = (_file(one, name) for one in listed)
    return tuple(one for one in found if one is not None)


def _file(one: object, name: str) -> File | None:
    if not isinstance(one, dict):
        return None
    filename, url = one.get("filename"), one.get("url")
    if not isinstance(filename, str) or not isinstance(url, str):
        return None
    version, tags = _version(filename, name)
    if parse(version) is None:
        return None
    python, yanked = one.get("requires-python"), one.get("yanked", False)
    return File(
        version,
        url,
        python if isinstance(python, str) else "",
        yanked if isinstance(yanked, str) else "" if yanked is True else None,
        _metadata(one),
        tags,
    )


def _version(filename: str, name: str) -> tuple[str, str]:
    """Version and tags of `torch-2.3.0-cp311-cp311-linux_x86_64.whl` or `torch-2.3.0.tar.gz`; "": neither."""
    if filename.endswith(".whl"):
        parts = filename[:-4].split("-")
        good = len(parts) in (5, 6) and normalised(parts[0]) == name
        return (parts[1], "-".join(parts[-3:])) if good else ("", "")
    for ending in _SDISTS:
        if filename.endswith(ending):
            bare = filename.removesuffix(ending)
            head, version = bare[: len(name)], bare[len(name) :]
            return (version[1:], "") if normalised(head) == name and version[:1] == "-" else ("", "")
    return "", ""


def _metadata(one: dict[str, object]) -> str:
    stated = one.get("core-metadata", one.get("dist-info-metadata", False))
    if isinstance(stated, dict):
        digest = stated.get("sha256")
        return f"sha256={digest}" if isinstance(digest, str) else "-"
    return "-" if stated is True else ""


def releases_of(files: tuple[File, ...], *, python: str, machine: str) -> tuple[Release, ...]:
    """The versions that a Python can have on Linux, in ascending order."""
    by_version: dict[str, list[File]] = {}
    for file in files:
        if _fits(file, python, machine):
            by_version.setdefault(file.version, []).append(file)
    found = [_release(version, held, python) for version, held in by_version.items()]
    keyed = [(public(parsed), one) for one in found if (parsed := parse(one.version)) is not None]
    return tuple(one for _, one in sorted(keyed))


def _fits(file: File, python: str, machine: str) -> bool:
    """Whether the file can be installed; a wheel for another system or Python cannot."""
    if file.python and not satisfies(file.python, python):
        return False
    if not file.wheel:
        return True
    interpreter, abi, platform = file.wheel.split("-")
    major, minor = [*python.split("."), "0"][:2]
    tags = {f"py{major}", f"py{major}{minor}", f"cp{major}{minor}"}
    stable = abi == "abi3" and any(_older(tag, major, minor) for tag in interpreter.split("."))
    if not stable and not tags.intersection(interpreter.split(".")):
        return False
    linux = any(
        one.startswith(("linux", "manylinux")) and one.endswith(machine) for one in platform.split(".")
    )
    return platform == "any" or linux


def _older(tag: str, major: str, minor: str) -> bool:
    digits = tag.removeprefix(f"cp{major}")
    return tag != digits and digits.isdecimal() and int(digits) <= int(minor)


def _release(version: str, files: list[File], python: str) -> Release:
    wheels = [file for file in files if file.wheel]
    told = next((file for file in wheels if file.metadata), wheels[0] if wheels else None)
    reasons = [file.yanked for file in files]
    return Release(
        version,
        python,
        next(filter(None, reasons), "") if None not in reasons else None,
        f"{told.url}.metadata" if told is not None else "",
        told.metadata if told is not None else "",
        told.url if told is not None else "",
    )
