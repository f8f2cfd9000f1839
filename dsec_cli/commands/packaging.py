"""Reads what packages are held against: an environment's METADATA files, and tables of the user's."""

from __future__ import annotations

import os
import stat
import sys

from dsec.errors import FileProblem
from dsec_cli.commands.tabled import names
from dsec_cli.packages import markers, table
from dsec_cli.packages.held import Held
from dsec_cli.packages.installed import facts_of
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.packages.known import Facts

MOST_BYTES = 16 << 20
_MOST_HEAD = 1 << 20
"""Of one METADATA file; its head comes first, and the description below it is not looked at."""
_SITE = ("site-packages", "dist-packages")
_HINT = "name a virtual environment, its bin/python, or a site-packages folder"


def tables(folder: str) -> tuple[Facts, ...]:
    """The user's own tables: `~/.ds/conflicts.json`, then `.dsec/conflicts.json` beside the contract."""
    found: list[Facts] = []
    for path in names(folder):
        data = _data(path, MOST_BYTES + 1)
        if data is not None and len(data) > MOST_BYTES:
            raise FileProblem(
                say("{path} is larger than {most} MiB", path=path, most=MOST_BYTES >> 20),
                hint="check the name",
            )
        found += () if data is None else table.parse(data, path)
    return tuple(found)


def _data(path: str, most: int) -> bytes | None:
    """The first bytes of a regular file; None: there is nothing. Raises FileProblem."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileProblem(
                say("{path} is no file", path=path), hint="remove it"
            )  # reading a pipe waits without end
        with open(path, "rb") as file:
            return file.read(most)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be read: {why}", path=path, why=system(problem)),
            hint="check its permissions",
        ) from None


def environment(path: str | None, *, extra: tuple[Facts, ...]) -> Held:
    """The environment at `path`, or the one that DSec runs in; nothing in it is run or imported.

    Raises FileProblem.
    """
    if path is None:
        folders, python = [one for one in sys.path if _is_site(one)], ".".join(map(str, sys.version_info[:3]))
        where = sys.prefix
    else:
        folders, python = _folders(path)
        where = path
    installed: dict[str, Facts] = {}
    for folder in folders:
        for facts in _installed(folder):
            installed.setdefault(facts.name, facts)
    known = markers.environment(python, machine=os.uname().machine)
    return Held(extra=extra, known=known, installed=installed, where=where)


def _is_site(path: str) -> bool:
    return os.path.basename(path) in _SITE and os.path.isdir(path)


def _folders(path: str) -> tuple[list[str], str]:
    """The folders of packages that belong to `path`, and the version of its Python as far as it is told."""
    if not os.path.exists(path):
        raise FileProblem(say("the environment {path} does not exist", path=path), hint=_HINT)
    if os.path.isdir(path) and (os.path.basename(os.path.normpath(path)) in _SITE or _has_metadata(path)):
        prefix = os.path.abspath(os.path.join(path, *[os.pardir] * 3))
        return [path], _python(prefix, [path])
    prefix = path if os.path.isdir(path) else os.path.dirname(os.path.dirname(os.path.abspath(path)))
    found = _sites(prefix)
    if not found and not os.path.isdir(path):
        # A link in /usr/local/bin leads to where the Python really lives.
        prefix = os.path.dirname(os.path.dirname(os.path.realpath(path)))
        found = _sites(prefix)
    if not found:
        raise FileProblem(
            say("{path} is no Python environment: it has no site-packages", path=path), hint=_HINT
        )
    return found, _python(prefix, found)


def _has_metadata(path: str) -> bool:
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(path))
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be read: {why}", path=path, why=system(problem)), hint=_HINT
        ) from None


def _sites(prefix: str) -> list[str]:
    found: list[str] = []
    for library in ("lib", "lib64"):
        folder = os.path.join(prefix, library)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        for name in names if not os.path.islink(folder) else ():
            sites = [os.path.join(folder, name, site) for site in _SITE if name.startswith("python3")]
            found += [site for site in sites if os.path.isdir(site)]
    return found


def _python(prefix: str, folders: list[str]) -> str:
    """`3.11.4` as `pyvenv.cfg` tells it, else `3.11` as the folder is named; "": nobody tells."""
    data = _data(os.path.join(prefix, "pyvenv.cfg"), _MOST_HEAD) or b""
    for line in data.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() in ("version", "version_info"):
            numbers = value.strip().split(".")[:3]
            return ".".join(numbers) if all(one.isdecimal() for one in numbers) else ""
    above = os.path.basename(os.path.dirname(os.path.abspath(folders[0])))
    return above.removeprefix("python") if above.removeprefix("python3.").isdecimal() else ""


def _installed(folder: str) -> list[Facts]:
    """The packages of one folder, by name; what cannot be read or is damaged is not one."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".dist-info"):
            data = _data(os.path.join(folder, name, "METADATA"), _MOST_HEAD)
            facts = None if data is None else facts_of(data.decode("utf-8", "replace"))
            found += [] if facts is None else [facts]
    return found
