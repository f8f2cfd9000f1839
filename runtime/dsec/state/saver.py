"""Saves a training's state beside it: the pause is a copy, the writing is another process's work."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time

from dsec.state import choosing, nested
from dsec.state import values as plain
from dsec.state.forking import Forked
from dsec.state.handles import Handle
from dsec.state.layout import laid_out
from dsec.state.problems import StateError
from dsec.state.randomness import random_states
from dsec.state.staged import Staged
from dsec.state.staging import Slot
from dsec.state.writing import Wish

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self

    from dsec.state.layout import Layout

COPIES = ("auto", "staging", "fork")
BUSY = ("wait", "skip")


class Saver:
    """Writes states into one folder, each as the difference to the one before where that is less.

    `copy`: how the state is kept still while it is written. `staging` copies it into memory that is
    allocated once (two such buffers: twice the state's size); `fork` lets a forked process do that
    copy, or hold the pages where memory is short (once the state's size): the pause is shorter, and
    pages that the training changes afterwards cost it more; `auto` takes `staging`, and `fork` where
    nothing speaks against it and memory is short or `prepare` has measured that its pause is less than
    half as long. Which one it was and why stands in every handle.
    `keep`: newest states that stay, with what they build on; 0: all.
    `quantise`: patterns of tensors' names that are kept as INT8, which loses accuracy; the result
    says how much.
    `when_busy`: whether a save waits for the one before to be written, or is left out.
    Not to be used from two threads at once.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        copy: str = "auto",
        keep: int = 2,
        quantise: Sequence[str] = (),
        when_busy: str = "wait",
        threads: int | None = None,
    ) -> None:
        """Raises ValueError for what is none of the choices; the folder is made by the first save."""
        if copy not in COPIES or when_busy not in BUSY:
            raise ValueError(f"copy is one of {', '.join(COPIES)}, when_busy one of {', '.join(BUSY)}")
        if keep < 0:
            raise ValueError("keep must not be negative")
        self.folder = os.path.abspath(folder)
        self._copy, self._keep, self._skips = copy, keep, when_busy == "skip"
        self._quantise = tuple(quantise)
        self._threads = threads or min(4, len(os.sched_getaffinity(0)))
        self._way: Staged | Forked | None = None
        self._why = ""
        self._pending: Handle | None = None
        self._owner = os.getpid()
        atexit.register(self.close)

    def save(
        self,
        at: int,
        tensors: Mapping[str, Any],
        *,
        values: Mapping[str, Any] | None = None,
        rng: bool = True,
    ) -> Handle:
        """Take the state as it is now and return; what is changed afterwards is not in it.

        `at`: which point of the training this is. `tensors`: numpy arrays, torch tensors or bytes by
        name, and mappings, lists and tuples of these and of plain values, as `state_dict()` of a model or
        of an optimizer gives them; one memory under two names is kept once. `values`: plain values by
        name, such as the position in the data. `rng`: also keep where the random generators of Python,
        numpy and torch are, as the value `rng`. Raises StateError for what cannot be kept, OSError where
        there is no memory for the copy. What goes wrong in writing is raised by the handle's `wait`.
        """
        begun = time.monotonic()
        if not 0 <= at < 10**18:
            raise ValueError("at must be a whole number from 0")
        parts = nested.apart(tensors)
        layout = laid_out(parts.tensors)
        if values and nested.KEY in values:
            raise StateError(f"a value cannot be called {nested.KEY}")
        small = {name: plain.written(name, value) for name, value in (values or {}).items()}
        small[nested.KEY] = parts.form
        waited = self._settle(begun)
        if waited is None:
            return Handle(
                at, "skipped", "the state before is still being written", time.monotonic() - begun, 0.0
            )
        if rng:
            small["rng"] = plain.written("rng", random_states())
        way = self._choose(layout)
        wish = Wish(
            self.folder, at, tuple(one.placed for one in layout.sources), small, self._keep, self._quantise
        )
        way.take(layout, wish)
        handle = Handle(at, way.name, self._why, time.monotonic() - begun, waited, way)
        self._pending = handle
        return handle

    def _settle(self, begun: float) -> float | None:
        """See the save before through; the seconds that took, None: it is not to be waited for."""
        pending = self._pending
        if pending is None:
            return 0.0
        if self._skips and not pending.done():
            return None
        with contextlib.suppress(StateError):  # said below: the training goes on
            pending.wait()
        if pending.problem:
            print(f"dsec: state {pending.at} was not saved: {pending.problem}", file=sys.stderr, flush=True)  # noqa: T201
        self._pending = None
        return time.monotonic() - begun

    def prepare(self, tensors: Mapping[str, Any]) -> str:
        """Set memory for the copies aside now and not in the first save's pause; gives how they are made.

        With `copy="auto"` both ways are tried where there is memory for two copies, and the one that stands
        still for clearly less time is taken.
        """
        layout = laid_out(nested.apart(tensors).tensors)
        if self._way is None and self._copy == "auto" and choosing.is_room_for_two(layout.nbytes):
            slots = (Slot(), Slot())
            for slot in slots:
                slot.fit(layout.nbytes)
                slot.fault_in()
            name, self._why = choosing.measured(layout, slots[0], threads=self._threads)
            self._way = Forked(self._threads, slots) if name == "fork" else Staged(self._threads, slots)
        way = self._choose(layout)
        way.prepare(layout.nbytes)
        return f"{way.name}: {self._why}"

    def _choose(self, layout: Layout) -> Staged | Forked:
        way = self._way
        is_free = self._copy == "auto" and self._pending is None
        if is_free and way is not None and way.name == "fork" and choosing.against_fork():
            way.close()  # threads were begun since
            self._way = None
        if self._way is None:
            name, self._why = choosing.chosen(self._copy, layout.nbytes)
            if name == "staging":
                self._way = Staged(self._threads, (Slot(), Slot()))
            else:
                two = choosing.is_room_for_two(layout.nbytes)
                self._way = Forked(self._threads, (Slot(), Slot()) if two else (Slot(),))
        return self._way

    def close(self) -> None:
        """Wait until what was saved is written, and end the writer; raises nothing."""
        if os.getpid() != self._owner:
            return  # a forked child's copy of the object
        atexit.unregister(self.close)
        self._settle(time.monotonic()) if not self._skips else self._finish()
        if self._way is not None:
            self._way.close()
            self._way = None

    def _finish(self) -> None:
        self._skips = False
        self._settle(time.monotonic())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
