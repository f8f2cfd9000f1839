"""One simulated attempt: how far it is, at what speed, and when it will end.

Work is counted in milliseconds on the best devices, times their speed, times a thousand, so that
every change of speed comes out in whole numbers.
"""

from __future__ import annotations

from dsec.core.pace import stretched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec.core.leases import Lease
    from dsec.core.pace import Paces

_FULL = 1000


class Running:
    """An instance that holds its lease."""

    __slots__ = (
        "_kept",
        "_left",
        "_length",
        "_lost",
        "_rate",
        "_saved",
        "_since",
        "_whole",
        "at",
        "attempt",
        "began",
        "cause",
        "devices",
        "end",
        "expected",
        "held",
        "iteration",
        "ready",
        "works_from",
    )

    def __init__(
        self,
        at: int,
        iteration: int,
        attempt: int,
        *,
        held: Lease,
        devices: tuple[str, ...],
        times: tuple[int, int, int],
    ) -> None:
        """`held` is what it gives back; its `devices` may be its worker's.

        `times`: since when it could have started, when it did, and from when on it works.
        """
        self.at = at
        self.iteration = iteration
        self.attempt = attempt
        self.held = held
        self.devices = devices
        self.ready, self.began, self.works_from = times
        self.cause = ""
        """Why it is being stopped."""
        self.end = self.expected = 0
        self._since = self.works_from
        self._kept = self._length = self._left = self._whole = 0
        self._rate = 1
        self._saved = self._lost = 0

    def begin(self, paces: Paces, *, kept: int, length: int, factors: Mapping[str, int]) -> None:
        """`length` is what it takes in all, `kept` what of that was saved; on the best devices."""
        self._kept, self._length = kept, length
        own, base = len(self.held.devices), paces.baseline(self.at)
        todo = length - kept
        if own and own != base:
            todo = stretched(todo, base, own)
        self._whole = self._left = todo * paces.best[self.at] * _FULL
        self._rate = self._pace(paces, factors)
        self._set_end(self.works_from)

    def _pace(self, paces: Paces, factors: Mapping[str, int]) -> int:
        """A call that needs no GPU is as quick on any that its worker has."""
        return paces.rate(self.at, self.devices if paces.baseline(self.at) else (), factors)

    def _set_end(self, since: int) -> None:
        self._since = since
        self.end = since + -(-self._left // self._rate)

    def _advance(self, now: int) -> None:
        """Count what was done until now."""
        if now > self._since:
            self._left = max(0, self._left - (now - self._since) * self._rate)
            self._since = now

    def retime(self, now: int, paces: Paces, factors: Mapping[str, int]) -> None:
        """Its devices have another speed from now on."""
        self._advance(now)
        self._rate = self._pace(paces, factors)
        self._set_end(max(now, self.works_from))

    def stretch(self, now: int, permille: int) -> None:
        """What is left of its work becomes more."""
        self._advance(now)
        self._left = -(-self._left * permille // 1000)
        self._whole = -(-self._whole * permille // 1000)
        self._set_end(max(now, self.works_from))

    def freeze(self, now: int, *, saves: bool, checkpoint: int) -> None:
        """It works no more: it saves all, or what it last saved counts; every `checkpoint` ms, 0: never."""
        self._advance(now)
        done = self._length - self._kept
        if self._whole:
            done = (self._length - self._kept) * (self._whole - self._left) // self._whole
        reached = self._kept + done
        if saves:
            self._saved = reached
        else:
            self._saved = reached // checkpoint * checkpoint if checkpoint else 0
        self._lost = reached - self._saved

    @property
    def saved(self) -> tuple[int, int]:
        """What of its work need not be done again, and what must be."""
        return self._saved, self._lost
