"""Whether an attempt makes progress, on looks made by hand; no clock, no process."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.stall import (
    FLOOR_US,
    UNKNOWN_US,
    Bounds,
    Look,
    Pulse,
    Verdict,
    Watch,
    decision,
)

S = 1_000_000


class Film:
    """Looks at one attempt, one a second."""

    def __init__(self, **bounds: int) -> None:
        self.watch = Watch(0, Bounds(**bounds))
        self.at = 0
        self.every = S
        self.log = self.told = 0
        self.told_us: int | None = None
        self.cpu: dict[int, int] = {}
        self.signs: dict[int, int | None] = {}
        self.counts: dict[int, int] = {}
        self.ranks: dict[int, int | None] = {}
        self.parents: set[int] = set()

    def process(self, pid: int, rank: int | None = None) -> None:
        self.cpu[pid], self.ranks[pid], self.signs[pid], self.counts[pid] = 0, rank, None, 0

    def tell(self, pid: int) -> None:
        self.told += 1
        self.counts[pid] += 1
        self.told_us = self.signs[pid] = self.at

    def look(self, *, busy: tuple[int | None, ...] = (), **more: Any) -> Verdict | None:
        self.at += self.every
        pulses = tuple(
            Pulse(pid, self.ranks[pid], cpu, self.signs[pid], pid not in self.parents, self.counts[pid])
            for pid, cpu in self.cpu.items()
        )
        return self.watch.see(Look(self.at, self.log, pulses, self.told, self.told_us, busy, **more))

    def until_said(self, seconds: int, **more: Any) -> Verdict | None:
        for _ in range(seconds):
            if verdict := self.look(**more):
                return verdict
        return None


def steady(film: Film, times: int = 5, every: int = 10) -> None:
    """Signs of all processes every so many seconds, with work in between."""
    for _ in range(times):
        for _ in range(every):
            for pid in film.cpu:
                film.cpu[pid] += S
            film.look()
        for pid in film.cpu:
            film.tell(pid)


def test_silence_and_idleness_of_ten_medians_is_a_stall_told_once() -> None:
    film = Film()
    film.process(7)
    steady(film)
    began = film.at
    verdict = film.until_said(300)
    assert verdict is not None
    assert (verdict.kind, verdict.limit_us, verdict.known) == ("stalled", 100 * S, True)
    assert film.at - began == 100 * S
    assert verdict.first is None
    assert film.until_said(1000) is None
    film.tell(7)
    assert film.until_said(1000) is None  # it came out of that pause by itself, so twice as long is allowed
    assert film.until_said(3000) is not None


@pytest.mark.parametrize("busy", [(None,), (0, None), (1000,), (0, 60)])
def test_a_gpu_that_works_or_is_not_known_is_no_stall(busy: tuple[int | None, ...]) -> None:
    film = Film(usual_us=S)
    film.process(7)
    assert film.until_said(3000, busy=busy) is None
    assert film.until_said(61, busy=(0, 0)) is not None


def test_work_is_no_stall_but_who_told_and_is_silent_is_noticed() -> None:
    film = Film()
    film.process(7)
    steady(film)
    verdict = None
    for _ in range(1000):
        film.cpu[7] += S
        if verdict := film.look():
            break
    assert verdict is not None
    assert (verdict.kind, verdict.quiet_us) == ("silent", 300 * S)


def test_before_any_sign_the_usual_duration_of_the_step_counts() -> None:
    for usual, limit in ((0, UNKNOWN_US), (S, FLOOR_US), (30 * S, 300 * S)):
        film = Film(usual_us=usual)
        film.process(7)
        verdict = film.until_said(700)
        assert verdict is not None
        assert verdict.limit_us == limit
        assert verdict.known == (usual > 0)
        assert film.at == limit


def test_a_pause_that_it_came_out_of_makes_patient() -> None:
    film = Film(floor_us=S)
    film.process(7)
    steady(film, times=20, every=1)
    for _ in range(400):  # loads a data set from a slow disk, now and then
        film.cpu[7] += S
        film.look()
    film.tell(7)
    assert film.until_said(400 * 2 - 10) is None


def test_the_rank_that_stopped_first_is_named() -> None:
    film = Film(floor_us=S, factor=3)
    film.process(1)  # the launcher: never does a thing
    film.parents.add(1)
    for rank in range(3):
        film.process(10 + rank, rank)
    film.process(99, 2)  # a data loader that inherited its rank's environment
    steady(film)
    for _ in range(4):
        for pid in (10, 12, 99):
            film.cpu[pid] += S
        film.look()
    verdict = film.until_said(300)
    assert verdict is not None
    assert verdict.first is not None
    assert (verdict.first.name, verdict.first.pid, verdict.first.gone) == ("rank 1", 11, False)
    assert [rank.name for rank in verdict.ranks] == ["rank 1", "rank 0", "rank 2"]


def test_when_all_stop_within_one_look_who_told_least_recently_stopped_first() -> None:
    film = Film(floor_us=S, factor=3)
    for rank in range(3):
        film.process(10 + rank, rank)
    steady(film)
    film.tell(10)
    film.tell(12)
    film.at += S // 2
    film.tell(11)
    verdict = film.until_said(300)
    assert verdict is not None
    assert verdict.first is not None
    assert verdict.first.name == "rank 0"


@pytest.mark.parametrize(("more", "first"), [(0, "rank 1"), (3, "rank 0")])
def test_a_slow_rank_that_all_wait_for_stopped_first_though_it_worked_longest(more: int, first: str) -> None:
    film = Film(floor_us=S, factor=3)
    for rank in range(3):
        film.process(10 + rank, rank)
    steady(film)
    for _ in range(more):
        film.tell(12)  # it tells of more than its turns, so counts say nothing
    film.look()
    film.tell(10)
    film.tell(12)
    for _ in range(4):
        film.cpu[11] += S
        film.look()
    verdict = film.until_said(300)
    assert verdict is not None
    assert verdict.first is not None
    assert verdict.first.name == first


def test_of_ranks_that_hardly_told_the_last_work_decides() -> None:
    film = Film(floor_us=S, usual_us=S, factor=3)
    for rank in range(2):
        film.process(10 + rank, rank)
    film.tell(10)
    film.look()
    film.cpu[11] += S
    verdict = film.until_said(300)
    assert verdict is not None
    assert verdict.first is not None
    assert verdict.first.name == "rank 0"


def test_a_rank_that_died_stopped_first() -> None:
    film = Film(floor_us=S, factor=3)
    for rank in range(3):
        film.process(10 + rank, rank)
    steady(film)
    del film.cpu[12]
    for _ in range(3):
        film.cpu[10] += S
        film.cpu[11] += S
        film.look()
    verdict = film.until_said(300)
    assert verdict is not None
    assert verdict.first is not None
    assert (verdict.first.name, verdict.first.gone) == ("rank 2", True)


def test_processes_without_ranks_are_compared_by_the_leaves() -> None:
    film = Film(usual_us=S)
    film.process(1)
    film.parents.add(1)
    film.process(2)
    film.process(3)
    for _ in range(5):
        film.cpu[3] += S
        film.look()
    verdict = film.until_said(300)
    assert verdict is not None
    assert [rank.name for rank in verdict.ranks] == ["process 2", "process 3"]


def test_a_loop_of_short_sleeps_does_nothing() -> None:
    film = Film(usual_us=S)
    film.process(1)
    for second in range(100):
        film.cpu.pop(second + 1, None) if second else None
        film.process(second + 2)
        if film.look():
            break
    assert film.at <= FLOOR_US + 3 * S


def test_a_poller_does_nothing_however_often_it_is_looked_at() -> None:
    """The kernel counts in hundredths of a second: what a poller took for a minute comes as one piece."""
    film = Film(usual_us=S)
    film.every = S // 5
    film.process(7)
    for at in range(5 * 70):
        film.cpu[7] += 10_000 if at % 12 == 0 else 0
        if film.look():
            break
    assert film.at <= FLOOR_US + 3 * S


def test_who_takes_a_twentieth_of_a_processor_works_however_often_it_is_looked_at() -> None:
    film = Film(usual_us=S)
    film.every = S // 5
    film.process(7)
    for _ in range(5 * 200):
        film.cpu[7] += 10_000
        assert film.look() is None


def test_time_that_stood_still_or_was_paused_does_not_count() -> None:
    film = Film(usual_us=S)
    film.process(7)
    film.until_said(30)
    film.at += 3600 * S  # the machine slept
    assert film.until_said(25) is None
    assert film.until_said(500, paused=True) is None
    assert film.until_said(3) is None
    assert film.until_said(30) is not None


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from([0, 40, 900, None])), max_size=400),
    st.integers(0, 20),
)
def test_no_stall_is_ever_said_sooner_than_the_floor_after_work_or_sign(
    looks: list[tuple[bool, bool, int | None]], usual_s: int
) -> None:
    film = Film(usual_us=usual_s * S, floor_us=20 * S)
    film.process(7)
    last = 0
    for works, tells, busy in looks:
        if works:
            film.cpu[7] += S
        if tells:
            film.tell(7)
        verdict = film.look(busy=(busy,))
        if works or tells or busy is None or busy >= 50:
            last = film.at - (0 if works or busy is None or busy >= 50 else S)
        if verdict is not None and verdict.kind == "stalled":
            assert film.at - last >= 20 * S


@pytest.mark.parametrize(
    ("level", "known", "left", "droppable", "said"),
    [
        ("critical", True, 3, False, "tell"),
        ("critical", True, 0, True, "tell"),
        ("pauseable", True, 1, False, "retry"),
        ("pauseable", True, 0, False, "tell"),
        ("pauseable", False, 1, False, "tell"),
        ("elastic", True, 2, False, "retry"),
        ("discardable", True, 0, True, "drop"),
        ("discardable", True, 1, True, "retry"),
        ("discardable", True, 0, False, "tell"),
        ("discardable", False, 0, True, "tell"),
    ],
)
def test_what_becomes_of_it_follows_from_its_level(
    level: str, known: bool, left: int, droppable: bool, said: str
) -> None:
    assert decision(level, known=known, retries_left=left, droppable=droppable) == said
