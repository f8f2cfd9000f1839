"""Reads the folder of an agent's code, within bounds, and what that code needs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from dsec.errors import FileProblem
from dsec_cli.code.analyse import analyse
from dsec_cli.code.compare import compare
from dsec_cli.code.compare.settled import values_given
from dsec_cli.code.knowledge import lookup
from dsec_cli.code.needs import Unread
from dsec_cli.code.project import Project
from dsec_cli.commands.knowing import read_knowledge
from dsec_cli.commands.matching import meant
from dsec_cli.source.text import SourceText
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.needs import Needs
    from dsec_cli.contract.values import Contract
    from dsec_cli.diagnostics import Finding

MOST_FILES = 2000
MOST_FILE_BYTES = 2**20
MOST_BYTES = 32 * 2**20
MOST_DEPTH = 32
LEFT_OUT = frozenset(
    ("__pycache__", "node_modules", "site-packages", "venv", "env", "tests", "test", "dist", "build")
)
"""Folders that hold no code of the agent, besides those that begin with a dot."""
_TESTS = ("test_", "conftest.py", "setup.py")


def read_project(folder: str, contract: Contract | None = None) -> Project:
    """The Python files below `folder`, with why others could not be read; raises FileProblem.

    Hidden folders, environments, tests, and what the contract's `include-code` excludes are left out.
    """
    excluded = contract.exclude_patterns or () if contract is not None else ()
    files: dict[str, SourceText] = {}
    unread: list[Unread] = []
    left = MOST_BYTES
    for path, name in _walk(folder):
        if excluded and meant(path, excluded, folder=folder):
            continue
        if len(files) == MOST_FILES or left <= 0:
            limit = f"{MOST_FILES} files" if left > 0 else f"{MOST_BYTES >> 20} MiB"
            unread.append(Unread(name, f"the first {limit} are read, and no more"))
            break
        taken = _read(path, name)
        if isinstance(taken, Unread):
            unread.append(taken)
            continue
        files[name] = taken
        left -= len(taken.data)
    if not files and not unread:
        where = "this folder" if folder == "." else folder
        raise FileProblem(
            say("{where} holds no Python file", where=where), hint="name the folder of the agent's code"
        )
    own = os.path.basename(os.path.abspath(folder))
    if contract is None:
        return Project(files, tuple(unread), name=own)
    calls = (step.run.call for step in contract.steps if step.run is not None)
    given = {name: value for name, value in values_given(contract).items() if value is not None}
    return Project(files, tuple(unread), tuple(call for call in calls if call), own, given)


def needs_of(project: Project, folder: str) -> Needs:
    """What a project needs, with what is known of the packages it uses; raises FileProblem."""
    known = read_knowledge(folder)
    return analyse(project, lookup=lambda name: lookup(known, name))


def read_needs(folder: str, contract: Contract | None = None) -> tuple[Needs, dict[str, SourceText]]:
    """The needs of the code in `folder`, and its texts by the name that places carry; raises FileProblem."""
    project = read_project(folder, contract)
    return needs_of(project, folder), {text.name: text for text in project.files.values()}


def findings_for(contract: Contract, folder: str) -> tuple[Finding, ...]:
    """What the code in `folder` needs and the contract lacks, or the reverse; raises FileProblem."""
    return compare(needs_of(read_project(folder, contract), folder), contract)


def _walk(folder: str) -> Iterator[tuple[str, str]]:
    """Paths of Python files with their names from `folder`, by name; links to folders are not followed."""
    if not os.path.isdir(folder):
        what = say("is no folder") if os.path.lexists(folder) else say("does not exist")
        raise FileProblem(
            say("{folder} {what}", folder=folder, what=what), hint="name the folder of the agent's code"
        )
    waiting = [("", 0)]
    while waiting:
        below, depth = waiting.pop()
        names, folders = _listed(os.path.join(folder, below) if below else folder)
        for name in names:
            inner = f"{below}/{name}" if below else name
            yield os.path.normpath(os.path.join(folder, inner)), inner
        if depth < MOST_DEPTH:
            waiting += [(f"{below}/{name}" if below else name, depth + 1) for name in reversed(folders)]


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """Python files and folders to look into, by name."""
    files, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders += [entry.name] if _wanted(entry) else []
                elif entry.name.endswith(".py") and not entry.name.startswith(_TESTS):
                    files.append(entry.name)
    except OSError as problem:
        raise FileProblem(
            say("{folder} could not be read: {why}", folder=folder, why=system(problem)),
            hint="check its permissions",
        ) from problem
    return sorted(files), sorted(folders)


def _wanted(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name in LEFT_OUT:
        return False
    return not os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _read(path: str, name: str) -> SourceText | Unread:
    try:
        # Opening a pipe or a device could wait without end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            return Unread(name, "it is no regular file")
        with open(path, "rb") as file:
            data = file.read(MOST_FILE_BYTES + 1)
    except OSError as problem:
        return Unread(name, f"it could not be read: {problem.strerror}")
    if len(data) > MOST_FILE_BYTES:
        return Unread(name, f"it is larger than {MOST_FILE_BYTES >> 20} MiB")
    text = SourceText.from_bytes(path, data)
    if text.undecodable is not None:
        return Unread(name, f"it is no UTF-8 (at character {text.undecodable[0].start + 1})")
    return text
