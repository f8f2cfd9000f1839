"""The Steps of a screen, and what waits."""

from __future__ import annotations

from dsec.outcomes import state as state_word
from dsec.progress import instance, span
from dsec_cli.screen.line import BOLD, CYAN, DIM, GREEN, RED, REVERSE, YELLOW, bar, fitted
from dsec_cli.screen.queue import waiting
from dsec_cli.screen.scene import chosen_of
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.screen.line import Line
    from dsec_cli.screen.scene import Scene, Wish
    from dsec_cli.screen.watch import Standing, Watch

    Tell = Callable[[str], str]

_URGENCY = {
    "running": 0,
    "paused": 1,
    "failed": 1,
    "cut off": 1,
    "waiting to retry": 1,
    "dropped": 2,
    "waiting": 3,
}
_STYLES = {
    "running": CYAN,
    "done": GREEN,
    "failed": RED,
    "paused": YELLOW,
    "dropped": YELLOW,
    "waiting to retry": YELLOW,
    "stopped": YELLOW,
}


def shown_steps(watch: Watch, room: int, chosen: str) -> list[str]:
    """Steps that fit on the screen: all, or else the chosen one and those that run or went wrong."""
    ids = list(watch.steps)
    if len(ids) <= room:
        return ids
    rows = watch.progress.steps
    order = sorted(ids, key=lambda step: (step != chosen, _URGENCY.get(rows[step].state, 4)))
    inside = set(order[: max(1, room)])
    return [step for step in ids if step in inside]


def steps(scene: Scene, wish: Wish, width: int, room: int, tell: Tell) -> list[Line]:
    """A head and a line for each Step that is shown."""
    if room < 2:
        return []
    chosen = chosen_of(scene, wish)
    names = shown_steps(scene.watch, room - 1, chosen)
    name_width = max(12, min(40, width - 58))
    many = scene.watch.plan.iterations.count
    head = [
        ("  ", ""),
        (fitted(tell(say("Step")), name_width), DIM),
        (" ", ""),
        (fitted(tell(say("state")), 15), DIM),
        (fitted(tell(say("iteration")), 10, right=True), DIM),
        (fitted(tell(say("try")), 5, right=True), DIM),
        (fitted(tell(say("time")), 8, right=True), DIM),
        (fitted(tell(say("planned")), 8, right=True), DIM),
        (fitted("RSS", 9, right=True), DIM),
        *([(fitted("CPU", 7, right=True), DIM)] if width >= 100 else []),
    ]
    rows = scene.watch.standings(scene.now_us, names, dead=scene.state == "dead")
    return [head, *(_row(scene, one, name_width, width, many, one.step == chosen, tell) for one in rows)]


def _row(
    scene: Scene, one: Standing, name_width: int, width: int, many: int, chosen: bool, tell: Tell
) -> Line:
    step = scene.watch.steps[one.step]
    called = f"{step.id} {step.name}" if step.name and step.name != step.id else step.id
    word = tell(state_word(one.state))
    if many > 1 and one.running is None and one.state != "paused":
        word = f"{word} {one.done}/{many}"
    use = scene.uses.get((one.step, one.iteration if one.iteration is not None else -1))
    late = one.running is not None and one.elapsed_us is not None and one.elapsed_us > one.estimate_us
    time = "" if one.elapsed_us is None else span(one.elapsed_us / 1e6)
    line: Line = [
        ("> " if chosen else "  ", BOLD),
        (fitted(called, name_width), REVERSE if chosen else BOLD if one.running else ""),
        (" ", ""),
        (fitted(word, 15), _STYLES.get(one.state, DIM)),
        (fitted("" if one.iteration is None else str(one.iteration), 10, right=True), ""),
        (fitted(str(one.attempt) if one.attempt > 1 else "", 5, right=True), YELLOW),
        (fitted(time, 8, right=True), YELLOW if late else ""),
        (fitted(span(one.estimate_us / 1e6), 8, right=True), DIM),
        (fitted(_rss(use.rss_bytes) if use else "?" if one.running else "", 9, right=True), ""),
    ]
    if width >= 100:
        line.append((fitted(_cpu(use.cpu_permille) if use else "", 7, right=True), ""))
    if width >= 116 and one.running is not None and one.elapsed_us is not None:
        share = one.elapsed_us * 1000 // max(1, one.estimate_us)
        line += [("  ", ""), (bar(share, min(30, width - 104)), YELLOW if share > 1000 else CYAN)]
    return line


def _rss(amount: int | None) -> str:
    if amount is None:
        return "?"
    return f"{amount / 2**30:.1f}GiB" if amount >= 2**30 else f"{amount / 2**20:.0f}MiB"


def _cpu(permille: int | None) -> str:
    return "?" if permille is None else f"{permille / 10:.0f}%"


def queue(scene: Scene, room: int, tell: Tell) -> list[Line]:
    """Who waits, how hungry it is, and why."""
    if room < 2 or scene.watch.fold.end is not None:
        return []
    found, many = waiting(scene.watch, scene.run_us, most=room - 1, dead=scene.state == "dead")
    if not found:
        return []
    iterations = scene.watch.plan.iterations.count
    lines: list[Line] = [[(tell(say("Waiting: {count}", count=many)), BOLD)]]
    for one in found:
        hunger = f"{one.hunger_permille / 1000:.2f}" if one.ready_us is not None else "  - "
        style = RED if one.hunger_permille > 800 else YELLOW if one.hunger_permille > 500 else DIM
        called = instance(one.step, one.iteration, of=iterations)
        lines.append([("  ", ""), (fitted(called, 20), ""), (f" {hunger}  ", style), (tell(one.why), "")])
    return lines
