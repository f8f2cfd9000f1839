"""Gives one file to every command in this process, and tells what they answered."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dsec_cli import exit as codes
from dsec_cli.fast import run

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ("concise", "github", "gitlab", "json", "jsonl", "junit", "markdown", "rdjson", "sarif", "text")
VIEWS = ("text", "dot", "html", "json", "mermaid", "trace")
ALLOWED = (0, 1, 3)
CRASHED = (
    "error[DS999]",
    '"code": "DS999", "name"',
    '"code": "DS999",\n      "name"',
    '"ruleId": "DS999"',
    '"check_name": "rule-crashed"',
)


LAUNCHER = """
import os, sys
report, *argv = sys.argv[1:]
pid = os.posix_spawn(argv[0], argv, os.environ)
_, status, used = os.wait4(pid, 0)
with open(report, "w") as file:
    file.write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}")
sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""
"""A small parent: the kernel counts the memory of whoever starts a program as the program's, too."""


class Answer(NamedTuple):
    """What one command said."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    cpu_s: float
    megabytes: float = 0
    """The most memory that a process of its own has held."""

    @property
    def fault(self) -> str:
        """Why this answer is a bug; "" when it is none."""
        if self.code not in ALLOWED:
            return f"exit {self.code}"
        if "Traceback" in self.out + self.err:
            return "traceback"
        if self.code == 3 and not self.err.startswith(("dsec: error: ", "dsec：错误：")):
            return "exit 3 without a word"
        # A file may quote the code; a headline and the data formats name the rule like this.
        if any(sign in self.out for sign in CRASHED):
            return "a rule failed"
        return ""

    def __str__(self) -> str:
        used = f"{self.cpu_s:.2f} s, {self.megabytes:.0f} MB"
        return f"dsec {' '.join(self.words)}: {self.fault} ({used})\n{self.err[-3000:]}"


@contextmanager
def _streams(folder: Path) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    out, err = io.BytesIO(), io.BytesIO()
    before = sys.stdout, sys.stderr, sys.stdin, Path.cwd()
    sys.stdout, sys.stderr = (io.TextIOWrapper(one, "utf-8", write_through=True) for one in (out, err))
    sys.stdin = io.StringIO()
    os.chdir(folder)
    try:
        yield out, err
    finally:
        sys.stdin.close()
        sys.stdout, sys.stderr, sys.stdin = before[:3]
        os.chdir(before[3])


def _trace(translate: Callable[[str], str]) -> int:
    sys.stderr.write(traceback.format_exc())
    return codes.OURS


def answer(folder: Path, *words: str) -> Answer:
    """Run `dsec WORDS` in `folder`, in this process."""
    crashed, codes._crashed = codes._crashed, _trace
    try:
        with _streams(folder) as (out, err):
            began = time.process_time()
            code = codes.guarded(lambda: run("dsec", list(words)))
            took = time.process_time() - began
            sys.stdout.flush(), sys.stderr.flush()
            said = (one.getvalue().decode("utf-8", "replace") for one in (out, err))
            return Answer(words, code, next(said), next(said), took)
    finally:
        codes._crashed = crashed


def process(folder: Path, *words: str) -> Answer:
    """Run `dsec WORDS` in a process of its own, which is stopped after a minute of CPU time."""
    source = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        f"sys.path[:0] = {[str(ROOT), str(ROOT / 'runtime')]!r}; sys.argv[0] = 'dsec'\n"
        "from dsec_cli.fast import dsec\n"
        "sys.exit(dsec())\n"
    )
    used = folder / "used"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LAUNCHER, str(used), sys.executable, "-c", source, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=folder,
        timeout=300,
        check=False,
    )
    cpu_s, megabytes = map(float, used.read_text().split())
    out, err = (one.decode("utf-8", "replace") for one in (ran.stdout, ran.stderr))
    return Answer(words, ran.returncode, out, err, cpu_s, megabytes)


def _views(folder: Path) -> Iterator[Answer]:
    """Every view of the graph; where two different ones are the same words, there is no graph to view."""
    first, second, *others = VIEWS
    shown = [answer(folder, "dag", "dsandbox.yaml", "--output", view) for view in (first, second)]
    yield from shown
    if shown[0].out != shown[1].out or shown[0].err != shown[1].err:
        yield from (answer(folder, "dag", "dsandbox.yaml", "--output", view) for view in others)


def everything(folder: Path, data: bytes) -> Iterator[Answer]:
    """The file `data` through every command that takes a contract."""
    file = folder / "dsandbox.yaml"
    file.write_bytes(data)
    outputs = [word for form in FORMATS for word in ("--output", f"{form}:{form}.out")]
    lint = ("lint", "dsandbox.yaml")
    yield answer(folder, *lint, *outputs)
    yield answer(folder, *lint, "--lang", "zh", "--code", "agent", "--inventory", "builtin:8xa100-sxm-80gb")
    yield answer(folder, *lint, "--diff", "--unsafe-fixes")
    yield answer(folder, *lint, "--write-baseline", "known.json")
    if (folder / "known.json").exists():
        yield answer(folder, *lint, "--baseline", "known.json")
        (folder / "known.json").unlink()
    yield answer(folder, "fmt", "dsandbox.yaml", "--diff")
    yield from _views(folder)
    yield answer(folder, "plan", "dsandbox.yaml", "--json", "--inventory", "builtin:8xa100-sxm-80gb")
    yield answer(folder, "plan", "dsandbox.yaml", "--inventory", "builtin:8xa100-sxm-80gb")
    yield answer(folder, "packages", "dsandbox.yaml")
    yield answer(folder, "code", "agent", "--contract", "dsandbox.yaml")
    yield answer(folder, *lint, "--fix")
    yield answer(folder, *lint, "--fix", "--unsafe-fixes")
    yield answer(folder, "fmt", "dsandbox.yaml")
