"""The devices of a screen: how busy, how full, how hot, in what state, and whose."""

from __future__ import annotations

from bisect import bisect_left

from dsec.core.heat import bars, filled, heat
from dsec.outcomes import state as state_word
from dsec.progress import span
from dsec_cli.screen.line import BOLD, CYAN, DIM, RED, YELLOW, bar, fitted, warmth
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.devices.reading import Reading
    from dsec_cli.screen.line import Line
    from dsec_cli.screen.scene import Scene

    Tell = Callable[[str], str]

HOT_C = 85
_STATES = {"ok": "", "dirty": YELLOW, "hot": RED, "failing": RED, "lost": RED, "unknown": DIM}
_GIB = 2**30
_WINDOW_US = 600_000_000
"""What the small curve beside a device shows."""


def devices(scene: Scene, width: int, room: int, tell: Tell) -> list[Line]:
    """A head and a line for each device, as many as there is room for."""
    if not scene.readings:
        if not scene.watch.gpus:
            return []
        return [[(tell(say("GPUs: unknown ({why})", why=scene.problem or say("none was found"))), DIM)]]
    size = max(6, min(24, (width - 60) // 4))
    curve = max(0, min(30, width - 96))
    head = [
        ("  # ", DIM),
        (fitted(tell(say("busy")), size + 6), DIM),
        (fitted(tell(say("memory")), size + 13), DIM),
        (fitted("℃", 4, right=True), DIM),
        *([(fitted(tell(say("power")), 7, right=True), DIM)] if width >= 110 else []),
        ("  ", ""),
        (fitted(tell(say("state")), 8), DIM),
        (" ", ""),
        *([(fitted(tell(_window(scene)), curve) + " ", DIM)] if curve else []),
        (tell(say("held by")), DIM),
    ]
    held = scene.watch.held_by()
    shown = scene.readings[: max(1, room - 1)]
    lines = [head]
    lines += [_device(scene, one, size, curve, width, held.get(one.uuid, []), tell) for one in shown]
    if len(shown) < len(scene.readings):
        more = len(scene.readings) - len(shown)
        lines[-1] = [(tell(say("  and {count} more GPUs", count=more + 1)), DIM)]
    if scene.read_us is not None:
        ago = span(max(0, scene.run_us - scene.read_us) / 1e6)
        lines.append([(tell(say("  as the run's monitor saw them {time} ago", time=ago)), DIM)])
    return lines


def _window(scene: Scene) -> str:
    """What the small curves show: a run that is younger than they are long fills them all the same."""
    return say("last 10 minutes") if scene.run_us > _WINDOW_US else say("since the start")


def _device(
    scene: Scene, one: Reading, size: int, curve: int, width: int, holders: list[str], tell: Tell
) -> Line:
    share = memory_permille(one)
    state = state_of(scene, one)
    line: Line = [
        (fitted(str(one.index), 3, right=True) + " ", BOLD),
        (bar(one.busy_permille, size), CYAN if one.busy_permille is not None else DIM),
        (fitted(_percent(one.busy_permille), 5, right=True) + " ", ""),
        (bar(share, size), warmth(share)),
        (fitted(_memory(one), 12, right=True) + " ", ""),
        (_figure(one.temperature_c, 4), RED if (one.temperature_c or 0) > HOT_C else ""),
    ]
    if width >= 110:
        watts = None if one.power_mw is None else f"{one.power_mw // 1000} W"
        line.append((fitted("?" if watts is None else watts, 7, right=True), ""))
    line += [("  ", ""), (fitted(tell(state_word(state)), 8), _STATES.get(state, YELLOW)), (" ", "")]
    if curve:
        line += [(_curve(scene, one.uuid, curve) + " ", "")]
    line.append((", ".join(holders) or "-", "" if holders else DIM))
    return line


def state_of(scene: Scene, one: Reading) -> str:
    """What the executor says of the device, where that is worse than what the driver says."""
    told = scene.watch.fold.devices.get(one.uuid)
    if one.state != "ok" or told is None:
        return one.state
    return told.state


def memory_permille(one: Reading) -> int | None:
    """How full the device is."""
    if one.memory_used_bytes is None or not one.memory_total_bytes:
        return None
    return min(1000, one.memory_used_bytes * 1000 // one.memory_total_bytes)


def _memory(one: Reading) -> str:
    if one.memory_used_bytes is None:
        return "?"
    total = "?" if one.memory_total_bytes is None else f"{one.memory_total_bytes / _GIB:.0f}"
    return f"{one.memory_used_bytes / _GIB:.1f}/{total}G"


def _percent(permille: int | None) -> str:
    return "?" if permille is None else f"{(permille + 5) // 10}%"


def _figure(value: int | None, width: int) -> str:
    return fitted("?" if value is None else str(value), width, right=True)


def _curve(scene: Scene, uuid: str, parts: int) -> str:
    trace = scene.traces.get(uuid)
    if trace is None:
        return " " * parts
    end = scene.run_us
    begin = max(0, end - _WINDOW_US)
    first = bisect_left(trace.times_us, begin)
    last = zip(trace.times_us[first:], trace.busy[first:], strict=True)
    shares = heat(last, begin_us=begin, end_us=end, parts=parts)
    return bars(filled(shares))


def heat_map(scene: Scene, width: int, tell: Tell) -> list[Line]:
    """The whole run: two lines a device, how busy and how full it was."""
    names = {one.uuid: str(one.index) for one in scene.readings}
    names |= {one.uuid: str(one.index) for one in scene.watch.plan.inventory.devices if one.uuid not in names}
    parts = max(8, width - 18)
    lines: list[Line] = [[(tell(say("Use of each GPU from the start of the run until now")), BOLD)]]
    for uuid, name in names.items():
        trace = scene.traces.get(uuid)
        if trace is None or not trace.times_us:
            lines.append([(f"{name:>3}  ", BOLD), (tell(say("nothing was read yet")), DIM)])
            continue
        for label, values in ((say("busy"), trace.busy), (say("memory"), trace.memory)):
            found = filled(
                heat(
                    zip(trace.times_us, values, strict=True),
                    begin_us=0,
                    end_us=max(1, scene.run_us),
                    parts=parts,
                )
            )
            lines.append(
                [
                    (f"{name:>3}  ", BOLD),
                    (fitted(tell(label), 8), DIM),
                    *[(bars([one]), warmth(one)) for one in found],
                ]
            )
            name = ""
    return lines
