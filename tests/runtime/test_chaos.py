"""Two jobs on one box of simulated GPUs, and everything that can go wrong, at random, for half an hour.

`DSEC_CHAOS_S` sets another length, `DSEC_CHAOS_SEED` what happens. Nothing may be lost, doubled or left
behind, and every run that ends well ends with the policy of an undisturbed one.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dsec.broker import place
from dsec.simgpu.scenario import box, of_box

ITERATIONS = 4
GPUS = 2
LATE = ("timeout", "stalled")


class Disk:
    """A small file system that can be filled; root only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(path)], capture_output=True, check=False
        )
        self.mounted = done.returncode == 0
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Leave no room."""
        try:
            with open(self._ballast, "wb") as file:
                while True:
                    file.write(bytes(65536))
                    file.flush()
        except OSError:
            return

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=False)


class Player:
    """One job that is run, disturbed and resumed again and again."""

    def __init__(self, job, folder: Path, wanted: str, tally: Counter[str]) -> None:
        self.job = type(job)(folder)
        self.job.env = dict(job.env)
        self.wanted = wanted
        self.tally = tally
        self.number = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.log = open(folder / "output", "ab")  # noqa: SIM115  # as long as the player lives

    @property
    def name(self) -> str:
        return f"j{self.number}"

    @property
    def run_dir(self) -> Path:
        return self.job.folder / ".dsec" / "runs" / self.name

    def go_on(self) -> None:
        """Start the run, or continue it where its executor is gone."""
        if self.process is not None and self.process.poll() is None:
            return
        if self.process is not None:
            self.ended(self.process.returncode)
        journal = self.run_dir / "journal"
        began = journal.exists() and journal.stat().st_size > 0
        words = ("resume", self.name, "--quiet") if began else ("run", "--job-id", self.name, "--quiet")
        self.process = self.job.start(*words, stdout=self.log, stderr=self.log)

    def ended(self, code: int) -> None:
        self.tally[f"exit {code}"] += 1
        assert code in (0, 1, 3, -9, -15, 143, 130), f"exit {code}: {self.tail()}"
        if code == 0:
            self.check()
            shutil.rmtree(self.run_dir)  # the disk is small
            self.tally["finished"] += 1
            self.number += 1

    def tail(self) -> str:
        """What was said last, and what is known of our own failures."""
        crashes = [path.read_text() for path in self.job.folder.glob(".dsec/crash-*")]
        return "\n".join([(self.job.folder / "output").read_text(errors="replace")[-2000:], *crashes])

    def check(self) -> None:
        assert (self.run_dir / "work" / "policy.sha256").read_text() == self.wanted
        done = Counter(
            (one["step"], one["iteration"])
            for one in events(self.run_dir)
            if one["event"] == "exit" and one["cause"] == "ok"
        )
        assert set(done.values()) == {1}, [key for key, times in done.items() if times > 1]
        every = {(f"S{step}", iteration) for step in range(1, 8) for iteration in range(ITERATIONS)}
        missing = every - done.keys()
        told = [one for one in events(self.run_dir) if (one.get("step"), one.get("iteration")) in missing]
        assert missing == {(one["step"], one["iteration"]) for one in told if one["event"] == "drop"}, told
        # The contract lets a report be given up, and a full disk is nothing that another attempt mends.
        full = {(one["step"], one["iteration"]) for one in told if one.get("cause") == "disk-full"}
        assert missing == full, told
        assert {step for step, _ in missing} <= {"S7"}
        self.tally["given up"] += len(missing)
        late = [one for one in events(self.run_dir) if one["event"] == "exit" and one["cause"] in LATE]
        assert not late, f"no Step is that slow: {late}"

    def pids(self, mark: bytes) -> list[int]:
        """Processes of this run whose command or environment has the mark."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                environment = Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if mark in command + environment and os.fsencode(self.run_dir) in command + environment:
                found.append(int(pid))
        return found


def events(run_dir: Path):
    from dsec.events import decode
    from dsec.events import name as name_of
    from dsec.journal import read

    path = run_dir / "journal"
    for payload in read(path.read_bytes(), name=str(path)).payloads[1:]:
        event = decode(payload)
        yield {"event": name_of(event), **event._asdict()}


def contract(folder: Path) -> None:
    path = folder / "dsandbox.yaml"
    shutil.move(folder / "process.yaml", path)
    text = path.read_text().replace("count: 20", f"count: {ITERATIONS}").replace("    retries: 1\n", "")
    text = text.replace("    level: ", "    retries: 9\n    level: ").replace("count: 0", "count: 1")
    text = text.replace("  gpu:\n    count: 1\n", "  gpu: {count: 1, memory: 40GiB, type: h100-sxm-80gb}\n")
    for step in ("S2", "S5"):
        text = text.replace(
            f"run: python3 steps.py {step} seed=0\n",
            f"run: sh guard.sh {step}\n    resources: {{gpu: {{count: 1, memory: 40GiB}}}}\n",
        )
    path.write_text(text)
    mine, other = folder.name, {"one": "two", "two": "one"}.get(folder.name, "nobody")
    (folder / "guard.sh").write_text(GUARD.format(mine=mine, other=other))


GUARD = """\
exec 9>> "$LOCKS/{mine}.$CUDA_VISIBLE_DEVICES"
flock -s 9
flock -n "$LOCKS/{other}.$CUDA_VISIBLE_DEVICES" true || echo "{mine} $1" >> "$LOCKS/twice"
exec python3 steps.py "$1" seed=0
"""
"""Holds a lock for its run and GPU as long as the Step lives, and looks whether the other run has one."""


def kill(pids: list[int], chance: random.Random, number: int) -> bool:
    if not pids:
        return False
    try:
        os.kill(chance.choice(pids), number)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.battery
def test_nothing_is_lost_doubled_or_left(job, kit, nvml_library, clock, tmp_path, request):
    pytest.importorskip("numpy", reason="the example needs numpy")
    seconds = float(os.environ.get("DSEC_CHAOS_S", "1800"))
    chance = random.Random(os.environ.get("DSEC_CHAOS_SEED", "1"))
    rules, base = tmp_path / "rules", of_box(box(f"{GPUS}xh100"))
    rules.write_text(base)
    mark, locks = f"chaos-{os.getpid()}", tmp_path / "locks"
    locks.mkdir()
    job.env |= {"LD_LIBRARY_PATH": nvml_library(), "SIM_GPU_SCENARIO": str(rules), "CHAOS": mark, **clock.env}
    job.env["LOCKS"] = str(locks)
    job.env["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    tally: Counter[str] = Counter()
    disk = Disk(tmp_path / "disk")
    request.addfinalizer(disk.close)
    folders = [disk.path / name for name in ("one", "two")]
    source = kit.root / "examples" / "grpo-addition"
    for folder in [*folders, tmp_path / "calm"]:
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".dsec", "__pycache__"))
        contract(folder)
    calm = type(job)(tmp_path / "calm")
    calm.env = dict(job.env)
    calm.dsec("run", "--job-id", "j", "--quiet")
    wanted = (calm.run_dir / "work" / "policy.sha256").read_text()
    players = [Player(job, folder, wanted, tally) for folder in folders]
    broker = place.named({name.encode(): value.encode() for name, value in job.env.items()})
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for player in players:
                player.go_on()
            time.sleep(chance.uniform(0.2, 3.0))
            world = World(rules, base, disk, clock, broker)
            disturb(chance, players, world, tally)
        rules.write_text(base)
        disk.free()
        finish(players)
    finally:
        for player in players:
            if player.process is not None and player.process.poll() is None:
                player.process.send_signal(signal.SIGKILL)
                player.process.wait(timeout=30)
            player.log.close()
        kit.wait_for(lambda: not kit.alive(mark), seconds=60)
    print(dict(sorted(tally.items())))
    assert tally["finished"] >= 2
    assert not (locks / "twice").exists(), "a GPU was given to two runs"


class World(NamedTuple):
    """What can be disturbed besides processes."""

    rules: Path
    base: str
    """Rules of GPUs that are well."""
    disk: Disk
    clock: Any
    broker: str
    """The folder of what shares the GPUs between the runs."""


def disturb(chance: random.Random, players: list[Player], world: World, tally: Counter[str]) -> None:
    player = chance.choice(players)
    what = chance.choice(
        [
            "executor",
            "executor",
            "step",
            "step",
            "monitor",
            "term",
            "stop",
            "gpu",
            "heat",
            "disk",
            "clock",
            "broker",
        ]
    )
    happened = True
    executor = player.process.pid
    if what in ("executor", "term"):
        number = signal.SIGKILL if what == "executor" else signal.SIGTERM
        happened = kill([executor], chance, number)
    elif what == "broker":
        happened = kill(list(filter(None, [place.holder(world.broker)])), chance, signal.SIGKILL)
    elif what == "step":
        happened = kill(player.pids(b"DSEC_STEP="), chance, signal.SIGKILL)
    elif what == "monitor":
        happened = kill(player.pids(b"dsec.monitor.main"), chance, signal.SIGKILL)
    elif what == "stop" and kill([executor], chance, signal.SIGSTOP):
        time.sleep(chance.uniform(0.1, 2.0))
        kill([executor], chance, signal.SIGCONT)
    elif what in ("gpu", "heat"):
        gpu = chance.randrange(GPUS)
        rule = f"gpu {gpu} lost 1" if what == "gpu" else f"gpu {gpu} temperature 92"
        world.rules.write_text(f"{world.base}\n{rule}\n")
        time.sleep(chance.uniform(0.5, 4.0))
        world.rules.write_text(world.base)
    elif what == "disk" and world.disk.mounted:
        world.disk.fill()
        time.sleep(chance.uniform(0.2, 2.0))
        world.disk.free()
    elif what == "clock":
        world.clock.jump(chance.choice([0, 1, -1]) * chance.choice([30, 3600, 86_400, 300 * 86_400]))
    if happened:
        tally[what] += 1


def finish(players) -> None:
    """Let every run come to its end undisturbed."""
    for player in players:
        for _ in range(20):
            if player.process is not None:
                code = player.process.wait(timeout=180)
                number = player.number
                player.ended(code)
                player.process = None
                if player.number != number:
                    break
            player.go_on()
        else:
            raise AssertionError(f"the run of {player.name} does not end: {player.tail()}")
