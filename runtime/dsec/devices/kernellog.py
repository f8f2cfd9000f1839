"""Errors of GPUs by the kernel's log: a card may fall off the bus without the driver reporting it."""

from __future__ import annotations

import os
import re
import time

PATH = "/dev/kmsg"
FELL_OFF = 79
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-f:.]+)\): (\d+)", re.IGNORECASE)
_CARD = re.compile(
    r"NVRM: .*\bGPU (?:at )?(?:PCI:)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.\d)?)", re.IGNORECASE
)
_OFF = "fallen off the bus"
_MOST_RECORDS = 65536
"""Of one look."""
BACK_S = 10.0
"""Errors count that came at most so long before the log was opened: nobody watches from the first moment."""


class KernelLog:
    """Reads what the kernel says from a moment ago on; where that is not allowed, nothing."""

    def __init__(self, path: str = PATH, *, back_s: float = BACK_S) -> None:
        self._since_us = int((time.monotonic() - back_s) * 1e6)  # the clock of the kernel's log
        self._card = ""
        """That an error of several lines is about."""
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._file = -1

    def events(self) -> list[tuple[str, int]]:
        """(place on the bus, Xid) of each new error, in order."""
        found: list[tuple[str, int]] = []
        for _ in range(_MOST_RECORDS if self._file >= 0 else 0):
            try:
                record = os.read(self._file, 8192)
            except BrokenPipeError:
                continue  # records were lost before they were read: the next ones are there
            except OSError:
                break
            if not record:
                break
            for line in record.decode("utf-8", "replace").splitlines():
                found += self.parsed(line) if _written_us(line) >= self._since_us else []
        return found

    def parsed(self, line: str) -> list[tuple[str, int]]:
        """What one line of a record says; an error may go on over several lines."""
        if "NVRM" not in line:
            return []
        xid = _XID.search(line)
        if xid is not None:
            return [(place(xid[1]), int(xid[2]))]
        card = _CARD.search(line)
        if card is not None:
            self._card = place(card[1])
        if _OFF in line and self._card:
            return [(self._card, FELL_OFF)]
        return []

    def close(self) -> None:
        """Leave the log."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _written_us(line: str) -> int:
    """When a record (`3,123,4567,-;text`) was written; lines that do not say it are of no time."""
    parts = line.partition(";")[0].split(",")
    return int(parts[2]) if len(parts) > 2 and parts[2].isascii() and parts[2].isdigit() else -1


def place(bus_id: str) -> str:
    """`0000:c1:00` for all ways to write a bus id, with the domain in four or eight digits."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest.partition('.')[0]}"
