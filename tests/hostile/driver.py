"""Gives one file to every command in this process, and tells what they answered."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dsec_cli import exit as codes
from dsec_cli.fast import run

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ("concise", "github", "gitlab", "json", "jsonl", "junit", "markdown", "rdjson", "sarif", "text")
VIEWS = ("text", "dot", "html", "json", "mermaid", "trace")
ALLOWED = (0, 1, 3)


class Answer(NamedTuple):
    """What one command said."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    cpu_s: float

    @property
    def fault(self) -> str:
        """Why this answer is a bug; "" when it is none."""
        if self.code not in ALLOWED:
            return f"exit {self.code}"
        if "Traceback" in self.out + self.err:
            return "traceback"
        if self.code == 3 and not self.err.startswith("dsec: error: "):
            return "exit 3 without a word"
        # A file may quote the code; a headline and the data formats name it like this.
        if "error[DS999]" in self.out or '"code": "DS999"' in self.out:
            return "a rule failed"
        return ""

    def __str__(self) -> str:
        return f"dsec {' '.join(self.words)}: {self.fault} ({self.cpu_s:.2f} s)\n{self.err[-3000:]}"


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


def _trace() -> int:
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


def process(folder: Path, *words: str, megabytes: int, cpu_s: int) -> Answer:
    """Run `dsec WORDS` in a process of its own that has no more memory and time than said."""
    source = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_DATA, ({megabytes} << 20,) * 2)\n"
        f"resource.setrlimit(resource.RLIMIT_CPU, ({cpu_s},) * 2)\n"
        f"sys.path[:0] = {[str(ROOT), str(ROOT / 'runtime')]!r}; sys.argv[0] = 'dsec'\n"
        "from dsec_cli.fast import dsec\n"
        "sys.exit(dsec())\n"
    )
    began = os.times()
    ran = subprocess.run(
        [sys.executable, "-c", source, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=folder,
        timeout=300,
        check=False,
    )
    ended = os.times()
    took = sum(ended[2:4]) - sum(began[2:4])
    said = [one.decode("utf-8", "replace") for one in (ran.stdout, ran.stderr)]
    return Answer(words, ran.returncode, *said, took)


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
    for view in VIEWS:
        yield answer(folder, "dag", "dsandbox.yaml", "--output", view)
    yield answer(folder, "plan", "dsandbox.yaml", "--json", "--inventory", "builtin:8xa100-sxm-80gb")
    yield answer(folder, "plan", "dsandbox.yaml", "--inventory", "builtin:8xa100-sxm-80gb")
    yield answer(folder, "packages", "dsandbox.yaml")
    yield answer(folder, "code", "agent", "--contract", "dsandbox.yaml")
    yield answer(folder, *lint, "--fix")
    yield answer(folder, *lint, "--fix", "--unsafe-fixes")
    yield answer(folder, "fmt", "dsandbox.yaml")
