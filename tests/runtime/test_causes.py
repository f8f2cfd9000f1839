"""What a failed attempt's log and the kernel's counters say about why it failed."""

from __future__ import annotations

import pytest

from dsec.core.marks import cause_in
from dsec.devices import apart
from dsec.diagnosis import lacked, named, sick_driver, tail_of
from dsec.inventory import Inventory
from dsec.outcomes import CAUSES, RETRIABLE, words
from dsec.processes import Ended
from dsec.sweep import oom_kills
from tests.runtime.conftest import make_step

LOGS = {
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB": "cuda-oom",
    "jaxlib: RESOURCE_EXHAUSTED: Out of memory while trying": "cuda-oom",
    "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.": "gpu-lost",
    "RuntimeError: CUDA error: uncorrectable ECC error encountered": "gpu-lost",
    "[rank3]:[E] [PG 0 Rank 3] Watchdog caught collective operation timeout: WorkNCCL(": "nccl-timeout",
    "OSError: [Errno 28] No space left on device: 'x.pt'": "disk-full",
    "OSError: [Errno 122] Disk quota exceeded": "disk-full",
    "Traceback\nMemoryError": "host-oom",
    "fork: Cannot allocate memory": "host-oom",
}


@pytest.mark.parametrize("line", LOGS)
def test_a_log_names_the_cause(line):
    cause, told = cause_in(f"step 1\n{line}\nbye\n".encode())
    assert cause == LOGS[line]
    assert told == line.split("\n")[-1]


def test_a_quiet_log_names_nothing():
    assert cause_in(b"") is None
    assert cause_in(b"raise NotAMemoryError\nreward 0.3\n") is None


def test_the_root_is_named_not_what_follows_from_it():
    log = b"CUDA out of memory\nWatchdog caught collective operation timeout\n"
    assert cause_in(log) == ("cuda-oom", "CUDA out of memory")


def test_a_line_shows_nothing_that_a_terminal_obeys():
    cause, told = cause_in(b"\x1b[31m" + b"x" * 500 + b"CUDA out of memory\xff\n")
    assert cause == "cuda-oom"
    assert told.isprintable()
    assert "CUDA out of memory" in told
    assert len(told) <= 200


@pytest.mark.parametrize(("code", "signal"), [(None, 9), (137, None)])
def test_a_kill_while_memory_ran_out(code, signal):
    ended = Ended(code, signal, 1, 1, None)
    assert named(b"", ended=ended, detail="", ooms=0) is None
    assert named(b"", ended=ended, detail="", ooms=None) is None
    assert named(b"", ended=ended, detail="", ooms=1)[0] == "host-oom"
    assert named(b"", ended=Ended(1, None, 1, 1, None), detail="", ooms=1) is None


def test_the_kernel_counts():
    count = oom_kills()
    assert count is None or count >= 0


def test_the_end_of_a_log(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"a" * 100_000 + b"end, more")
    assert tail_of(str(log)).endswith(b"end, more")
    assert tail_of(str(log), end=100_003) == b"a" * (64 * 1024 - 3) + b"end"
    assert tail_of(str(tmp_path / "none")) == b""


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_words(cause):
    assert words(cause, code=None, signal=None, detail="")


def test_words_say_both_why_and_how():
    told = words("cuda-oom", code=1, signal=None, detail="CUDA out of memory")
    assert told == "ran out of GPU memory (exited with code 1): CUDA out of memory"
    killed = words("host-oom", code=None, signal=9, detail="the kernel ended a process for want of memory")
    assert killed == (
        "ran out of main memory (was killed by SIGKILL (not by dsec)):"
        " the kernel ended a process for want of memory"
    )


def test_what_is_tried_again():
    assert {"cuda-oom", "host-oom", "gpu-lost", "nccl-timeout", "over-memory"} <= RETRIABLE
    assert "disk-full" not in RETRIABLE


@pytest.mark.parametrize(
    ("given", "said", "found"),
    [
        ({"shell": 'test -n "$KEY"'}, b"", True),
        ({"argv": ("curl", "-H", "token: ${KEY}")}, b"", True),
        ({"argv": ("python3", "score.py")}, b"", True),
        ({"shell": "set -e\npython3 score.py --x"}, b"", True),
        ({"argv": ("python3", "../score.py"), "cwd": "sub"}, b"", True),
        ({"call": "score:main"}, b"", True),
        ({"argv": ("python3", "gone.py")}, b"KeyError: 'KEY'", True),
        ({"argv": ("true",), "env": (("TOKEN", "{KEY}"),)}, b"", True),
        ({"shell": 'test -n "$KEY"', "env": (("KEY", "1"),)}, b"", False),  # the Step's own value
        ({"shell": 'test -n "$KEY2" || echo MONKEY _KEY'}, b"", False),
        ({"argv": ("python3", "other.py")}, b"connection reset", False),
    ],
)
def test_a_step_that_names_a_secret_without_a_value(tmp_path, given, said, found):
    (tmp_path / "sub").mkdir()
    (tmp_path / "score.py").write_text("import os\nos.environ['KEY']\n")
    (tmp_path / "other.py").write_text("import os\n")
    cause = lacked(make_step("S", **given), [("KEY", "vault://a/b")], said=[said], folder=str(tmp_path))
    why = "KEY is missing: nothing is fetched from vault://a/b; set it where the run starts"
    assert cause == (("missing-secret", why) if found else None)


SECRET = """
version: "1.0.0"
name: secret
baseline: {cpu: 1, memory: 256MiB}
elasticity: {gpu: {min_count: 0, max_count: 0}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 10s, resume_strategy: step_resume}
dependencies: []
runtime_context: {env_vars: [{name: KEY, source: "env://NOT_SET_ANYWHERE", ttl: 1h}]}
steps:
  - {id: S, run: [sh, -c, 'exit $((${#KEY} == 0))'], retries: {max: 3, backoff: 30s}, timeout: 1m}
"""


def test_a_missing_secret_fails_its_step_once(job):
    (job.folder / "dsandbox.yaml").write_text(SECRET)
    out = job.dsec("run", "--job-id", "j", expect=1)
    assert job.ends() == [("S", "missing-secret")]
    assert "retry" not in out
    why = "KEY is missing: the variable NOT_SET_ANYWHERE has no value; set it where the run starts"
    assert f"S lacks a secret and is not tried again (exited with code 1): {why}\n" in out
    job.env["NOT_SET_ANYWHERE"] = "x"
    job.dsec("resume", "j")


ENDS = {
    "cuda": (
        "echo 'torch.OutOfMemoryError: CUDA out of memory.'; exit 1",
        "cuda-oom",
        "ran out of GPU memory",
    ),
    "disk": ("echo 'x: No space left on device' >&2; exit 1", "disk-full", "found the disk full"),
    "late": ("echo 'CUDA out of memory'; exit 0", "ok", ""),
    "plain": ("echo fine; exit 3", "exit", "exited with code 3"),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_journal_keeps_the_cause(job, kit, name):
    script, cause, words = ENDS[name]
    out = job.run(kit.plan(kit.step("A", shell=script)), expect=0 if cause == "ok" else 1)
    assert job.ends() == [("A", cause)]
    assert words in out
    if cause != "ok":
        assert f"{job.run_dir}/logs/A@0.1.log" in out
        assert f"  | {script.split(chr(39))[1] if chr(39) in script else 'fine'}" in out


def test_the_report_shows_the_last_lines(job, kit):
    job.run(kit.plan(kit.step("A", shell="seq 1 30; exit 1")), expect=1)
    told = job.dsec("report", "j")
    assert "- A exited with code 1 (log: logs/A@0.1.log)\n      | 11\n      | 12\n" in told
    assert "      | 30\n" in told


def test_a_call_is_judged_by_its_own_part_of_the_log(job, kit):
    (job.folder / "steps.py").write_text(
        "def quiet(ctx): print('CUDA out of memory')\ndef raises(ctx): raise ValueError('reward')\n"
        "def lacks(ctx): raise MemoryError('for rollouts')\n"
    )
    job.env["PYTHONPATH"] += f":{job.folder}"
    steps = [
        kit.step("A", call="steps:quiet", worker="w"),
        kit.step("B", "A", call="steps:raises", worker="w"),
        kit.step("C", "A", call="steps:lacks", worker="w"),
    ]
    job.run(kit.plan(*steps), "--keep-going", expect=1)
    assert sorted(job.ends()) == [("A", "ok"), ("B", "raised"), ("C", "host-oom")]


def test_what_was_stopped_by_us_is_not_judged(job, kit):
    shell = "echo 'CUDA out of memory'; sleep 60"
    job.run(kit.plan(kit.step("A", shell=shell, timeout_ms=300)), expect=1)
    assert job.ends() == [("A", "timeout")]


@pytest.mark.parametrize(
    ("devices", "notes", "found"),
    [
        ((), ("the NVIDIA library and the loaded driver differ in version",), True),
        ((), ("memory is limited to 4 GiB by the cgroup",), False),
        (("GPU-0",), ("GPU 0: lost",), False),
    ],
)
def test_a_driver_that_turned_sick_meanwhile(monkeypatch, devices, notes, found):
    before = Inventory("nvml", 1000, None, None, None, (), ())
    now = before._replace(devices=devices, notes=notes)
    monkeypatch.setattr(apart, "read_apart", lambda *_, **__: now)
    assert sick_driver(before) == (("gpu-lost", notes[0]) if found else None)
