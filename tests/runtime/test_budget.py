"""A run that uses up its GPU-hours: warned of, let finish, or ended in order, by its progress."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dsec import spending
from dsec.events import Exit, RunEnd, RunStart, Spawn, encode
from dsec.journal import Header, header_payload, record
from dsec.monitor.checks.budget import Check
from dsec.outcomes import recorded
from dsec.plan import Budget
from dsec.words import Said

HOUR_MS = 3_600_000


class Run:
    """A journal that grows, and the scenes of its monitor."""

    def __init__(self, folder, kit, *, most_ms=HOUR_MS, count=4):
        step = kit.step("train", demand=kit.demand(gpu_count=1), estimate_ms=1000)
        self.plan = kit.plan(step, count=count)._replace(
            budget=None if most_ms is None else Budget(None, most_ms)
        )
        self.folder = folder
        (folder / "journal").write_bytes(record(header_payload(Header("j", "h", "/", 1, "b"))))
        self.add(RunStart(0, 1, 1, 1, "b", 1_000_000, False))
        self.running = {}

    def add(self, *events):
        with (self.folder / "journal").open("ab") as file:
            file.writelines(record(encode(event)) for event in events)

    def begin(self, at_h, iteration):
        self.add(Spawn(us(at_h), "train", iteration, 1, 7, 0, 0, ("A",), "logs/x", ""))
        self.running = {iteration}

    def end(self, at_h, iteration):
        self.add(Exit(us(at_h), "train", iteration, 1, "ok", 0, None, "", 1, 1, 1, None, None, None))
        self.running = set()

    def scene(self, at_h):
        uses = [
            SimpleNamespace(watched=SimpleNamespace(step="train", iteration=one, attempt=1))
            for one in self.running
        ]
        return SimpleNamespace(
            at_us=us(at_h), session=1, run_dir=str(self.folder), plan=lambda: self.plan, uses=uses
        )

    def told(self, check, at_h):
        return [one["word"] for one in check.look(self.scene(at_h))]


def us(hours):
    return round(hours * HOUR_MS * 1000)


@pytest.fixture
def run(tmp_path, kit):
    return Run(tmp_path, kit)


def test_each_verdict_is_told_once(run):
    check = Check()
    run.begin(0, 0)
    assert run.told(check, 0.2) == []
    run.end(0.4, 0)
    run.begin(0.4, 1)
    assert run.told(check, 0.7) == []
    assert run.told(check, 0.85) == ["warn"]  # a quarter is done, so it will take 3.4
    assert run.told(check, 0.9) == []
    assert run.told(check, 1.0) == ["stop"]


def test_a_run_at_its_end_is_let_finish(run):
    check = Check()
    for at in range(4):
        run.begin(at * 0.25, at)
        if at < 3:
            run.end(at * 0.25 + 0.25, at)
    (run.folder / "metrics").mkdir()
    (run.folder / "metrics" / "train@3.1.jsonl").write_text('{"progress": 0.97}\n')
    assert run.told(check, 1.0) == ["nearly"]  # 99 % are done
    assert run.told(check, 1.04) == ["stop"] or run.told(check, 1.06) == ["stop"]


def test_a_run_of_which_nothing_is_known_goes_on(run):
    check = Check()
    run.begin(0, 0)
    assert run.told(check, 1.0) == ["unknown"]
    assert run.told(check, 9.0) == []


def test_a_run_that_was_ended_and_resumed_goes_on(run):
    run.begin(0, 0)
    run.end(1.2, 0)
    run.add(RunEnd(us(1.2), "stopped", spending.ENDED + "1.20 of 1.00 GPU-hours, ..."))
    run.add(RunStart(0, 2, 1, 1, "b", 1_000_000 + int(1.2 * HOUR_MS), False))
    check = Check()
    run.begin(0, 1)
    assert run.told(check, 0.1) == ["again"]


@pytest.mark.parametrize("most_ms", [None])
def test_without_a_bound_nothing_is_read(tmp_path, kit, most_ms):
    run = Run(tmp_path, kit, most_ms=most_ms)
    (tmp_path / "journal").unlink()
    assert run.told(Check(), 5) == []


def test_a_journal_that_cannot_be_read_is_no_verdict(run):
    (run.folder / "journal").write_bytes(b"\0" * 100)
    assert run.told(Check(), 5) == []


@pytest.mark.parametrize("word", ["warn", "nearly", "unknown", "again", "stop"])
def test_what_is_told_can_be_said_in_another_language(word):
    told = {"word": word, "used_us": us(1.2), "most_us": us(1), "expected_us": us(3)}
    detail = spending.line(told)
    found = recorded(detail)
    assert found == detail
    assert isinstance(found, Said)
    assert found.args["used"] == "1.20"


def test_only_a_stop_ends_the_run():
    notices, reasons = [], []
    attention = SimpleNamespace(notice=lambda kind, detail: notices.append((kind, detail)))
    runner = SimpleNamespace(give_up=reasons.append, complete=False)
    for word in ("warn", "stop"):
        told = {"tell": "budget", "word": word, "used_us": us(1), "most_us": us(1), "expected_us": None}
        spending.respond(told, attention, runner)
    assert [kind for kind, _ in notices] == ["budget", "budget"]
    [reason] = reasons
    assert reason.startswith(spending.ENDED)
    runner.complete = True
    spending.respond(told, attention, runner)
    assert (len(notices), len(reasons)) == (2, 1), "the last Step ended while the monitor looked"
