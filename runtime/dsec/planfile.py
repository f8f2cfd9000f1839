"""Plans in files: sealed with their hash, written whole or not at all, read back strictly."""

from __future__ import annotations

import json
import os

from dsec.codec import decode
from dsec.containment import stray_target
from dsec.errors import FileProblem, StoredFormError
from dsec.hashing import digest_joined
from dsec.inventory import unnamed
from dsec.plan import FORMAT, Plan
from dsec.plantext import plan_pieces, written_steps
from dsec.special import open_special
from dsec.wholefile import remedy, write_whole
from dsec.words import say, system

_FAMILY = FORMAT.rpartition("/")[0] + "/"
_EDITED = say("a plan is not edited by hand; change the contract and run `dsec plan` again")
LARGEST = 256 * 2**20
"""Bytes of a plan at most."""


def plan_hash(plan: Plan) -> str:
    """BLAKE3 over the plan's canonical JSON with `hash` empty, under the format as domain tag.

    What the file of a described inventory is called is left out: its content counts.
    """
    return digest_joined(FORMAT, plan_pieces(plan._replace(hash="", inventory=unnamed(plan.inventory))))


def seal(plan: Plan) -> Plan:
    """The same plan with its hash filled in, its Steps' text kept."""
    plan = plan._replace(steps=written_steps(plan.steps))
    return plan._replace(hash=plan_hash(plan))


def plan_bytes(plan: Plan) -> bytes:
    """The stored form: canonical JSON and a line feed."""
    return b"".join([*plan_pieces(plan), b"\n"])


def save_plan(path: str, plan: Plan) -> None:
    """Write the plan; a crash leaves the old file or the new one, never half of either.

    A link stays a link, and what is no file (`/dev/stdout`, a pipe) is written to as it is.
    """
    try:
        special = open_special(path)
        if special is not None:
            with open(special, "wb") as file:
                file.writelines([*plan_pieces(plan), b"\n"])
            return
        target = stray_target(path)
        if target:
            raise FileProblem(
                say(
                    "{path} is a symbolic link that leads out of its project, to {target}",
                    path=path,
                    target=target,
                ),
                hint=say("remove the link, or name {target} itself", target=target),
            )
        write_whole(os.path.realpath(path), [*plan_pieces(plan), b"\n"])
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint=remedy(problem)
        ) from None


def load_plan(path: str) -> Plan:
    """Read a plan; StoredFormError says what is damaged, FileProblem what cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint="write one with `dsec plan -o`"
        ) from None
    if len(data) > LARGEST:
        raise StoredFormError(say("{path} is larger than {most} MiB: no plan", path=path, most=LARGEST >> 20))
    return parse_plan(data, where=path)


def parse_plan(data: bytes, *, where: str) -> Plan:
    """The plan in `data`, checked: format, keys, types, hash."""
    document = _document(data, where)
    _check_format(document, where)
    try:
        plan = decode(Plan, document, where=where)
    except StoredFormError as problem:
        raise StoredFormError(problem.what, hint=problem.hint or _EDITED) from None
    try:
        found = plan_hash(plan)
    except UnicodeEncodeError:
        raise StoredFormError(
            say("{where} holds half of a surrogate pair, which is no text", where=where)
        ) from None
    if plan.hash != found:
        raise StoredFormError(
            say(
                "{where} does not match its hash: it says {hash}..., its content has {found}...",
                where=where,
                hash=plan.hash[:16],
                found=found[:16],
            ),
            hint=_EDITED,
        )
    return plan


def _document(data: bytes, where: str) -> dict[str, object]:
    try:
        document = json.loads(
            data, object_pairs_hook=_unique, parse_float=_no_float, parse_constant=_no_float
        )
    except RecursionError:
        raise StoredFormError(say("{where} is nested too deep to be a plan", where=where)) from None
    except ValueError as problem:
        raise StoredFormError(
            say("{where} is no JSON document: {problem}", where=where, problem=problem), hint=_EDITED
        ) from None
    if not isinstance(document, dict):
        raise StoredFormError(say("{where} is {kind}, not a plan", where=where, kind=type(document).__name__))
    return document


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("a key is given twice")
    return document


def _no_float(text: str) -> object:
    raise ValueError(f"{text} is not an integer")


def _check_format(document: dict[str, object], where: str) -> None:
    format_ = document.get("format")
    if format_ == FORMAT:
        return
    if not isinstance(format_, str) or not format_.startswith(_FAMILY):
        raise StoredFormError(
            say("{where} is no plan: its format is {format!r}", where=where, format=format_),
            hint=_EDITED
            if document.keys() >= {"hash", "steps"}
            else say("a plan's format is {format!r}", format=FORMAT),
        )
    raise StoredFormError(
        say(
            "{where} is in format {format!r}, this DSec reads {format_2!r}",
            where=where,
            format=format_,
            format_2=FORMAT,
        ),
        hint="use the DSec that wrote it, or compile the contract again",
    )
