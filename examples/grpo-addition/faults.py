"""Things that go wrong in training, on demand: each does nothing unless its iteration has come.

`at` counts iterations from 0. What ends an attempt happens on the first attempt only, so a Step
with `retries`, or a resumed run, gets past it.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import grpo
import numpy as np

from dsec.sdk import StepContext


def straggle(ctx: StepContext, *, seconds: float, at: int | None) -> None:
    """Take `seconds` longer, in every iteration when `at` is not given."""
    if seconds and at in (None, ctx.iteration):
        time.sleep(seconds)


def hang(ctx: StepContext, *, at: int | None) -> None:
    """Wait for ever, as for a rank that does not answer."""
    if at == ctx.iteration and ctx.attempt == 1:
        threading.Event().wait()


def poison(ctx: StepContext, batch: grpo.Batch, *, at: int | None) -> grpo.Batch:
    """Make one advantage NaN, as a division by zero in a reward would: every weight follows."""
    if at != ctx.iteration:
        return batch
    gains = batch.advantages.copy()
    gains[0] = np.nan
    return batch._replace(advantages=gains)


def exhaust_memory(ctx: StepContext, *, at: int | None) -> None:
    """Ask for more memory than an address space holds: numpy raises a MemoryError."""
    if at == ctx.iteration and ctx.attempt == 1:
        np.ones(1 << 57, dtype=np.uint8)


def die_while_saving(*, iteration: int, at: int | None, attempt: int) -> None:
    """Let the next save die as by `kill -9`, with its shards written and not yet synced."""
    if at == iteration and attempt == 1:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)


def die_while_writing(ctx: StepContext, file: str, data: bytes, *, at: int | None) -> None:
    """Write half of a file under a temporary name, then die as by `kill -9`."""
    if at == ctx.iteration and ctx.attempt == 1:
        with open(f"{file}.half", "wb") as handle:
            handle.write(data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
