"""What earlier runs teach about devices: where a Step ran out of memory, and how quick each device is.

A Step keeps off a type of device on which it ran out of memory, until it succeeds there. A device's speed
is learned by comparing what the same Step took on it and on others; little or uneven evidence changes
nothing, so that a plan changes when a machine does and not when timing trembles.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsec.inventory import Device

_LEAST_RUNS = 3
"""Of a Step on a device, before it says anything of the device."""
_LEAST_CHANGE = 10
"""Percent by which a learned speed must differ from the one that is known."""


class Pace(Record):
    """What one Step took on one device."""

    type: str
    ms: int
    """Median of the successful attempts."""
    n: int
    """How many there were."""


class Experience(Record):
    """What is known of Steps on devices."""

    ran_out: Mapping[str, Mapping[str, int]]
    """By Step and type: how often it ran out of memory there since it last succeeded."""
    paces: Mapping[str, Mapping[str, Pace]]
    """By Step and UUID, of Steps that run on one device."""


NOTHING = Experience({}, {})


def devices_text(types: Sequence[str]) -> str:
    """`2 x h100-sxm-80gb`, `1 x l4 + 1 x t4`; empty for no device, or where a type is not known."""
    if not all(types):
        return ""
    return " + ".join(f"{types.count(one)} x {one}" for one in sorted(set(types)))


def together(old: Experience, new: Experience) -> Experience:
    """The old one brought up to date; what is no longer true is left out."""
    ran_out: dict[str, dict[str, int]] = {step: dict(kinds) for step, kinds in old.ran_out.items()}
    for step, kinds in new.ran_out.items():
        mine = ran_out.setdefault(step, {})
        for kind, count in kinds.items():
            mine[kind] = mine.get(kind, 0) + count if count else 0
    kept = {step: {kind: count for kind, count in kinds.items() if count} for step, kinds in ran_out.items()}
    paces = {
        step: {**old.paces.get(step, {}), **new.paces.get(step, {})} for step in {**old.paces, **new.paces}
    }
    return Experience({step: kinds for step, kinds in kept.items() if kinds}, paces)


def learned_speeds(known: Experience, devices: Sequence[Device]) -> dict[str, int]:
    """Speeds, by UUID, of devices that proved quicker or slower than the inventory says."""
    by_type = {device.type: device.speed for device in devices if device.type}
    types = _type_speeds(known, by_type)
    found: dict[str, int] = {}
    for device in devices:
        base = types.get(device.type, device.speed)
        speed = base * _share(known, device.uuid, device.type) // 1000
        if abs(speed - device.speed) * 100 >= device.speed * _LEAST_CHANGE:
            found[device.uuid] = _two_digits(max(1, speed))
    return found


def _type_speeds(known: Experience, speeds: Mapping[str, int]) -> dict[str, int]:
    """Per type, its speed as Steps took on it and on the type that most Steps ran on."""
    medians = {step: _by_type(paces, speeds) for step, paces in known.paces.items()}
    counts = {type_: sum(type_ in one for one in medians.values()) for type_ in speeds}
    reference = max(sorted(counts), key=lambda type_: (counts[type_], speeds[type_]), default="")
    found: dict[str, int] = {}
    for type_ in speeds:
        ratios = [
            one[reference] * 1000 // max(one[type_], 1)
            for one in medians.values()
            if type_ != reference and type_ in one and reference in one
        ]
        if ratios:
            found[type_] = speeds[reference] * middle(ratios) // 1000
    return found


def _by_type(paces: Mapping[str, Pace], speeds: Mapping[str, int]) -> dict[str, int]:
    """Milliseconds that a Step took on each type, as the quickest device of the type took it."""
    found: dict[str, int] = {}
    for pace in paces.values():
        if pace.type in speeds and pace.n >= _LEAST_RUNS and pace.ms:
            found[pace.type] = min(pace.ms, found.get(pace.type, pace.ms))
    return found


def _share(known: Experience, uuid: str, type_: str) -> int:
    """Thousandths of its type's speed that a device has, as the median Step took on it."""
    ratios = []
    for paces in known.paces.values():
        mine = paces.get(uuid)
        if mine is None or mine.type != type_ or mine.n < _LEAST_RUNS or not mine.ms:
            continue
        alike = [one.ms for one in paces.values() if one.type == type_ and one.n >= _LEAST_RUNS and one.ms]
        ratios.append(min(alike) * 1000 // mine.ms)
    return middle(ratios) if ratios else 1000


def middle(values: Iterable[int]) -> int:
    """The median, the lower of two."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2]


def _two_digits(value: int) -> int:
    step = 1
    while value // step >= 100:
        step *= 10
    return (value + step // 2) // step * step
