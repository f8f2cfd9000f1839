"""Plugins' commands while things go wrong: killed, at the same time, closed, tampered with."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from datetime import date
from pathlib import Path

import pytest

from dsec.errors import FileProblem
from dsec_cli.commands import plugin_call
from dsec_cli.commands.plugin_install import fixed
from dsec_cli.plugins.signing import bundle, installed, keyring, minisign, trust
from dsec_cli.plugins.signing.contents import Manifest
from dsec_cli.plugins.signing.locking import alone

FILES = {"plugin.yaml": b"name: a\nversion: 1.0.0\n", "a.so": b"\x7fELF"}


def put(root: Path, version: str = "1.0.0", files: dict[str, bytes] = FILES) -> str:
    aside = installed.stage(str(root), "a", files, frozenset())
    return installed.place(str(root), aside, "a", version, said={"status": "trusted"})


def test_what_a_killed_command_left_is_swept(tmp_path: Path) -> None:
    put(tmp_path)
    left = tmp_path / ".a.999999.tmp"
    left.mkdir()
    (left / "file").write_text("")
    os.symlink("1.0.0", tmp_path / "a" / ".current.999999")
    found = installed.one(str(tmp_path), "a")
    assert found is not None
    assert found.others == ()
    installed.sweep(str(tmp_path))
    assert os.listdir(tmp_path) == ["a"]


def test_the_same_files_stay_where_they_are_in_use(tmp_path: Path) -> None:
    folder = put(tmp_path)
    before = os.stat(os.path.join(folder, "a.so")).st_ino
    put(tmp_path)
    assert os.stat(os.path.join(folder, "a.so")).st_ino == before
    Path(folder, "a.so").write_bytes(b"worse")
    put(tmp_path)
    assert Path(folder, "a.so").read_bytes() == FILES["a.so"]
    installed.sweep(str(tmp_path))
    assert os.listdir(tmp_path) == ["a"]


def test_a_version_that_cannot_take_its_place_leaves_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(tmp_path)
    aside = installed.stage(str(tmp_path), "a", {**FILES, "b": b""}, frozenset())
    rename = os.rename

    def failing(source: str, target: str) -> None:
        if source == aside:
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(FileProblem, match="No space left"):
        installed.place(str(tmp_path), aside, "a", "1.0.0", said={})
    assert Path(folder, "a.so").read_bytes() == FILES["a.so"]
    assert not Path(folder, "b").exists()


def test_what_is_removed_is_gone_at_once(tmp_path: Path) -> None:
    put(tmp_path)
    installed.remove(str(tmp_path), "a")
    assert os.listdir(tmp_path) == []


def test_one_waits_for_the_other(tmp_path: Path) -> None:
    order: list[str] = []
    started = threading.Event()

    def second() -> None:
        started.set()
        with alone(str(tmp_path)):
            order.append("second")

    with alone(str(tmp_path)):
        other = threading.Thread(target=second)
        other.start()
        assert started.wait(10)
        other.join(0.05)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


def test_a_missing_manifest_hides_no_change(tmp_path: Path) -> None:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    kept = fixed(bundle.read_package(str(tmp_path)))
    plugin_call._unchanged(bundle.read_package(str(tmp_path)), kept)
    (tmp_path / "a.so").write_bytes(b"worse")
    with pytest.raises(FileProblem, match="not those that were installed"):
        plugin_call._unchanged(bundle.read_package(str(tmp_path)), kept)


def test_what_was_changed_can_be_installed_again(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name, data in FILES.items():
        (source / name).write_bytes(data)
    package = bundle.read_package(str(source))
    root = str(tmp_path / "plugins")
    aside = installed.stage(root, "a", package.files, package.executable)
    folder = installed.place(root, aside, "a", "1.0.0", said={"files": package.digest()})
    Path(folder, "a.so").write_bytes(b"worse")
    assert installed.same(root, "a", "1.0.0", package) is True
    (source / "a.so").write_bytes(b"other")
    assert installed.same(root, "a", "1.0.0", bundle.read_package(str(source))) is False
    assert installed.same(root, "a", "2.0.0", package) is None


def test_a_key_without_its_other_half_is_not_left(tmp_path: Path) -> None:
    (tmp_path / "k.pub").write_text("mine")
    secret = minisign.new_key(bytes(40))
    with pytest.raises(FileProblem, match=r"k\.pub is there already"):
        keyring.write_pair(str(tmp_path / "k.key"), secret, password="", salt=bytes(32))
    assert os.listdir(tmp_path) == ["k.pub"]


def test_without_a_home_no_key_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(FileProblem, match="no home folder"):
        keyring.folder({})


def test_time_holds_for_unsigned_packages_too() -> None:
    manifest = Manifest("a", "1.0.0", date(2026, 1, 1), {})
    late = trust.out_of_time(manifest, "", today=date(2026, 1, 2), installed=None)
    assert late is not None
    assert late.status == "expired"
    old = trust.out_of_time(manifest, "", today=date(2026, 1, 1), installed="1.0.1")
    assert old is not None
    assert old.status == "rollback"
    assert trust.out_of_time(manifest, "", today=date(2026, 1, 1), installed="1.0.0") is None


def test_people_who_are_trusted_at_once_are_all_kept(tmp_path: Path, program: list[str]) -> None:
    environ = {**os.environ, "HOME": str(tmp_path)}
    keys = [minisign.new_key(bytes([at]) * 40).public.text for at in range(3)]
    running = [
        subprocess.Popen([*program, "trust", key, "--name", f"n{at}"], env=environ, stdout=subprocess.DEVNULL)
        for at, key in enumerate(keys)
    ]
    assert [one.wait(60) for one in running] == [0, 0, 0]
    held = json.loads((tmp_path / ".ds" / "keys" / "trusted.json").read_text())
    assert [row["name"] for row in held["keys"]] == ["n0", "n1", "n2"]


@pytest.fixture
def program() -> list[str]:
    import sys

    return [sys.executable, "-c", "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())", "plugin"]
