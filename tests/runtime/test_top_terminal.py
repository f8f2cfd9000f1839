"""`dsec top` in a terminal of its own: keys, signals, sizes, and what it leaves of the terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest


class Terminal:
    """`dsec top` in a terminal; `text` is what it has drawn."""

    def __init__(self, job, *words, size=(30, 100), **environ):
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        env = {**job.env, "TERM": "xterm", **environ}
        env.pop("NO_COLOR", None) if "NO_COLOR" not in environ else None
        code = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "top", "j", "--interval", "0.2", *words],
            cwd=job.folder, env=env, stdin=self.slave, stdout=self.slave, stderr=self.slave,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self.text = ""

    def resize(self, lines, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, wanted, seconds=30):
        deadline = time.monotonic() + seconds
        while not re.search(wanted, self.text):
            left = deadline - time.monotonic()
            assert left > 0, f"{wanted!r} was not drawn; last seen: {self.text[-2000:]!r}"
            if select.select([self.master], [], [], min(left, 0.2))[0]:
                self.text += os.read(self.master, 65536).decode(errors="replace")

    def press(self, keys):
        self.text = ""
        os.write(self.master, keys)

    def ended(self, tail=""):
        code = self.process.wait(30)
        while select.select([self.master], [], [], 0.2)[0]:
            self.text += os.read(self.master, 65536).decode(errors="replace")
        assert termios.tcgetattr(self.slave) == self.before
        assert re.search(tail or r"\x1b\[0m\x1b\[\?25h\x1b\[\?1049l$", self.text)
        os.close(self.master)
        os.close(self.slave)
        return code


@pytest.fixture
def live(job, kit):
    """A run that goes on until the test is over."""
    plan = kit.plan(kit.step("talk", shell="echo hello; echo 中文; sleep 60"), kit.step("after", "talk"))
    job.save(plan)
    process = job.start("run", "plan.json", "--job-id", "j", "-q")
    deadline = time.monotonic() + 30
    while not (job.run_dir / "journal").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    yield job
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def test_keys_choose_what_is_seen_and_q_leaves(live):
    screen = Terminal(live)
    screen.until(r"talk.*running(.|\n)*中文")
    screen.press(b"\x1b[B")
    screen.until(r"after has written nothing yet")
    screen.press(b"\x1b[Z")
    screen.until(r"log of talk")
    screen.press(b"l")
    screen.until(r"\x1b\[4;1H.*log of talk")
    screen.press(b"\x1b")
    screen.until(r"Waiting")
    screen.press(b"q")
    assert screen.ended() == 0


def test_ctrl_c_gives_the_terminal_back(live):
    screen = Terminal(live)
    screen.until("running")
    screen.press(b"\x03")
    assert screen.ended() == 130


def test_term_gives_the_terminal_back(live):
    screen = Terminal(live)
    screen.until("running")
    screen.process.send_signal(signal.SIGTERM)
    assert screen.ended() == 143


def test_a_window_that_changes_is_drawn_anew(live):
    screen = Terminal(live, size=(30, 60), NO_COLOR="1")
    screen.until("─{60}\x1b")
    assert "\x1b[36m" not in screen.text
    screen.text = ""
    screen.resize(30, 90)
    os.killpg(screen.process.pid, signal.SIGWINCH)
    screen.until("─{90}\x1b")
    screen.press(b"q")
    assert screen.ended() == 0


@pytest.mark.battery
def test_one_picture_for_pipes(live):
    deadline = time.monotonic() + 20
    out = ""
    while "中文" not in out and time.monotonic() < deadline:
        out = live.dsec("top", "j")
    assert "\x1b" not in out
    assert re.search(r"> talk +running", out)
    assert "waits for talk (running)" in out
    assert live.dsec("top", "j", "--once").splitlines()[0].startswith("dsec top j running")
    found = json.loads(live.dsec("top", "j", "--json"))
    assert found["steps"][0]["rss_bytes"] > 0
    assert found["log"]["lines"] == ["hello", "中文"]
    assert "运行中" in live.dsec("top", "j", "--lang", "zh")


def test_a_wrong_interval_and_no_run_are_one_line(job):
    assert "--interval soon: no number of seconds" in job.dsec("top", "--interval", "soon", expect=2)
    assert "there is no run" in job.dsec("top", expect=3)
    assert "there is no run" in job.dsec("top", "nowhere", expect=3)


def test_a_journal_that_is_damaged_or_gone_is_one_line(live):
    screen = Terminal(live)
    screen.until("running")
    journal = live.run_dir / "journal"
    kept = journal.read_bytes()
    journal.rename(live.run_dir / "aside")
    try:
        assert screen.process.wait(30) == 3
        assert screen.ended(tail=r"\x1b\[\?1049l(\r\n)?dsec: error: .*journal: No such file.*") == 3
        journal.write_bytes(kept[:60] + b"\0" + kept[61:])
        out = live.dsec("top", "j", expect=3)
        assert "damaged at byte" in out
        assert len(out.splitlines()) == 1
    finally:
        (live.run_dir / "aside").rename(journal)
