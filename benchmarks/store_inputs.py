"""Trees for `store.py`: many small files, a few large ones, a repository with a fat `.git`.

Small files are those of this interpreter's library and environment (sources, byte code, shared
objects, data; none above 4 MiB), taken round after round until there are enough. From the second round on
every twelfth line or so, or every 1,000th byte of what is not text, is another one, so that nobody can
keep two files as one. Large files are 16-bit floating-point numbers, drawn from a normal distribution.
"""

from __future__ import annotations

import os
import random
import subprocess
import sysconfig
from pathlib import Path

LARGEST = 4 << 20
_FLOATS = 1 << 20


def sources() -> list[Path]:
    """Files to take, sorted."""
    roots = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")}
    found = {path for root in roots for path in root.rglob("*") if path.is_file() and not path.is_symlink()}
    return sorted(path for path in found if path.stat().st_size <= LARGEST)


def small_files(folder: Path, *, count: int, seed: int = 1) -> int:
    """Write so many files; their bytes together."""
    chosen, size = sources(), 0
    random.Random(seed).shuffle(chosen)
    for at in range(count):
        turn, source = at // len(chosen), chosen[at % len(chosen)]
        data = _changed(source.read_bytes(), turn) if turn else source.read_bytes()
        target = folder / f"part{turn}" / Path(*source.parts[-3:])
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            target = target.with_name(f"{at}-{target.name}")
        target.write_bytes(data)
        size += len(data)
    return size


def _changed(data: bytes, turn: int) -> bytes:
    if b"\0" not in data[:4096]:
        lines = data.split(b"\n")
        for at in range(turn, len(lines), 12):
            lines[at] += b"  # %d.%d" % (turn, at)
        return b"\n".join(lines)
    whole = bytearray(data)
    for at in range(turn, len(whole), 1000):
        whole[at] = (whole[at] + turn) & 255
    return bytes(whole)


def change(folder: Path, *, share: float, seed: int) -> int:
    """Append a line to so many of the files; their number."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    picked = random.Random(seed).sample(found, max(1, int(len(found) * share)))
    for path in picked:
        with path.open("ab") as file:
            file.write(b"# changed %d\n" % seed)
    return len(picked)


def large_files(folder: Path, *, count: int, size: int) -> None:
    """Write files of bfloat16 numbers; every run writes the same ones."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        rng = np.random.default_rng(number)
        with (folder / f"weights-{number}.bin").open("wb") as file:
            for _ in range(size // (2 * _FLOATS)):
                values = rng.standard_normal(_FLOATS, dtype=np.float32) * np.float32(0.02)
                file.write((values.view(np.uint32) >> 16).astype(np.uint16).tobytes())


def overwrite(folder: Path, *, runs: int, length: int, seed: int) -> None:
    """Overwrite so many runs of the large files, each at a random place."""
    found, draw = sorted(folder.iterdir()), random.Random(seed)
    for _ in range(runs):
        path = draw.choice(found)
        with path.open("r+b") as file:
            file.seek(draw.randrange(0, path.stat().st_size - length))
            file.write(draw.randbytes(length))


def repository(folder: Path, *, count: int, fat_bytes: int) -> None:
    """A work tree of so many files under git, with a history that makes `.git` large."""
    small_files(folder, count=count, seed=2)
    env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    commands = [
        ["init", "-q"], ["config", "user.name", "bench"], ["config", "user.email", "bench@localhost"],
        ["add", "-A"], ["commit", "-qm", "first"],
    ]  # fmt: skip
    for words in commands:
        subprocess.run(["git", "-C", folder, *words], check=True, env=env)
    draw = random.Random(3)
    with (folder / ".git" / "objects" / "fat").open("wb") as fat:
        for _ in range(fat_bytes >> 20):
            fat.write(draw.randbytes(1 << 20))
