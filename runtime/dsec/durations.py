"""What earlier runs taught about how long each Step takes: `.dsec/durations.json`.

Kept by contract, as two contracts of one folder may call different things by one id.
"""

from __future__ import annotations

import os

from dsec.errors import FileProblem, StoredFormError
from dsec.record import Record
from dsec.wholefile import write_whole
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Kept = dict[str, "dict[str, Learned]"]
    """By contract and Step id."""

VERSION = 2
_UNDIVIDED = 1
"""The version before: durations of whatever contract ran last."""
NAME = "durations.json"
_HINT = "delete it: durations are learned again with the next run"
MOST_MS = 2**63 // 10**6
"""As long as any duration of a contract can be."""


class Learned(Record):
    """One Step's duration as measured."""

    ms: int
    """Median of the successful attempts."""
    n: int
    """How many there were."""


def contract_key(file: str, name: str) -> str:
    """What a contract is called here: by the name of its file, without the folder, and its own."""
    return f"{os.path.basename(file)}: {name or os.path.basename(file).partition('.')[0]}"


def read_durations(state: str, contract: str) -> dict[str, Learned]:
    """Durations of a contract by Step id, from the state folder; none when it never ran."""
    return durations_of(_read(state), contract)


def durations_of(kept: Mapping[str, Mapping[str, Learned]], contract: str) -> dict[str, Learned]:
    """Those of one contract; where they were kept undivided, what there is."""
    return dict(kept.get(contract, kept.get("", {})))


def _read(state: str) -> Kept:
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


def parse_durations(data: bytes, *, where: str) -> Kept:
    """A durations file by contract, "" where it does not tell them apart; StoredFormError when it is none."""
    import json  # the first run of a contract finds no file

    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise StoredFormError(say("{where} is no JSON document", where=where), hint=_HINT) from None
    contracts = _contracts(document, where)
    if not isinstance(contracts, dict) or not all(isinstance(one, dict) for one in contracts.values()):
        raise StoredFormError(say("{where} holds no durations", where=where), hint=_HINT)
    return {
        contract: {step: _learned(entry, f"{where}: {step}") for step, entry in sorted(steps.items())}
        for contract, steps in sorted(contracts.items())
    }


def _contracts(document: object, where: str) -> object:
    """What the document has by contract, whatever it is."""
    if not isinstance(document, dict) or "version" not in document:
        return None
    version = document["version"]
    if version == _UNDIVIDED:
        return {"": document.get("steps")}
    if version == VERSION:
        return document.get("contracts")
    raise StoredFormError(
        say(
            "{where} has version {document!r}, this DSec reads {version}",
            where=where,
            document=version,
            version=VERSION,
        ),
        hint=_HINT,
    )


def _learned(entry: object, where: str) -> Learned:
    if not isinstance(entry, dict) or set(entry) != {"ms", "n"}:
        raise StoredFormError(say("{where} is not a pair of ms and n", where=where), hint=_HINT)
    ms, n = entry["ms"], entry["n"]
    if type(ms) is not int or type(n) is not int or not 0 <= ms <= MOST_MS or n < 1:
        raise StoredFormError(
            say("{where} is no duration: ms {ms!r}, n {n!r}", where=where, ms=ms, n=n), hint=_HINT
        )
    return Learned(ms, n)


def write_durations(state: str, contract: str, fresh: Mapping[str, Learned]) -> None:
    """Put durations of a contract over those that are kept; OSError when the folder cannot be written to."""
    from json.encoder import encode_basestring as quoted

    kept = _read(state)
    kept[contract] = {**durations_of(kept, contract), **fresh}
    kept.pop("", None)
    texts = []
    for name, learned in sorted(kept.items()):
        steps = [f'{quoted(step)}: {{"ms": {ms}, "n": {n}}}' for step, (ms, n) in sorted(learned.items())]
        texts.append(f"{quoted(name)}: {{{', '.join(steps)}}}")
    text = f'{{"contracts": {{{", ".join(texts)}}}, "version": {VERSION}}}\n'
    # Not forced to the disk: a run need not wait for what the next one learns again.
    write_whole(os.path.join(state, NAME), [text.encode()], durable=False)
