"""The AllReduce Step: what the parts of a split Step have written becomes what the whole would have.

Runs in a resident worker like any `call`. Arrays are combined in the order of the parts, so the
result does not depend on which of them ended first.
"""

from __future__ import annotations

import os
import sys

from dsec.parts import part_path
from dsec.rundir import fill
from dsec.sdk import publishing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dsec.sdk import StepContext

    Array = Any
    Arrays = dict[str, Any]

READABLE = (".npy", ".npz")
"""What the named reductions read and write."""


def all_reduce(context: StepContext, *, how: str, parts: int, outputs: list[str]) -> dict[str, int]:
    """Write every output from its parts: by a named reduction, or by a function of the contract's.

    Such a function `module:function` is called with the context, `parts` (per part the paths of its
    files) and `outputs` (the paths to write). Raises ValueError where parts do not go together.
    """
    whole = [_filled(path, context) for path in outputs]
    pieces = [[_filled(part_path(path, at), context) for path in outputs] for at in range(parts)]
    if ":" in how:
        _function(how)(context, parts=pieces, outputs=whole)
        return {"parts": parts, "outputs": len(whole)}
    arrays = 0
    for number, target in enumerate(whole):
        arrays += _reduce(how, [piece[number] for piece in pieces], target)
    return {"parts": parts, "outputs": len(whole), "arrays": arrays}


def _filled(path: str, context: StepContext) -> str:
    return os.path.join(context.contract_dir, fill(path, work=context.run_dir, iteration=context.iteration))


def _function(target: str) -> Callable[..., object]:
    module, _, name = target.partition(":")
    __import__(module)
    found: Callable[..., object] = getattr(sys.modules[module], name)
    return found


def _numpy() -> Any:
    """The library that reads arrays: not a dependency of DSec, only who splits a Step needs it."""
    try:
        import numpy
    except ImportError:
        raise RuntimeError(
            "numpy is not installed here: the AllReduce of a split Step needs it, or a function of your own "
            "(all_reduce: module:function)"
        ) from None
    return numpy


def _reduce(how: str, pieces: list[str], target: str) -> int:
    """One output from its parts; how many arrays it holds."""
    numpy = _numpy()
    single = target.endswith(".npy")
    found: Arrays = {}
    sums: dict[str, int] = {}
    for piece in pieces:
        with open(piece, "rb") as file:
            loaded = numpy.load(file, allow_pickle=False)
            named = {"": loaded} if single else {name: loaded[name] for name in sorted(loaded.files)}
        for name, array in named.items():
            where = f"{os.path.basename(piece)}{f' {name}' if name else ''}"
            found[name] = (
                _joined(how, found[name], array, where) if name in found else _first(how, array, where)
            )
            sums[name] = sums.get(name, 0) + 1
    done = {name: _settled(how, array, sums[name]) for name, array in found.items()}
    with publishing(target) as file:
        if single:
            numpy.save(file, done[""], allow_pickle=False)
        else:
            numpy.savez(file, **done)
    return len(done)


class Sum:
    """A sum in the making: kept wider than what is added up, as rounding adds up too."""

    __slots__ = ("dtype", "total")

    def __init__(self, array: Array) -> None:
        self.dtype = array.dtype
        wide = {"f": "float64", "c": "complex128"}.get(array.dtype.kind)
        narrow = wide is not None and array.dtype.itemsize < (8 if array.dtype.kind == "f" else 16)
        self.total = array.astype(wide) if narrow else array.copy()


def _first(how: str, array: Array, where: str) -> Array | Sum:
    kind = array.dtype.kind
    if how in ("max", "min"):
        if kind not in "fiub":
            raise ValueError(f"{where} is {array.dtype}: {how} compares numbers that have an order")
        return array
    if kind not in "fciu" or (how == "mean" and kind in "iu"):
        raise ValueError(f"{where} is {array.dtype}: its {how} would not be {array.dtype} again")
    return Sum(array)


def _joined(how: str, before: Array | Sum, array: Array, where: str) -> Array | Sum:
    numpy = _numpy()
    dtype, shape = (
        (before.dtype, before.total.shape) if isinstance(before, Sum) else (before.dtype, before.shape)
    )
    if (dtype, shape) != (array.dtype, array.shape):
        raise ValueError(
            f"{where} is {array.dtype} {array.shape}, that of an earlier part {dtype} {shape}: "
            "one cannot be reduced with the other"
        )
    if not isinstance(before, Sum):
        return numpy.maximum(before, array) if how == "max" else numpy.minimum(before, array)
    after = before.total + array
    if dtype.kind in "iu" and bool(numpy.any(_overflown(before.total, array, after))):
        raise ValueError(f"{where}: the sum does not fit {dtype}")
    before.total = after
    return before


def _overflown(left: Array, right: Array, after: Array) -> Array:
    """Where a sum of whole numbers has gone round."""
    if left.dtype.kind == "u":
        return after < left
    return ((left ^ after) & (right ^ after)) < 0


def _settled(how: str, array: Array | Sum, count: int) -> Array:
    if not isinstance(array, Sum):
        return array
    total = array.total / count if how == "mean" else array.total
    return total.astype(array.dtype)
