"""The story that snapshots are for: a fat .git stays out, and a move to other GPUs points at the line."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from .kit import all_bytes, git, write
from .shell import Shell

CACHED = '''\
"""Trains an agent."""

import os


def compiled(model):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/tmp/torch_compile_cache/ampere/"
    return model
'''


def fill(folder: Path, megabytes: float) -> int:
    """Source files of this size in all; how many bytes they are."""
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghijklmnop_", k=chance.randrange(3, 12))) for _ in range(3000)]
    written = number = 0
    while written < megabytes * 2**20:
        lines = [" ".join(chance.choices(words, k=8)) + f" = {chance.random()}" for _ in range(300)]
        text = "\n".join(lines)
        write(folder, {f"pkg{number % 40}/module_{number}.py": text})
        written += len(text)
        number += 1
    return written


def fatten(folder: Path, megabytes: int) -> int:
    """A history that holds what is long gone; the size of .git."""
    for number in range(3):
        (folder / "weights.bin").write_bytes(os.urandom(megabytes * 2**20 // 3))
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"weights {number}")
    git(folder, "rm", "-q", "--cached", "weights.bin")
    (folder / "weights.bin").unlink()
    git(folder, "commit", "-q", "-m", "gone")
    return sum(path.stat().st_size for path in (folder / ".git").rglob("*") if path.is_file())


def told(shell: Shell, code_mb: float, git_mb: int) -> None:
    code = fill(shell.project, code_mb)
    write(shell.project, {"train.py": CACHED})
    fat = fatten(shell.project, git_mb)
    assert fat > git_mb * 2**20 * 0.9
    text = shell.ok(
        "snapshot create --name on-a100 --include-code --include-deps --inventory builtin:8xa100-sxm-80gb"
    )
    assert "8 x a100-sxm-80gb" in text
    assert ".git" not in shell.ok("snapshot inspect on-a100 --files").replace(".gitignore", "")
    shell.ok(f"snapshot export on-a100 -o {shell.home}/a.dsnap")
    size = (shell.home / "a.dsnap").stat().st_size
    assert size < code, (size, code)
    assert size < fat / 2

    diff = shell.ok("snapshot diff on-a100 . --inventory builtin:1xrtx-4090", 1)
    assert "GPU type  8 x a100-sxm-80gb -> 1 x rtx-4090" in diff
    assert "train.py:7" in diff
    assert "in compiled" in diff
    assert "for ampere" in diff


@pytest.mark.battery
def test_a_fat_git_and_other_gpus(shell: Shell) -> None:
    told(shell, 0.5, 3)


@pytest.mark.battery
def test_fifty_megabytes_and_a_git_of_two_hundred(shell: Shell) -> None:
    told(shell, 50, 200)


def test_no_secret_is_in_a_package(shell: Shell) -> None:
    secret, token = "aRgV-7Kq9mW2vB4nZ8pLt5", "ghp_aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2"
    git(shell.project, "remote", "add", "origin", f"https://{token}@h/x.git")
    write(shell.project, {".env": f"K={secret}\n", "s.py": f'API_KEY = "{secret}"\n'})
    shell.ok("run -q --job-id first", MY_SECRET=secret)
    shell.ok("snapshot create --name v1", MY_SECRET=secret)
    shell.ok(f"snapshot export v1 -o {shell.home}/v1.dsnap", MY_SECRET=secret)
    # What is in a package is what the store holds of it: taken in elsewhere, all of it can be read there.
    other = shell.home / "other"
    other.mkdir()
    shell.project = other
    shell.ok(f"snapshot import {shell.home}/v1.dsnap --trust")
    read = 0
    for where, data in all_bytes(other, shell.home):
        read += len(data)
        assert secret.encode() not in data, where
        assert token.encode() not in data, where
    assert read > 10_000


def test_from_one_machine_to_another(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1")
    shell.ok(f"snapshot export v1 -o {shell.home}/v1.dsnap")
    other = shell.home / "other"
    other.mkdir()
    shell.project = other
    shell.ok(f"snapshot import {shell.home}/v1.dsnap --trust")
    text = shell.ok("snapshot run v1 -q --job-id here")
    assert "machine: same" in text
    assert "results: 1 equal to the recorded" in text
    assert "nothing differs" not in shell.ok("snapshot diff v1 .", 1)
