"""The plugins of a job: `plugins/NAME/VERSION/` in its state folder, and `NAME/current`, the one in use."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from typing import NamedTuple

from dsec.errors import FileProblem
from dsec.versions import semver_order
from dsec.wholefile import write_whole
from dsec_cli.plugins.signing.bundle import Package, read_package
from dsec_cli.plugins.signing.contents import MANIFEST
from dsec_cli.words import say, system

CURRENT = "current"
FOLDER = "plugins"
_ASIDE = ".tmp"
"""How the names of folders end that are no plugins (yet, or any more)."""


class Installed(NamedTuple):
    """One plugin that is installed."""

    name: str
    version: str
    """The one that is used."""
    status: str
    """What its signature was worth when it was installed."""
    signer: str
    folder: str
    others: tuple[str, ...]
    """Further versions that are there, the newest first."""


def root_of(home: str) -> str:
    """Where a job's plugins are."""
    return os.path.join(home, FOLDER)


def installed(root: str) -> list[Installed]:
    """Every plugin, by name; raises FileProblem."""
    try:
        names = sorted(os.listdir(root))
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=root, why=system(problem))) from None
    found = [one(root, name) for name in names if not name.startswith(".")]
    return [plugin for plugin in found if plugin is not None]


def one(root: str, name: str) -> Installed | None:
    """The plugin of that name; None: it is not installed."""
    base = os.path.join(root, name)
    try:
        version = os.readlink(os.path.join(base, CURRENT))
        versions = [entry for entry in os.listdir(base) if os.path.isdir(os.path.join(base, entry))]
        versions = [entry for entry in versions if not entry.startswith(".")]
    except OSError:
        return None
    others = sorted((v for v in versions if v not in (version, CURRENT)), key=semver_order, reverse=True)
    folder = os.path.join(base, version)
    said = about(folder)
    status, signer = str(said.get("status", "unknown")), str(said.get("signer", ""))
    return Installed(name, version, status, signer, folder, tuple(others))


def about(folder: str) -> dict[str, object]:
    """What was kept about an installed version; {} where that is gone."""
    try:
        with open(f"{folder}.json", "rb") as file:
            held = json.load(file)
    except (OSError, ValueError):
        return {}
    return dict(held) if isinstance(held, dict) else {}


def stage(root: str, name: str, files: dict[str, bytes], executable: frozenset[str]) -> str:
    """Write a package's files to a folder of its own, on the disk when this returns; raises FileProblem.

    `place` gives it its name, `drop` takes it away.
    """
    aside = os.path.join(root, f".{name}.{os.getpid()}{_ASIDE}")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        os.makedirs(aside, mode=0o700)  # nobody else changes what is about to be scanned
        for path, data in sorted(files.items()):
            full = os.path.join(aside, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            mode = 0o755 if path in executable or path.endswith(".so") else 0o644
            _write(full, data, mode)
        for folder, _, _ in os.walk(aside, topdown=False):
            _sync(folder)
    except OSError as problem:
        drop(aside)
        raise FileProblem(
            say("{path}: {why}", path=problem.filename or aside, why=system(problem)),
            hint="nothing was installed",
        ) from None
    return aside


def _write(path: str, data: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def drop(aside: str) -> None:
    """Leave nothing of a staged package."""
    shutil.rmtree(aside, ignore_errors=True)


def place(root: str, aside: str, name: str, version: str, *, said: dict[str, object]) -> str:
    """Make a staged package the one that is used; gives its folder. Raises FileProblem.

    `said`: what is kept about it beside it (`status`, `signer`, the system calls that its scan allows).
    Until the last step, a rename, the version that was used before stays in use.
    """
    base = os.path.join(root, name)
    folder = os.path.join(base, version)
    try:
        os.makedirs(base, exist_ok=True)
        os.chmod(aside, 0o755)  # noqa: S103 - as other folders; only its user writes
        _put(aside, folder)
        write_whole(f"{folder}.json", [json.dumps(said).encode()])
        use(root, name, version)
        _sync(root)
    except OSError as problem:
        drop(aside)
        raise FileProblem(
            say("{path}: {why}", path=problem.filename or folder, why=system(problem)),
            hint="the version before is still in use",
        ) from None
    return folder


def _put(aside: str, folder: str) -> None:
    """Rename a staged package; one that is there with the very same files stays, for it may be in use."""
    if not os.path.isdir(folder):
        os.rename(aside, folder)
        return
    with contextlib.suppress(FileProblem):  # somebody has put a link into it
        if read_package(folder)[1:] == read_package(aside)[1:]:
            return
    old = f"{aside}.old{_ASIDE}"
    os.rename(folder, old)
    try:
        os.rename(aside, folder)
    except OSError:
        os.rename(old, folder)
        raise
    drop(old)


def sweep(root: str) -> None:
    """Remove what killed commands have left; the caller holds the lock on the folder."""
    with contextlib.suppress(OSError):
        for name in os.listdir(root):
            if name.startswith(".") and name.endswith(_ASIDE):
                drop(os.path.join(root, name))


def use(root: str, name: str, version: str) -> None:
    """Make a version that is there the one that is used; raises OSError."""
    base = os.path.join(root, name)
    link = os.path.join(base, f".{CURRENT}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(link)
    os.symlink(version, link)
    os.rename(link, os.path.join(base, CURRENT))
    _sync(base)


def same(root: str, name: str, version: str, package: Package) -> bool | None:
    """Whether that version was installed with these very files; None: it is not installed."""
    folder = os.path.join(root, name, version)
    if not os.path.isdir(folder):
        return None
    kept = about(folder).get("files")
    if kept is not None:  # what was changed since can be mended by installing it again
        return kept == package.digest()
    try:
        with open(os.path.join(folder, MANIFEST), "rb") as file:
            return file.read() == package.files.get(MANIFEST)
    except OSError:
        return MANIFEST not in package.files


def remove(root: str, name: str) -> None:
    """Take a plugin away, all its versions; raises FileProblem."""
    base, aside = os.path.join(root, name), os.path.join(root, f".{name}.{os.getpid()}{_ASIDE}")
    try:
        os.rename(base, aside)  # first: half of it must not be used
        _sync(root)
        shutil.rmtree(aside)
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=problem.filename or base, why=system(problem))) from None
