"""A run folder that somebody sent: its documents and the logs that it names stay within it."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsec import containment

from .conftest import Commands

SECRET = "hunter2-of-the-reader"


def rewritten(journal: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """The journal with each record changed, and its checksums right."""
    out = []
    for line in journal.read_bytes().split(b"\n"):
        if not line:
            continue
        event = json.loads(line[18:])
        change(event)
        body = json.dumps(event, separators=(",", ":")).encode()
        out.append(b"%08x %08x%b%b" % (len(body), zlib.crc32(body), line[17:18], body))
    journal.write_bytes(b"\n".join(out) + b"\n")


@pytest.fixture
def sent(run: Path, tmp_path: Path) -> Path:
    """A finished run as it was received, and a file of the reader beside it."""
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key.log").write_text(SECRET + "\n")
    return Path(shutil.copytree(run, tmp_path / "sent"))


def log_of(sent: Path, name: str) -> None:
    def change(event: dict[str, Any]) -> None:
        if event.get("event") == "spawn":
            event["log"] = name

    rewritten(sent / "journal", change)


def absolute(sent: Path) -> None:
    log_of(sent, f"{sent.parent}/secret")


def upwards(sent: Path) -> None:
    log_of(sent, "../secret")


def deep_upwards(sent: Path) -> None:
    log_of(sent, "logs/../../secret")


def linked(sent: Path) -> None:
    (sent / "logs" / "l").symlink_to("../../secret")
    log_of(sent, "logs/l")


def linked_folder(sent: Path) -> None:
    (sent / "more").symlink_to("../secrets")
    log_of(sent, "more/key.log")


def all_logs_linked(sent: Path) -> None:
    shutil.rmtree(sent / "logs")
    (sent / "logs").symlink_to("../secrets")
    log_of(sent, "logs/key.log")


def hard_linked(sent: Path) -> None:
    os.link(sent.parent / "secret", sent / "logs" / "h")
    log_of(sent, "logs/h")


def process_environment(sent: Path) -> None:
    log_of(sent, "../../../../../../../../proc/self/environ")


def pipe(sent: Path) -> None:
    os.mkfifo(sent / "logs" / "p")
    log_of(sent, "logs/p")


def device(sent: Path) -> None:
    (sent / "logs" / "z").symlink_to("/dev/zero")
    log_of(sent, "logs/z")


def nul(sent: Path) -> None:
    log_of(sent, "logs/a\0b")


WAYS = [
    absolute, upwards, deep_upwards, linked, linked_folder, all_logs_linked, hard_linked,
    process_environment, pipe, device, nul,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_no_command_shows_a_file_outside(
    dsec: Commands, sent: Path, way: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_READER", SECRET)
    way(sent)
    for words in (("logs",), ("report",), ("report", "--output", "html"), ("top", "--once"), ("status",)):
        ran = dsec(words[0], str(sent), *words[1:])
        assert SECRET not in ran.out + ran.err, words
        assert ran.code in (0, 1, 2, 3), (words, ran)
    shown = dsec("logs", str(sent))
    assert shown.code == 3
    assert "is not shown: " in shown.err or "is not read: " in shown.err
    assert SECRET not in "".join(path.read_text() for path in sent.glob("report.*"))


@pytest.mark.parametrize("name", ["plan.json", "journal", "audit", "contention.json", "dependencies.json"])
@pytest.mark.parametrize("how", ["link", "hard link", "pipe"])
def test_a_document_that_is_another_file_is_not_read(dsec: Commands, sent: Path, name: str, how: str) -> None:
    (sent / name).unlink(missing_ok=True)
    if how == "link":
        (sent / name).symlink_to("../secret")
    elif how == "hard link":
        os.link(sent.parent / "secret", sent / name)
    else:
        os.mkfifo(sent / name)
    for command in ("report", "status", "logs"):
        ran = dsec(command, str(sent))
        assert (ran.code, SECRET in ran.out + ran.err) == (3, False), ran


def test_the_contract_that_it_names_is_not_read(dsec: Commands, sent: Path) -> None:
    (sent.parent / "mine.yaml").write_text(f"a: [{SECRET}\n")
    assert dsec("dag", "--job-id", str(sent)).code == 3
    ran = dsec("dag", f"{sent.parent}/shared/dsandbox.yaml", "--job-id", str(sent))
    assert ran.code == 0, ran


def test_the_run_itself_is_shown(dsec: Commands, sent: Path) -> None:
    assert dsec("logs", str(sent)).code in (0, 1)
    assert dsec("report", str(sent)).code == 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../x", "outside"), ("/etc/passwd", "outside"), ("a/../../x", "outside"), ("link", "symbolic link"),
        ("link/x", "symbolic link"), ("sub/link", "symbolic link"), ("sub", "no ordinary file"),
        ("pipe", "no ordinary file"), ("hard", "hard link"), (".", "no ordinary file"),
        ("", "no ordinary file"),
    ],
)  # fmt: skip
def test_what_leads_out_is_named(tmp_path: Path, name: str, why: str) -> None:
    folder = tmp_path / "f"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "x").write_text("x")
    (folder / "link").symlink_to("..")
    (folder / "sub" / "link").symlink_to("../../x")
    os.link(tmp_path / "x", folder / "hard")
    os.mkfifo(folder / "pipe")
    with pytest.raises(containment.Escape) as caught:
        containment.open_beneath(str(folder), name)
    assert why in str(caught.value.strerror)


def test_what_stays_within_is_opened(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x").write_text("x")
    for name in ("sub/x", "sub/../sub/x", "./sub//x", f"{tmp_path}/sub/x"):
        assert containment.read_beneath(str(tmp_path), name) == b"x"
    with pytest.raises(FileNotFoundError):
        containment.read_beneath(str(tmp_path), "sub/y")
