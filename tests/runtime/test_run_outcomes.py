"""How Steps end, and what the run makes of it: causes in words, retries, drops, exit codes."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from dsec.outcomes import length


def test_what_a_step_gets(job, kit):
    script = 'env | sort > "$DSEC_RUN_DIR/env.$DSEC_STEP.$DSEC_ITERATION"; pwd; echo oops >&2; cat'
    steps = [
        kit.step("A", shell=script, env=(("MINE", "a b"),)),
        kit.step("B", shell=script, carried=[("A", 0), ("A", 0)], cwd="sub"),
    ]
    (job.folder / "sub").mkdir()
    job.run(kit.plan(*steps, count=2))

    def env(name):
        return dict(
            line.split("=", 1)
            for line in (job.run_dir / "work" / name).read_text().splitlines()
            if "=" in line
        )

    first, second = env("env.A.0"), env("env.B.1")
    assert first["DSEC_RUN"] == "j"
    assert first["DSEC_RUN_DIR"] == str(job.run_dir / "work")
    assert first["DSEC_CONTRACT_DIR"] == str(job.folder)
    assert first["DSEC_ATTEMPT"] == "1"
    assert first["MINE"] == "a b"
    assert first["CUDA_VISIBLE_DEVICES"] == ""
    assert first["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert env("env.B.0")["DSEC_CARRIED"] == "A=-1"
    assert second["DSEC_CARRIED"] == "A=0"
    assert (job.run_dir / "logs" / "B@1.1.log").read_text() == f"{job.folder}/sub\noops\n"


def test_argv_is_never_a_shell(job, kit):
    job.run(kit.plan(kit.step("A", argv=["echo", "$HOME", ";", "a  b"])))
    assert (job.run_dir / "logs" / "A@0.1.log").read_text() == "$HOME ; a  b\n"


FAILURES = {
    "exit": ({"shell": "echo last words; exit 7"}, "exited with code 7", "exit"),
    "signal": ({"shell": "kill -9 $$"}, "was killed by SIGKILL (not by dsec)", "signal"),
    "timeout": (
        {"argv": ["sleep", "60"], "timeout_ms": 100},
        "ran past its timeout of 0.1s and was stopped",
        "timeout",
    ),
    "deaf": (
        {"shell": "trap '' TERM; while :; do sleep 0.05; done", "timeout_ms": 100},
        "ran past its timeout",
        "timeout",
    ),
    "not found": ({"argv": ["no-such-program"]}, "the program was not found: no-such-program", "not-found"),
    "no such path": ({"argv": ["./nothing"]}, "the program was not found", "not-found"),
    "not executable": ({"argv": ["./plan.json"]}, "/plan.json (mend it with: chmod +x ", "not-executable"),
    "a folder": ({"argv": ["./.dsec"]}, ".dsec/ is a folder, not a program", "not-executable"),
    "no first line": ({"argv": ["./plain"]}, "plain must name its interpreter: #!/bin/sh", "not-executable"),
    "no interpreter": ({"argv": ["./script"]}, "the interpreter that", "not-found"),
    "no folder": ({"cwd": "nowhere"}, "its folder does not exist: ", "no-folder"),
    "no output": ({"outputs": ("{run}/x-{iteration}",)}, "did not write a declared output", "missing-output"),
    "too long": ({"argv": ["true", "x" * 200_000]}, "Argument list too long", "cannot-start"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_has_a_cause_in_words(job, kit, name):
    given, words, cause = FAILURES[name]
    script = job.folder / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    plain = job.folder / "plain"
    plain.write_text("echo hello\n")
    plain.chmod(0o755)
    out = job.run(kit.plan(kit.step("A", **given), kit.step("B", "A")), expect=1)
    assert words in out
    assert job.ends() == [("A", cause)]
    if name == "exit":
        assert "  | last words" in out
        assert "A@0.1.log" in out
    report = json.loads((job.run_dir / "report.json").read_text())
    assert report["outcome"] == "failed"
    assert report["failures"][0]["cause"] == cause
    of_the_plan = cause in ("not-found", "not-executable", "no-folder", "timeout", "missing-output")
    for told in (out, job.dsec("status", "j")):
        assert ("after a change of the contract start a new one" in told) == of_the_plan


def test_a_log_folder_that_was_removed_is_made_again(job, kit):
    away = kit.step("A", shell='rm -r "$DSEC_RUN_DIR/../logs"')
    job.run(kit.plan(away, kit.step("B", "A", shell="echo here")))
    assert job.dsec("logs", "j", "B") == "here\n"


def test_a_run_whose_folder_was_removed_says_that(job, kit):
    away = kit.step("A", shell='rm -r "${DSEC_RUN_DIR%/work}"')
    out = job.run(kit.plan(away, kit.step("B", "A")), expect=3)
    assert f"the run's folder was removed: {job.run_dir}" in out
    assert "not found" not in out
    assert out.splitlines()[-1] == "it cannot be resumed: its folder was removed"


def test_retries_back_off_and_can_succeed(job, kit):
    script = 'test "$DSEC_ATTEMPT" = 3'
    begun = time.monotonic()
    job.run(kit.plan(kit.step("A", shell=script, retries=kit.retries(4, 100, 3))))
    assert time.monotonic() - begun > 0.4
    assert job.ends() == [("A", "exit"), ("A", "exit"), ("A", "ok")]
    assert [event["delay_ms"] for event in job.events("retry")] == [100, 300]
    assert sorted(os.listdir(job.run_dir / "logs")) == ["A@0.1.log", "A@0.2.log", "A@0.3.log"]


def test_retries_without_delay_of_what_cannot_start(job, kit):
    argv = ["true", "x" * 200_000]
    job.run(kit.plan(kit.step("A", argv=argv, retries=kit.retries(50, 0, 1))), expect=1)
    assert job.ends() == [("A", "cannot-start")] * 51


@pytest.mark.parametrize(
    "given", [{"argv": ["no-such"]}, {"argv": ["./plan.json"]}, {"cwd": "nowhere"}, {"argv": ["./script"]}]
)
def test_what_is_not_there_is_not_tried_again(job, kit, given):
    script = job.folder / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    job.run(kit.plan(kit.step("A", **given, retries=kit.retries(3, 0, 1))), expect=1)
    assert len(job.ends()) == 1


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (400, "0.4s"),
        (3000, "3s"),
        (90_000, "90s"),
        (600_000, "10m"),
        (5_400_000, "1h30m"),
        (3_600_000, "1h"),
    ],
)
def test_a_timeout_is_told_as_contracts_state_it(ms, text):
    assert length(ms) == text


def test_each_step_has_its_own_timeout(job, kit):
    """One timer serves all: it must go off for the shorter timeout, also of a Step that began later."""
    steps = [
        kit.step("long", argv=["sleep", "1.6"], timeout_ms=30_000, rank_ms=9),
        kit.step("first", argv=["sleep", "30"], timeout_ms=700, rank_ms=8),
        kit.step("second", argv=["sleep", "30"], timeout_ms=300, rank_ms=7),
    ]
    job.run(kit.plan(*steps), "--keep-going", expect=1)
    walls = {event["step"]: (event["cause"], event["wall_us"]) for event in job.events("exit")}
    assert [walls[name][0] for name in ("long", "first", "second")] == ["ok", "timeout", "timeout"]
    assert 700_000 <= walls["first"][1] < 1_600_000
    assert 300_000 <= walls["second"][1] < 1_200_000


def test_small_steps_do_not_starve_a_large_one(job, kit):
    """Two processors: a Step of both starts when the long one ends, though small ones would always fit."""
    two = kit.demand(cpu_m=2000)
    steps = [
        kit.step("long", argv=["sleep", "0.6"], estimate_ms=600, rank_ms=9),
        kit.step("large", argv=["true"], rank_ms=8, demand=two),
        *(kit.step(f"small{at}", argv=["sleep", "0.25"], estimate_ms=250) for at in range(8)),
    ]
    job.run(kit.plan(*steps))
    began = [event["step"] for event in job.events("spawn")]
    assert began.index("large") < 6, began


def test_the_output_of_python_is_seen_at_once_unless_the_user_has_a_say(job, kit):
    steps = [
        kit.step("A", shell='echo "[$PYTHONUNBUFFERED]"'),
        kit.step("B", shell='echo "[$PYTHONUNBUFFERED]"', env=(("PYTHONUNBUFFERED", ""),)),
    ]
    job.env.pop("PYTHONUNBUFFERED", None)
    job.run(kit.plan(*steps))
    found = [(job.run_dir / "logs" / f"{step}@0.1.log").read_text() for step in "AB"]
    assert found == ["[1]\n", "[]\n"]


def test_a_discardable_step_that_only_such_need_is_dropped(job, kit):
    steps = [
        kit.step("A"),
        kit.step("metrics", "A", shell="exit 1", level="discardable", retries=kit.retries(1, 0, 1)),
        kit.step("plot", "metrics", level="discardable"),
        kit.step("B", "A"),
    ]
    out = job.run(kit.plan(*steps, count=2))
    assert "metrics@0 was dropped: it failed 2 times and is discardable" in out
    assert {(event["step"], event["iteration"]) for event in job.events("drop")} == {
        (step, iteration) for step in ("metrics", "plot") for iteration in (0, 1)
    }
    assert ("plot", "ok") not in job.ends()


def test_a_discardable_step_that_others_need_fails_the_run(job, kit):
    job.run(kit.plan(kit.step("A", shell="exit 1", level="discardable"), kit.step("B", "A")), expect=1)


def test_after_a_failure_nothing_starts_but_what_runs_ends(job, kit):
    steps = [
        kit.step("bad", shell="sleep 0.2; exit 1", rank_ms=9),
        kit.step("slow", argv=["sleep", "1"], rank_ms=8),
        kit.step("later", "slow"),
    ]
    job.run(kit.plan(*steps), expect=1)
    assert job.ends() == [("bad", "exit"), ("slow", "ok")]


def test_keep_going_runs_what_is_independent(job, kit):
    steps = [
        kit.step("bad", shell="exit 1"),
        kit.step("child", "bad"),
        kit.step("other"),
        kit.step("last", "other"),
    ]
    job.run(kit.plan(*steps), "--keep-going", expect=1)
    assert sorted(job.ends()) == [("bad", "exit"), ("last", "ok"), ("other", "ok")]


def test_the_same_job_id_twice_is_asked_wrongly(job, kit):
    plan = kit.plan(kit.step("A"))
    job.run(plan)
    assert "dsec resume j" in job.run(plan, expect=2)
    assert "cannot be a job id" in job.dsec("run", "plan.json", "--job-id", "a/b", expect=2)


def test_a_demand_this_machine_cannot_meet_is_refused_before_anything_starts(job, kit):
    out = job.run(kit.plan(kit.step("A"), kit.step("B", demand=kit.demand(gpu_count=1000))), expect=3)
    assert "Step B cannot run here: needs 1000 GPUs" in out
    assert not (job.run_dir / "journal").exists()


def test_a_plan_that_was_edited_is_refused(job, kit):
    job.save(kit.plan(kit.step("A")))
    text = (job.folder / "plan.json").read_text()
    (job.folder / "plan.json").write_text(text.replace('"true"', '"reboot"'))
    assert "hash" in job.dsec("run", "plan.json", expect=3)


def test_json_lines_are_the_journal(job, kit):
    out = job.run(kit.plan(kit.step("A"), kit.step("B", "A")), "--json")
    assert [json.loads(line) for line in out.splitlines()] == job.events()


def test_a_reader_that_goes_away_does_not_stop_the_run(job, kit):
    job.save(kit.plan(*(kit.step(f"S{at}") for at in range(40))))
    process = job.start("run", "plan.json", "--job-id", "j")
    process.stdout.close()
    process.stdout = None
    assert process.wait(timeout=60) == 0
    assert len(job.ends()) == 40


@pytest.mark.battery
def test_a_reader_that_does_not_read_does_not_stop_the_run(job, kit):
    script = "i=0; while [ $i -lt 200 ]; do echo x; i=$((i+1)); done; exit 1"
    steps = [
        kit.step(f"S{at}", shell=script, level="discardable", retries=kit.retries(9, 0, 1))
        for at in range(30)
    ]
    read, write = os.pipe()
    job.save(kit.plan(*steps))
    process = job.start("run", "plan.json", "--job-id", "j", "--json", stdout=write)
    os.close(write)
    kit.wait_for(
        lambda: (job.run_dir / "journal").exists() and any(one["event"] == "run-end" for one in job.events()),
        seconds=60,
    )
    os.close(read)
    assert process.wait(timeout=60) == 0


def test_a_clock_jump_changes_nothing(job, kit):
    """Time is read from the monotonic clock; the calendar is only written down."""
    code = "import time; real=time.time_ns; time.time_ns=lambda: real()-10**18\n" + job_entry()
    job.save(kit.plan(kit.step("A", argv=["sleep", "0.3"], timeout_ms=5000)))
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code, "run", "plan.json", "--job-id", "j"],
        cwd=job.folder,
        env=job.env,
        timeout=60,
    )
    assert done.returncode == 0
    assert 250_000 < job.events("exit")[0]["wall_us"] < 5_000_000


def job_entry():
    return "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"


FULL_DISK = """
mount -t tmpfs -o size=17784k none "$PWD/small" || exit 99
export DSEC_SAFE_DIRECTORY="$PWD/small"  # in a namespace of a user, /tmp belongs to nobody that is known
head -c 16777216 /dev/zero > small/filler || exit 99
DSEC_HOME="$PWD/small" "$@" run plan.json --job-id j; echo "run $?"
cp small/runs/j/journal journal.full
rm small/filler
DSEC_HOME="$PWD/small" "$@" resume j --quiet; echo "resume $?"
mkdir -p .dsec/runs && cp -r small/runs/j .dsec/runs/
"""


def test_a_full_disk_ends_the_run_in_order_and_resume_goes_on(job, kit):
    """A real file system that runs full of journal, in a mount namespace of its own."""
    import subprocess
    import sys

    (job.folder / "small").mkdir()
    count = 1200
    job.save(kit.plan(*(kit.step(f"S{at:04}", *([f"S{at - 1:04}"] if at else [])) for at in range(count))))
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    script = ["unshare", *user, "--mount", "sh", "-c", FULL_DISK, "sh", sys.executable, "-c", job_entry()]
    done = subprocess.run(script, cwd=job.folder, env=job.env, capture_output=True, text=True, timeout=120)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    out = done.stdout
    assert "run 3" in out, done
    assert "stopped (the disk is full)" in out
    assert "resume 0" in out, done
    ends = [step for step, cause in job.ends() if cause == "ok"]
    assert len(ends) == len(set(ends)) == count, "no finished Step ran again and none was lost"


def test_signals_reach_steps_as_default(job, kit):
    """A run under nohup or with ignored signals gives its Steps default dispositions and an empty mask."""
    script = "grep -E '^Sig(Blk|Ign)' /proc/self/status"

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})

    job.save(kit.plan(kit.step("A", shell=script)))
    job.dsec("run", "plan.json", "--job-id", "j", preexec_fn=ignore)
    lines = (job.run_dir / "logs" / "A@0.1.log").read_text().split()
    assert int(lines[1], 16) == 0
    assert int(lines[3], 16) & 0x7FFFFFFF == 0


def test_a_cause_is_said_once_where_the_lines_of_the_run_end_with_it(job, kit):
    plan = kit.plan(kit.step("A", shell="echo last; exit 3"))
    out = job.run(plan, expect=1)
    assert out.count("A exited with code 3") == 1
    assert f"log of A: {job.run_dir}/logs/A@0.1.log\n  | last\n" in out
    assert "without a change it fails again; fix the cause and go on with: dsec resume j\n" in out
    quiet = job.dsec("resume", "j", "-q", expect=1)
    assert f"A exited with code 3\n  {job.run_dir}/logs/A@0.2.log\n  | last\n" in quiet
