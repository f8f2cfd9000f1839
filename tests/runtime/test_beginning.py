"""Of several who begin a run of one job id at the same moment one gets it, whatever was left there before."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dsec import beginning
from dsec.beginning import begin, give_up
from dsec.journal import Journal
from dsec.rundir import RunDir, began

ROUNDS = 40
RACERS = 3
LEFT = (None, b"", b"00000100 12345678 {")
"""What an earlier one left: no folder, one without a record, one with a torn record."""


def race(barrier, state, told, me):
    """Begin each job with the others; every fourth is given up again by who has it."""
    for number in range(ROUNDS):
        journal = None
        barrier.wait(30)
        try:
            run, journal = begin(state, f"j{number}", clock=time.monotonic)
        except (FileExistsError, BlockingIOError) as problem:
            told.put((number, me, type(problem).__name__))
        else:
            Path(run.plan).write_text(str(me))
            if number % 4 == 3:
                give_up(run, journal)
            else:
                journal.append("{}")
            told.put((number, me, "has it"))
        barrier.wait(30)
        if journal is not None and number % 4 != 3:
            journal.close()


def test_one_of_many_gets_the_run_and_all_of_its_folder(tmp_path):
    for number in range(ROUNDS):
        left = LEFT[number % len(LEFT)]
        if left is not None:
            folder = tmp_path / "runs" / f"j{number}"
            (folder / "logs").mkdir(parents=True)
            (folder / "journal").write_bytes(left)
    fork = multiprocessing.get_context("fork")
    barrier, told = fork.Barrier(RACERS), fork.SimpleQueue()
    racers = [
        fork.Process(target=race, args=(barrier, str(tmp_path), told, me), daemon=True)
        for me in range(RACERS)
    ]
    for racer in racers:
        racer.start()
    said = [told.get() for _ in range(ROUNDS * RACERS)]
    for racer in racers:
        racer.join(30)
        assert racer.exitcode == 0
    for number in range(ROUNDS):
        winners = [me for at, me, word in said if at == number and word == "has it"]
        folder = tmp_path / "runs" / f"j{number}"
        if number % 4 == 3:  # given up, and perhaps taken by the next: never by nobody
            assert winners
            assert not folder.exists()
            continue
        assert len(winners) == 1, sorted(one for one in said if one[0] == number)
        assert sorted(os.listdir(folder)) == ["journal", "logs", "metrics", "plan.json", "work"]
        assert (folder / "plan.json").read_text() == str(winners[0])
    assert [name for name in os.listdir(tmp_path / "runs") if name.startswith(".")] == []


def test_the_second_of_two_commands_is_told_in_one_line(job, kit):
    """Where the first holds the journal and wrote nothing yet, and where it wrote its first record."""
    job.save(kit.plan(kit.step("A")))
    run, journal = begin(str(job.run_dir.parent.parent), "j", clock=time.monotonic)
    told = "there is a run 'j' already in"
    assert told in (out := job.dsec("run", "plan.json", "--job-id", "j", expect=2))
    assert len(out.splitlines()) == 1
    assert sorted(os.listdir(run.path)) == ["journal", "journal.reserve", "logs", "metrics", "work"]
    give_up(run, journal)
    assert job.dsec("run", "plan.json", "--job-id", "j")
    assert told in job.dsec("run", "plan.json", "--job-id", "j", expect=2)


@pytest.mark.battery
def test_two_commands_at_once_run_every_step_once(job, kit):
    job.save(kit.plan(kit.step("A", shell="echo x >> all; sleep 0.2")))
    for number in range(3):
        words = [sys.executable, "-c", "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"]
        both = [
            subprocess.Popen(
                [*words, "run", "plan.json", "--job-id", f"j{number}"],
                cwd=job.folder,
                env=job.env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for _ in range(2)
        ]
        said = [one.communicate(timeout=60)[0].decode() for one in both]
        assert sorted(one.returncode for one in both) == [0, 2], said
    assert (job.folder / "all").read_text() == "x\n" * 3


def test_who_cannot_take_a_leftover_away_says_that_it_is_there(tmp_path, monkeypatch):
    run = RunDir("j", str(tmp_path / "runs" / "j"))
    os.makedirs(run.path)

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(beginning.os, "rename", refused)
    with pytest.raises(FileExistsError):
        begin(str(tmp_path), "j", clock=time.monotonic)
    monkeypatch.undo()
    made, journal = begin(str(tmp_path), "j", clock=time.monotonic)
    assert made == run
    assert not began(run)
    with pytest.raises(BlockingIOError):
        Journal(run.journal, clock=time.monotonic)
    give_up(made, journal)
    assert os.listdir(tmp_path / "runs") == []


def test_a_run_whose_journal_is_damaged_keeps_what_it_has_made(job, kit):
    job.save(kit.plan(kit.step("a", shell="echo made > $DSEC_RUN_DIR/made")))
    job.dsec("run", "plan.json", "--job-id", "j")
    (job.run_dir / "journal").write_bytes(bytes(range(128, 228)))
    for words in (("status", "j"), ("report", "j"), ("resume", "j")):
        assert "the journal of run j is damaged" in job.dsec(*words, expect=3), words
    job.dsec("run", "plan.json", "--job-id", "j", expect=2)
    assert (job.run_dir / "work" / "made").read_text() == "made\n"
