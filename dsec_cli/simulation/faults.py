"""Faults as people state them: `gpu-lost:3@12m`, `slow:s1/2x0.5@1h+30m`, `straggler:S4x3@2m`."""

from __future__ import annotations

from dsec.core.simulated import FAULTS, Fault
from dsec.record import Record
from dsec.units import Duration, UnitProblem, parse
from dsec_cli.exit import UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.simulated import Workload
    from dsec_cli.simulation.values import Machine

FORM = "KIND:WHAT[xFACTOR]@TIME[+DURATION], such as gpu-lost:3@12m or slow:s1/2x0.5@1h+30m"
_USUAL = {"slow": 500, "straggler": 2000}
_DIGITS = 18


class _Stated(Record):
    text: str
    kind: str
    what: str
    permille: int
    at_ms: int
    for_ms: int


def faults_of(texts: Sequence[str], work: Workload, machines: Sequence[Machine]) -> tuple[Fault, ...]:
    """The faults; raises UsageError for what is none, or strikes nothing that there is."""
    found = tuple(_resolved(_stated(text), work, machines) for text in texts)
    return tuple(sorted(found, key=lambda one: one.at_ms))


def _stated(text: str) -> _Stated:
    kind, colon, rest = text.partition(":")
    if kind not in FAULTS or not colon:
        raise UsageError(
            say("{text!r} is no fault: it begins with none of {kinds}", text=text, kinds=", ".join(FAULTS)),
            hint=say("write {form}", form=FORM),
        )
    what, sign, when = rest.rpartition("@")
    if not sign:
        raise UsageError(
            say("{text!r} is no fault: it lacks @TIME", text=text), hint=say("write {form}", form=FORM)
        )
    start, _, lasts = when.partition("+")
    what, permille = _factor(text, kind, what)
    return _Stated(text, kind, what, permille, _ms(text, start), _ms(text, lasts) if lasts else 0)


def _factor(text: str, kind: str, what: str) -> tuple[str, int]:
    if kind not in _USUAL:
        return what, 0
    name, sign, factor = what.rpartition("x")
    digits = factor.replace(".", "", 1)
    if not sign or not digits.isascii() or not digits.isdigit():
        return what, _USUAL[kind]
    if len(digits) > _DIGITS:
        raise UsageError(
            say("{text!r}: the factor has more than {most} digits", text=text, most=_DIGITS),
            hint=say("write {form}", form=FORM),
        )
    whole, _, part = factor.partition(".")
    permille = int(whole or "0") * 1000 + int(f"{part}000"[:3])
    low, high = (1, 999) if kind == "slow" else (1001, 1_000_000)
    if not low <= permille <= high:
        want = say("between 0 and 1") if kind == "slow" else say("above 1")
        raise UsageError(
            say("{text!r}: the factor must be {want}", text=text, want=want),
            hint=say("write {form}", form=FORM),
        )
    return name, permille


def _ms(text: str, span: str) -> int:
    try:
        return parse(Duration, span).ms
    except UnitProblem as problem:
        raise UsageError(
            say("{text!r}: {reason}", text=text, reason=problem.reason), hint=say("write {form}", form=FORM)
        ) from None


def _resolved(one: _Stated, work: Workload, machines: Sequence[Machine]) -> Fault:
    devices: tuple[str, ...] = ()
    machine, steps = -1, frozenset[int]()
    if one.kind == "straggler":
        steps = _steps(one, work)
    elif one.kind == "node-lost":
        machine, devices = _node(one, machines)
    else:
        devices = (_device(one, machines),)
    return Fault(one.kind, one.at_ms, devices, machine, steps, one.permille, one.for_ms, one.text)


def _steps(one: _Stated, work: Workload) -> frozenset[int]:
    """Steps of that id; in a fleet, of that class or that Step of a class."""
    found = frozenset(
        at
        for at, step in enumerate(work.steps)
        if at not in work.arrivals and one.what in (step.id, step.name, step.name.partition(".")[0])
    )
    if not found:
        raise UsageError(
            say("{text!r}: there is no Step {what!r}", text=one.text, what=one.what),
            hint=say("a Step's id; in a fleet, a class or CLASS.STEP"),
        )
    return found


def _node(one: _Stated, machines: Sequence[Machine]) -> tuple[int, tuple[str, ...]]:
    """A server, or a node of a plan's inventory: its devices alone, as processors are those of all nodes."""
    whole = {
        machine.name: (at, tuple(device.uuid for device in machine.inventory.devices))
        for at, machine in enumerate(machines)
    }
    for machine in machines if len(machines) == 1 else ():
        for node in machine.inventory.nodes or ():
            uuids = tuple(device.uuid for device in machine.inventory.devices if device.node == node.name)
            whole.setdefault(node.name, (-1, uuids))
    if one.what not in whole:
        raise UsageError(
            say("{text!r}: there is no server {what!r}", text=one.text, what=one.what),
            hint=say("there are {names}", names=", ".join(whole)),
        )
    return whole[one.what]


def _device(one: _Stated, machines: Sequence[Machine]) -> str:
    """`SERVER/INDEX` or a UUID; the index alone where there is one server."""
    known = [device for machine in machines for device in machine.inventory.devices]
    for device in known:
        index = {f"{machines[0].name}/{device.index}", f"{device.index}", f"GPU-{device.index}"}
        if one.what == device.uuid or (len(machines) == 1 and one.what in index):
            return device.uuid
    alone = len(machines) == 1
    shown = [str(device.index) if alone else device.uuid for device in known]
    raise UsageError(
        say("{text!r}: there is no GPU {what!r}", text=one.text, what=one.what),
        hint=say("there are {names}", names=", ".join(shown[:8]) + (", ..." if len(shown) > 8 else ""))
        if shown
        else say("the inventory has none"),
    )
