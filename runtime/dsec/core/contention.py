"""Who held up whom without using what it waited for: from the long waits that probes wrote down.

Three kinds of evidence, from strong to weak. A file lock: one process held it while another waited
for the same file. Python's lock: threads of one process waited while another thread held it; where a
write or sync of that thread was timed meanwhile, it is named. A device: a process waited long in a sync
or write while another, which had begun earlier, was in a sync on the same device; both waited for
the device, the later one for both.
"""

from __future__ import annotations

from dsec.record import Record
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypeAlias

    Key: TypeAlias = tuple[str, str, str, str]

SYNC, WRITE, LOCK, LOCK_HELD, MUTEX, GIL = range(1, 7)
KINDS = {SYNC: "sync", WRITE: "write", LOCK: "lock", LOCK_HELD: "lock held", MUTEX: "mutex", GIL: "gil"}
MOST_WAITS = 20_000
"""The longest are looked at."""
LEAST_MS = 50
"""What adds up to less is not worth a line."""


class Wait(Record):
    """One long call of one process."""

    pid: int
    step: str
    tid: int
    kind: int
    begin_ns: int
    took_ns: int
    device: str
    """Of the file, `259:1`; "" where there is none."""
    inode: int
    gil: bool
    """Python's lock was held meanwhile."""

    @property
    def end_ns(self) -> int:
        """When it was over."""
        return self.begin_ns + self.took_ns


class Blocked(Record):
    """What one Step cost another (or itself), added up."""

    by: str
    step: str
    how: str
    """`lock`, `gil`, `gil-sync`, `gil-write`, `mutex` or `device`."""
    device: str
    ms: int
    times: int
    longest_ms: int


def blocked(waits: Iterable[Wait]) -> list[Blocked]:
    """Everything that adds up to 50 ms or more, the dearest first."""
    longest = sorted(waits, key=lambda one: (-one.took_ns, one.begin_ns, one.pid))[:MOST_WAITS]
    sums: dict[Key, list[int]] = {}
    for found in (_by_lock(longest), _by_gil(longest), _by_mutex(longest), _by_device(longest)):
        for key, took_ns in found:
            total = sums.setdefault(key, [0, 0, 0])
            total[0] += took_ns
            total[1] += 1
            total[2] = max(total[2], took_ns)
    told = [
        Blocked(*key, total[0] // 1_000_000, total[1], total[2] // 1_000_000) for key, total in sums.items()
    ]
    return sorted((one for one in told if one.ms >= LEAST_MS), key=lambda one: (-one.ms, one))


def _overlap_ns(a: Wait, b: Wait) -> int:
    return max(0, min(a.end_ns, b.end_ns) - max(a.begin_ns, b.begin_ns))


def _groups(waits: Iterable[Wait], key: str) -> Iterator[list[Wait]]:
    found: dict[object, list[Wait]] = {}
    for one in waits:
        at = getattr(one, key) if key != "file" else (one.device, one.inode)
        found.setdefault(at, []).append(one)
    yield from found.values()


def _pairs(waiting: list[Wait], holding: list[Wait]) -> Iterator[tuple[Wait, Wait]]:
    """Those that overlap, by one sweep over both in order of their begins."""
    ordered = sorted(
        [(one.begin_ns, 1, one) for one in holding] + [(one.begin_ns, 0, one) for one in waiting],
        key=lambda entry: entry[:2],
    )
    open_holding: list[Wait] = []
    open_waiting: list[Wait] = []
    for begin_ns, holds, one in ordered:
        open_holding = [other for other in open_holding if other.end_ns > begin_ns]
        open_waiting = [other for other in open_waiting if other.end_ns > begin_ns]
        if holds:
            yield from ((other, one) for other in open_waiting)
            open_holding.append(one)
        else:
            yield from ((one, other) for other in open_holding)
            open_waiting.append(one)


def _by_lock(waits: list[Wait]) -> Iterator[tuple[Key, int]]:
    for group in _groups((one for one in waits if one.kind in (LOCK, LOCK_HELD) and one.device), "file"):
        waiting = [one for one in group if one.kind == LOCK]
        holding = [one for one in group if one.kind == LOCK_HELD]
        for wait, held in _pairs(waiting, holding):
            if wait.pid != held.pid:
                yield (held.step, wait.step, "lock", wait.device), _overlap_ns(wait, held)


def _by_gil(waits: list[Wait]) -> Iterator[tuple[Key, int]]:
    for group in _groups(waits, "pid"):
        waiting = [one for one in group if one.kind == GIL]
        holding = [one for one in group if one.gil and one.kind in (SYNC, WRITE)]
        named: set[Wait] = set()
        for wait, held in _pairs(waiting, holding):
            if wait.tid != held.tid and wait not in named:
                named.add(wait)
                how = "gil-sync" if held.kind == SYNC else "gil-write"
                yield (held.step, wait.step, how, held.device), wait.took_ns
        for wait in waiting:
            if wait not in named:
                yield (wait.step, wait.step, "gil", ""), wait.took_ns


def _by_mutex(waits: list[Wait]) -> Iterator[tuple[Key, int]]:
    for one in waits:
        if one.kind == MUTEX:
            yield (one.step, one.step, "mutex", ""), one.took_ns


def _by_device(waits: list[Wait]) -> Iterator[tuple[Key, int]]:
    for group in _groups((one for one in waits if one.kind in (SYNC, WRITE) and one.device), "device"):
        for wait, other in _pairs(group, [one for one in group if one.kind == SYNC]):
            if wait.pid != other.pid and (other.begin_ns, other.pid) < (wait.begin_ns, wait.pid):
                yield (other.step, wait.step, "device", wait.device), _overlap_ns(wait, other)


def lines(found: list[dict[str, Any]]) -> list[str]:
    """The account of a report."""
    if not found:
        return [say("Nothing that the probes can see held a Step up for 50 ms or more.")]
    return [say("- {fact}", fact=sentence(one)) for one in found[:20]]


def sentence(one: Mapping[str, Any]) -> str:
    """What one Step cost another, in a line."""
    return say(_SENTENCES[one["how"]], **one)


_SENTENCES = {
    "lock": "{by} blocked {step} for {ms} ms by holding a file lock on device {device}"
    " ({times}x, the longest {longest_ms} ms)",
    "device": "{by} blocked {step} for {ms} ms by fsync on device {device}"
    " ({times}x, the longest {longest_ms} ms)",
    "gil-sync": "{by} blocked its own threads for {ms} ms by fsync on device {device} under Python's lock"
    " ({times}x, the longest {longest_ms} ms)",
    "gil-write": "{by} blocked its own threads for {ms} ms by writing to device {device} under Python's lock"
    " ({times}x, the longest {longest_ms} ms)",
    "gil": "{by} blocked its own threads for {ms} ms by a call that kept Python's lock"
    " ({times}x, the longest {longest_ms} ms)",
    "mutex": "threads of {by} waited {ms} ms for each other's locks ({times}x, the longest {longest_ms} ms)",
}
