"""What a device's readings mean: which one is taken out of service, and when one is there again.

One sick device is one verdict: the others of the machine are judged by their own readings alone, and
a driver that answers nothing condemns none of them.
"""

from __future__ import annotations

from dsec.core.xids import failing, meaning
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HOT_C = 85
"""A device warmer than this is taken out of service."""
COOL_C = 80
"""One that was hot is given away again when it stays at or below this."""
HOT_LOOKS = 3
"""So many looks in a row must find it too warm: one odd reading moves nobody."""
COOL_US = 60_000_000
MISSED_LOOKS = 3
"""A device that was there and is not among those read so often in a row is lost."""
_FELL_OFF = 79
_RESET = "must be reset"


class Measured(Record):
    """What is asked of a reading."""

    uuid: str
    state: str
    reason: str
    temperature_c: int | None
    ecc_uncorrected: int | None


class Verdict(Record):
    """A device's state changed."""

    device: str
    state: str
    """`ok`, `hot`, `failing` or `lost`."""
    reason: str


class _Seen:
    """What is remembered of one device."""

    __slots__ = ("cool_since", "ecc", "hot", "missed", "state")

    def __init__(self) -> None:
        self.state = "ok"
        self.ecc: int | None = None
        self.hot = self.missed = 0
        self.cool_since: int | None = None


class Health:
    """Judges the devices of one machine, look by look."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def look(
        self, now_us: int, readings: Sequence[Measured], xids: Iterable[tuple[str, int]] = ()
    ) -> list[Verdict]:
        """What changed; `xids` (device, number) are the driver's errors since the look before.

        No readings at all say nothing of any device: the driver did not answer.
        """
        found: list[Verdict] = []
        for uuid, xid in xids:
            self._judge(found, uuid, _by_xid(xid))
        for one in readings:
            self._judge(found, one.uuid, self._by_reading(now_us, one))
        if readings:
            there = {one.uuid for one in readings}
            for uuid, seen in self._seen.items():
                seen.missed = 0 if uuid in there else seen.missed + 1
                if seen.missed >= MISSED_LOOKS:
                    self._judge(found, uuid, ("lost", "the driver does not list it any more"))
        return found

    def _judge(self, found: list[Verdict], uuid: str, judged: tuple[str, str] | None) -> None:
        """Note a state that is new; what was lost or failed does not become well in the same run."""
        seen = self._seen.setdefault(uuid, _Seen())
        if judged is None or judged[0] == seen.state:
            return
        if _RANK[judged[0]] < _RANK[seen.state] and seen.state in ("failing", "lost"):
            return
        seen.state = judged[0]
        found.append(Verdict(uuid, *judged))

    def _by_reading(self, now_us: int, one: Measured) -> tuple[str, str] | None:
        seen = self._seen.setdefault(one.uuid, _Seen())
        if one.state == "lost":
            return "lost", one.reason or "the driver says that it is lost"
        if one.reason == _RESET:
            return "failing", one.reason
        before, errors = seen.ecc, one.ecc_uncorrected
        if errors is not None:
            seen.ecc = errors
            if before is not None and errors > before:
                return "failing", f"{errors - before} new memory errors that cannot be corrected"
        return _by_temperature(seen, now_us, one.temperature_c)


_RANK = {"ok": 0, "hot": 1, "failing": 2, "lost": 3}


def _by_temperature(seen: _Seen, now_us: int, celsius: int | None) -> tuple[str, str] | None:
    """Hot, or cool again; None: as before, or not known."""
    if celsius is None:
        return None
    seen.hot = seen.hot + 1 if celsius > HOT_C else 0
    if celsius > COOL_C:
        seen.cool_since = None
    elif seen.cool_since is None:
        seen.cool_since = now_us
    if seen.hot >= HOT_LOOKS:
        return "hot", f"{celsius} C, over {HOT_C} C"
    if seen.state == "hot" and seen.cool_since is not None and now_us - seen.cool_since >= COOL_US:
        return "ok", f"{celsius} C, at most {COOL_C} C for {COOL_US // 1_000_000} s"
    return None


def _by_xid(xid: int) -> tuple[str, str] | None:
    if xid == _FELL_OFF:
        return "lost", f"Xid {xid}: {meaning(xid)}"
    return ("failing", f"Xid {xid}: {meaning(xid)}") if failing(xid) else None
