"""Finds the configuration that holds for a file: the nearest one upwards from its folder.

Looking costs two questions to the file system per folder. Reading, and the TOML library, are paid
for only where a file is there.
"""

from __future__ import annotations

import os

from dsec.errors import FileProblem
from dsec.record import Record
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OWN, SHARED = ".dsec.toml", "pyproject.toml"
"""The first goes before the second in one folder, as it speaks of nothing else."""

_OURS_BELOW = {b"tool": (b"dsec",), b"": (b"tool.dsec", b"tool={")}
"""How a line of the table begins that can open ours without a heading of its own."""


class Configured(Record):
    """What one configuration file says."""

    file: str = ""
    """Its name as people see it; "" when there is none."""
    folder: str = ""
    """Absolute; patterns and paths in the file are relative to it."""
    values: Mapping[str, object] = {}
    """By key, checked: lists are tuples."""
    lines: Mapping[str, int] = {}
    """Where each key stands."""

    @property
    def path_of_file(self) -> str:
        """Absolute."""
        return os.path.join(self.folder, os.path.basename(self.file))

    def texts(self, key: str) -> tuple[str, ...]:
        """The list under `key`; empty when it is not stated."""
        found = self.values.get(key, ())
        assert isinstance(found, tuple), f"{key} is checked to be a list"
        return found

    def text(self, key: str) -> str | None:
        """The text under `key`."""
        found = self.values.get(key)
        return None if found is None else str(found)

    def place(self, key: str) -> str:
        """`pyproject.toml:12: ` for messages about the value of `key`."""
        return f"{self.file}:{self.lines.get(key, 1)}: "

    def path(self, name: str) -> str:
        """A path as the file means it, as seen from here."""
        joined = os.path.normpath(os.path.join(self.folder, name))
        relative = os.path.relpath(joined)
        return joined if relative.startswith(os.pardir) else relative


NOTHING = Configured()


class Configuration:
    """The configuration of every folder that was asked for, each read once."""

    def __init__(self, *, isolated: bool) -> None:
        self._known: dict[str, Configured] = {}
        self._isolated = isolated

    def here(self) -> Configured:
        """The one of the current folder: it decides what a run has only once."""
        return self.near(os.curdir)

    def of(self, file: str) -> Configured:
        """The one nearest to `file`: it decides which rules hold there."""
        return self.near(os.path.dirname(file) or os.curdir)

    def near(self, folder: str) -> Configured:
        """The one nearest to `folder`, upwards; raises UsageError for one that is wrong."""
        if self._isolated:
            return NOTHING
        if folder not in self._known:
            found = self._upwards(os.path.abspath(folder))
            if found.folder:
                _refuse_foreign(found, os.path.abspath(folder))
            self._known[folder] = found
        return self._known[folder]

    def _upwards(self, folder: str) -> Configured:
        if folder not in self._known:
            found = _read(folder)
            if found is None:
                above = os.path.dirname(folder)
                found = NOTHING if above == folder else self._upwards(above)
            self._known[folder] = found
        return self._known[folder]


def _refuse_foreign(found: Configured, folder: str) -> None:
    """Raise FileProblem where somebody has put a configuration into a shared folder above.

    Whose the checked folder is may configure the check: a clone, a checkout that a CI system made.
    """
    try:
        owner = os.stat(found.path_of_file).st_uid
        trusted = (os.geteuid(), 0, os.stat(folder).st_uid)
    except OSError:
        return  # it is gone since it was read
    if owner in trusted:
        return
    from dsec.ownership import owner_name, owners

    if owner not in owners(os.environ):
        raise FileProblem(
            say("{path} belongs to {owner}, and is not read", path=found.file, owner=owner_name(owner)),
            hint="use --isolated, or a configuration of your own in this folder",
        )


def _read(folder: str) -> Configured | None:
    for name in (OWN, SHARED):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            data = _content(path)
            if name == OWN or speaks(data):
                from dsec_cli.commands.configuration_file import read

                found = read(path, data)
                if found is not None:
                    return found
        elif os.path.lexists(path):
            raise FileProblem(
                say("{path} is no file", path=path), hint="mend or remove it, or use --isolated"
            )
    return None


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            # Editors on Windows begin files with a mark that nobody sees, and that TOML does not know.
            return file.read().removeprefix(b"\xef\xbb\xbf")
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be read: {why}", path=path, why=system(problem)),
            hint="mend its permissions, or use --isolated",
        ) from problem


def speaks(data: bytes) -> bool:
    """Whether a pyproject.toml may have a table of ours: the TOML library costs a third of a lint."""
    if b"dsec" not in data:
        return False
    table = b""
    for line in data.split(b"\n"):
        bare = line.translate(None, b" \t\"'")
        if bare.startswith(b"["):
            table = bare.strip(b"[").partition(b"]")[0]
            if (table + b".").startswith(b"tool.dsec."):
                return True
        elif bare.startswith(_OURS_BELOW.get(table, b"\n")):
            return True
    return False
