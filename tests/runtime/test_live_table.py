"""The table on a terminal, and the counts and lines that it shares with plain output."""

from __future__ import annotations

import pytest

from dsec.events import Cancel, Exit, Retry, RunEnd, Spawn
from dsec.progress import Progress
from dsec_cli.report.live import LiveTable, shortened


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        ("S1", 34, "S1"),
        ("a-rather-long-name-07", 21, "a-rather-long-name-07"),
        ("a-rather-long-name-07", 10, "a-ra…me-07"),
        ("a-rather-long-name-07", 0, "a-…-07"),
    ],
)
def test_a_long_name_keeps_its_begin_and_its_end(name: str, room: int, shown: str) -> None:
    assert shortened(name, room) == shown


def spawn(step: str, attempt: int = 1) -> Spawn:
    return Spawn(10, step, 0, attempt, 7, 1, 2, (), "logs/x", "")


def end(step: str, cause: str, attempt: int = 1) -> Exit:
    code = 3 if cause == "exit" else None
    return Exit(2_000_000, step, 0, attempt, cause, code, None, "", 1_500_000, 7, None, None, None, None)


class Screen:
    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def push(self) -> None:
        pass


def test_the_last_picture_stays_and_the_cursor_is_never_hidden(kit):
    plan = kit.plan(kit.step("A"), kit.step("B", "A"))
    screen = Screen()
    table = LiveTable(screen, plan, Progress(plan))
    for event in (spawn("A"), end("A", "ok")):
        table.event(event, "")
    table.tick(2.0)
    before = len(screen.text)
    for event in (spawn("B"), end("B", "ok"), RunEnd(3_000_000, "succeeded", "")):
        table.event(event, "")
    table.close()
    last = screen.text[before:]
    assert last.count("done") == 3  # a row each, and the count below them
    assert "2 of 2 done" in last
    assert "running" not in last
    assert last.endswith("\n\x1b[?25h")
    assert "\x1b[?25l" not in screen.text


def test_counts_are_in_the_right_number(kit):
    progress = Progress(kit.plan(kit.step("A")))
    for event in (spawn("A"), end("A", "exit"), Retry(1, "A", 0, 2, 10)):
        progress.take(event)
    assert progress.summary(2.0) == "0 of 1 done, 0 running, 1 failed attempt, 1 retry, 2.00s elapsed"
    for event in (spawn("A", 2), end("A", "exit", 2), Retry(1, "A", 0, 3, 10)):
        progress.take(event)
    assert "2 failed attempts, 2 retries" in progress.summary(2.0)
    for event in (spawn("A", 3), end("A", "interrupted", 3), RunEnd(1, "interrupted", "")):
        progress.take(event)
    assert progress.summary(2.0) == "0 of 1 done, 2 failed attempts, 2 retries, 1 stopped, 2.00s elapsed"


def planned(kit, *steps, makespan_ms=0, count=1):
    plan = kit.plan(*steps, count=count)
    return plan._replace(analysis=plan.analysis._replace(makespan_ms=makespan_ms))


def learned(kit, name, *needs, ms):
    return kit.step(name, *needs, estimate_ms=ms, estimate_source="history")


def at(second, event):
    return event._replace(at_us=round(second * 1e6))


def test_the_time_left_is_what_is_planned_less_what_runs_already(kit):
    steps = (learned(kit, "A", ms=10), learned(kit, "B", "A", ms=5000), learned(kit, "C", "B", ms=1000))
    progress = Progress(planned(kit, *steps, makespan_ms=6010))
    for event in (at(0, spawn("A")), at(0.01, end("A", "ok")), at(1, spawn("B"))):
        progress.take(event)
    assert progress.eta_s(3.0) == pytest.approx(4.0)
    assert progress.eta_s(60.0) == pytest.approx(1.0)  # B takes longer than planned; C is still to come
    progress.take(at(61, end("B", "ok")))
    progress.take(at(61, spawn("C")))
    assert progress.eta_s(61.5) == pytest.approx(0.5)
    assert progress.eta_s(70.0) is None
    progress.take(Cancel(1, "interrupted"))
    assert progress.eta_s(61.5) is None


def test_the_time_left_is_that_of_a_machine_with_room_for_some_steps_only(kit):
    steps = [learned(kit, f"S{number}", ms=1000) for number in range(8)]
    progress = Progress(planned(kit, *steps, makespan_ms=4000))  # two at a time
    assert progress.eta_s(0.0) == pytest.approx(4.0)
    for event in (at(0, spawn("S0")), at(0, spawn("S1"))):
        progress.take(event)
    assert progress.eta_s(0.5) == pytest.approx(3.5)


def test_the_time_left_is_told_once_it_is_known(kit):
    progress = Progress(planned(kit, kit.step("A", estimate_ms=60_000), count=4))
    progress.take(at(0, spawn("A")))
    assert progress.eta_s(1.0) is None
    progress.take(at(1.5, end("A", "ok")))
    assert progress.eta_s(1.5) == pytest.approx(4.5)
    assert "about 4.50s left" in progress.summary(1.5)


def test_what_was_done_before_a_resume_is_done_in_the_table(kit):
    plan = kit.plan(kit.step("A"), kit.step("B", level="discardable"), kit.step("C", "A"))
    screen, progress = Screen(), Progress(plan)
    progress.skip("A", 1)
    progress.leave_out("B", 1)
    table = LiveTable(screen, plan, progress)
    for event in (spawn("C"), end("C", "ok"), RunEnd(1, "succeeded", "")):
        table.event(event, "")
    table.close()
    assert "waiting" not in screen.text
    assert "2 of 3 done, 1 dropped" in screen.text


def test_the_line_of_an_early_end_says_for_whom_it_waits(kit):
    progress = Progress(kit.plan(kit.step("A", grace_ms=30_000), *(kit.step(f"S{at}") for at in range(3))))
    stop = Cancel(1, "interrupted")
    assert progress.line(stop) == "ending early: interrupted"
    progress.take(spawn("A"))
    again = " (Ctrl-C again: 1s, a third time: at once)"
    assert progress.line(stop) == f"ending early: interrupted; waits up to 30s for A{again}"
    for number in range(3):
        progress.take(spawn(f"S{number}"))
    told = "ending early: cancelled; waits up to 30s for 4 Steps"
    assert progress.line(Cancel(1, "cancelled")) == told


def test_an_end_is_a_line_that_names_the_limit(kit):
    one = Progress(kit.plan(kit.step("A", timeout_ms=3000)))
    assert one.line(end("A", "timeout")) == "A ran past its timeout of 3s and was stopped"
    many = Progress(kit.plan(kit.step("A"), count=2))
    assert many.line(end("A", "exit")) == "A@0 exited with code 3"
