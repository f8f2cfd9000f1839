"""Which files of a folder are its code: as git tells, or by ignore rules, less what never is code."""

from __future__ import annotations

import contextlib
import os
import stat

from dsec.record import Record
from dsec.store import Entry, facts_of
from dsec_cli.snapshot.git import GitProblem, files_by_rules, look
from dsec_cli.snapshot.spelling import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dsec.store.values import Facts
    from dsec_cli.snapshot.git import Repository

MOST_UNTRACKED_BYTES = 32 << 20
"""Of one file that git does not know: a larger one is data or a checkpoint."""
MOST_DEPTH = 64
NO_CODE = "such folders hold no code"
IGNORED = ".gitignore"
_FOLDERS = frozenset(
    (
        *(b".git", b".hg", b".svn", b".dsec", b"__pycache__", b"node_modules", b".tox", b".nox", b".eggs"),
        *(b".mypy_cache", b".pytest_cache", b".ruff_cache", b".hypothesis", b".ipynb_checkpoints"),
        *(b"wandb", b"mlruns", b".cache"),
    )
)
"""Folders that hold no code, whoever made them."""
_STATE = b".dsec/"
_ENDS = (b".pyc", b".pyo", b".log", b".swp", b".tmp", b".part")
_KIND, _IS_LINK = 0o170000, stat.S_IFLNK
_TAKEN = (stat.S_IFREG, _IS_LINK)
_SUBMODULE, _LINK = "160000", "120000"
_STATES = {"M": "modified", "A": "added", "D": "deleted", "T": "modified", "U": "conflict"}


def is_noise(name: str) -> bool:
    """Whether a path that git ignores is one that no run reads: caches, environments, our own state."""
    parts = os.fsencode(name).rstrip(b"/").split(b"/")
    return bool(_FOLDERS.intersection(parts)) or parts[0] in (b".venv", b"venv") or parts[-1].endswith(_ENDS)


class Taken(Record):
    """One file or link of the code."""

    path: bytes
    link: bool
    facts: Facts
    """What it looked like: nobody looks a second time."""

    @property
    def size(self) -> int:
        """In bytes."""
        return self.facts[0]

    @property
    def entry(self) -> Entry:
        """For the store."""
        return Entry._make((self.path, "link" if self.link else "file", self.facts))


class LeftOut(Record):
    """What is not taken, and why."""

    path: bytes
    why: str


class Under(Record):
    """A repository within the code: a submodule, or one that lies there."""

    path: bytes
    commit: str
    wanted: str
    """The commit that the outer repository has on record; "": none."""
    dirty: bool
    remotes: tuple[tuple[str, str], ...]


class Listing(Record):
    """The files of a folder that are its code."""

    how: str
    """`git`, `rules` (outside git, by git's own reading of .gitignore) or `walk`."""
    repository: Repository | None
    taken: tuple[Taken, ...]
    states: tuple[tuple[bytes, str], ...]
    """(path, `modified`, `added`, `deleted`, `conflict`, `untracked`) of what is not as committed."""
    left_out: tuple[LeftOut, ...]
    under: tuple[Under, ...]
    reasons: tuple[str, ...]
    """Why it may not be all."""


class _Gathering:
    """A listing while it is made."""

    def __init__(
        self, root: bytes, environ: Mapping[str, str], excluded: Callable[[str], bool] | None
    ) -> None:
        self.root = root
        self._below = root + b"/"
        self.environ = environ
        self.excluded = excluded
        self.taken: list[Taken] = []
        self.states: list[tuple[bytes, str]] = []
        self.left_out: dict[bytes, str] = {}
        self.environments: tuple[bytes, ...] = ()
        """Folders that a Python environment lies in, with a slash behind them."""
        self.under: list[Under] = []
        self.reasons: list[str] = []

    def take(self, paths: Iterable[bytes], *, tracked: bool) -> None:
        """Take each path that is a file or a link, if nothing speaks against it."""
        folder, no_code = b"", b""
        for path in paths:
            if self.excluded is not None and self.excluded(os.fsdecode(path)):
                self.left_out[path] = "the contract's include-code excludes it"
                continue
            if not tracked:
                if (above := path[: path.rfind(b"/") + 1]) != folder:
                    folder, no_code = above, self._no_code(above)
                if no_code or path.endswith(_ENDS):
                    self.left_out[no_code or path] = NO_CODE if no_code else "such files are no code"
                    continue
            try:
                seen = os.lstat(self._below + path)
            except FileNotFoundError:
                continue  # deleted: git's state says so
            except OSError as problem:
                self.reasons.append(f"{readable(path)} could not be read ({problem.strerror})")
                continue
            kind = seen.st_mode & _KIND
            if kind not in _TAKEN:
                self.left_out[path] = "it is no file, folder or link"
            elif not tracked and seen.st_size > MOST_UNTRACKED_BYTES:
                self.left_out[path] = f"not tracked, and larger than {MOST_UNTRACKED_BYTES >> 20} MiB"
            else:
                self.taken.append(Taken._make((path, kind == _IS_LINK, facts_of(seen))))

    def _no_code(self, path: bytes) -> bytes:
        """The folder above the path that holds no code, with a slash behind it; b"": none."""
        at = path.find(b"/")
        start = 0
        while at >= 0:
            if path[start:at] in _FOLDERS or path[: at + 1] in self.environments:
                return path[: at + 1]
            start, at = at + 1, path.find(b"/", at + 1)
        return b""

    def expect(self, paths: Iterable[bytes]) -> None:
        """Note the Python environments among paths that are about to be taken."""
        ends = b"/pyvenv.cfg"
        found = (path[: 1 - len(ends)] for path in paths if path.endswith(ends))
        self.environments = (*self.environments, *found)


def list_code(
    folder: str, environ: Mapping[str, str], excluded: Callable[[str], bool] | None = None
) -> Listing:
    """The code in `folder`; what stands in the way is told in `reasons`, never raised."""
    gathering = _Gathering(os.fsencode(folder), environ, excluded)
    try:
        repository = look(folder, environ)
    except GitProblem as problem:
        repository = None
        if problem.what != "git is not installed":
            gathering.reasons.append(f"git does not tell: {problem.what}")
    if repository is not None and any(path in (b"", b"./") for path in repository.ignored):
        repository = None  # the folder as a whole is ignored, so the repository does not know its code
    if repository is not None:
        _from_git(gathering, b"", repository, 0)
        how = "git"
    else:
        how = _without_git(gathering, folder)
    taken = {one.path: one for one in gathering.taken}
    return Listing(
        how,
        repository,
        tuple(taken[path] for path in sorted(taken)),
        tuple(sorted(gathering.states)),
        tuple(LeftOut(*one) for one in sorted(gathering.left_out.items())),
        tuple(gathering.under),
        tuple(gathering.reasons),
    )


def _from_git(gathering: _Gathering, below: bytes, repository: Repository, depth: int) -> None:
    files = [below + one.path for one in repository.tracked if one.mode != _SUBMODULE]
    gathering.take(files, tracked=True)
    others = [below + path for path in repository.untracked if not path.endswith(b"/")]
    gathering.expect(others)
    known = len(gathering.taken)
    gathering.take(others, tracked=False)
    gathering.states += [(one.path, "untracked") for one in gathering.taken[known:]]
    _special(gathering, {path.rpartition(b"/")[0] for path in (below, *files, *others)})
    for path, state in repository.states:
        worse = state.replace(".", "")[-1:]
        gathering.states.append((below + path, _STATES.get(worse, "modified")))
    for one in repository.tracked:
        if one.mode == _SUBMODULE:
            _inner(gathering, below + one.path, one.blob, depth)
    for path in repository.untracked:
        if path.endswith(b"/"):
            _inner(gathering, below + path.rstrip(b"/"), "", depth)
    for path in repository.ignored:
        if path.startswith(_STATE):  # it ignores itself, and what is in it differs each time
            gathering.left_out[below + _STATE] = NO_CODE
        else:
            gathering.left_out[below + path] = IGNORED


def _special(gathering: _Gathering, folders: Iterable[bytes]) -> None:
    """Pipes, sockets and devices, which git does not name, in the folders that hold code."""
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(os.path.join(gathering.root, folder)) as entries:
            for entry in entries:
                known = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
                if not known and not entry.is_symlink():
                    path = folder + b"/" + entry.name if folder else entry.name
                    gathering.left_out[path] = "it is no file, folder or link"


def _inner(gathering: _Gathering, path: bytes, wanted: str, depth: int) -> None:
    """A repository within: its own commit, and its files."""
    if _FOLDERS.intersection(path.split(b"/")):
        gathering.left_out[path + b"/"] = NO_CODE
        return
    folder = os.path.join(gathering.root, path)
    name = readable(path)
    if depth > MOST_DEPTH or not os.path.lexists(os.path.join(folder, b".git")):
        gathering.reasons.append(f"the submodule {name} is not checked out")
        return
    try:
        found = look(os.fsdecode(folder), gathering.environ)
    except GitProblem as problem:
        found = None
        gathering.reasons.append(f"the repository {name} does not tell: {problem.what}")
    if found is None or found.prefix:
        return
    dirty = bool(found.states or found.untracked)
    gathering.under.append(Under(path, found.commit, wanted, dirty, found.remotes))
    _from_git(gathering, path + b"/", found, depth + 1)


def _without_git(gathering: _Gathering, folder: str) -> str:
    import shutil  # only here is there something to make and to remove
    import tempfile

    room = tempfile.mkdtemp(prefix="dsec-rules-")
    try:
        found = files_by_rules(folder, gathering.environ, room)
        gathering.expect(found)
        files = [path for path in found if not path.endswith(b"/")]
        gathering.take(files, tracked=False)
        _special(gathering, {path.rpartition(b"/")[0] for path in (b"", *files)})
        for path in found:
            if path.endswith(b"/"):
                _inner(gathering, path.rstrip(b"/"), "", 0)
    except GitProblem as problem:
        gathering.reasons.append(f"{problem.what}: .gitignore files were not obeyed")
        gathering.take(_walk(gathering, b"", 0), tracked=False)
        return "walk"
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return "rules"


def _walk(gathering: _Gathering, below: bytes, depth: int) -> Iterator[bytes]:
    """Paths of all files, folders that hold no code left out; links are not followed."""
    waiting = [(below, depth)]
    while waiting:
        at, deep = waiting.pop()
        try:
            with os.scandir(os.path.join(gathering.root, at)) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as problem:
            gathering.reasons.append(f"{readable(at)} could not be read ({problem.strerror})")
            continue
        for entry in found:
            path = at + b"/" + entry.name if at else entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield path
            elif entry.name in _FOLDERS or _is_environment(entry.path) or deep >= MOST_DEPTH:
                gathering.left_out[path + b"/"] = NO_CODE
            else:
                waiting.append((path, deep + 1))


def _is_environment(path: bytes) -> bool:
    return os.path.lexists(os.path.join(path, b"pyvenv.cfg"))
