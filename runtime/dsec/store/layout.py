"""The folder of a store: what is where, how it is made, and how an old or a newer one is told.

store         `dsec.store 1`: the version of all that is here
packs/        what was put in; each file's name is its hash
records/      documents under names
scratch/      files that are being written
cache/        the index and what folders looked like: may be removed
lock          who puts in holds it shared, `prune` alone
"""

from __future__ import annotations

import os
import stat

from dsec.record import Record
from dsec.store import scratch
from dsec.store.outcomes import Expected
from dsec.store.values import Missing, StoreProblem
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.store.disk import Disk

_FORM = b"dsec.store "
_VERSION = 1
_FOLDERS = ("packs", "records", "scratch", "cache")
_FILES = ("store", "lock", "records.written", "cache/index")


class Layout(Record):
    """Paths of a store."""

    root: str

    @property
    def packs(self) -> str:
        """Where packs are."""
        return os.path.join(self.root, "packs")

    @property
    def records(self) -> str:
        """Where records are."""
        return os.path.join(self.root, "records")

    @property
    def scratch(self) -> str:
        """Where files are written."""
        return os.path.join(self.root, "scratch")

    @property
    def cache(self) -> str:
        """What may be removed."""
        return os.path.join(self.root, "cache")

    @property
    def table(self) -> str:
        """The table of all objects."""
        return os.path.join(self.root, "cache", "index")

    @property
    def lock(self) -> str:
        """What is locked."""
        return os.path.join(self.root, "lock")

    @property
    def form(self) -> str:
        """The file that says which version this is."""
        return os.path.join(self.root, "store")


def opened(path: str, disk: Disk, *, create: bool) -> Layout:
    """The store at this path; raises StoreProblem, Missing and OSError."""
    layout = Layout(os.path.abspath(path))
    _refuse_strange(layout)
    try:
        with open(layout.form, "rb") as file:
            _check(layout, file.read(64))
    except FileNotFoundError:
        if not create:
            raise Missing(say("there is no store at {path}", path=path)) from None
        _make(layout, disk)
    except NotADirectoryError:
        raise StoreProblem(say("{path} is not a folder", path=path)) from None
    return layout


def _refuse_strange(layout: Layout) -> None:
    """Raise StoreProblem, or OSError, for a folder that somebody else prepared with links or pipes.

    Nothing is removed or written where a link leads, and no pipe is waited for.
    """
    for names, is_right in ((_FOLDERS, stat.S_ISDIR), (_FILES, stat.S_ISREG)):
        for name in names:
            path = os.path.join(layout.root, name)
            try:
                mode = os.lstat(path).st_mode
            except (FileNotFoundError, NotADirectoryError):
                continue
            if not is_right(mode):
                raise StoreProblem(
                    say("{path} is a link, or no file or folder as a store has it", path=path),
                    hint=say("look who put it there, and remove it"),
                )


def _check(layout: Layout, form: bytes) -> None:
    number = form.removeprefix(_FORM).strip()
    if not form.startswith(_FORM) or not number.isdigit() or number == b"0":
        raise StoreProblem(say("{path} is not the beginning of a store", path=layout.form))
    if int(number) > _VERSION:
        raise StoreProblem(
            say("the store {path} was made by a newer version of DSec", path=layout.root),
            hint=say("update DSec, or use another store"),
        )


def _make(layout: Layout, disk: Disk) -> None:
    """Make a store of an absent or empty folder, or of one whose making was interrupted."""
    disk.make_folder(layout.root)
    strange = sorted(set(os.listdir(layout.root)) - {*_FOLDERS, "lock", "store"})
    if strange:
        raise StoreProblem(
            say("{path} holds {name}, and is not a store", path=layout.root, name=strange[0]),
            hint=say("name an empty folder, or one that does not exist yet"),
        )
    for name in _FOLDERS:
        disk.make_folder(os.path.join(layout.root, name))
    with Expected(FileExistsError):
        os.close(disk.create(layout.lock))
    scratch.write_new(disk, layout.scratch, layout.form, _FORM + b"%d\n" % _VERSION)
