"""Projects, scenes and stores for the tests of snapshots; no test reads this machine's own packages."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dsec.inventory import Inventory
from dsec.store import Store
from dsec.store.compression import Codec
from dsec.store.packs import open_pack, read_frame
from dsec_cli.snapshot.capture import capture, keep
from dsec_cli.snapshot.redaction import Redactor
from dsec_cli.snapshot.section import Scene, Wanted
from dsec_cli.snapshot.shelf import View

KEY = b"k" * 32
FILES = {"train.py": "lr = 3e-4\n" * 40, "src/model.py": "layers = 12\n", "notes.txt": "hello\n"}
PLAIN = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}
PYTHON = {
    "version": "3.11.9", "implementation": "CPython", "abi": "cpython-311-x86_64-linux-gnu",
    "platform": "linux-x86_64", "executable": "/env/bin/python", "prefix": "/env", "base": "/usr",
    "path": [], "libc": "glibc 2.36", "optimize": 0, "libraries": [],
}  # fmt: skip


def git(folder: Path, *words: str) -> str:
    """Git as a user runs it, with no settings but its own."""
    done = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **PLAIN}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path, files: dict[str, str]) -> Path:
    """A repository with these files in one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first", "--allow-empty")
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def site(folder: Path, packages: dict[str, str], *, record: str = "") -> Path:
    """A folder of installed packages: name -> version."""
    for name, version in packages.items():
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        rows = f"{name}/__init__.py,sha256=abc{record}{version},10\n{info.name}/RECORD,,\n"
        (info / "RECORD").write_text(rows)
    return folder


def scene(folder: Path, store: Store, state: Path, **more: Any) -> Scene:
    """A scene whose Python is a made-up one with the packages in `site`, and whose environment is ours."""
    python = {**PYTHON, "path": [str(one) for one in more.pop("sites", ())]}
    found = Scene(
        folder=str(folder),
        state=str(state),
        environ=more.pop("environ", {"PATH": os.environ["PATH"], "HOME": str(state)}),
        store=store,
        redactor=more.pop("redactor", Redactor(KEY)),
        wanted=more.pop("wanted", Wanted()),
        **more,
    )
    found.memory["python"] = python
    return found


def take(found: Scene, name: str) -> View:
    """Capture, keep, and look at what was kept."""
    manifest = capture(found, name)
    keep(found, manifest)
    return View(manifest, found.store)


def all_bytes(*folders: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below, and every frame of every pack decompressed: what a thief would have."""
    codec = Codec()
    for folder in folders:
        for path in sorted(one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()):
            yield str(path), path.read_bytes()
            if path.suffix == ".pack":
                pack = open_pack(str(path))
                for frame in pack.tables.frames:
                    yield f"{path} (a frame)", read_frame(pack.fd, frame, codec)
                os.close(pack.fd)


def described(kind: str, count: int = 1) -> Inventory:
    """A machine with GPUs of this type."""
    from dsec.devices.described import from_document

    document = {"cpu": 8, "memory": "64GiB", "gpus": [{"type": kind, "count": count}]}
    return from_document(document, "test")
