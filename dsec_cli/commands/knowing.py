"""Reads the knowledge base: what DSec ships, then the user's and the project's own entries."""

from __future__ import annotations

import os

from dsec.errors import FileProblem
from dsec_cli.code import knowledge
from dsec_cli.code.knowledge import NotKnowledgeError, merge, parse, tabulate, trusted
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.knowledge import Knowledge

NAME = "knowledge.json"
MOST_BYTES = 16 * 2**20
_HINT = "mend it, or remove the file; docs/how-to/knowledge.md shows the form"


def read_knowledge(folder: str = ".") -> Knowledge:
    """All that is known in the project at `folder`; later files win. Raises FileProblem."""
    known = shipped()
    for path in own_files(folder):
        known = merge(known, _read(path))
    return known


def shipped() -> Knowledge:
    """The entries that come with DSec."""
    folder = os.path.join(os.path.dirname(knowledge.__file__), "data")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    return tabulate(entry for name in names for entry in trusted(_text(os.path.join(folder, name))))


def own_files(folder: str) -> tuple[str, ...]:
    """Files with entries of the user's own, that exist: the user's, then the project's."""
    paths = (
        os.path.join(os.path.expanduser("~"), ".ds", NAME),
        os.path.normpath(os.path.join(folder, ".dsec", NAME)),
    )
    return tuple(path for path in paths if os.path.lexists(path))


def _read(path: str) -> Knowledge:
    try:
        return parse(_text(path))
    except NotKnowledgeError as problem:
        raise FileProblem(say("{path}: {problem}", path=path, problem=problem), hint=_HINT) from None


def _text(path: str) -> str:
    try:
        if not os.path.isfile(path) and os.path.exists(path):
            raise FileProblem(
                say("{path} is no file", path=path), hint=_HINT
            )  # reading a pipe would wait without end
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be read: {why}", path=path, why=system(problem)),
            hint="check its permissions",
        ) from problem
    if len(data) > MOST_BYTES:
        raise FileProblem(
            say("{path} is larger than {most} MiB", path=path, most=MOST_BYTES >> 20), hint="check the name"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise FileProblem(
            say("{path} is no UTF-8: byte {start} is wrong", path=path, start=problem.start),
            hint="save it as UTF-8",
        ) from None
