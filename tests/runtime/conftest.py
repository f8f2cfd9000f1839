"""Plans made by hand, the command as a real process, and a look at what is alive."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsec.compilers import find
from dsec.inventory import Inventory
from dsec.plan import (
    FORMAT,
    Analysis,
    Command,
    Demand,
    Edge,
    Iterations,
    Placement,
    Plan,
    PlannedStep,
    Retries,
    Source,
)
from dsec.planfile import save_plan, seal

ROOT = Path(__file__).resolve().parents[2]
HERE = Source("dsandbox.yaml", 1, 1)
DSEC = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"


def make_demand(**given: Any) -> Demand:
    fields: dict[str, Any] = {
        "cpu_m": 1000,
        "memory_bytes": 0,
        "gpu_count": 0,
        "gpu_memory_bytes": 0,
        "gpu_types": (),
        "disk_bytes": 0,
        "network_bps": 0,
    }
    return Demand(**{**fields, **given})


def make_step(name: str, *needs: str, **given: Any) -> PlannedStep:
    """A Step; `argv`, `shell` or `call` say what it does, `carried` lists (step, staleness)."""
    argv = tuple(given.pop("argv", ()))
    shell, call = given.pop("shell", ""), given.pop("call", "")
    if not (argv or shell or call):
        argv = ("true",)
    args, worker = given.pop("args", {}), given.pop("worker", "")
    carried = given.pop("carried", ())
    fields: dict[str, Any] = {
        "id": name,
        "name": "",
        "command": Command(argv, shell, call, json.dumps(args) if call else "", worker),
        "env": (),
        "cwd": ".",
        "needs": (
            *(Edge(need, "order", 0, HERE) for need in needs),
            *(Edge(need, "carried", staleness, HERE) for need, staleness in carried),
        ),
        "demand": make_demand(),
        "level": "pauseable",
        "timeout_ms": 60_000,
        "grace_ms": 500,
        "retries": Retries(0, 0, 1),
        "inputs": (),
        "outputs": (),
        "placement": Placement((), "no GPU asked for"),
        "estimate_ms": 1,
        "estimate_source": "default",
        "rank_ms": 0,
        "slack_ms": 0,
        "reasons": (),
        "key": "",
        "src": HERE,
    }
    return PlannedStep(**{**fields, **given})


def make_plan(*steps: PlannedStep, count: int = 1, staleness: int = 0, in_flight: int | None = None) -> Plan:
    machine = Inventory("os", 2000, None, None, None, (), ())
    return seal(
        Plan(
            format=FORMAT,
            tool="test",
            name="job",
            contract_file="dsandbox.yaml",
            contract_hash="",
            inventory=machine,
            inventory_hash="",
            iterations=Iterations(count, staleness, staleness + 2 if in_flight is None else in_flight),
            steps=steps,
            analysis=Analysis((), 0, 0, 0, (), ()),
            notes=(),
            hash="",
        )
    )


class Job:
    """A folder with a plan, and `dsec` run in it as a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = os.pathsep.join((str(ROOT), str(ROOT / "runtime")))
        self.env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self.processes: list[subprocess.Popen[bytes]] = []

    def save(self, plan: Plan) -> None:
        save_plan(str(self.folder / "plan.json"), plan)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        options = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "start_new_session": True,
        } | options
        process = subprocess.Popen(
            [sys.executable, "-c", DSEC, *words], cwd=self.folder, env=self.env, **options
        )
        self.processes.append(process)
        return process

    def dsec(self, *words: str, expect: int | None = 0, **options: Any) -> str:
        process = self.start(*words, **options)
        out = process.communicate(timeout=120)[0].decode()
        if expect is not None:
            assert process.returncode == expect, f"exit {process.returncode}, wanted {expect}:\n{out}"
        return out

    def run(self, plan: Plan, *words: str, expect: int | None = 0) -> str:
        self.save(plan)
        return self.dsec("run", "plan.json", "--job-id", "j", *words, expect=expect)

    @property
    def run_dir(self) -> Path:
        return self.folder / ".dsec" / "runs" / "j"

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        journal = self.run_dir / "journal"  # the folder is there a moment earlier
        lines = journal.read_bytes().splitlines() if journal.exists() else []
        found = [json.loads(line[18:]) for line in lines if line.endswith(b"}")][1:]
        return [event for event in found if kind in (None, event["event"])]

    def ends(self) -> list[tuple[str, str]]:
        return [(event["step"], event["cause"]) for event in self.events("exit")]


def wait_for(what: Callable[[], Any], *, seconds: float = 30.0) -> Any:
    """Poll until `what` gives something true; a failure shows the last thing it gave."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, f"still {found!r} after {seconds} s"
        time.sleep(0.02)
    return found


def alive(mark: str) -> list[str]:
    """Live processes that carry `mark` in their environment or arguments, this one left out."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            state = Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0]
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if state != b"Z" and mark.encode() in command + environment:
            found.append(f"{pid}: {command.replace(bytes(1), b' ').decode('utf-8', 'replace')[:120]}")
    return found


def writing_to(log: Path) -> list[int]:
    """Live processes whose output goes to that file: the helpers of a run, however they were started."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/fd/1") == str(log):
                found.append(int(pid))
        except OSError:
            continue
    return found


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    made = Job(tmp_path)
    yield made
    for process in made.processes:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="session")
def kit() -> SimpleNamespace:
    return SimpleNamespace(
        step=make_step,
        plan=make_plan,
        demand=make_demand,
        wait_for=wait_for,
        alive=alive,
        writing_to=writing_to,
        retries=Retries,
        job=Job,
        root=ROOT,
        dsec=DSEC,
    )


class Clock:
    """A wall clock that jumps, for programs that are started with `env`; the monotonic one goes on."""

    def __init__(self, library: Path, place: Path) -> None:
        self._place = place
        self.jump(0)
        self.env = {"LD_PRELOAD": str(library), "DSEC_TEST_CLOCK": str(place)}

    def jump(self, seconds: float) -> None:
        """From now on it is wrong by so much."""
        with open(self._place, "r+b" if self._place.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("=q", int(seconds * 1e9)))


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = find(os.environ)
    if not compiler:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = ROOT / "tests" / "fakes" / "clock" / "clock.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, source], check=True, timeout=60)
    return library


@pytest.fixture
def clock(clock_library: Path, tmp_path: Path) -> Clock:
    return Clock(clock_library, tmp_path / "shift")
