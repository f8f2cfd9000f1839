"""One save: what it cost the training, and what became of it."""

from __future__ import annotations

from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from dsec.state.writing import Result

    class Way(Protocol):
        """Whoever writes the state."""

        def poll(self, timeout_s: float | None) -> tuple[Result | None, str] | None:
            """The result or the problem; None: not yet. A time-out of None waits for it."""


class Handle:
    """One save. Its state is safe once `wait` has returned; nothing is known of it before."""

    def __init__(
        self, at: int, method: str, why: str, pause_s: float, waited_s: float, way: Way | None = None
    ) -> None:
        self.at = at
        self.method = method
        """`staging`, `fork`, or `skipped`: the state before was still being written."""
        self.why = why
        """Why it was that method."""
        self.pause_s = pause_s
        """Seconds that `save` took, those in `waited_s` included."""
        self.waited_s = waited_s
        """Of these: waiting for the state before to be written."""
        self.problem = ""
        """Why it was not written."""
        self._way = way
        self._result: Result | None = None

    def done(self) -> bool:
        """Whether it is written, or known not to be."""
        return self._look(0.0)

    def wait(self, timeout_s: float | None = None) -> Result:
        """What was written; raises StateError if it was not, TimeoutError if it is not yet."""
        if not self._look(timeout_s):
            raise TimeoutError(f"state {self.at} is still being written")
        if self._result is None:
            raise StateError(self.problem or f"state {self.at} was left out: {self.why}")
        return self._result

    def _look(self, timeout_s: float | None) -> bool:
        if self._way is None:
            return True
        found = self._way.poll(timeout_s)
        if found is None:
            return False
        self._result, self.problem = found
        self._way = None
        return True
