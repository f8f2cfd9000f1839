"""A repository with what real ones have: taken, restored, verified, compared and run, by the commands."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from .kit import PLAIN, git, repository, write
from .secretkinds import Made, friends, secrets
from .shell import Shell

MANY = 40_000
RUN = 'cat many/1/*.py | cksum > "$DSEC_RUN_DIR/policy"\n'


def pointer(m: Made, size: int) -> str:
    digest = m(64, "0123456789abcdef")
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n"


def filled(folder: Path, inner: Path) -> tuple[set[str], set[str]]:
    """Files of every shape; which of them hold secrets, and which only look so."""
    m = Made(7)
    holding, harmless = set[str](), set[str]()
    for number, (name, text, _) in enumerate(secrets(7)):
        holding.add(path := f"with/{number}/{name}")
        write(folder, {path: text})
    for number, (name, text) in enumerate(friends(7)):
        harmless.add(path := f"without/{number}/{name}")
        write(folder, {path: text})
    for number in range(MANY):
        path = folder / "many" / str(number // 200) / f"m{number}.py"
        if number % 200 == 0:
            path.parent.mkdir(parents=True)
        path.write_text(f"x = {number}\n")
    write(
        folder,
        {
            "train.sh": RUN,
            "weights.safetensors": pointer(m, 123_456),
            ".gitattributes": "*.safetensors filter=lfs diff=lfs merge=lfs -text\n",
            "crlf.py": "a = 1\r\n",
            "no-newline.py": "a = 1",
            "empty.py": "",
            "naïve/ö ü.py": "x\n",
        },
    )
    (folder / "latin.txt").write_bytes(b"caf\xe9\n")
    (folder / "binary.bin").write_bytes(bytes(range(256)) * 999)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    for name, target in (
        ("to-file", "train.sh"),
        ("to-folder", "many"),
        ("dangling", "nowhere"),
        ("out", "/etc/hostname"),
    ):
        (folder / name).symlink_to(target)
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(folder, "-c", "filter.lfs.clean=cat", "-c", "filter.lfs.required=false", "add", "-Af")
    git(folder, "commit", "-qm", "all")
    return holding, harmless


@pytest.mark.battery
def test_all_shapes_come_back(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = repository(tmp_path / "inner", {"lib.py": "y = 1\n", "deep/x.py": "z\n"})
    folder = shell.project
    holding, harmless = filled(folder, inner)
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(folder)  # a path of a socket must be short
        listening.bind("a.sock")
        os.mkfifo("a.pipe")
        shell.ok("run --quiet")
        made = json.loads(shell.ok("snapshot create --name all --include-code --json --budget none"))
        redacted = {row["where"] for row in made["redactions"]}
        assert redacted == holding
        assert not redacted & harmless
        assert len(holding) > 60
        assert len(harmless) > 60
        told = shell.ok("snapshot restore all --to ../out")
        assert "leads out of it: out" in told
        found = subprocess.run(
            ["diff", "-r", "--no-dereference", "--exclude=.git", "--exclude=.dsec", ".", "../out"],
            env={**os.environ, **PLAIN, "LC_ALL": "C"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        lines = set(found.stdout.splitlines())
    assert lines <= {"Only in .: a.sock", "Only in .: a.pipe"}, sorted(lines)[:20]
    assert {line.partition(": ")[2] for line in lines} == {"a.sock", "a.pipe"}
    assert os.access(tmp_path / "out" / "run.sh", os.X_OK)
    assert "intact" in shell.ok("snapshot verify all")
    (folder / "a.sock").unlink()
    (folder / "a.pipe").unlink()
    shell.ok("snapshot diff all . --only code")
    assert "succeeded" in shell.ok("snapshot run all")
