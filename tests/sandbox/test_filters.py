"""Filters of system calls and rules about files, on this kernel, in processes that end by them."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.sandbox import hostcalls, landlock, seccomp
from dsec.sandbox.kernel import SandboxError

ROOT = Path(__file__).resolve().parents[2]
X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")


def run(text: str, *words: object) -> subprocess.CompletedProcess[str]:
    """A program that isolates itself."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": str(ROOT / "runtime"), "PATH": "/usr/bin:/bin"},
    )


def interpreted(program: bytes, number: int, arch: int) -> int:
    """What a filter answers, by the rules of classic BPF."""
    rows = list(struct.iter_unpack("=HBBI", program))
    value = at = 0
    while True:
        code, yes, no, k = rows[at]
        at += 1
        if code == 0x20:
            value = {0: number, 4: arch}[k]
        elif code == 0x06:
            return int(k)
        else:
            at += yes if (value == k if code == 0x15 else value >= k) else no


@given(st.sets(st.integers(0, 600), max_size=200), st.integers(0, 600))
def test_a_filter_allows_what_it_is_given_and_nothing_else(allowed: set[int], number: int) -> None:
    program = seccomp.program(allowed, arch="x86_64")
    verdict = interpreted(program, number, 0xC000003E)
    assert verdict == (seccomp.ALLOW if number in allowed else seccomp.KILL)
    assert interpreted(program, number | 0x40000000, 0xC000003E) == seccomp.KILL  # x32
    assert interpreted(program, number, 0x40000003) == seccomp.KILL  # int 0x80


def test_a_filter_that_is_too_long_is_refused() -> None:
    with pytest.raises(SandboxError, match="more than the kernel takes"):
        seccomp.program(range(3000), arch="x86_64")


@X86
def test_what_is_not_allowed_kills() -> None:
    ran = run(
        """
        import os
        from dsec.sandbox import hostcalls, seccomp
        seccomp.restrict(hostcalls.answering())
        os.write(1, b"alive")
        os.getppid()
        os.write(1, b" still")
        """
    )
    assert (ran.stdout, ran.returncode) == ("alive", -signal.SIGSYS)


@X86
def test_filters_add_up() -> None:
    ran = run(
        """
        import os
        from dsec.sandbox import hostcalls, seccomp
        seccomp.restrict(hostcalls.answering() | hostcalls.loading() | {110, 157, 317})
        os.getppid()
        seccomp.restrict(hostcalls.answering())
        os.write(1, b"alive")
        os.getppid()
        """
    )
    assert (ran.stdout, ran.returncode) == ("alive", -signal.SIGSYS)


needs_landlock = pytest.mark.skipif(landlock.interface() == 0, reason="this kernel has no Landlock")


@needs_landlock
def test_only_named_paths_are_reached(tmp_path: Path) -> None:
    for name in ("read", "write", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    ran = run(
        """
        import sys
        from dsec.sandbox import landlock
        base = sys.argv[1]
        landlock.restrict(read=[base + "/read", base + "/none"], write=[base + "/write"])
        for what, path in (("r", "read/file"), ("r", "other/file"), ("w", "read/file"), ("w", "write/new"),
                           ("r", "write/file"), ("w", "other/new")):
            try:
                open(f"{base}/{path}", what).close()
                print(what, path, "yes")
            except PermissionError:
                print(what, path, "no")
        """,
        tmp_path,
    )
    assert ran.stdout.splitlines() == [
        "r read/file yes",
        "r other/file no",
        "w read/file no",
        "w write/new yes",
        "r write/file yes",
        "w other/new no",
    ], ran.stderr


@needs_landlock
def test_a_second_layer_takes_away_more(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    ran = run(
        """
        import sys
        from dsec.sandbox import landlock
        landlock.restrict(read=[sys.argv[1]])
        open(sys.argv[1] + "/f").close()
        landlock.restrict()
        open(sys.argv[1] + "/f").close()
        """,
        tmp_path,
    )
    assert "PermissionError" in ran.stderr


def test_rights_follow_the_version_of_the_interface() -> None:
    assert landlock.handled(1) == (1 << 13) - 1
    assert landlock.handled(2) == (1 << 14) - 1
    assert landlock.handled(3) == landlock.handled(4) == (1 << 15) - 1
    assert landlock.handled(7) == (1 << 16) - 1


def test_calls_of_loading_are_apart() -> None:
    assert not hostcalls.answering() & hostcalls.loading()
