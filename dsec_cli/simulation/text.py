"""A simulation for a terminal, 80 columns wide."""

from __future__ import annotations

from itertools import groupby

from dsec.core.simmeasures import HUNGRY
from dsec_cli.cells import cells, padded, plain, wrap
from dsec_cli.dag.view import time_text
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsec.core.simmeasures import Measures, Spread
    from dsec.core.simulated import Recovery
    from dsec.inventory import Inventory
    from dsec_cli.simulation.played import Played

    Tell = Callable[[str], str]

WIDTH = 80
_LABEL = 21
_BARS = " ▁▂▃▄▅▆▇█"
_CAUSES: dict[str, str] = {
    "killed": say("killed"),
    "paused": say("paused"),
    "shrunk": say("shrunk"),
    "gpu-lost": say("lost their GPU"),
    "node-lost": say("lost their server"),
}


def render(played: Played, tell: Tell = str) -> str:
    """Headline, use, waits, faults, cost, what was assumed; said by `tell`."""
    lines = [*_headline(played, tell), "", *_use(played, tell), "", *_waits(played, tell)]
    if played.scene.faults:
        lines += ["", *_recoveries(played, tell), *_too_late(played, tell)]
    lines += ["", *_rest(played, tell)]
    return "\n".join(plain(line).rstrip() for line in lines) + "\n"


def _row(tell: Tell, label: str, value: str) -> str:
    return padded(tell(label), _LABEL) + value


def _headline(played: Played, tell: Tell) -> Iterator[str]:
    found = played.measures
    time = time_text(found.end_ms)
    done, never = f"{found.steps:,}", f"{found.never:,}"
    if played.kind == "fleet":
        text = say(
            "simulation of {title}: {jobs} agents, {done} Steps done in {time}",
            title=played.title,
            jobs=f"{found.jobs:,}",
            done=done,
            time=time,
        )
    else:
        text = say(
            "simulation of {title}: {done} Steps done in {time}", title=played.title, done=done, time=time
        )
    yield _cut(tell(text))
    if found.never:
        yield tell(
            say("  1 Step was never done")
            if found.never == 1
            else say("  {never} Steps were never done", never=never)
        )
    for inventory, alike in groupby(played.machines, key=lambda one: _like(one.inventory)):
        names = [machine.name for machine in alike]
        several = f"{names[0]} - {names[-1]}" if len(names) > 3 else ", ".join(names)
        what = _described(inventory, tell)
        yield _cut(f"  {several}: {what if len(names) == 1 else tell(say('{what} each', what=what))}")
    if played.planned_ms is not None:
        same = played.planned_ms == found.end_ms
        time = time_text(played.planned_ms)
        yield tell(say("  as planned: {time}", time=time) if same else say("  planned: {time}", time=time))


def _like(inventory: Inventory) -> tuple[tuple[tuple[str, int], ...], int]:
    """What is said of a machine: its GPUs by type, and its processors."""
    kinds: dict[str, int] = {}
    for device in inventory.devices:
        kind = device.type or device.model
        kinds[kind] = kinds.get(kind, 0) + 1
    return tuple(sorted(kinds.items())), inventory.cpu_m


def _described(like: tuple[tuple[tuple[str, int], ...], int], tell: Tell) -> str:
    kinds, cpu_m = like
    gpus = ", ".join(f"{many} x {kind or tell(say('unknown GPU'))}" for kind, many in kinds)
    cores = say("ample cores") if cpu_m >= 10**9 else say("{count} cores", count=f"{cpu_m / 1000:g}")
    return f"{gpus or tell(say('no GPU'))}, {tell(cores)}"


def _cut(text: str) -> str:
    return text if cells(text) <= WIDTH else wrap(text, WIDTH - 3)[0] + "..."


def _use(played: Played, tell: Tell) -> Iterator[str]:
    use = played.measures.use
    if use.gpu is None:
        some = any(machine.inventory.devices for machine in played.machines)
        yield _row(tell, say("GPU time held"), tell(say("unknown") if some else say("no GPU")))
    else:
        yield _row(tell, say("GPU time held"), _share(use.gpu, tell))
        if use.gpu_there is not None and use.gpu_there != use.gpu:
            yield _row(tell, say("  of what was there"), _share(use.gpu_there, tell))
        if use.shared:
            yield _row(tell, say("  by several Steps"), _share(use.shared, tell))
        if use.kept:
            yield _row(tell, say("by idle workers"), _share(use.kept, tell))
        if evicted := played.measures.evicted:
            often = say("1 time") if evicted == 1 else say("{count} times", count=f"{evicted:,}")
            yield _row(tell, say("  that made room"), tell(often))
        bars = "".join(_bar(one) for one in use.over_time)[: WIDTH - _LABEL]
        yield _row(tell, say("  over time"), bars)
    yield _row(tell, say("CPU time held"), _share(use.cpu, tell))


def _bar(permille: int) -> str:
    """Full only where all of it is held, blank only where nothing is."""
    if permille >= 1000:
        return _BARS[-1]
    return _BARS[0] if permille <= 0 else _BARS[1 + permille * (len(_BARS) - 2) // 1000]


def _share(permille: int | None, tell: Tell) -> str:
    return tell(say("unknown")) if permille is None else f"{permille / 10:.1f} %"


def _waits(played: Played, tell: Tell) -> Iterator[str]:
    found = played.measures
    head = (tell(say("many")), tell(say("median")), "95 %", "99 %", tell(say("longest")))
    yield _columns("", head)
    yield _times(tell(say("Steps waited")), found.waits)
    if played.kind == "fleet":
        yield _times(tell(say("agents waited")), found.job_waits)
        yield _times(tell(say("agents took")), found.job_times)
    hunger = found.hunger
    shares = (hunger.median, hunger.p95, hunger.p99, hunger.longest)
    texts = [f"{one / 1000:.2f}" if hunger.many else "-" for one in shares]
    yield _columns(tell(say("hunger of Steps")), (f"{hunger.many:,}", *texts))
    if found.hungry:
        many = f"{found.hungry:,}"
        text = say("1 Step") if found.hungry == 1 else say("{count} Steps", count=many)
        yield _row(tell, say("  above {share}", share=f"{HUNGRY / 1000:g}"), tell(text))


def _columns(label: str, texts: tuple[str, ...]) -> str:
    return padded(label, _LABEL) + "".join(" " * (10 - cells(text)) + text for text in texts)


def _times(label: str, spread: Spread) -> str:
    found = (spread.median, spread.p95, spread.p99, spread.longest)
    return _columns(label, (f"{spread.many:,}", *(time_text(one) if spread.many else "-" for one in found)))


def _recoveries(played: Played, tell: Tell) -> Iterator[str]:
    manners = played.scene.manners
    assumed = manners.detect_ms + manners.restore_ms
    for one in played.history.recoveries:
        yield _cut(tell(say("fault {fault}: {effect}", fault=one.fault.text, effect=effect(one))))
        if not one.waits_ms:
            continue
        waits = sorted(one.waits_ms)
        longest, half = time_text(waits[-1]), time_text(waits[(len(waits) - 1) // 2])
        text = (
            say(
                "  the others worked again after {longest}, half of them after {half};",
                longest=longest,
                half=half,
            )
            if one.open
            else say(
                "  all worked again after {longest}, half of them after {half};", longest=longest, half=half
            )
        )
        yield tell(text)
        if assumed:
            text = say(
                "  {time} of that is assumed for noticing and restoring, the rest is waiting",
                time=time_text(assumed),
            )
        else:
            text = say("  noticing and restoring are taken to need no time (--detect, --restore)")
        yield tell(text)


def _too_late(played: Played, tell: Tell) -> Iterator[str]:
    """Faults that nothing was left for."""
    came = {one.fault for one in played.history.recoveries}
    time = time_text(played.measures.end_ms)
    for fault in played.scene.faults:
        if fault not in came:
            text = say("fault {fault}: it never came, for all ended at {time}", fault=fault.text, time=time)
            yield _cut(tell(text))


def effect(one: Recovery) -> str:
    """What a fault did, in words."""
    if one.fault.kind in ("slow", "straggler"):
        if not one.hit:
            return say("no Step was slowed down at that time")
        return say("1 Step slowed down") if one.hit == 1 else say("{count} Steps slowed down", count=one.hit)
    if not one.hit:
        return say("no Step was hit")
    if one.open and one.hit == 1:
        return say("1 Step hit, and it never ran again")
    if one.open:
        return say("{count} Steps hit, {never} never ran again", count=one.hit, never=one.open)
    return say("1 Step hit") if one.hit == 1 else say("{count} Steps hit", count=one.hit)


def _rest(played: Played, tell: Tell) -> Iterator[str]:
    found = played.measures
    if found.stops:
        stops = ", ".join(f"{many} {tell(_CAUSES[cause])}" for cause, many in found.stops)
        yield _row(tell, say("stopped"), stops)
        yield _row(tell, say("work done again"), time_text(found.again_ms))
    fewer, more = found.resized
    if fewer or more:
        text = say("{fewer} with fewer GPUs than the baseline, {more} with more", fewer=fewer, more=more)
        yield _row(tell, say("elastic starts"), tell(text))
    never = [at for at, _ in played.history.never if at not in played.scene.work.arrivals]
    if never:
        names = ", ".join(dict.fromkeys(played.scene.work.steps[at].id for at in never[:8]))
        yield _cut(_row(tell, say("never done"), names + (", ..." if len(never) > 8 else "")))
    yield from _cost(found, tell)
    for note in _notes(played):
        first, *others = wrap(tell(say("note: {note}", note=note)), WIDTH - 6)
        yield from (first, *(f"      {other}" for other in others))


def _notes(played: Played) -> Iterator[str]:
    yield say("memory, devices and cores are held, not measured: a GPU that is held may idle")
    if played.measures.use.shared:
        yield say("Steps that share a GPU are taken not to slow each other down")
    if played.seed is not None:
        yield say("durations and arrivals are drawn with seed {seed}", seed=played.seed)


def _cost(found: Measures, tell: Tell) -> Iterator[str]:
    cost = found.cost
    if cost.all is not None and cost.idle is not None:
        text = say(
            "{all}, {idle} of it for GPUs that nobody held", all=_money(cost.all), idle=_money(cost.idle)
        )
        yield _row(tell, say("cost"), tell(text))
    elif cost.unpriced:
        kinds = ", ".join(kind or tell(say("unknown GPU")) for kind in cost.unpriced)
        text = say("unknown: no price for {kinds} (--price)", kinds=kinds)
        yield _cut(_row(tell, say("cost"), tell(text)))


def _money(millionths: int) -> str:
    cents = (millionths + 5_000) // 10_000
    return f"{cents // 100:,}.{cents % 100:02}"
