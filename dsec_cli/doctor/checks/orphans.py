"""Processes that runs left behind, and what they hold."""

from __future__ import annotations

import os

from dsec import orphans
from dsec.errors import DSecError
from dsec_cli.doctor.check import Answer, Check
from dsec_cli.words import joined, say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dsec.orphans import Left, Orphan
    from dsec_cli.doctor.host import Host

_WHY = {"dead": say("its executor is gone"), "lost": say("its folder is gone")}


def look(_host: Host) -> Answer:
    """Every process whose run nobody carries out any more."""
    return told(orphans.find(), orphans.empty_cgroups(os.environb), held=device_memory)


def told(
    lefts: Sequence[Left],
    cgroups: Sequence[str],
    *,
    held: Callable[[], tuple[Mapping[int, Mapping[str, int | None]], Sequence[tuple[str, str]]]],
) -> Answer:
    """The same, as an answer; `held`: see `device_memory`."""
    if not lefts and not cgroups:
        return Answer("ok", (say("no process of an earlier run is left"),))
    count = sum(len(left.orphans) for left in lefts)
    many = say("{count} processes of earlier runs are left", count=count)
    lines: list[str] = [say("1 process of an earlier run is left") if count == 1 else many]
    memory, unread = held() if lefts else ({}, [])
    for left in lefts:
        why = _WHY[left.why]
        lines.append(say("  run {job}: {why} ({path})", job=left.run.job, why=why, path=left.run.path))
        lines += [_line(one, memory.get(one.process.pid, {})) for one in left.orphans]
    lines += [
        say("  who has memory of {device} is unknown: {why}", device=name, why=why) for name, why in unread
    ]
    lines += [say("  a cgroup of an executor that is gone: {path}", path=path) for path in cgroups]
    return Answer("problem", tuple(lines), say("end them with: dsec doctor --reap"))


def _line(orphan: Orphan, memory: Mapping[str, int | None]) -> str:
    facts: list[str] = []
    if orphan.rss_bytes is not None:
        facts.append(say("{size:.0f} MiB", size=orphan.rss_bytes / 2**20))
    else:
        facts.append(say("memory unknown"))
    for uuid, count in sorted(memory.items()):
        if count is None:
            facts.append(say("an unknown part of {device}", device=uuid))
        else:
            facts.append(say("{size:.0f} MiB of {device}", size=count / 2**20, device=uuid))
    return say(
        "    {pid} {command} ({facts})",
        pid=orphan.process.pid,
        command=orphan.command,
        facts=joined(", ", facts),
    )


def device_memory() -> tuple[dict[int, dict[str, int | None]], list[tuple[str, str]]]:
    """Memory on each device by pid (None: not told), and devices where nobody knows it, with why."""
    from dsec.devices.sampling import Sampler

    found: dict[int, dict[str, int | None]] = {}
    unread: list[tuple[str, str]] = []
    sampler = Sampler()
    try:
        readings = sampler.devices()
        if not readings and sampler.problem and has_driver():
            unread.append((say("the GPUs"), sampler.problem))
        for reading in readings:
            processes = sampler.processes(reading.uuid)
            if processes is None:
                unread.append((reading.uuid, say("the driver does not list its processes")))
            for pid, count in (processes or {}).items():
                found.setdefault(pid, {})[reading.uuid] = count
    except (DSecError, OSError) as problem:
        why = system(problem) if isinstance(problem, OSError) else problem.what
        unread.append((say("the GPUs"), why))
    finally:
        sampler.close()
    return found, unread


def has_driver() -> bool:
    """Whether a driver of NVIDIA is loaded, so that somebody should know."""
    return os.path.exists("/proc/driver/nvidia") or os.path.exists("/dev/nvidiactl")


CHECK = Check("orphans", look, budget_s=10.0)
