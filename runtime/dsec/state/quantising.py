"""Lossy states: floats as INT8 with a scale per stretch of elements, and what that cost. With numpy.

Symmetric absmax quantisation: scale = max|x| / 127 over 256 elements, code = round(x / scale) in
[-127, 127]; reading gives code * scale in float32, rounded to the tensor's own type. Stretches whose
values are all zero have scale 0. The error of one element is at most scale / 2 before that rounding.
"""

from __future__ import annotations

from typing import NamedTuple

from dsec.state.blocks import Encoded, Stored, cut, packed
from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INT8 = "int8"
STRETCH = 256
"""Elements that share a scale."""
FLOATS = ("<f4", "<f2", "bfloat16")
"""Types that can be quantised."""


class Error(NamedTuple):
    """What quantising did to a tensor; errors are those of the values that will be read."""

    greatest: float
    """The greatest absolute error of an element."""
    squares: float
    """Sum of the squared errors."""
    power: float
    """Sum of the squared values."""

    def plus(self, other: Error) -> Error:
        """The error of both together."""
        return Error(
            max(self.greatest, other.greatest), self.squares + other.squares, self.power + other.power
        )

    @property
    def relative(self) -> float:
        """Root of the mean squared error over root of the mean square of the values."""
        return float((self.squares / self.power) ** 0.5) if self.power else 0.0


def quantised(
    now: memoryview, dtype: str, compress: Callable[[Any], bytes]
) -> tuple[Encoded, bytes, Error] | None:
    """A block quantised, what reading it gives, and the error; None: it holds infinities or NaN."""
    import numpy as np

    values = _floats(np, now, dtype)
    if not np.isfinite(values).all():
        return None
    padded = np.zeros(-(-values.size // STRETCH) * STRETCH, np.float32)
    padded[: values.size] = values
    rows = padded.reshape(-1, STRETCH)
    scales = (np.abs(rows).max(axis=1) / np.float32(127)).astype("<f4")
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = np.rint(rows / scales[:, None])
    codes = np.nan_to_num(np.clip(codes, -127, 127)).astype(np.int8)
    back = _restored(np, codes.reshape(-1)[: values.size], scales, dtype)
    wrong = _floats(np, memoryview(back), dtype).astype(np.float64) - values
    error = Error(
        float(np.abs(wrong).max(initial=0.0)), float(wrong @ wrong), float(values.astype(np.float64) @ values)
    )
    data = codes.reshape(-1)[: values.size].view(np.uint8)
    return packed(INT8, [scales.view(np.uint8), data], compress, None), back, error


def restore(stored: Stored, into: memoryview, dtype: str, expand: Callable[[Any, int], bytes]) -> None:
    """The values of a quantised block; raises StateError."""
    import numpy as np

    count = len(into) // (4 if dtype == "<f4" else 2)
    parts = cut(stored)
    if dtype not in FLOATS or len(parts) != 2:
        raise StateError("a quantised block is not what its record says")
    sizes = (4 * -(-count // STRETCH), count)
    scales, codes = (
        expand(data, size) if small else data for (data, small), size in zip(parts, sizes, strict=True)
    )
    if (len(scales), len(codes)) != sizes:
        raise StateError("a quantised block has parts of other lengths than its record says")
    into[:] = _restored(np, np.frombuffer(codes, np.int8), np.frombuffer(scales, "<f4"), dtype)


def _floats(np: Any, data: memoryview, dtype: str) -> Any:
    if dtype == "bfloat16":
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    return np.frombuffer(data, dtype).astype(np.float32)


def _restored(np: Any, codes: Any, scales: Any, dtype: str) -> bytes:
    values = codes.astype(np.float32) * np.repeat(scales, STRETCH)[: codes.size]
    if dtype == "bfloat16":
        bits = values.view("<u4")
        return bytes(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes())
    return bytes(values.astype(dtype).tobytes())
