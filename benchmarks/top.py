"""Processor time of `dsec top` and of nvitop, side by side, each in a terminal of its own.

Both watch the same eight simulated GPUs (`dsec sim-gpu`) at the same interval, while a run with two
Steps at a time goes on; both are left alone for `--warm` seconds, so that starting is not counted, and
then measured over the same `--seconds`, alternating who was started first. User and system time of the
process, by /proc.

    python benchmarks/top.py [--peers DIR] [--install] [--rounds 3] [--seconds 20] [--check]

`--peers` is a virtual environment with nvitop; `--install` makes it. Target: at most 0.33 of nvitop.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = 0.33
SIZE = (50, 160)
INSIDE = "DSEC_BENCHMARK_INSIDE"
CONTRACT = """\
name: watched
baseline: {gpu: {count: 2, memory: 16Gi, type: h100-sxm-80gb}, cpu: 1, memory: 1Gi}
elasticity: {gpu: {min_count: 2, max_count: 2}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 2s}
dependencies: []
iterations: {count: 2000, in_flight: 2}
steps:
  - {id: rollout, run: "sh -c 'for i in 1 2 3 4; do echo $i; sleep 1; done'", needs: [], timeout: 1m,
     expected_duration: 4s, resources: {gpu: {count: 2, memory: 16Gi, type: h100-sxm-80gb}, cpu: 0.1}}
  - {id: update, run: "sh -c 'for i in 1 2 3; do echo $i; sleep 1; done'", needs: [rollout], timeout: 1m,
     expected_duration: 3s, resources: {gpu: {count: 2, memory: 16Gi, type: h100-sxm-80gb}, cpu: 0.1}}
"""


class Watcher:
    """A program in a terminal that nobody looks at."""

    def __init__(self, argv: list[str], folder: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            environ.pop(name, None)
        self.process = subprocess.Popen(
            argv, cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.written = 0

    def cpu_s(self) -> float:
        """User and system time so far, ended children included."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        return sum(map(int, text.rpartition(")")[2].split()[11:15])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """Let it go."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


def drain(watchers: list[Watcher], seconds: float) -> None:
    """Take what they write, for a time."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([one.master for one in watchers], [], [], left)
        for one in watchers:
            if one.master in ready:
                try:
                    one.written += len(os.read(one.master, 1 << 16))
                except OSError:
                    sys.exit(f"{one.process.args} ended: exit {one.process.wait()}")


def measure(commands: dict[str, list[str]], folder: str, warm: float, seconds: float) -> dict[str, float]:
    """Processor seconds of each over the same time."""
    watchers = {name: Watcher(argv, folder) for name, argv in commands.items()}
    every = list(watchers.values())
    try:
        drain(every, warm)
        before = {name: one.cpu_s() for name, one in watchers.items()}
        bytes_before = {name: one.written for name, one in watchers.items()}
        drain(every, seconds)
        found = {name: one.cpu_s() - before[name] for name, one in watchers.items()}
        for name, one in watchers.items():
            print(
                f"    {name:8} {found[name]:6.2f} s CPU, {found[name] / seconds:6.2%} of a processor, "
                f"{one.written - bytes_before[name]} bytes drawn"
            )
        return found
    finally:
        for one in every:
            one.end()


def install(peers: Path) -> None:
    """Make the peers' environment."""
    subprocess.run([sys.executable, "-m", "venv", str(peers)], check=True)
    subprocess.run([str(peers / "bin" / "pip"), "install", "-q", "nvitop"], check=True)


def compare(args: argparse.Namespace, nvitop: str | None) -> float | None:
    """The ratio; None where there is nothing to compare with."""
    dsec = str(Path(sys.executable).with_name("dsec"))
    interval = f"{args.interval:g}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "dsandbox.yaml").write_text(CONTRACT)
        run = subprocess.Popen([dsec, "run", "--job-id", "watched", "-q"], cwd=folder, start_new_session=True)
        try:
            until = time.monotonic() + 20
            while not Path(folder, ".dsec/runs/watched/journal").exists():
                if run.poll() is not None or time.monotonic() > until:
                    sys.exit("the run to be watched did not begin")
                time.sleep(0.1)
            commands = {"dsec top": [dsec, "top", "watched", "--interval", interval]}
            if nvitop is not None:
                commands["nvitop"] = [nvitop, "--interval", interval, "--force-color"]
            found: dict[str, list[float]] = {name: [] for name in commands}
            for number in range(args.rounds):
                print(f"  round {number + 1}")
                order = list(commands)[:: -1 if number % 2 else 1]
                once = measure({name: commands[name] for name in order}, folder, args.warm, args.seconds)
                for name, spent in once.items():
                    found[name].append(spent)
        finally:
            run.terminate()
            run.wait(30)
    middle = {name: statistics.median(some) for name, some in found.items()}
    for name, spent in middle.items():
        print(
            f"{name:8} median {spent:.2f} s in {args.seconds:g} s: {spent / args.seconds:.2%} of a processor"
        )
    return middle["dsec top"] / middle["nvitop"] if middle.get("nvitop") else None


def main() -> int:
    """Print the figures; with --check exit 1 where the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--install", action="store_true", help="make the environment --peers first")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warm", type=float, default=4)
    parser.add_argument("--interval", type=float, default=1)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if INSIDE not in os.environ:
        if args.install and args.peers is not None and not (args.peers / "bin" / "nvitop").exists():
            install(args.peers)
        dsec = str(Path(sys.executable).with_name("dsec"))
        argv = [dsec, "sim-gpu", "-q", "--profile", "8xh100-sxm-80gb", "--", sys.executable, *sys.argv]
        return subprocess.call(argv, env={**os.environ, INSIDE: "1"})
    nvitop = shutil.which("nvitop", path=str(args.peers / "bin")) if args.peers is not None else None
    print(f"dsec top and nvitop on 8 simulated GPUs, every {args.interval:g} s")
    ratio = compare(args, nvitop)
    if ratio is None:
        print("nvitop is not there: nothing to compare with (--peers DIR --install)")
        return 0
    print(f"ratio {ratio:.3f}, target {TARGET}")
    return int(args.check and ratio > TARGET)


if __name__ == "__main__":
    sys.exit(main())
