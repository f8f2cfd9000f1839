"""How the executor reaches the world it does not own: who watches a run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from dsec.events import Event
else:
    Protocol = object  # importing typing is a tenth of a small run's start


class Observer(Protocol):
    """Somebody who watches a run; never allowed to stop it."""

    interval_s: float | None
    """How often `tick` is wanted; None: never."""

    def event(self, event: Event, payload: str) -> None:
        """Something happened; it is in the journal already, as `payload`."""

    def tick(self, now_s: float) -> None:
        """Time passed (seconds since the executor began)."""

    def close(self) -> None:
        """The run is over."""


class Nobody:
    """Watches nothing."""

    interval_s: float | None = None

    def event(self, event: Event, payload: str) -> None:
        """Look away."""

    def tick(self, now_s: float) -> None:
        """Look away."""

    def close(self) -> None:
        """Go away."""
