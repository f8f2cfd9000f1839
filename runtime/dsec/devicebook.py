"""What earlier runs taught about devices: `.dsec/devices.json`.

Kept by contract, as `durations` does: what one contract calls `train` may fit where that of another does
not. How quick a device is follows from what the Steps of all contracts took on it.
"""

from __future__ import annotations

import os

from dsec.containment import read_beneath
from dsec.core.experience import NOTHING, Experience, Pace, together
from dsec.core.marks import OUT_OF_DEVICE_MEMORY
from dsec.diagnosis import tail_of
from dsec.durations import ON_SIMULATED
from dsec.errors import FileProblem, StoredFormError
from dsec.wholefile import write_whole
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Kept = dict[str, Experience]
    """By contract."""

VERSION = 2
_UNDIVIDED = 1
"""The version before: Steps of whatever contract by their ids alone."""
NAME = "devices.json"
_HINT = say("delete it: what it holds is learned again")


def says_out_of_memory(log: str, detail: str) -> bool:
    """Whether the end of an attempt's log, or the exception it ended with, says that memory ran out."""
    text = tail_of(log) + detail.encode("utf-8", "replace")
    return any(mark in text for mark in OUT_OF_DEVICE_MEMORY)


def read_devices(state: str, contract: str) -> Experience:
    """What the state folder holds for a contract: where its own Steps lacked memory, all Steps' paces.

    Paces go by contract and Step, since Steps of two contracts are not the same for having one id.
    """
    kept = _read(state)
    simulated = contract.endswith(ON_SIMULATED)  # what is simulated teaches nothing about what is not
    like = {name: known for name, known in kept.items() if name.endswith(ON_SIMULATED) == simulated}
    paces = {f"{name}: {step}": found for name, known in like.items() for step, found in known.paces.items()}
    return Experience(_own(kept, contract).ran_out, paces)


def learn_devices(state: str, contract: str, fresh: Experience) -> None:
    """Bring what is kept for a contract up to date; OSError when the folder cannot be written to."""
    kept = _read(state)
    known = _own(kept, contract)
    both = together(known, fresh)
    if both != known:
        kept[contract] = both
        kept.pop("", None)
        _write(state, kept)


def _own(kept: Mapping[str, Experience], contract: str) -> Experience:
    """That of one contract; where it was kept undivided, what there is."""
    return kept.get(contract, kept.get("", NOTHING))


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
    return _parsed(data, path)


def _parsed(data: bytes, where: str) -> Kept:
    import json  # most runs find no such file

    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise StoredFormError(say("{where} is no JSON document", where=where), hint=_HINT) from None
    version = document.get("version") if isinstance(document, dict) else None
    if version not in (_UNDIVIDED, VERSION):
        raise StoredFormError(
            say("{where} is not of version {version}, which this DSec reads", where=where, version=VERSION),
            hint=_HINT,
        )
    try:
        contracts = {"": document} if version == _UNDIVIDED else document["contracts"]
        return {name: _experience(one) for name, one in sorted(contracts.items())}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise StoredFormError(say("{where} does not hold what it should", where=where), hint=_HINT) from None


def _experience(stated: dict[str, Any]) -> Experience:
    return Experience(
        {
            step: {kind: _count(count) for kind, count in kinds.items()}
            for step, kinds in stated["ran_out"].items()
        },
        {step: {uuid: _pace(one) for uuid, one in paces.items()} for step, paces in stated["paces"].items()},
    )


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(value)
    return value


def _pace(value: dict[str, Any]) -> Pace:
    if set(value) != {"type", "ms", "n"} or not isinstance(value["type"], str):
        raise ValueError(value)
    return Pace(value["type"], _count(value["ms"]), _count(value["n"]))


def _write(state: str, kept: Kept) -> None:
    import json

    contracts = {
        name: {
            "ran_out": known.ran_out,
            "paces": {
                step: {uuid: one._asdict() for uuid, one in found.items()}
                for step, found in known.paces.items()
            },
        }
        for name, known in kept.items()
    }
    document = {"version": VERSION, "contracts": contracts}
    write_whole(os.path.join(state, NAME), [json.dumps(document, sort_keys=True).encode(), b"\n"])
