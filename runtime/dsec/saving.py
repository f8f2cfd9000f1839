"""Large states of a Step as parallel shards, complete or not there at all. Standard library only.

A folder holds saves; each is a folder of its own, `000000000007.1`: the state `at` 7, first try.
In it lie raw shards and, written last and only when all of them are on the disk, `complete.json`:
what the shards hold, their lengths and checksums. Without that marker a save does not exist.
Shards are written by a thread each, straight from the arrays' memory: the writing, the syncing and
the checksums all happen with Python's lock released.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from typing import NamedTuple

from dsec.pagecache import CHUNK_BYTES, PAGE_BYTES, advise, read_into
from dsec.savefolder import alone, sync_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

FORMAT = "dsec.save/1"
MARKER = "complete.json"
SHARDS = 4
_NAME = re.compile(r"(\d{12})\.(\d+)")


class NoSaveError(LookupError):
    """There is no complete save, or the one that was asked for is not complete."""


class Saved(NamedTuple):
    """A state that was read back."""

    state: dict[str, Any]
    """Arrays, bytes and plain values by name, as they were saved."""
    at: int
    note: str
    """Why it is not the newest one, or ""."""


class _Place(NamedTuple):
    """Where one save is."""

    at: int
    tried: int
    path: str


class _Refused(Exception):
    """A save cannot be used; the text says why."""


def save_sharded(
    path: str,
    state: Mapping[str, Any] | bytes,
    *,
    at: int | None = None,
    shards: int = SHARDS,
    keep: int = 2,
    cached: bool = False,
) -> int:
    """Save a state under the folder `path` and return its `at`; on the disk when this returns.

    `state`: arrays (numpy, CPU tensors), bytes-like objects and JSON values by name, or bytes alone.
    `at`: which point of the training this is, as an iteration; default: one more than the last.
    `keep`: how many complete saves stay (0: all). `cached`: leave what was written in the page cache.
    Raises OSError, and then earlier saves are untouched and nothing of this one stays.
    """
    if shards < 1 or keep < 0 or (at is not None and at < 0):
        raise ValueError("shards must be at least 1, keep and at not negative")
    entries, pieces = _taken_apart({"": state} if isinstance(state, bytes) else state)
    os.makedirs(path, exist_ok=True)
    with alone(path):
        places = _places(path)
        number = at if at is not None else 1 + max((place.at for place in places), default=-1)
        tried = 1 + max((place.tried for place in places if place.at == number), default=0)
        folder = os.path.join(path, f"{number:012d}.{tried}")
        os.mkdir(folder)
        try:
            written = _write_shards(folder, pieces, shards=shards, cached=cached)
            _write_marker(folder, {"format": FORMAT, "at": number, "entries": entries, "shards": written})
            sync_folder(path)
        except BaseException:
            _remove(folder)
            raise
        _prune(path, (number, tried), keep=keep)
    return number


def load_sharded(path: str, *, at: int | None = None, tell: Callable[[str], None] | None = None) -> Saved:
    """Read the newest complete save under `path`, or the one at `at`; raises NoSaveError.

    A save that is not complete, or whose bytes are not the ones that were written, is never
    used: without `at` the last complete one is taken, and `tell` (default: standard error) says so.
    Arrays come back as numpy arrays that may be written to.
    """
    places = [place for place in _places(path) if at is None or place.at == at]
    refused: list[str] = []
    for place in sorted(places, reverse=True):
        try:
            state = _read(place.path)
        except _Refused as problem:
            refused.append(f"save {place.at} in {path} is not used: {problem}")
            continue
        note = "; ".join([*refused, f"save {place.at}, the last complete one, was taken"]) if refused else ""
        if note:
            (tell or _to_stderr)(f"dsec: {note}")
        return Saved(state, place.at, note)
    wanted = "there is no save" if at is None else f"there is no save {at}"
    raise NoSaveError("; ".join(refused) or f"{wanted} in {path}")


def saves(path: str) -> list[int]:
    """Every `at` under `path` that has a completeness marker, in order."""
    return sorted({place.at for place in _places(path) if _marked(place.path)})


def _taken_apart(state: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[memoryview]]:
    """What the marker says of each value, and the bytes that go into the shards."""
    import json

    entries: list[dict[str, Any]] = []
    pieces: list[memoryview] = []
    offset = 0
    for name, value in state.items():
        if not isinstance(name, str):
            raise TypeError(f"a state's names are texts, and {name!r} is none")
        shape, view = _bytes_of(name, value)
        if view is None:
            json.dumps(value)  # before anything is written: a TypeError names what cannot be kept
            entries.append({"name": name, "kind": "value", "value": value})
            continue
        entries.append({"name": name, "offset": offset, "bytes": view.nbytes, **shape})
        pieces.append(view)
        offset += view.nbytes
    return entries, pieces


def _bytes_of(name: str, value: Any) -> tuple[dict[str, Any], memoryview | None]:
    """How a value is to be put together again and its bytes; None: it is a plain value."""
    if value is None or isinstance(value, (bool, int, float, str, list, tuple, dict)):
        return {}, None
    if isinstance(value, (bytes, bytearray)):
        return {"kind": "bytes"}, memoryview(value)
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        try:
            value = value.detach().cpu().numpy()
        except TypeError as problem:
            raise TypeError(f"{name}: {problem}; save it as integers of its width, .view(...)") from None
    dtype = getattr(value, "dtype", None)
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        raise TypeError(f"{name}: {type(value).__name__} is neither an array nor bytes") from None
    if dtype is None:
        return {"kind": "bytes"}, memoryview(view.tobytes()) if not view.c_contiguous else view.cast("B")
    if getattr(dtype, "hasobject", False):
        raise TypeError(f"{name}: an array of Python objects has no bytes to save")
    sizes = view.shape or ()
    shape = {"kind": "array", "dtype": dtype.str, "shape": list(sizes)}
    if not view.c_contiguous or 0 in sizes:
        return shape, memoryview(view.tobytes())
    return shape, view.cast("B")


def _write_shards(
    folder: str, pieces: Sequence[memoryview], *, shards: int, cached: bool
) -> list[dict[str, Any]]:
    total = sum(piece.nbytes for piece in pieces)
    length = -(-total // shards)
    length += -length % PAGE_BYTES
    spans = [(begin, min(begin + length, total)) for begin in range(0, total, length or 1)]
    names = [f"{at:05d}.shard" for at in range(len(spans))]

    def write(at: int) -> dict[str, Any]:
        begin, end = spans[at]
        crc = _write_shard(os.path.join(folder, names[at]), _cut(pieces, begin, end), end - begin, cached)
        return {"name": names[at], "bytes": end - begin, "crc": crc}

    return _in_threads(write, len(spans))


def _cut(pieces: Sequence[memoryview], begin: int, end: int) -> Iterator[memoryview]:
    """The parts of the pieces, laid end to end, that lie between two offsets; none longer than a chunk."""
    at = 0
    for piece in pieces:
        first, last = max(begin - at, 0), min(end - at, piece.nbytes)
        for start in range(first, last, CHUNK_BYTES):
            yield piece[start : min(start + CHUNK_BYTES, last)]
        at += piece.nbytes


def _write_shard(path: str, parts: Iterator[memoryview], length: int, cached: bool) -> int:
    """Write one shard and sync it; gives its checksum."""
    from zlib import crc32

    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    crc = 0
    try:
        _set_aside(handle, length)
        for part in parts:
            crc = crc32(part, crc)
            while part.nbytes:
                part = part[os.write(handle, part) :]
        os.fsync(handle)
        if not cached:
            advise(handle, 0, 0, "DONTNEED")
    finally:
        os.close(handle)
    return crc


def _set_aside(handle: int, length: int) -> None:
    """Take the space before writing, so that a full disk is found at once."""
    if not length:
        return
    try:
        os.posix_fallocate(handle, 0, length)
    except OSError as problem:
        if problem.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise


def _in_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """The results of `work` for 0 to `count`, each in a thread of its own; raises what the first one did."""
    import threading

    results: list[Any] = [None] * count
    problems: list[Exception] = []

    def one(at: int) -> None:
        try:
            results[at] = work(at)
        except (OSError, MemoryError, _Refused) as problem:
            problems.append(problem)

    threads = [threading.Thread(target=one, args=(at,), daemon=True) for at in range(1, count)]
    for thread in threads:
        thread.start()
    if count:
        one(0)
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return results


def _write_marker(folder: str, told: dict[str, Any]) -> None:
    """The last file of a save, by which it exists."""
    import json

    path = os.path.join(folder, MARKER)
    aside = f"{path}.tmp"
    with open(aside, "w", encoding="utf-8") as file:
        json.dump(told, file)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)  # the shards' names, before the marker's
    os.rename(aside, path)
    sync_folder(folder)


def _read(folder: str) -> dict[str, Any]:
    """The state of one save; raises _Refused where it is not complete."""
    told = _marker(folder)
    ends: list[int] = []
    for shard in told["shards"]:
        ends.append(shard["bytes"] + (ends[-1] if ends else 0))
    data = bytearray(ends[-1] if ends else 0)
    view = memoryview(data)

    def read(at: int) -> None:
        shard = told["shards"][at]
        _read_shard(folder, shard, view[ends[at] - shard["bytes"] : ends[at]])

    try:
        _in_threads(read, len(ends))
        return {entry["name"]: _put_together(entry, view) for entry in told["entries"]}
    except OSError as problem:
        raise _Refused(f"{problem.filename or folder}: {problem.strerror}") from None


def _read_shard(folder: str, shard: dict[str, Any], into: memoryview) -> None:
    from zlib import crc32

    path = os.path.join(folder, shard["name"])
    size = os.stat(path).st_size
    if size != shard["bytes"]:
        raise _Refused(f"{shard['name']} has {size} of {shard['bytes']} bytes")
    crc = 0
    for chunk in read_into(path, into):
        crc = crc32(chunk, crc)
    if crc != shard["crc"]:
        raise _Refused(f"{shard['name']} holds other bytes than were written")


def _put_together(entry: dict[str, Any], view: memoryview) -> Any:
    if entry["kind"] == "value":
        return entry["value"]
    part = view[entry["offset"] : entry["offset"] + entry["bytes"]]
    if entry["kind"] == "bytes":
        return bytes(part)
    import numpy as np  # who saved an array has it

    return np.frombuffer(part, dtype=np.dtype(entry["dtype"])).reshape(entry["shape"])


def _marker(folder: str) -> dict[str, Any]:
    import json

    try:
        with open(os.path.join(folder, MARKER), encoding="utf-8") as file:
            told = json.load(file)
    except FileNotFoundError:
        raise _Refused("it is incomplete, its writer did not get to the marker") from None
    except (OSError, ValueError) as problem:
        raise _Refused(f"its marker cannot be read: {problem}") from None
    form = told.get("format") if isinstance(told, dict) else None
    if form != FORMAT:
        raise _Refused(f"its format is {form!r}, this dsec reads {FORMAT}")
    return dict(told)


def _marked(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, MARKER))


def _places(path: str) -> list[_Place]:
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return []
    found = [(name, _NAME.fullmatch(name)) for name in names]
    return [_Place(int(match[1]), int(match[2]), os.path.join(path, name)) for name, match in found if match]


def _prune(path: str, newest: tuple[int, int], *, keep: int) -> None:
    """Take away what the save just written makes superfluous; failing to costs space alone."""
    places = sorted(_places(path), reverse=True)
    seen: set[int] = {newest[0]}
    for place in places:
        if (place.at, place.tried) == newest or not _is_older(place, newest):
            continue
        whole = place.at not in seen and _marked(place.path)
        if whole and (not keep or len(seen) < keep):
            seen.add(place.at)
            continue
        with contextlib.suppress(OSError):
            _remove(place.path)


def _is_older(place: _Place, newest: tuple[int, int]) -> bool:
    """Whether the save is of an earlier point; what is later (somebody went back) is left alone."""
    return (place.at, place.tried) < newest


def _remove(folder: str) -> None:
    """Take a save away, its marker first: half of it must not look whole."""
    for name in sorted(os.listdir(folder), key=lambda name: name != MARKER):
        os.unlink(os.path.join(folder, name))
    os.rmdir(folder)


def _to_stderr(text: str) -> None:
    import sys

    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a Step's standard error is its log
