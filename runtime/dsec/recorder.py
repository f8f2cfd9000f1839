"""Where every event goes: to the journal first, then to the run's state and to who watches."""

from __future__ import annotations

from time import monotonic

from dsec.events import WRITTEN_OUT, encode

_BATCH = 500
"""Events that may wait where nobody watches: taken many at a time they cost half, the code being warm."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.fold import Fold
    from dsec.events import Event
    from dsec.journal import Journal
    from dsec.ports import Observer


class Recorder:
    """Stamps, keeps and shows the events of one executor."""

    def __init__(self, journal: Journal, observer: Observer, fold: Fold) -> None:
        self.journal = journal
        self.observer = observer
        self._fold = fold
        self._untold: list[tuple[Event, str]] = []
        self.origin_s = self._origin = monotonic()
        """When the executor's clock began, by the monotonic clock."""
        self._patience = 0 if observer.interval_s is not None else _BATCH

    def at_us(self) -> int:
        """Now, in microseconds since the executor began."""
        return int((monotonic() - self._origin) * 1e6)

    def emit(self, event: Event, *, long: bool = False) -> None:
        """Record an event; `long` as in `Journal.append`. Who watches learns of it with `tell`."""
        payload = WRITTEN_OUT.get(type(event), encode)(event)
        self.journal.append(payload, long=long)
        self._untold.append((event, payload))

    def tell(self) -> None:
        """Pass on what was recorded: after the next Steps were started, so that none waits for it."""
        if len(self._untold) > self._patience:
            self.tell_all()

    def tell_all(self) -> None:
        """Pass on everything that was recorded."""
        untold, self._untold = self._untold, []
        for event, payload in untold:
            self._fold.take(event)
            self.observer.event(event, payload)
