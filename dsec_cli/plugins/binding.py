"""Data bound to a plugin by its schema.json: `input` and `output` are JSON Schemas of either side.

A schema comes from the plugin: it gets nothing from elsewhere, and no more than so much processor time.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

LONGEST_S = 10.0
"""Processor time that one document, or one schema, may take."""
_BREAKS = (RecursionError, ArithmeticError, ValueError, TypeError, LookupError, AttributeError, re.error)
"""What the validator raises for schemas and numbers that it was not made for, beside references."""
_MOST_SAID = 400


class NotBound(Exception):
    """Data is not as the plugin's schema has it, or the schema is none; the text says where and how."""


class _TooLong(BaseException):
    """The processor time is used up; no handler of the validator's is to take it for its own."""


def read_schema(data: bytes) -> dict[str, Any]:
    """The schemas by `input` and `output`, each {} where it is not given; raises NotBound."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        held = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise NotBound(f"schema.json is no JSON: {problem}") from None
    if not isinstance(held, dict):
        raise NotBound("schema.json is no object with `input` and `output`")
    found: dict[str, Any] = {}
    for side in ("input", "output"):
        found[side] = held.get(side, {})
        try:
            with _applied("schema.json", side):
                Draft202012Validator.check_schema(found[side])
        except SchemaError as problem:
            raise NotBound(f"schema.json: {side} is no JSON Schema: {_short(problem.message)}") from None
    return found


def bound(schema: Any, data: bytes, what: str) -> None:
    """Check one document against its schema; raises NotBound."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    try:
        held = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise NotBound(f"the {what} is no JSON: {problem}") from None
    closed: Registry[Any] = Registry()  # the validator's own would fetch what a $ref names
    with _applied(what, "its schema"):
        first = min(
            Draft202012Validator(schema, registry=closed).iter_errors(held),
            key=lambda one: list(map(str, one.path)),
            default=None,
        )
    if first is not None:
        place = _short("".join(f"[{part!r}]" for part in first.path))
        raise NotBound(f"the {what}{place} is not as the plugin's schema has it: {_short(first.message)}")


@contextlib.contextmanager
def _applied(what: str, schema: str) -> Iterator[None]:
    """Whatever a hostile schema does to the validator becomes NotBound."""
    from referencing.exceptions import Unresolvable

    try:
        with _limited():
            yield
    except _TooLong:
        raise NotBound(f"{what}: {schema} takes longer than {LONGEST_S:g} s to check") from None
    except (Unresolvable, *_BREAKS) as problem:
        why = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise NotBound(f"{what}: {schema} cannot be applied: {_short(why)}") from None


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Processor time for what runs in here; only the main thread can be limited."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(_number: int, _frame: object) -> NoReturn:
    raise _TooLong


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SAID else f"{text[: _MOST_SAID // 2]} ... {text[-_MOST_SAID // 2 :]}"
