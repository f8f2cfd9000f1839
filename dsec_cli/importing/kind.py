"""What an importer is, and which there are."""

from __future__ import annotations

from dsec.errors import DSecError
from dsec.record import Record
from dsec_cli.discovery import instances
from dsec_cli.words import said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec_cli.importing.draft import Draft
    from dsec_cli.importing.notes import Left, Notes
    from dsec_cli.source.text import SourceText

    Beside = Mapping[str, SourceText]
    """Files beside the first one, by the name that it calls them."""
    Read = Callable[[tuple[SourceText, ...], Beside, Notes], Draft]


class ImportProblem(DSecError):
    """A file that is not of the kind it was said to be, or holds nothing to import."""


def _nothing(_source: SourceText) -> tuple[str, ...]:
    return ()


class Kind(Record):
    """One kind of file; its module is named like it."""

    name: str
    summary: str
    read: Read
    """Pure: the files given, those beside, and where to note what is left behind; raises ImportProblem."""
    many: bool = False
    """Several files make one contract."""
    beside: Callable[[SourceText], tuple[str, ...]] = _nothing
    """Names of further files, in the folder of the first one, that it is worth reading if they exist."""


class Imported(Record):
    """A contract, what is not in it, and what it assumes."""

    text: str
    steps: int
    left: tuple[Left, ...]
    taken: tuple[str, ...]


def kinds() -> tuple[Kind, ...]:
    """All importers, by name."""
    return instances("dsec_cli.importing.kinds", Kind)


def convert(
    kind: Kind, sources: tuple[SourceText, ...], beside: Beside, tell: Callable[[str], str] = str
) -> Imported:
    """The contract that the files make, its comments said by `tell`; raises ImportProblem for none."""
    from dsec_cli.importing.completing import complete
    from dsec_cli.importing.notes import Notes
    from dsec_cli.importing.writing import write

    notes = Notes()
    draft = complete(kind.read(sources, beside, notes), notes)
    if not draft.steps:
        raise ImportProblem(
            say("{name} has nothing to run", name=sources[0].name),
            hint=_instead(kind, notes.all_left()),
        )
    left, taken = notes.all_left(), notes.all_taken()
    text = write(draft, kind.name, left=left, taken=taken, tell=tell)
    return Imported(text, len(draft.steps), left, taken)


def _instead(kind: Kind, left: tuple[Left, ...]) -> str:
    """Why a file came to no Step: the first thing that was not mapped, else what it was taken for."""
    return left[0].line() if left else say("it was read as {summary}", summary=said(kind.summary))
