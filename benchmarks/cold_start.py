"""What one lint of a small file costs, against a bare interpreter and against peers.

CPU time (user + system, from wait4) of whole processes, because the machine is shared: wall time
would measure the neighbours. Every round runs each program once, in random order; the ratio of
medians is what counts. Byte code is present, as after any installation.

    python benchmarks/cold_start.py [--rounds 21] [--check] [FILE]

`--check` leaves with 1 when a budget is missed: 4.5 x python3 -c pass, 0.5 x yamllint.
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import shutil
import statistics
import sys
from collections.abc import Mapping, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEFAULT_FILE = os.path.join(ROOT, "examples", "grpo-addition", "dsandbox.yaml")
BARE = "python3 -c pass"
OURS = "ds-contract-lint"
BUDGETS = ((BARE, 4.5), ("yamllint", 0.5))


def cpu_seconds(argv: Sequence[str], environment: Mapping[str, str]) -> float:
    """User and system time of one run; its output goes nowhere."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, stream) for stream in (0, 1, 2)]
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=actions)
    _, status, used = os.wait4(pid, 0)
    os.close(null)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        raise SystemExit(f"{' '.join(argv)} left with {code}")
    return used.ru_utime + used.ru_stime


def programs(file: str) -> dict[str, list[str]]:
    """What is compared: ours, the floor, and the peers that are installed beside this interpreter."""
    beside = os.path.dirname(sys.executable)
    found = {BARE: [sys.executable, "-c", "pass"]}
    schema = next((os.path.join(ROOT, "schemas", n) for n in _names(os.path.join(ROOT, "schemas"))), None)
    for name, arguments in (
        (OURS, [file]),
        ("dsec --version", []),
        ("yamllint", [file]),
        ("check-jsonschema", ["--schemafile", schema, file] if schema else None),
    ):
        program = shutil.which(name.split()[0], path=beside)
        if program and arguments is not None:
            found[name] = [program, *name.split()[1:], *arguments]
    return found


def _names(folder: str) -> list[str]:
    return (
        sorted(name for name in os.listdir(folder) if name.endswith(".json")) if os.path.isdir(folder) else []
    )


def measure(argvs: Mapping[str, list[str]], *, rounds: int) -> dict[str, list[float]]:
    """CPU seconds of every program, `rounds` times each, interleaved in random order."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DSEC", "COV_"))}
    for argv in argvs.values():
        cpu_seconds(argv, environment)
    taken: dict[str, list[float]] = {name: [] for name in argvs}
    order = list(argvs)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            taken[name].append(cpu_seconds(argvs[name], environment))
    return taken


def main() -> int:
    """Print the table; with --check, judge it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", nargs="?", default=DEFAULT_FILE)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    for folder in ("dsec_cli", "runtime"):
        compileall.compile_dir(os.path.join(ROOT, folder), quiet=1)
    argvs = programs(options.file)
    if OURS not in argvs:
        raise SystemExit(f"{OURS} is not installed beside {sys.executable}")
    taken = measure(argvs, rounds=options.rounds)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    ours = medians[OURS]
    print(f"{'program':<18}{'CPU ms':>8}{'quartiles':>14}{'x bare':>8}{'lint / it':>11}")
    for name, middle in sorted(medians.items(), key=lambda item: item[1]):
        low, _, high = statistics.quantiles(taken[name], n=4)
        spread = f"{low * 1000:.0f}-{high * 1000:.0f}"
        print(
            f"{name:<18}{middle * 1000:>8.1f}{spread:>14}{middle / medians[BARE]:>8.2f}{ours / middle:>11.2f}"
        )
    missed = [(name, most) for name, most in BUDGETS if name in medians and ours / medians[name] > most]
    for name, most in missed:
        print(f"over budget: {ours / medians[name]:.2f} x {name}, at most {most}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
