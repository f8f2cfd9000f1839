"""Named tensors as bytes side by side: where each lies, its type and shape, and which are the same one."""

from __future__ import annotations

import sys
from typing import NamedTuple

from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

ALIGN = 64
"""Bytes: a tensor begins where vector instructions like it."""
_WIDTHS = (8, 4, 2)


class Placed(NamedTuple):
    """One tensor: what it is and where its bytes lie."""

    name: str
    dtype: str
    """As numpy writes it (`<f4`), or `bfloat16` and the like for types that numpy lacks."""
    shape: tuple[int, ...]
    offset: int
    """Bytes from the beginning of the layout."""
    nbytes: int
    width: int
    """Bytes of an element, 1 where they are no power of two up to 8."""
    alias: str = ""
    """The tensor before it that it shares its memory with: nothing is kept of this one."""


class Source(NamedTuple):
    """A tensor's memory, to copy from."""

    placed: Placed
    array: Any
    """A numpy array or a memoryview of bytes; a torch tensor of a GPU, or where there is no numpy."""
    device: bool = False
    """Whether torch is to copy it."""


class Layout(NamedTuple):
    """All tensors of a state."""

    sources: tuple[Source, ...]
    nbytes: int
    """Where the last one ends: what a buffer for them must hold."""
    tracked: int
    """Bytes of the tensors themselves, each shared one once."""


def laid_out(tensors: Mapping[str, Any]) -> Layout:
    """Where each tensor goes; raises StateError for what is none, TypeError for names that are no texts."""
    sources: list[Source] = []
    seen: dict[tuple[Any, ...], str] = {}
    at = tracked = 0
    for name, value in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"names of tensors are texts, and {name!r} is none")
        dtype, shape, nbytes, array, device = _described(name, value)
        same = seen.setdefault((*_where(array), dtype, shape), name) if nbytes else name
        alias = same if same != name else ""
        sources.append(
            Source(Placed(name, dtype, shape, at, nbytes, _width(nbytes, shape), alias), array, device)
        )
        if not alias:
            tracked += nbytes
            at += nbytes + -nbytes % ALIGN
    return Layout(tuple(sources), at, tracked)


def _described(name: str, value: Any) -> tuple[str, tuple[int, ...], int, Any, bool]:
    if hasattr(value, "detach") and hasattr(value, "element_size"):
        return _of_torch(name, value)
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        view = _bytes_view(name, value)
        return "|u1", (view.nbytes,), view.nbytes, view, False
    text = getattr(dtype, "str", "")
    if not text or dtype.hasobject:
        raise StateError(
            f"{name}: arrays of {dtype} cannot be kept; save numbers, or bytes that you made yourself"
        )
    if dtype.names or hasattr(value, "mask"):
        raise StateError(
            f"{name}: an array with fields or a mask cannot be kept; "
            "save each field, or data and mask, as an array"
        )
    return text, tuple(int(one) for one in value.shape), int(value.nbytes), value, False


def _of_torch(name: str, tensor: Any) -> tuple[str, tuple[int, ...], int, Any, bool]:
    """A torch tensor: on the CPU as a numpy array over its memory, elsewhere and without numpy as it is."""
    tensor = tensor.detach()
    shape = tuple(int(one) for one in tensor.shape)
    nbytes = int(tensor.numel() * tensor.element_size())
    kind = str(tensor.dtype).removeprefix("torch.")
    if tensor.device.type != "cpu":
        return _TORCH.get(kind, kind), shape, nbytes, tensor, True
    try:
        if kind not in _TORCH:
            tensor = tensor.view(_integers(sys.modules["torch"])[int(tensor.element_size())])
        if sys.modules.get("numpy") is not None:  # torch has loaded it if it is installed
            return _TORCH.get(kind, kind), shape, nbytes, tensor.numpy(), False
    except (AssertionError, RuntimeError, TypeError):  # of types that stand for tensors
        tensor = None
    if type(tensor) is not sys.modules["torch"].Tensor:
        raise StateError(f"{name}: this kind of tensor has no memory of its own; save a plain one made of it")
    return _TORCH.get(kind, kind), shape, nbytes, tensor, True


_TORCH = {
    "float64": "<f8", "float32": "<f4", "float16": "<f2", "int64": "<i8", "int32": "<i4", "int16": "<i2",
    "int8": "|i1", "uint8": "|u1", "bool": "|b1", "complex64": "<c8", "complex128": "<c16",
}  # fmt: skip


NAMES = {written: kind for kind, written in _TORCH.items()}
"""What torch calls the types that numpy has."""


def _integers(torch: Any) -> dict[int, Any]:
    return {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _bytes_view(name: str, value: Any) -> memoryview:
    try:
        view = memoryview(value)
    except TypeError:
        raise StateError(
            f"{name}: {type(value).__name__} is neither a tensor, an array nor bytes; "
            "plain values go into `values`"
        ) from None
    return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())


def _where(array: Any) -> tuple[Any, ...]:
    """What two tensors that are the same memory have in common."""
    if hasattr(array, "__array_interface__"):
        return (array.__array_interface__["data"][0], array.strides)
    if hasattr(array, "data_ptr"):
        return (array.data_ptr(), tuple(array.stride()))
    return (id(array.obj), array.nbytes)


def _width(nbytes: int, shape: tuple[int, ...]) -> int:
    count = 1
    for one in shape:
        count *= one
    size = nbytes // count if count else 1
    return size if size in _WIDTHS else 1


def same_shapes(one: Placed, other: Placed | None) -> bool:
    """Whether a delta between the two makes sense."""
    return other is not None and (one.dtype, one.shape, one.nbytes) == (
        other.dtype,
        other.shape,
        other.nbytes,
    )


def views(placed: tuple[Placed, ...], buffer: memoryview) -> dict[str, memoryview]:
    """Each tensor's bytes in a buffer that is laid out like this."""
    return {one.name: buffer[one.offset : one.offset + one.nbytes] for one in kept(placed)}


def kept(placed: tuple[Placed, ...]) -> Iterator[Placed]:
    """The tensors that have bytes of their own in the layout."""
    return (one for one in placed if not one.alias)
