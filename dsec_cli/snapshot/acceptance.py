"""Values that the user said are no secrets, by their digests: remembered beside the project's snapshots.

A digest is made with this user's key: a list that comes with somebody else's project accepts nothing.
"""

from __future__ import annotations

import json
import os

from dsec import wholefile
from dsec.errors import FileProblem
from dsec_cli.snapshot.scanned import opened
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT = "dsec.accepted/1"
_DIGITS = 16
_MOST = 1 << 20


def path_of(state: str) -> str:
    """Where they are: `.dsec/accepted.json`; a digest that is taken out of it is accepted no longer."""
    return os.path.join(state, "accepted.json")


def is_digest(text: str) -> bool:
    """Whether it is one as `snapshot create` prints them."""
    return len(text) == _DIGITS and not text.strip("0123456789abcdef")


def accepted(state: str) -> tuple[str, ...]:
    """Those that are remembered; a list that cannot be read is empty, so that nothing is let through."""
    try:
        with open(path_of(state), "rb", opener=opened) as file:
            document = json.loads(file.read(_MOST))
        if document["format"] != FORMAT:
            return ()
        return tuple(one for one in document["digests"] if isinstance(one, str) and is_digest(one))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ()


def remember(state: str, digests: Iterable[str]) -> None:
    """Add these; raises FileProblem."""
    known = accepted(state)
    wanted = sorted({*known, *digests})
    if wanted == sorted(known):
        return
    document = json.dumps({"format": FORMAT, "digests": wanted}, indent=2) + "\n"
    try:
        os.makedirs(state, exist_ok=True)
        wholefile.write_whole(path_of(state), [document.encode()])
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be written: {why}", path=path_of(state), why=system(problem)),
            hint=wholefile.remedy(problem),
        ) from None
