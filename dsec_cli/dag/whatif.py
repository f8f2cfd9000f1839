"""`step=S4,gpu.count=2`: what a scenario changes, read from its text."""

from __future__ import annotations

from dsec.record import Record
from dsec.units import Bytes, Duration, UnitProblem, parse
from dsec_cli.contract import quantities
from dsec_cli.contract.suggest import nearest
from dsec_cli.contract.values import LEVELS
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

STEP, REMOVE = "step", "remove"
OF_STEP = (
    *("gpu.count", "gpu.memory", "gpu.type", "gpu.share", "gpu.within", "gpu.topology"),
    *("cpu", "memory", "duration", "level", "split", REMOVE),
)
"""What may change in a Step that is named before it."""
OF_JOB = ("iterations", "max_staleness", "in_flight")
"""What may change in the whole contract."""
MOST_CHANGES = 200


class BadScenarioError(Exception):
    """A text that states no scenario; caught by the command."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Change(Record):
    """One field and what it becomes."""

    step: str
    """Id of the Step; "": the contract's own field."""
    field: str
    value: object
    """As the field has it: an int, Bytes, GpuMemory, Duration, Percent, or a text."""


class Percent(int):
    """A share of what the duration was."""


def read(text: str, steps: Collection[str]) -> tuple[Change, ...]:
    """The changes of one scenario, in order; raises BadScenarioError."""
    changes: list[Change] = []
    step = ""
    for piece in text.split(","):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if key == STEP:
            step = _step(text, value, steps)
            continue
        if key not in (*OF_STEP, *OF_JOB):
            raise _unknown(text, key)
        if key in OF_STEP and not step:
            raise BadScenarioError(
                say("--what-if {text}: {key} of which Step?", text=_short(text), key=key),
                say("name it before: step=ID,{piece}", piece=_short(piece.strip())),
            )
        if not equals and key != REMOVE:
            raise BadScenarioError(
                say("--what-if {text}: {key} becomes what?", text=_short(text), key=key),
                say("write {key}=VALUE, for example {example}", key=key, example=_EXAMPLES[key]),
            )
        changes.append(Change(step if key in OF_STEP else "", key, _value(text, key, value)))
    if not changes:
        raise BadScenarioError(
            say("--what-if {text} changes nothing", text=_short(text)),
            say("after the Step write what changes: step=S4,gpu.count=2"),
        )
    if len(changes) > MOST_CHANGES:
        raise BadScenarioError(
            say("--what-if {text} has more than {most} changes", text=_short(text), most=MOST_CHANGES),
            say("change the contract instead"),
        )
    return tuple(changes)


def _step(text: str, name: str, steps: Collection[str]) -> str:
    if name in steps:
        return name
    raise BadScenarioError(
        say("--what-if {text}: there is no Step {name!r}", text=_short(text), name=_short(name)),
        meant(name, steps),
    )


def meant(name: str, known: Collection[str], most: int = 12) -> str:
    """What a wrong name most likely means, or what there is."""
    near = nearest(name, tuple(known))
    if near is not None and (near.sure or len(known) > most):
        return say("did you mean {meant}?", meant=near.word)
    shown = ", ".join(list(known)[:most])
    return say("there are: {shown}", shown=shown + (", ..." if len(known) > most else ""))


def _unknown(text: str, key: str) -> BadScenarioError:
    known = (STEP, *OF_STEP, *OF_JOB)
    near = nearest(key, known)
    fields = ", ".join(known)
    return BadScenarioError(
        say(
            "--what-if {text}: {key!r} is no field that can be tried out", text=_short(text), key=_short(key)
        ),
        say("did you mean {meant}? fields: {fields}", meant=near.word, fields=fields)
        if near is not None
        else say("fields: {fields}", fields=fields),
    )


def _value(text: str, key: str, value: str) -> object:
    try:
        return _READERS[key](value)
    except UnitProblem as problem:
        near = f"{key}={problem.nearest}" if problem.nearest else _EXAMPLES[key]
        raise _unfit(text, key, value, near) from None
    except ValueError:
        raise _unfit(text, key, value, _EXAMPLES[key]) from None


def _unfit(text: str, key: str, value: str, near: str) -> BadScenarioError:
    what = say("--what-if {text}: {key} cannot be {value!r}", text=_short(text), key=key, value=_short(value))
    return BadScenarioError(what, say("for example {example}", example=near))


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
            raise ValueError(text)
        return int(text)

    return read


def _cores(text: str) -> int:
    """Thousandths of a core."""
    whole, _, fraction = text.partition(".")
    if not (whole + fraction).isdigit() or not text.isascii() or len(whole) > 6 or len(fraction) > 3:
        raise ValueError(text)
    return int(whole or "0") * 1000 + int(fraction.ljust(3, "0"))


def _duration(text: str) -> Duration | Percent:
    if text.endswith("%"):
        return Percent(_whole(0, 100_000)(text[:-1].strip()))
    return parse(Duration, text)


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return read


def _named(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(text)
    return text


def _removed(text: str) -> bool:
    if text not in ("", "yes", "true"):
        raise ValueError(text)
    return True


_READERS: dict[str, Callable[[str], object]] = {
    "gpu.count": _whole(0, 100_000),
    "gpu.memory": lambda text: quantities.read(quantities.GPU_MEMORY, text),
    "gpu.type": _named,
    "cpu": _cores,
    "memory": lambda text: parse(Bytes, text),
    "duration": _duration,
    "level": _one_of(*LEVELS),
    "gpu.share": _one_of("exclusive", "fraction", "mig"),
    "gpu.within": _one_of("nvlink", "switch", "numa"),
    "gpu.topology": _one_of("strict", "prefer"),
    "split": _whole(1, 1024),
    REMOVE: _removed,
    "iterations": _whole(1, 1_000_000),
    "max_staleness": _whole(0, 1_000_000),
    "in_flight": _whole(1, 1_000_000),
}
_EXAMPLES = {
    "gpu.count": "gpu.count=2",
    "gpu.memory": "gpu.memory=24Gi",
    "gpu.type": "gpu.type=a100",
    "gpu.share": "gpu.share=exclusive|fraction|mig",
    "gpu.within": "gpu.within=nvlink|switch|numa",
    "gpu.topology": "gpu.topology=strict|prefer",
    "cpu": "cpu=4",
    "memory": "memory=16Gi",
    "duration": "duration=40s, duration=50%",
    "level": "level=" + "|".join(LEVELS),
    "split": "split=2",
    REMOVE: REMOVE,
    "iterations": "iterations=40",
    "max_staleness": "max_staleness=1",
    "in_flight": "in_flight=3",
}


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
