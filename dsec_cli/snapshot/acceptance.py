"""Values that the user said are no secrets, by their digests: remembered beside the project's snapshots.

A digest is made with this user's key: a list that comes with somebody else's project accepts nothing.
"""

from __future__ import annotations

import hmac
import json
import os

from dsec import wholefile
from dsec.errors import FileProblem
from dsec_cli.snapshot.scanned import opened
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT = "dsec.accepted/2"
_DIGITS = 16
_SEAL = 32
_MOST = 1 << 20


def path_of(state: str) -> str:
    """Where they are: `.dsec/accepted.json`; a digest that is taken out of it is accepted no longer."""
    return os.path.join(state, "accepted.json")


def is_digest(text: str) -> bool:
    """Whether it is one as `snapshot create` prints them."""
    return len(text) == _DIGITS and not text.strip("0123456789abcdef")


def accepted(state: str, key: bytes) -> tuple[str, ...]:
    """Those that this user's key has sealed; a list that cannot be read is empty: nothing is let through.

    Digests stand in every snapshot, so whoever got one could otherwise put them into a repository.
    """
    try:
        with open(path_of(state), "rb", opener=opened) as file:
            document = json.loads(file.read(_MOST))
        if document["format"] != FORMAT:
            return ()
        rows = document["digests"].items()
        return tuple(one for one, seal in rows if is_digest(one) and seal == _sealed(one, key))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ()


def _sealed(digest: str, key: bytes) -> str:
    return hmac.digest(key, b"dsec.accepted/1\n" + digest.encode(), "sha256").hex()[:_SEAL]


def remember(state: str, digests: Iterable[str], key: bytes) -> None:
    """Add these; raises FileProblem."""
    known = accepted(state, key)
    wanted = sorted({*known, *digests})
    if wanted == sorted(known):
        return
    document = (
        json.dumps({"format": FORMAT, "digests": {one: _sealed(one, key) for one in wanted}}, indent=2) + "\n"
    )
    try:
        os.makedirs(state, exist_ok=True)
        wholefile.write_whole(path_of(state), [document.encode()])
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be written: {why}", path=path_of(state), why=system(problem)),
            hint=wholefile.remedy(problem),
        ) from None
