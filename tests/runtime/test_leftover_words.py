"""What commands say of runs that are going on, dead, or lack a secret."""

from __future__ import annotations

import json
from types import SimpleNamespace

from dsec_cli.commands.carrying import referred, tell_of_baseline, variables_of


def noted(*pairs):
    notes = [
        f"{name} comes from {source}: a plan holds no secrets, so set it where it runs"
        for name, source in pairs
    ]
    return SimpleNamespace(notes=("memory comes from two nodes", *notes))


def test_what_gives_a_variable_its_value():
    plan = noted(("KEY", "vault://prod/key"), ("A", "env://B"), ("C", "env://C"), ("D", "env://GONE"))
    given, missing = referred(plan, {"B": "1", "C": "2"})
    assert given == (("A", "1"),)
    assert missing == [("KEY", "vault://prod/key"), ("D", "env://GONE")]
    assert referred(plan, {"B": "1", "C": "2", "KEY": "x", "D": "y"})[1] == []
    empty = {"B": "", "C": "2", "KEY": "", "D": "y"}  # as CI services set secrets that they do not have
    assert referred(plan, empty) == ((), [("KEY", "vault://prod/key"), ("A", "env://B")])


def test_what_nobody_gives_is_said(capsys, monkeypatch):
    monkeypatch.delenv("KEY", raising=False)
    assert variables_of(noted(("KEY", "vault://prod/key")), "en") == ((), (("KEY", "vault://prod/key"),))
    assert capsys.readouterr().err == (
        "dsec: warning: KEY will be missing: nothing is fetched from vault://prod/key;"
        " set it where the run starts\n"
    )


def test_a_variable_that_is_not_set_here_is_named(capsys, monkeypatch):
    monkeypatch.delenv("KEY", raising=False)
    monkeypatch.delenv("OTHER", raising=False)
    assert variables_of(noted(("KEY", "env://OTHER")), "en") == ((), (("KEY", "env://OTHER"),))
    assert capsys.readouterr().err == (
        "dsec: warning: KEY will be missing: the variable OTHER has no value here; set it and start again\n"
    )


def test_a_dead_runs_steps_are_not_running(job, kit):
    job.save(kit.plan(kit.step("A", argv=["sleep", "600"]), kit.step("B", "A")))
    process = job.start("run", "plan.json", "--job-id", "j")
    kit.wait_for(lambda: job.run_dir.exists() and job.events("spawn"))
    found = json.loads(job.dsec("top", "j", "--json"))
    assert [one["state"] for one in found["steps"]] == ["running", "waiting"]
    again = job.dsec("run", "plan.json", "--job-id", "j", expect=2)
    assert "it is running: dsec status j shows how far it is" in again
    assert "resume" not in again
    process.kill()
    process.wait()
    found = json.loads(job.dsec("top", "j", "--json"))
    assert (found["state"], [one["state"] for one in found["steps"]]) == ("dead", ["cut off", "waiting"])
    assert [one["why"] for one in found["waiting"]] == ["waits for A (cut off)"]
    screen = job.dsec("top", "j", "--once")
    assert "0 of 2 done, 1 cut off, " in screen
    assert "running" not in screen
    gone = "  the run's executor is gone: dsec resume j goes on\n"
    assert job.dsec("status", "j", "--why", "A") == f"A: cut off\n{gone}"
    assert job.dsec("status", "j", "--why", "B") == f"B: blocked\n  waits for A (cut off)\n{gone}"
    assert "dsec resume j continues it" in job.dsec("run", "plan.json", "--job-id", "j", expect=2)


def test_a_machine_below_the_baseline_is_said(capsys):
    plan = SimpleNamespace(notes=("baseline states 400 cores, the inventory has 2", "something else"))
    tell_of_baseline(plan, "en")
    assert capsys.readouterr().err == (
        "dsec: warning: baseline states 400 cores, the inventory has 2; the Steps are run all the same\n"
    )
