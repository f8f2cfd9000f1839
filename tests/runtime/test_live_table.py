"""The table on a terminal, and the counts and lines that it shares with plain output."""

from __future__ import annotations

import pytest

from dsec.events import Exit, Retry, RunEnd, Spawn
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


def test_an_end_is_a_line_that_names_the_limit(kit):
    one = Progress(kit.plan(kit.step("A", timeout_ms=3000)))
    assert one.line(end("A", "timeout")) == "A ran past its timeout of 3s and was stopped"
    many = Progress(kit.plan(kit.step("A"), count=2))
    assert many.line(end("A", "exit")) == "A@0 exited with code 3"
