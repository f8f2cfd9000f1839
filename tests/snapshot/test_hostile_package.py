"""Packages that were cut off anywhere, and packs whose tables are right and whose content is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from blake3 import blake3

from dsec.errors import DSecError
from dsec.store import Damaged
from dsec.store.packform import BLOB
from dsec.store.portable import ForeignPack, Writing
from dsec_cli.snapshot.package import form, reading

from .shell import Shell


def borders(data: bytes) -> list[int]:
    """Where one thing ends and the next begins."""
    _, _, _, table, pack = form.HEAD.unpack(data[: form.HEAD.size])
    front = form.HEAD.size + table + form.SIGNATURE_BYTES
    found = [
        8,
        10,
        12,
        16,
        form.HEAD.size,
        form.HEAD.size + table,
        front,
        front + 16,
        len(data) - 56,
        len(data),
    ]
    assert front + pack == len(data)
    return found


def test_cut_off_at_every_border(package: Path) -> None:
    data = package.read_bytes()
    with reading.opened(str(package)) as found:
        frames = [one.offset for one in found.pack.tables.frames]
    front = borders(data)[6]
    places = {*borders(data), *(front + one for one in frames)}
    for at in sorted(
        {near for place in places for near in (place - 1, place, place + 1) if near < len(data)}
    ):
        package.write_bytes(data[:at])
        with pytest.raises(DSecError, match=r"is cut off|is not a package"), reading.opened(str(package)):
            pass
    package.write_bytes(data)
    with reading.opened(str(package)) as found:
        assert reading.checked(found) > 10


def pack_of(path: Path, objects: list[tuple[bytes, bytes]]) -> ForeignPack:
    """A pack that holds these, under these ids, whatever they are."""
    with path.open("wb") as file:
        writing = Writing(file.write)
        for name, data in objects:
            writing.add(name, data, BLOB)
        length = writing.finish()
    return ForeignPack(os.open(path, os.O_RDONLY), 0, length, called="theirs")


def test_an_object_that_is_not_what_its_id_says(tmp_path: Path) -> None:
    right, wrong = blake3(b"right").digest(), b"w" * 32
    found = pack_of(tmp_path / "pack", [(right, b"right"), (wrong, b"something else")])
    assert found.get(right) == b"right"
    with pytest.raises(Damaged, match=r"what it holds as 7777.* is something else"):
        found.get(wrong)


def test_the_part_that_is_damaged_is_named(package: Path) -> None:
    data = package.read_bytes()
    with reading.opened(str(package)) as found:
        frame = found.pack.tables.frames[0]
        start = borders(data)[6] + frame.offset
    package.write_bytes(data[: start + 9] + bytes((data[start + 9] ^ 1,)) + data[start + 10 :])
    with (
        pytest.raises(Damaged, match=r"frame 0: .*; .*\.(json|dot|bin|enc) is in there"),
        reading.opened(str(package)) as found,
    ):
        reading.checked(found)


@pytest.mark.battery
def test_every_part_of_the_store_and_of_a_package_by_the_command(shell: Shell) -> None:
    """A bit of each file is found by `verify`, with the file's name and the snapshot that it harms."""
    shell.ok("snapshot create --name v1")
    shell.ok("snapshot export v1")
    store = shell.project / ".dsec" / "store"
    for path in [*(store / "packs").iterdir(), *(store / "records").iterdir(), shell.project / "v1.dsnap"]:
        data = path.read_bytes()
        at = len(data) // 2
        path.write_bytes(data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])
        text = shell.ok("snapshot verify" if path.parent.parent == store else "snapshot verify v1.dsnap", 1)
        assert path.name in text
        assert "v1" in text
        path.write_bytes(data)
    assert "intact" in shell.ok("snapshot verify")
    assert "intact" in shell.ok("snapshot verify v1.dsnap")
