"""A loop that saves its state beside itself: weights, moments, generators, its place in the data.

Killed at any moment, it goes on after the newest state that is whole.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from dsec.sdk import state

ELEMENTS = 2_000_000
STEPS = 8


def main(folder: str, dies_after: int) -> int:
    """Train; with `dies_after` the process kills itself after that step, without a word to anybody."""
    try:
        last = state.load(folder)
        weights, moments = last.tensors["weights"], last.tensors["adam.v"]
        begin, batch = last.at + 1, last.values["batch"]
        state.set_random_states(last.values["rng"])
        print(f"going on after step {last.at}, at batch {batch}")
    except state.NoStateError:
        np.random.seed(7)
        weights = np.random.normal(0, 0.02, ELEMENTS).astype("float16")
        moments = np.zeros(ELEMENTS, "float32")
        begin, batch = 0, 0
    with state.Saver(folder, quantise=["adam.*"]) as saver:
        for step in range(begin, STEPS):
            touched = np.random.choice(ELEMENTS, ELEMENTS // 100, replace=False)  # a sparse update
            gradient = np.random.normal(0, 1, touched.size).astype("float32")
            weights[touched] -= 1e-3 * gradient
            moments[touched] = 0.95 * moments[touched] + 0.05 * gradient**2
            batch += 4
            handle = saver.save(step, {"weights": weights, "adam.v": moments}, values={"batch": batch})
            if step == dies_after:
                os.kill(os.getpid(), 9)
            show(step, handle)
    total = float(weights.astype("float64").sum())
    print(f"sum of the weights {total:.9f}, next number {np.random.rand():.9f}")
    return 0


def show(step: int, handle: state.Handle) -> None:
    """What one save came to. A training does not wait for it."""
    told = handle.wait()
    print(f"step {step}: {told.nbytes >> 10} KiB of {told.tracked >> 10} KiB, pause {handle.pause_s:.4f} s")
    for name, part in told.components.items():
        lossy = "" if part.greatest_error is None else f", off by {part.greatest_error:.2g} at most"
        print(f"  {name}: {'+'.join(part.encodings)}, 1/{part.nbytes / max(part.written, 1):.0f}{lossy}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else -1))
