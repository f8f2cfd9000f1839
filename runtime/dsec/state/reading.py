"""Reads a state: its anchor, the deltas upon it, and the proof that these are the bytes that were saved."""

from __future__ import annotations

import os
from typing import NamedTuple

from dsec.state import nested, quantising, values
from dsec.state.blocks import BLOCK_BYTES, EQUAL, Stored
from dsec.state.coding import decompressor, hasher
from dsec.state.layout import NAMES
from dsec.state.problems import NoStateError, StateError
from dsec.state.statefile import Opened, Place, opened, part, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

MAX_CHAIN = 64
"""Deltas a reader follows at most; writers make far shorter chains."""


class State(NamedTuple):
    """A state that was read back; every byte was checked against its hash."""

    tensors: dict[str, Any]
    """numpy arrays to be written to, types numpy lacks as unsigned integers; bytearrays without numpy."""
    values: dict[str, Any]
    at: int
    note: str
    """Why it is not the newest one, or ""."""
    types: dict[str, str]
    """What each tensor's elements are, as they were saved: `<f4`, `bfloat16`."""
    lossy: dict[str, dict[str, float]]
    """Of quantised tensors: `greatest` absolute error and `relative` root-mean-square error."""
    state: Any = None
    """What was saved, as it was given: `state["model"]` for `load_state_dict`. It has the tensors above."""


def load(
    folder: str,
    *,
    at: int | None = None,
    torch: bool | None = None,
    tell: Callable[[str], None] | None = None,
) -> State:
    """Read the newest complete state of the folder, or the newest one `at`; raises NoStateError.

    One that is damaged, or whose base is, is never used: without `at` the newest good one is taken, and
    `tell` (default: standard error) says so. What was a torch tensor is one again where torch is installed;
    `torch=True` makes torch tensors of all, `torch=False` arrays.
    """
    refused: list[str] = []
    for place in reversed([one for one in places(folder) if at is None or one.at == at]):
        try:
            record, buffers = read_place(place, folder)
        except (StateError, OSError, MemoryError) as problem:
            refused.append(f"state {os.path.basename(place.path)} is not used: {_said(problem)}")
            continue
        note = "; ".join([*refused, f"state {place.at} was taken, the newest good one"]) if refused else ""
        if note:
            (tell or _to_stderr)(f"dsec: {note}")
        return _state(record, buffers, note, torch=torch)
    wanted = "there is no state" if at is None else f"there is no state {at}"
    raise NoStateError("; ".join(refused) or f"{wanted} in {folder}")


def _said(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return str(problem) or "there is not enough memory to read it"


def read_place(place: Place, folder: str) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """The record of one state and its tensors' bytes by name; raises StateError or OSError."""
    chain = chain_of(place, places(folder))
    buffers: dict[str, memoryview] = {}
    proofs: dict[tuple[str, int], tuple[str, str]] = {}
    record: dict[str, Any] = {}
    for link in chain:
        with opened(link.path) as one:
            record = one.record
            buffers = _applied(one, buffers, proofs)
    _prove(record, buffers, proofs)
    return record, buffers


def chain_of(place: Place, every: list[Place]) -> list[Place]:
    """The files that make a state: its anchor, then the deltas up to it; raises StateError or OSError."""
    by_name = {os.path.basename(one.path): one for one in every}
    chain = [place]
    wanted: str | None = None
    while True:
        with opened(chain[-1].path) as one:
            if wanted is not None and one.id != wanted:
                raise StateError(
                    f"its base {os.path.basename(chain[-1].path)} is another than it was made from"
                )
            base = one.record.get("base")
        if base is None:
            return chain[::-1]
        if not isinstance(base, dict) or base.get("file") not in by_name or len(chain) > MAX_CHAIN:
            raise StateError(f"its base {base.get('file') if isinstance(base, dict) else base} is missing")
        wanted = base["id"]
        chain.append(by_name[base["file"]])


def _applied(
    one: Opened, before: dict[str, memoryview], proofs: dict[tuple[str, int], tuple[str, str]]
) -> dict[str, memoryview]:
    """The tensors after one file: each as it was in the base, and then its blocks."""
    expand = decompressor(one.record.get("codec", ""))
    algorithm = one.record["hash"]
    after: dict[str, memoryview] = {}
    for tensor in _entries(one.record):
        name, nbytes = tensor["name"], tensor["nbytes"]
        into = before.get(name)
        fresh = into is None or len(into) != nbytes
        if into is None or fresh:
            into = memoryview(bytearray(nbytes))
        for at, block, span in _blocks(tensor, into):
            if block[0] == EQUAL:
                if fresh:
                    raise StateError(f"{name}: a block is said to be its base's, and there is none")
                continue
            _decode(one, tensor, block, span, expand)
            proofs[name, at] = (algorithm, str(block[4]))
        after[name] = into
    return after


def _decode(
    one: Opened,
    tensor: dict[str, Any],
    block: list[Any],
    span: memoryview,
    expand: Callable[[Any, int], bytes],
) -> None:
    kind, offset, lengths, changed, _ = block
    data = part(one, offset, sum(abs(length) for length in lengths))
    stored = Stored(kind, data, tuple(lengths), changed or 0)
    if kind == quantising.INT8:
        quantising.restore(stored, span, tensor["dtype"], expand)
        return
    from dsec.state import encoding

    encoding.decode(stored, span, tensor["width"], expand)


def _entries(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tensors of a record that have bytes; raises StateError for a record that is not one."""
    for tensor in record.get("tensors", ()):
        if not isinstance(tensor, dict) or not isinstance(tensor.get("name"), str):
            raise StateError("its record names a tensor that is none")
        if tensor.get("alias"):
            continue
        nbytes, width = tensor.get("nbytes"), tensor.get("width")
        if not isinstance(nbytes, int) or nbytes < 0 or width not in (1, 2, 4, 8) or nbytes % width:
            raise StateError(f"{tensor['name']}: its record has no sizes")
        yield tensor


def _blocks(tensor: dict[str, Any], into: memoryview) -> Iterator[tuple[int, list[Any], memoryview]]:
    """Number, entry and place of every block; raises StateError where they are not what they must be."""
    blocks = tensor.get("blocks")
    count = -(-len(into) // BLOCK_BYTES)
    if not isinstance(blocks, list) or len(blocks) != count:
        raise StateError(f"{tensor['name']}: its record has not {count} blocks")
    for at, block in enumerate(blocks):
        if block != [EQUAL] and not _is_block(block):
            raise StateError(f"{tensor['name']}: block {at} is not described")
        yield at, block, into[at * BLOCK_BYTES : (at + 1) * BLOCK_BYTES]


def _is_block(block: Any) -> bool:
    if not isinstance(block, list) or len(block) != 5:
        return False
    kind, offset, lengths, changed, told = block
    numbers = isinstance(lengths, list) and all(type(one) is int for one in lengths)
    counted = changed is None or (type(changed) is int and 0 <= changed <= BLOCK_BYTES)
    return isinstance(kind, str) and type(offset) is int and numbers and counted and isinstance(told, str)


def _prove(
    record: dict[str, Any], buffers: dict[str, memoryview], proofs: dict[tuple[str, int], tuple[str, str]]
) -> None:
    """Check every block against the hash of what was saved; raises StateError."""
    for tensor in _entries(record):
        into = buffers[tensor["name"]]
        for at in range(len(tensor["blocks"])):
            algorithm, told = proofs[tensor["name"], at]
            if hasher(algorithm)(into[at * BLOCK_BYTES : (at + 1) * BLOCK_BYTES]) != told:
                raise StateError(f"{tensor['name']}: block {at} holds other bytes than were saved")


def _state(record: dict[str, Any], buffers: dict[str, memoryview], note: str, *, torch: bool | None) -> State:
    small = dict(record.get("values", {}))
    form = small.pop(nested.KEY, None)
    known = frozenset(form["torch"]) if form and torch is None and _has_torch() else frozenset[str]()
    tensors: dict[str, Any] = {}
    types: dict[str, str] = {}
    lossy: dict[str, dict[str, float]] = {}
    for tensor in record["tensors"]:
        name = tensor["name"]
        as_torch = name in known if torch is None else torch
        types[name] = tensor["dtype"]
        if tensor.get("lossy"):
            lossy[name] = tensor["lossy"]
        if tensor.get("alias"):
            tensors[name] = tensors[tensor["alias"]]
        else:
            tensors[name] = _tensor(buffers[name], tensor["dtype"], tensor["shape"], torch=as_torch)
    state = nested.together(form, tensors) if form else dict(tensors)
    return State(tensors, values.read(small), record["at"], note, types, lossy, state)


def _has_torch() -> bool:
    from importlib.util import find_spec

    return find_spec("torch") is not None


def _tensor(data: memoryview, dtype: str, shape: list[int], *, torch: bool) -> Any:
    if torch:
        return _torch(data, dtype, shape)
    try:
        import numpy as np
    except ImportError:
        return data.obj
    kind = dtype if dtype[:1] in "<>|=" else f"<u{len(data) // max(1, _count(shape)) or 1}"
    return np.frombuffer(data, dtype=np.dtype(kind)).reshape(shape)


def _torch(data: memoryview, dtype: str, shape: list[int]) -> Any:
    import torch

    kind = getattr(torch, NAMES.get(dtype, dtype), None)
    if kind is None:
        import numpy as np

        if not len(data):
            return torch.from_numpy(np.empty(shape, np.dtype(dtype)))
        return torch.from_numpy(np.frombuffer(data, dtype=np.dtype(dtype)).reshape(shape))
    if not len(data):
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(data.obj, dtype=kind).reshape(shape)


def _count(shape: list[int]) -> int:
    count = 1
    for one in shape:
        count *= one
    return count


def _to_stderr(text: str) -> None:
    import sys

    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a Step's standard error is its log
