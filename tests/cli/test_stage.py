"""What takes long is shown on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from dsec_cli.report.stage import MANY, Stage


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self._terminal = terminal

    def isatty(self):
        return self._terminal


@pytest.mark.parametrize(
    ("terminal", "steps", "term", "shown"),
    [
        (True, MANY, "xterm", "\r\x1b[Kdsec: READING big.yaml ...\r\x1b[K"),
        (True, MANY - 1, "xterm", ""),
        (True, MANY, "dumb", ""),
        (False, MANY, "xterm", ""),
    ],
)
def test_it_is_shown_where_it_can_be_taken_away(monkeypatch, terminal, steps, term, shown):
    monkeypatch.setattr(sys, "stderr", Stream(terminal))
    monkeypatch.setenv("TERM", term)
    with (
        pytest.raises(ValueError, match="also"),
        Stage(
            "reading big.yaml",
            lambda text: text.replace("reading", "READING"),
            steps=steps,
        ),
    ):
        raise ValueError("also at an error")
    assert sys.stderr.getvalue() == shown


def test_a_long_name_stays_on_its_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Stream(terminal=True))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "50")
    with Stage("x" * 500, str, steps=MANY):
        pass
    assert len(sys.stderr.getvalue()) == len("\r\x1b[K") * 2 + 49
