"""What a lint costs against a bare interpreter and against the linters of other files.

CPU time (user + system, from wait4) and peak memory of whole processes. Every round runs each program
of a case once, in random order; ratios of medians are what counts, because the machine is shared.
Our byte code is compiled before, the peers' by their installer.

    python benchmarks/lint.py [--peers DIR] [--install] [--rounds 15] [--case NAME ...] [--check]

`--peers` is a virtual environment with yamllint, check-jsonschema, zizmor, cfn-lint and ryl;
`--install` makes it. A peer that is not there is named, not guessed. `--check` leaves with 1 when a
budget is missed.

A cold run finds an empty cache and fills it. All peers read the same contract, but for zizmor and
cfn-lint, which get a workflow and a template of as many lines. Shapes are those of `lint_inputs`.
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import lint_inputs

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "schemas" / "dsandbox.schema.json"
PEERS = ("yamllint", "check-jsonschema", "zizmor", "cfn-lint", "ryl")
OURS, AGAIN, BARE = "ds-contract-lint", "ds-contract-lint again", "python -c pass"
KEY = (("_DSEC_COMPLETE", "complete_bash"), ("COMP_WORDS", "dsec lint --f"), ("COMP_CWORD", "2"))
"""How a shell asks for what may stand at the cursor."""
FEWEST = 3


@dataclass(frozen=True)
class Program:
    """One command line; a cold one has its cache taken away before each run."""

    argv: tuple[str, ...]
    cold: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    """What it finds in its environment besides."""


@dataclass
class Case:
    """Programs that are run in turn, and the most that ours may take of each other's time."""

    name: str
    programs: dict[str, Program]
    budgets: tuple[tuple[str, str, float], ...]
    """(ours, the other, most)"""
    share: int = 1
    """Rounds are divided by this: large inputs take seconds each."""
    memory: tuple[tuple[str, str, float], ...] = ()
    seconds: dict[str, list[float]] = field(default_factory=dict)
    mebibytes: dict[str, float] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """Middle CPU time of a program, in seconds."""
        return statistics.median(self.seconds[name])


def run(program: Program, environment: Mapping[str, str]) -> float:
    """CPU seconds of one run; its output goes nowhere."""
    if program.cold:
        shutil.rmtree(environment["DSEC_CACHE_DIR"], ignore_errors=True)
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, stream) for stream in (0, 1, 2)]
    variables = {**environment, **dict(program.variables)}
    pid = os.posix_spawn(program.argv[0], program.argv, variables, file_actions=actions)
    _, status, used = os.wait4(pid, 0)
    os.close(null)
    code = os.waitstatus_to_exitcode(status)
    # 0 and 1 everywhere; cfn-lint and zizmor say what they found in more numbers than that.
    if code not in (0, 1, 2, 4, 6, 8, 10, 11, 12, 13, 14) or (
        code > 1 and "contract-lint" in program.argv[0]
    ):
        raise SystemExit(f"{' '.join(program.argv)} left with {code}")
    return used.ru_utime + used.ru_stime


PEAK = """
import os, sys
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, stream) for stream in (0, 1, 2)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
print(os.wait4(pid, 0)[2].ru_maxrss)
"""
"""A small parent: the kernel counts the memory of whoever starts a program as the program's, too."""


def peak_mib(program: Program, environment: Mapping[str, str]) -> float:
    """Peak memory of one run."""
    if program.cold:
        shutil.rmtree(environment["DSEC_CACHE_DIR"], ignore_errors=True)
    line = [sys.executable, "-I", "-S", "-c", PEAK, *program.argv]
    variables = {**environment, **dict(program.variables)}
    done = subprocess.run(line, env=variables, capture_output=True, check=True)
    return int(done.stdout) / 1024


def measure(case: Case, *, rounds: int, environment: Mapping[str, str]) -> None:
    """Fill the case's times: interleaved, in random order, after one run that does not count."""
    for name, program in case.programs.items():
        case.mebibytes[name] = peak_mib(program, environment)
    order = list(case.programs)
    for _ in range(max(FEWEST, rounds // case.share)):
        random.shuffle(order)
        for name in order:
            if name == AGAIN:  # a cold run may have taken its entry away
                run(case.programs[name], environment)
            case.seconds.setdefault(name, []).append(run(case.programs[name], environment))


class Tools:
    """Where the programs are."""

    def __init__(self, peers: Path | None) -> None:
        self.own = Path(sys.executable).parent
        self.peers = peers / "bin" if peers is not None else self.own

    def ours(self, *words: object) -> tuple[str, ...]:
        """Our linter."""
        return (str(self.own / "ds-contract-lint"), *map(str, words))

    def peer(self, name: str, *words: object) -> tuple[str, ...] | None:
        """A peer's command line; None when it is not there."""
        found = shutil.which(name, path=str(self.peers))
        return None if found is None else (found, *map(str, words))

    def reading(self, contract: Path, workflow: Path, template: Path | None) -> dict[str, Program]:
        """Every peer that is there, on its own kind of file."""
        lines = {
            "yamllint": self.peer("yamllint", contract),
            "check-jsonschema": self.peer("check-jsonschema", "--schemafile", SCHEMA, contract),
            "zizmor": self.peer("zizmor", "--offline", "--no-progress", "--no-exit-codes", workflow),
            "cfn-lint": self.peer("cfn-lint", template) if template is not None else None,
            "ryl": self.peer("ryl", "check", "--no-cache", "-d", "extends: default", contract),
        }
        return {name: Program(argv) for name, argv in lines.items() if argv is not None}


def cases(tools: Tools, folder: Path) -> list[Case]:
    """Every case, with its inputs written to `folder`."""
    files = lint_inputs.write(folder)
    bare = Program((sys.executable, "-c", "pass"))
    small, large, huge = files["small"], files["large"], files["huge"]
    many = sorted((folder / "many").iterdir())
    return [
        Case(
            "small",
            {
                BARE: bare,
                OURS: Program(tools.ours(small), cold=True),
                AGAIN: Program(tools.ours(small)),
                "dsec --version": Program((str(tools.own / "dsec"), "--version")),
                "completion": Program((str(tools.own / "dsec"),), variables=KEY),
                **tools.reading(small, files["small workflow"], files["small template"]),
            },
            (
                (AGAIN, BARE, 1.35),
                ("dsec --version", BARE, 1.5),
                ("completion", BARE, 1.5),
                (OURS, BARE, 4.5),
                (OURS, "yamllint", 0.5),
                (OURS, "check-jsonschema", 0.2),
                (OURS, "zizmor", 0.85),
                (OURS, "cfn-lint", 0.06),
            ),
        ),
        Case(
            "large",
            {
                OURS: Program(tools.ours(large), cold=True),
                AGAIN: Program(tools.ours(large)),
                **tools.reading(large, files["large workflow"], None),
            },
            (
                (OURS, "yamllint", 0.10),
                (OURS, "check-jsonschema", 0.10),
                (OURS, "zizmor", 0.80),
                (OURS, "ryl", 5.0),
            ),
            share=2,
            memory=((OURS, "yamllint", 0.8),),
        ),
        Case(
            "linear",
            {
                "60 lines": Program(tools.ours(small), cold=True),
                "10,000 lines": Program(tools.ours(large), cold=True),
                "100,000 lines": Program(tools.ours(huge), cold=True),
            },
            (),
            share=3,
        ),
        Case(
            "many",
            {
                BARE: bare,
                OURS: Program(tools.ours(*many), cold=True),
                AGAIN: Program(tools.ours(*many)),
                **_only(tools.peer("yamllint", *many), "yamllint"),
            },
            ((OURS, "yamllint", 0.12), (AGAIN, BARE, 1.6)),
            share=3,
        ),
    ]


def _only(argv: tuple[str, ...] | None, name: str) -> dict[str, Program]:
    return {} if argv is None else {name: Program(argv)}


def told(case: Case) -> list[str]:
    """Print a case's table; gives the budgets that it misses."""
    print(f"\n{case.name}: {len(next(iter(case.seconds.values())))} rounds")
    for name in sorted(case.seconds, key=case.median):
        low, _, high = statistics.quantiles(case.seconds[name], n=4)
        print(
            f"  {name:<24}{case.median(name) * 1000:>9.1f} ms  ({low * 1000:.0f}-{high * 1000:.0f})"
            f"{case.mebibytes[name]:>8.1f} MiB"
        )
    ratios = [
        (f"{ours} / {other}", case.median(ours) / case.median(other), most)
        for ours, other, most in case.budgets
        if other in case.seconds
    ]
    ratios += [
        (f"peak memory, {ours} / {other}", case.mebibytes[ours] / case.mebibytes[other], most)
        for ours, other, most in case.memory
        if other in case.mebibytes
    ]
    if case.name == "linear":
        start, ten, hundred = (case.median(name) for name in case.programs)
        ratios.append(("(100,000 - start) / (10,000 - start)", (hundred - start) / (ten - start), 11.0))
    for name, ratio, most in ratios:
        print(f"  {name:<52}{ratio:>7.3f}  at most {most:g}{'' if ratio <= most else '  MISSED'}")
    return [f"{case.name}: {name} is {ratio:.3f}" for name, ratio, most in ratios if ratio > most]


def install(peers: Path) -> None:
    """Make the peers' environment; one that cannot be installed is reported and left out."""
    subprocess.run([sys.executable, "-m", "venv", str(peers)], check=True)
    for name in PEERS:
        done = subprocess.run([str(peers / "bin" / "pip"), "install", "-q", name], check=False)
        print(f"{name}: {'installed' if done.returncode == 0 else 'could not be installed'}")
    subprocess.run([str(peers / "bin" / "python"), "-m", "compileall", "-q", str(peers / "lib")], check=False)


def versions(tools: Tools) -> None:
    """Print which peers take part."""
    for name in PEERS:
        argv = tools.peer(name, "--version")
        if argv is None:
            print(f"{name}: not installed, so not compared")
            continue
        print(subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip())


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; with --check, judge them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--install", action="store_true", help="make the environment --peers first")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--case", action="append", help="small, large, linear or many; default: all")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(argv)
    if options.install and options.peers is not None:
        install(options.peers)
    for folder in ("dsec_cli", "runtime"):
        compileall.compile_dir(str(ROOT / folder), quiet=1)
    tools = Tools(options.peers.resolve() if options.peers is not None else None)
    versions(tools)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DSEC", "COV_"))}
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        environment["DSEC_CACHE_DIR"] = os.path.join(folder, "cache")
        os.chdir(folder)  # no configuration of ours, nor of a peer, stands here
        for case in cases(tools, Path(folder)):
            if options.case is None or case.name in options.case:
                measure(case, rounds=options.rounds, environment=environment)
                missed += told(case)
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
