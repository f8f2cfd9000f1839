"""A simulation for a terminal, 80 columns wide."""

from __future__ import annotations

import textwrap

from dsec.core.simmeasures import HUNGRY
from dsec_cli.dag.view import time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.core.simmeasures import Measures, Spread
    from dsec.core.simulated import Recovery
    from dsec_cli.simulation.played import Played

WIDTH = 80
_BARS = " ▁▂▃▄▅▆▇█"
_SPREAD = "{:<21}{:>10}{:>10}{:>10}{:>10}{:>10}"


def render(played: Played) -> str:
    """Headline, use, waits, faults, cost, what was assumed."""
    lines = [*_headline(played), "", *_use(played), "", *_waits(played)]
    if played.history.recoveries:
        lines += ["", *_recoveries(played)]
    lines += ["", *_rest(played)]
    return "\n".join(_plain(line) for line in lines) + "\n"


def _plain(text: str) -> str:
    """The text without what a terminal would obey."""
    return "".join(ch if ch.isprintable() else " " for ch in text)


def _headline(played: Played) -> Iterator[str]:
    found = played.measures
    jobs = f"{found.jobs:,} agents, " if played.kind == "fleet" else ""
    done = f"{found.steps:,} Steps done" + (f", {found.never:,} not" if found.never else "")
    yield _cut(f"simulation of {played.title}: {jobs}{done} in {time_text(found.end_ms)}")
    for machine in played.machines:
        kinds: dict[str, int] = {}
        for device in machine.inventory.devices:
            kind = device.type or device.model or "unknown GPU"
            kinds[kind] = kinds.get(kind, 0) + 1
        gpus = ", ".join(f"{many} x {kind}" for kind, many in sorted(kinds.items())) or "no GPU"
        cores = machine.inventory.cpu_m
        yield _cut(f"  {machine.name}: {gpus}, {'ample' if cores >= 10**9 else f'{cores / 1000:g}'} cores")
    if played.planned_ms is not None:
        same = "as planned" if played.planned_ms == found.end_ms else "planned"
        yield f"  {same}: {time_text(played.planned_ms)}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def _use(played: Played) -> Iterator[str]:
    use = played.measures.use
    if use.gpu is None:
        some = any(machine.inventory.devices for machine in played.machines)
        yield f"GPU time held        {'unknown' if some else 'no GPU'}"
    else:
        yield f"GPU time held        {_share(use.gpu)}"
        if use.gpu_there is not None and use.gpu_there != use.gpu:
            yield f"  of what was there  {_share(use.gpu_there)}"
        if use.shared:
            yield f"  by several Steps   {_share(use.shared)}"
        yield f"  over time          {''.join(_bar(one) for one in use.over_time)[: WIDTH - 21]}".rstrip()
    yield f"CPU time held        {_share(use.cpu)}"


def _bar(permille: int) -> str:
    """Full only where all of it is held, blank only where nothing is."""
    if permille >= 1000:
        return _BARS[-1]
    return _BARS[0] if permille <= 0 else _BARS[1 + permille * (len(_BARS) - 2) // 1000]


def _share(permille: int | None) -> str:
    return "unknown" if permille is None else f"{permille / 10:.1f} %"


def _waits(played: Played) -> Iterator[str]:
    found = played.measures
    yield _SPREAD.format("", "many", "median", "95 %", "99 %", "longest")
    yield _row("Steps waited", found.waits)
    if played.kind == "fleet":
        yield _row("agents waited", found.job_waits)
        yield _row("agents took", found.job_times)
    hunger = found.hunger
    shares = (hunger.median, hunger.p95, hunger.p99, hunger.longest)
    cells = [f"{one / 1000:.2f}" if hunger.many else "-" for one in shares]
    yield _SPREAD.format("hunger of Steps", f"{hunger.many:,}", *cells)
    if found.hungry:
        yield f"  above {HUNGRY / 1000:g}          {found.hungry:,} Steps"


def _row(label: str, spread: Spread) -> str:
    found = (spread.median, spread.p95, spread.p99, spread.longest)
    times = [time_text(one) if spread.many else "-" for one in found]
    return _SPREAD.format(label, f"{spread.many:,}", *times)


def _recoveries(played: Played) -> Iterator[str]:
    for one in played.history.recoveries:
        yield _cut(f"fault {one.fault.text}: {_effect(one)}")
        if one.waits_ms:
            manners = played.scene.manners
            assumed = manners.detect_ms + manners.restore_ms
            longest, first = max(one.waits_ms), sorted(one.waits_ms)[(len(one.waits_ms) - 1) // 2]
            yield f"  all worked again after {time_text(longest)}, half of them after {time_text(first)};"
            yield (
                f"  {time_text(assumed)} of that is assumed for noticing and restoring, the rest is waiting"
                if assumed
                else "  noticing and restoring are taken to need no time (--detect, --restore)"
            )


def _effect(one: Recovery) -> str:
    many = "1 Step" if one.hit == 1 else f"{one.hit} Steps"
    if one.fault.kind in ("slow", "straggler"):
        return f"{many} slowed down" if one.hit else "no Step was slowed down at that time"
    if not one.hit:
        return "no Step was hit"
    return f"{many} hit" + (f", {one.open} never ran again" if one.open else "")


def _rest(played: Played) -> Iterator[str]:
    found = played.measures
    if found.stops:
        yield f"stopped              {', '.join(f'{many} {cause}' for cause, many in found.stops)}"
        yield f"work done again      {time_text(found.again_ms)}"
    fewer, more = found.resized
    if fewer or more:
        yield f"elastic starts       {fewer} with fewer GPUs than the baseline, {more} with more"
    never = [at for at, _ in played.history.never if at not in played.scene.work.arrivals]
    if never:
        names = ", ".join(dict.fromkeys(played.scene.work.steps[at].id for at in never[:8]))
        yield _cut(
            f"never done           {len(never):,} Steps: {names}" + (", ..." if len(never) > 8 else "")
        )
    yield from _cost(found)
    texts = ["memory, devices and cores are held, not measured: a GPU that is held may idle"]
    if found.use.shared:
        texts.append("Steps that share a GPU are taken not to slow each other down")
    if played.seed is not None:
        texts.append(f"durations and arrivals are drawn with seed {played.seed}")
    for text in texts:
        yield from textwrap.wrap(f"note: {text}", WIDTH, subsequent_indent="      ")


def _cost(found: Measures) -> Iterator[str]:
    cost = found.cost
    if cost.all is None or cost.idle is None:
        if cost.unpriced:
            yield _cut(f"cost                 unknown: no price for {', '.join(cost.unpriced)} (--price)")
        return
    yield f"cost                 {_money(cost.all)}, {_money(cost.idle)} of it for GPUs that nobody held"


def _money(millionths: int) -> str:
    return f"{millionths // 1_000_000:,}.{millionths % 1_000_000 // 10_000:02}"
