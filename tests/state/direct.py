"""A saver within the test's own process, and tensors to save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dsec.sdk import state
from dsec.state.layout import laid_out, views
from dsec.state.staging import copy_in
from dsec.state.writer import base_of
from dsec.state.writing import Wish, write_state


def laid(tensors: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, memoryview]]:
    """What a saver's copy is: the layout, and every tensor's bytes."""
    layout = laid_out(tensors)
    buffer = memoryview(bytearray(layout.nbytes))
    copy_in(layout, buffer, threads=2)
    placed = tuple(one.placed for one in layout.sources)
    return placed, views(placed, buffer)


class Direct:
    """Saves in this process, one upon the other, as the writer does."""

    def __init__(self, folder: Path, *, keep: int = 0, quantise: tuple[str, ...] = ()) -> None:
        self.folder, self.keep, self.quantise = str(folder), keep, quantise
        self.base: Any = None

    def save(self, at: int, tensors: dict[str, Any]) -> Any:
        placed, data = laid(tensors)
        result = write_state(Wish(self.folder, at, placed, {}, self.keep, self.quantise), data, self.base)
        self.base = base_of(result, placed, data)
        return result


def same(found: state.State, tensors: dict[str, Any]) -> bool:
    return list(found.tensors) == list(tensors) and all(
        found.tensors[name].dtype == one.dtype
        and found.tensors[name].shape == one.shape
        and found.tensors[name].tobytes() == one.tobytes()
        for name, one in tensors.items()
    )


def elements(count: int, seed: int = 0) -> Any:
    """What weights look like in bfloat16: the upper halves of normal floats."""
    values = np.random.default_rng(seed).normal(0, 0.02, count).astype("<f4")
    return (values.view("<u4") >> 16).astype("<u2")
