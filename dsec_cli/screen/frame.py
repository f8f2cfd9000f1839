"""The whole picture: as many lines as the screen has, none wider than it is."""

from __future__ import annotations

from dsec.core.reckoning import hours as hours_of
from dsec.outcomes import recorded
from dsec.outcomes import state as state_word
from dsec.progress import instance, span
from dsec_cli.cells import plain, wrap
from dsec_cli.screen.devices import devices, heat_map
from dsec_cli.screen.line import BOLD, CYAN, DIM, GREEN, RED, REVERSE, YELLOW, fitted, line_width, trimmed
from dsec_cli.screen.scene import chosen_of
from dsec_cli.screen.steps import queue, steps
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.events import Notice
    from dsec_cli.screen.line import Line
    from dsec_cli.screen.scene import Scene, Wish

    Tell = Callable[[str], str]

LEAST = (40, 10)
_ROOMY = 30
"""Lines between head and foot from which a third notice is shown."""
_STATES = {"running": CYAN, "succeeded": GREEN, "failed": RED, "dead": RED}
KEYS = (
    ("q", say("leave")),
    ("↑↓", say("choose")),
    ("l", say("log")),
    ("h", say("heat map")),
    ("n", say("notices")),
    ("p", say("hold")),
)


def frame(scene: Scene, wish: Wish, width: int, height: int, tell: Tell) -> list[Line]:
    """Exactly `height` lines; where `height` is 0 as many as there is something to say."""
    if height and (width < LEAST[0] or height < LEAST[1]):
        return [[(fitted(tell(say("the window is too small")), width), "")]]
    body = _VIEWS[wish.view](scene, wish, width, height - 3 if height else 0, tell)
    lines = [*_head(scene, width, tell), *body]
    if height:
        lines = lines[: height - 1] + [[]] * (height - 1 - len(lines))
        lines.append(_foot(wish, width, tell))
    return [trimmed(line, width) for line in lines]


def _head(scene: Scene, width: int, tell: Tell) -> list[Line]:
    state = scene.state
    left: Line = [
        ("dsec top ", DIM),
        (scene.job, BOLD),
        (" ", ""),
        (tell(state_word(state)), _STATES.get(state, YELLOW)),
        (f" {span(scene.run_us / 1e6)}", ""),
    ]
    gpu = scene.watch.gpu_us(scene.now_us)
    if gpu is not None:
        left.append(("  " + tell(_hours(scene, gpu)), ""))
    gap = width - line_width(left) - len(scene.clock)
    if gap > 1:
        left += [(" " * gap, ""), (scene.clock, DIM)]
    if scene.read_permille < 1000:
        share = scene.read_permille // 10
        return [left, [(tell(say("the run's journal is being read: {share}%", share=share)), YELLOW)]]
    return [left, [(tell(scene.watch.progress.summary(scene.now_us / 1e6, dead=scene.state == "dead")), "")]]


def _hours(scene: Scene, gpu_us: int) -> str:
    budget = scene.watch.plan.budget
    hours = hours_of(gpu_us)
    if budget is None or budget.most_ms is None:
        return say("{hours} GPU-hours", hours=hours)
    return say("{hours} of {most} GPU-hours", hours=hours, most=f"{budget.most_ms / 3.6e6:g}")


def _run(scene: Scene, wish: Wish, width: int, room: int, tell: Tell) -> list[Line]:
    """Devices, Steps, what waits, what happened, and the end of a log."""
    blocks: list[list[Line]] = [devices(scene, width, max(3, room // 3) if room else 99, tell)]
    left = room - sum(map(len, blocks)) - 2 if room else 0
    told = _attention(scene, 2 if 0 < room < _ROOMY else 3, tell)
    wanted = min(len(scene.watch.steps) + 1, max(4, (left - len(told)) // 2)) if room else 200
    blocks.append(steps(scene, wish, width, wanted, tell))
    left -= len(blocks[-1]) + len(told) + 3
    # A log that is short leaves its lines to what waits.
    log = min(5 if left > 7 else 3, 1 + len(scene.log))
    waits = queue(scene, min(7, max(0, left - log)) if room else 20, tell)
    blocks += [waits, told]
    left -= len(waits)
    if room == 0 or left >= log:
        blocks.append(_log(scene, wish, left if room else 12, tell))
    lines: list[Line] = []
    for block in blocks:
        if block:
            lines += [[("─" * width, DIM)], *block]
    return lines


def _attention(scene: Scene, most: int, tell: Tell) -> list[Line]:
    """What stands still, what is out of use, and the latest notices."""
    watch = scene.watch
    out = [one for one in watch.fold.devices.values() if one.state != "ok"]
    facts: list[str] = []
    if watch.fold.paused:
        facts.append(say("{count} paused", count=len(watch.fold.paused)))
    if out:
        facts.append(say("GPUs out of use: {count}", count=len(out)))
    lines: list[Line] = [[(tell(joined(", ", facts)), YELLOW)]] if facts else []
    return [*lines, *(_notice(scene, one, tell) for one in list(watch.notices)[-most:])]


def _notice(scene: Scene, one: Notice, tell: Tell) -> Line:
    """When, of what, and what; GPUs by the numbers that the picture has for them."""
    numbers = {device.uuid: device.index for device in scene.watch.plan.inventory.devices}
    numbers |= {reading.uuid: reading.index for reading in scene.readings}
    said = tell(recorded(one.detail))
    for uuid, number in numbers.items():
        said = said.replace(f"GPU {uuid}", f"GPU {number}").replace(uuid, f"GPU {number}")
    of = [instance(one.step, one.iteration, of=scene.watch.plan.iterations.count)] if one.step else []
    gpu = f"GPU {numbers[one.device]}" if one.device in numbers else ""
    if gpu not in said:
        of.append(gpu)
    return [("! ", YELLOW), (span(one.at_us / 1e6) + "  ", DIM), (": ".join([*of, said]), "")]


def _log(scene: Scene, wish: Wish, room: int, tell: Tell) -> list[Line]:
    name = chosen_of(scene, wish)
    if not scene.log_name:
        return [[(tell(say("{step} has written nothing yet", step=name)), DIM)]]
    head: Line = [(tell(say("log of {step}", step=name)), BOLD), ("  " + scene.log_name, DIM)]
    return [head, *([(text, "")] for text in scene.log[-max(1, room - 1) :])]


def _log_view(scene: Scene, wish: Wish, width: int, room: int, tell: Tell) -> list[Line]:
    return [[("─" * width, DIM)], *_log(scene, wish, room - 1, tell)]


def _heat_view(scene: Scene, wish: Wish, width: int, room: int, tell: Tell) -> list[Line]:
    return [[("─" * width, DIM)], *heat_map(scene, width, tell)]


def _notices_view(scene: Scene, wish: Wish, width: int, room: int, tell: Tell) -> list[Line]:
    most = max(1, room - 2) if room else len(scene.watch.notices)
    found = _attention(scene, most, tell) or [[(tell(say("no notice so far")), DIM)]]
    lines = [part for line in found for part in _whole(line, width)]
    return [[("─" * width, DIM)], *(lines[1 - room :] if room else lines)]


def _whole(line: Line, width: int) -> list[Line]:
    """The line in as many lines as its last piece takes."""
    *before, (text, style) = line
    indent = line_width(before)
    first, *others = wrap(plain(text), max(1, width - indent)) or [""]
    return [[*before, (first, style)], *([(" " * indent, ""), (part, style)] for part in others)]


_VIEWS = {"run": _run, "log": _log_view, "heat": _heat_view, "notices": _notices_view}


def _foot(wish: Wish, width: int, tell: Tell) -> Line:
    line: Line = []
    for key, meaning in KEYS:
        piece = [(f" {key} ", REVERSE), (f" {tell(meaning)} ", "")]
        if line_width(line) + line_width(piece) > width:
            break
        line += piece
    if wish.still:
        line.append((" " + tell(say("held")) + " ", YELLOW))
    return line
