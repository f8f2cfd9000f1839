"""Files written whole or not at all, and who writes such."""

from __future__ import annotations

import errno
import os

import pytest

from dsec.core.experience import NOTHING
from dsec.devicebook import learn_devices
from dsec.durations import write_durations
from dsec.errors import FileProblem
from dsec.planfile import save_plan
from dsec.wholefile import remedy, write_whole
from dsec_cli.commands import carrying
from dsec_cli.report import output


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path, durable):
    path = tmp_path / "a"
    path.write_text("old")
    write_whole(str(path), [b"new, ", b"whole"], durable=durable)
    assert path.read_text() == "new, whole"
    assert os.listdir(tmp_path) == ["a"]


def test_a_disk_that_gets_full_leaves_the_old_file_alone(tmp_path):
    def pieces():
        yield b"half of it"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(OSError, match="space"):
        write_whole(str(path), pieces())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("durations.json", lambda folder: write_durations(folder, "a", {})),
        ("devices.json", lambda folder: learn_devices(folder, "a", NOTHING)),
        ("report.json", lambda folder: carrying.write_whole(f"{folder}/report.json", b"{}")),
    ],
)
def test_what_cannot_be_put_in_place_leaves_nothing(tmp_path, name, write):
    (tmp_path / name).mkdir()
    with pytest.raises((OSError, FileProblem), match=name):
        write(str(tmp_path))
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (errno.ENOSPC, "free some space, or write to another place"),
        (errno.EDQUOT, "free some space, or write to another place"),
        (errno.EFBIG, "free some space, or write to another place"),
        (errno.EACCES, "name a file in a folder you may write to"),
        (errno.EROFS, "name a file in a folder you may write to"),
        (errno.EIO, "check the folder, its permissions and its space"),
    ],
)
def test_every_writer_says_what_helps(tmp_path, monkeypatch, kit, number, what):
    problem = OSError(number, os.strerror(number))
    assert remedy(problem) == what

    def fail(*_args, **_options):
        raise problem

    path = str(tmp_path / "a")
    monkeypatch.setattr(os, "replace", fail)
    for write in (
        lambda: save_plan(path, kit.plan(kit.step("A", argv=["true"]))),
        lambda: output.to_file(path, b"x"),
        lambda: carrying.write_whole(path, b"x"),
    ):
        with pytest.raises(FileProblem) as told:
            write()
        assert told.value.hint == what
        assert os.listdir(tmp_path) == []


def test_a_write_that_fails_says_to_what(tmp_path):
    def pieces():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield b""

    with pytest.raises(OSError, match="No space") as told:
        write_whole(str(tmp_path / "a"), pieces())
    assert told.value.filename == str(tmp_path / "a")
