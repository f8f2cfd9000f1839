"""What earlier runs taught about how long each Step takes: `.dsec/durations.json`."""

from __future__ import annotations

import os

from dsec.errors import FileProblem, StoredFormError
from dsec.record import Record
from dsec.wholefile import write_whole
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
NAME = "durations.json"
MOST_MS = 2**63 // 10**6
"""As long as any duration of a contract can be."""


class Learned(Record):
    """One Step's duration as measured."""

    ms: int
    """Median of the successful attempts."""
    n: int
    """How many there were."""


def read_durations(state: str) -> dict[str, Learned]:
    """Durations by Step id from the state folder; none when nothing ran yet."""
    path = os.path.join(state, NAME)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint="check its permissions, or delete it"
        ) from None
    return parse_durations(data, where=path)


def parse_durations(data: bytes, *, where: str) -> dict[str, Learned]:
    """The content of a durations file; StoredFormError when it is none."""
    import json  # the first run of a contract finds no file

    hint = "delete it: durations are learned again with the next run"
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise StoredFormError(say("{where} is no JSON document", where=where), hint=hint) from None
    if not isinstance(document, dict) or not isinstance(document.get("steps"), dict):
        raise StoredFormError(say("{where} holds no durations", where=where), hint=hint)
    if document.get("version") != VERSION:
        raise StoredFormError(
            say(
                "{where} has version {document!r}, this DSec reads {version}",
                where=where,
                document=document.get("version"),
                version=VERSION,
            ),
            hint=hint,
        )
    return {
        step: _learned(entry, f"{where}: {step}", hint) for step, entry in sorted(document["steps"].items())
    }


def _learned(entry: object, where: str, hint: str) -> Learned:
    if not isinstance(entry, dict) or set(entry) != {"ms", "n"}:
        raise StoredFormError(say("{where} is not a pair of ms and n", where=where), hint=hint)
    ms, n = entry["ms"], entry["n"]
    if type(ms) is not int or type(n) is not int or not 0 <= ms <= MOST_MS or n < 1:
        raise StoredFormError(
            say("{where} is no duration: ms {ms!r}, n {n!r}", where=where, ms=ms, n=n), hint=hint
        )
    return Learned(ms, n)


def write_durations(state: str, learned: Mapping[str, Learned]) -> None:
    """Replace the file as a whole; raises OSError when the folder cannot be written to."""
    from json.encoder import encode_basestring as quoted

    steps = ", ".join(
        [f'{quoted(step)}: {{"ms": {ms}, "n": {n}}}' for step, (ms, n) in sorted(learned.items())]
    )
    text = f'{{"steps": {{{steps}}}, "version": {VERSION}}}\n'
    # Not forced to the disk: a run need not wait for what the next one learns again.
    write_whole(os.path.join(state, NAME), [text.encode()], durable=False)
