"""States within states, as `state_dict()` gives them: taken apart into named tensors, and put together again.

What is kept beside the tensors is the form: mappings with their keys, lists, tuples, plain values, and which
tensors were torch's. Names are paths: `optimizer.state.0.exp_avg`.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from dsec.state import values
from dsec.state.problems import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Node = list[Any]
    """A letter and what it says: see `_Taken`."""

KEY = "__state__"
"""Under this name the form stands among the values of a record."""
_DEEPEST = 200
_SPARSE = {
    "torch.sparse_coo": ("indices", "values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}
"""Which dense tensors make a sparse one."""


class Apart(NamedTuple):
    """A state that was taken apart."""

    tensors: dict[str, Any]
    form: dict[str, Any]
    """What `together` needs, as JSON can hold it."""


class _Taken:
    """Collects the tensors.

    Nodes are `["t", name]`, `["d", [[key, node], ...]]`, `["l", nodes]`, `["u", nodes]` (a tuple),
    `["v", value]` and `["s", layout, shape, names]`.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self.torch: list[str] = []

    def node(self, path: str, value: Any, depth: int = 0) -> Node:
        if depth > _DEEPEST:
            raise StateError(f"{path[:80]}: the state is nested more than {_DEEPEST} times")
        if _is_torch(value):
            return self._torch(path, value)
        if depth and _is_number(value):
            value = value.item()
        if hasattr(value, "dtype") or (
            _is_buffer(value) and not (depth and isinstance(value, (bytes, bytearray)))
        ):
            return ["t", self._named(path, value)]
        if isinstance(value, dict) or (hasattr(value, "items") and hasattr(value, "keys")):
            return ["d", [self._entry(path, key, one, depth) for key, one in value.items()]]
        if isinstance(value, (list, tuple)):
            nodes = [self.node(f"{path}.{at}", one, depth + 1) for at, one in enumerate(value)]
            return ["u" if isinstance(value, tuple) else "l", nodes]
        if value is None or isinstance(value, (bool, int, float, str, bytes, bytearray)):
            return ["v", values.written(path, value)]
        raise StateError(
            f"{path}: {type(value).__name__} is neither a tensor, an array, bytes nor a plain value; "
            "save its state_dict(), or numbers that you make of it"
        )

    def _entry(self, path: str, key: Any, value: Any, depth: int) -> Node:
        key = key.item() if _is_number(key) else key
        if key is not None and not isinstance(key, (str, int, float, bool)):
            raise StateError(f"{path}: the key {key!r} is no text and no number")
        return [key, self.node(f"{path}.{key}" if path else str(key), value, depth + 1)]

    def _named(self, path: str, value: Any) -> str:
        name, number = path, 2
        while name in self.tensors:
            name, number = f"{path}~{number}", number + 1
        self.tensors[name] = value
        return name

    def _torch(self, path: str, tensor: Any) -> Node:
        if type(tensor).__name__.startswith("Uninitialized"):
            raise StateError(f"{path}: a parameter that has no values yet; call the model once first")
        tensor = tensor.detach()
        layout = str(getattr(tensor, "layout", "torch.strided"))
        if layout in _SPARSE:
            if layout == "torch.sparse_coo":
                tensor = tensor.coalesce()
            names = [self._torch(f"{path}.{part}", getattr(tensor, part)())[1] for part in _SPARSE[layout]]
            return ["s", layout.removeprefix("torch."), list(tensor.shape), names]
        _check(path, tensor, layout)
        if hasattr(tensor, "resolve_conj"):
            tensor = tensor.resolve_conj().resolve_neg()
        name = self._named(path, tensor)
        self.torch.append(name)
        return ["t", name]


def _is_torch(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "element_size")


def _is_number(value: Any) -> bool:
    """Whether it is a single number of numpy, which is no array."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _check(path: str, tensor: Any, layout: str) -> None:
    """Raise StateError for a tensor whose bytes are not its own, with what helps."""
    if layout != "torch.strided":
        raise StateError(f"{path}: a tensor of the layout {layout} cannot be kept; save tensor.to_dense()")
    if tensor.device.type == "meta":
        raise StateError(f"{path}: a tensor on the meta device has no values; load the model first")
    if getattr(tensor, "is_quantized", False):
        raise StateError(f"{path}: a quantised tensor cannot be kept; save tensor.int_repr() and its scale")
    if hasattr(tensor, "to_local"):
        raise StateError(f"{path}: a distributed tensor cannot be kept; save tensor.to_local() on each rank")
    if getattr(tensor, "is_nested", False):
        raise StateError(f"{path}: a nested tensor cannot be kept; save the list tensor.unbind()")


def apart(state: Mapping[str, Any]) -> Apart:
    """The tensors of a state by their paths, and its form; raises StateError for what cannot be kept.

    Bytes at the top are a tensor, as they always were; further below they are a plain value.
    """
    taken = _Taken()
    entries: list[Node] = []
    for name, value in state.items():
        if not isinstance(name, str):
            raise TypeError(f"names of tensors are texts, and {name!r} is none")
        entries.append([name, taken.node(name, value)])
    return Apart(taken.tensors, {"form": ["d", entries], "torch": taken.torch})


def together(form: dict[str, Any], tensors: dict[str, Any]) -> Any:
    """The state again, as it was given; raises StateError for a form that is none."""
    try:
        return _built(form["form"], tensors)
    except (KeyError, TypeError, ValueError, IndexError, RecursionError) as problem:
        raise StateError(f"the state's form is damaged: {type(problem).__name__}") from None


def _built(node: Any, tensors: dict[str, Any]) -> Any:
    match node:
        case ["t", name]:
            return tensors[name]
        case ["d", entries]:
            return {key: _built(one, tensors) for key, one in entries}
        case ["l", nodes]:
            return [_built(one, tensors) for one in nodes]
        case ["u", nodes]:
            return tuple(_built(one, tensors) for one in nodes)
        case ["v", value]:
            return values.read(value)
        case ["s", layout, shape, names]:
            return _sparse(layout, shape, [tensors[name] for name in names])
        case _:
            raise ValueError(node)


def _sparse(layout: str, shape: list[int], parts: list[Any]) -> Any:
    """A sparse tensor of its parts; where there is no torch, the parts by their names."""
    known = _SPARSE[f"torch.{layout}"]
    if not all(map(_is_torch, parts)):
        return {"layout": layout, "shape": shape, **dict(zip(known, parts, strict=True))}
    import torch

    if layout == "sparse_coo":
        return torch.sparse_coo_tensor(*parts, size=shape, check_invariants=True, is_coalesced=True)
    made = getattr(torch, f"{layout}_tensor")
    return made(*parts, size=shape, check_invariants=True)
