"""How long each rule takes, and the end of one that takes too long."""

from __future__ import annotations

from time import thread_time

from dsec_cli.lint.rule import OverBudgetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from dsec_cli.diagnostics import Finding
    from dsec_cli.lint.rule import Rule
else:
    import _signal  # the module `signal` makes enums of its numbers, which costs more than most rules

MOST_S = 2.0
"""Processor time that one rule may take on one document."""
LOOKS = 4
"""How often we look in that time; a lint that is done before the first look is never interrupted."""


class Budget:
    """A watch for `lint`. Between `arm` and `disarm` a rule that takes more than `most_s` is stopped.

    It is stopped from a signal handler, so by processor time, however busy the machine is, and at the
    latest one look after its time is over. Outside the main thread, and where the program uses that
    signal itself, no rule is stopped. With `measure`, `taken` says what each rule took.
    """

    def __init__(self, *, most_s: float = MOST_S, measure: bool = False) -> None:
        self.taken: dict[str, float] = {}
        """Seconds of processor time by code."""
        self._look_s = most_s / LOOKS
        self._measure = measure
        self._asked = 0
        """Number of the rule that runs, counted over all texts; 0 between rules."""
        self._count = 0
        self._seen = (0, 0)
        """What ran when we last looked, and how many looks in a row it has been running."""
        self._before: Any = None
        self._armed = False

    def watch(self, rule: Rule, ask: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
        """Run one rule; raises OverBudgetError when it takes too long."""
        if self._measure:
            return self._measured(rule, ask)
        self._asked = self._count = self._count + 1
        try:
            return ask()
        finally:
            self._asked = 0

    def _measured(self, rule: Rule, ask: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
        # The clock of the thread: that of the process has ticks of 4 ms while a timer runs on it.
        began = thread_time()
        self._asked = self._count = self._count + 1
        try:
            return ask()
        finally:
            self._asked = 0
            self.taken[rule.code] = self.taken.get(rule.code, 0.0) + thread_time() - began

    def arm(self) -> None:
        """Begin to look."""
        if _signal.getsignal(_signal.SIGPROF) is not _signal.SIG_DFL:
            return
        try:
            self._before = _signal.signal(_signal.SIGPROF, self._look)
        except ValueError:  # only the main thread may
            return
        self._armed = True
        _signal.setitimer(_signal.ITIMER_PROF, self._look_s, self._look_s)

    def disarm(self) -> None:
        """Leave the process as it was."""
        if self._armed:
            _signal.setitimer(_signal.ITIMER_PROF, 0.0)
            _signal.signal(_signal.SIGPROF, self._before)
            self._armed = False

    def _look(self, _number: int, _frame: FrameType | None) -> None:
        rule, times = self._seen
        self._seen = (self._asked, times + 1) if self._asked == rule else (self._asked, 0)
        # The next look comes by itself: an exception that some cleanup swallowed is raised again.
        if self._asked and self._seen[1] >= LOOKS:
            raise OverBudgetError


def profile(taken: dict[str, float], names: dict[str, str]) -> str:
    """A table of the rules, slowest first, for people."""
    total = sum(taken.values())
    rows = sorted(taken.items(), key=lambda item: (-item[1], item[0]))
    width = max((len(names.get(code, "")) for code in taken), default=0)
    lines = [f"{seconds * 1000:9.3f} ms  {code}  {names.get(code, ''):<{width}}" for code, seconds in rows]
    return "".join(line.rstrip() + "\n" for line in [*lines, f"{total * 1000:9.3f} ms  in {len(rows)} rules"])
