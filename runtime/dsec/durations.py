"""What earlier runs taught about how long each Step takes: `.dsec/durations.json`.

Kept by contract, as two contracts of one folder may call different things by one id; within one by what
the Step executed and on which devices, as another command or another GPU takes another time. What was
measured on simulated GPUs is kept apart.
"""

from __future__ import annotations

import os

from dsec.containment import read_beneath
from dsec.errors import FileProblem, StoredFormError
from dsec.hashing import digest
from dsec.record import Record
from dsec.wholefile import write_whole
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Kept = dict[str, "dict[str, tuple[Learned, ...]]"]
    """By contract and Step id, the latest first."""

VERSION = 3
_EARLIER = (1, 2)
"""Versions that do not say what was executed: their durations count only where somebody names the file."""
MOST_KEPT = 8
"""Durations of one Step, of different commands and devices."""
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
    work: str = ""
    """`work_of` what was executed; empty: not known."""
    devices: str = ""
    """`2 x h100-sxm-80gb`: what each attempt had; empty: no GPU."""


ON_SIMULATED = " on simulated GPUs"


def contract_key(file: str, name: str, *, simulated: bool = False) -> str:
    """What a contract is called here: by the name of its file, without the folder, and its own.

    `simulated`: as it runs on simulated GPUs, which teach nothing about real ones.
    """
    key = f"{os.path.basename(file)}: {name or os.path.basename(file).partition('.')[0]}"
    return key + ON_SIMULATED if simulated else key


def work_of(argv: Sequence[str], shell: str, call: str, args: str) -> str:
    """A short name of what a Step executes: equal for equal commands."""
    text = "\0".join((*argv, "", shell, call, args))
    return digest("dsec.work/1", text.encode("utf-8", "surrogatepass"))[:16]


def read_durations(state: str, contract: str) -> dict[str, tuple[Learned, ...]]:
    """Durations of a contract by Step id, from the state folder; none when it never ran."""
    return dict(_read(state).get(contract, {}))


def _read(state: str) -> Kept:
    path = os.path.join(state, NAME)
    try:
        data = read_beneath(state, NAME)  # an archive may hold a link or a pipe of this name
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
        contract: {step: _all(entry, f"{where}: {step}") for step, entry in sorted(steps.items())}
        for contract, steps in sorted(contracts.items())
    }


def _contracts(document: object, where: str) -> object:
    """What the document has by contract, whatever it is."""
    if not isinstance(document, dict) or "version" not in document:
        return None
    version = document["version"]
    if version == _EARLIER[0]:
        return {"": document.get("steps")}
    if version in (*_EARLIER, VERSION):
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


def _all(entries: object, where: str) -> tuple[Learned, ...]:
    """All of one Step; one alone in the versions before."""
    if not isinstance(entries, list):
        return (_learned(entries, where),)
    if not 0 < len(entries) <= MOST_KEPT:
        raise StoredFormError(say("{where} is no list of durations", where=where), hint=_HINT)
    return tuple([_learned(entry, where) for entry in entries])


def _learned(entry: object, where: str) -> Learned:
    if not isinstance(entry, dict) or not {"ms", "n"} <= set(entry) <= {"ms", "n", "work", "devices"}:
        raise StoredFormError(say("{where} is not a pair of ms and n", where=where), hint=_HINT)
    ms, n, work, devices = entry["ms"], entry["n"], entry.get("work", ""), entry.get("devices", "")
    if not isinstance(work, str) or not isinstance(devices, str):
        raise StoredFormError(say("{where} is not a pair of ms and n", where=where), hint=_HINT)
    if type(ms) is not int or type(n) is not int or not 0 <= ms <= MOST_MS or n < 1:
        raise StoredFormError(
            say("{where} is no duration: ms {ms!r}, n {n!r}", where=where, ms=ms, n=n), hint=_HINT
        )
    return Learned(ms, n, work, devices)


def write_durations(state: str, contract: str, fresh: Mapping[str, Sequence[Learned]]) -> None:
    """Put durations of a contract over those that are kept; OSError when the folder cannot be written to."""
    from json.encoder import encode_basestring as quoted

    kept = _read(state)
    known = kept.get(contract, {})
    kept[contract] = {**known, **{step: _over(new, known.get(step, ())) for step, new in fresh.items()}}
    kept.pop("", None)
    texts = []
    for name, learned in sorted(kept.items()):
        steps = [
            f"{quoted(step)}: [{', '.join(_text(one, quoted) for one in every)}]"
            for step, every in sorted(learned.items())
        ]
        texts.append(f"{quoted(name)}: {{{', '.join(steps)}}}")
    text = f'{{"contracts": {{{", ".join(texts)}}}, "version": {VERSION}}}\n'
    # Not forced to the disk: a run need not wait for what the next one learns again.
    write_whole(os.path.join(state, NAME), [text.encode()], durable=False)


def _over(new: Sequence[Learned], known: Sequence[Learned]) -> tuple[Learned, ...]:
    """The new ones, then those of other commands and devices; what does not say which is let go."""
    told = {(one.work, one.devices) for one in new}
    rest = [one for one in known if one.work and (one.work, one.devices) not in told]
    return (*new, *rest)[:MOST_KEPT]


def _text(one: Learned, quoted: Callable[[str], str]) -> str:
    return f'{{"devices": {quoted(one.devices)}, "ms": {one.ms}, "n": {one.n}, "work": {quoted(one.work)}}}'
