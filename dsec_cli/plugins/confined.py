"""Scans in a child process with limits, so that a hostile file costs a second and a quarter of a gigabyte.

What a file may cost is decided by its size, before it is read: small ones get little, honest large ones
what they need. The child answers with one JSON document; whatever else happens to it becomes words.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import time
from dataclasses import dataclass

from dsec.errors import FileProblem
from dsec_cli.plugins.elf import Malformed, NotElf
from dsec_cli.plugins.scandoc import document
from dsec_cli.plugins.scanning import scan
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from dsec_cli.plugins.scanning import Options

_MIB = 1 << 20
_BASE_BYTES = 256 * _MIB
_MOST_BYTES = 1536 * _MIB
_BYTES_PER_BYTE = 10
_BASE_S = 12
"""Processor time for maps of libraries that nobody has cached yet."""
_S_PER_MIB = 2.0
_LARGEST = 2 << 30
_LEVELS = 4
"""Folders above a file in which the libraries of a wheel may lie."""
_INTERRUPTING = (signal.SIGINT, signal.SIGTERM)
_WALL_FACTOR = 30
_WALL_LEAST_S = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What the child may take."""

    memory_bytes: int
    """Address space, the mapped file itself not counted."""
    cpu_s: int
    wall_s: float


def limits_of(size: int) -> Limits:
    """The limits for a file of `size` bytes (with the libraries of its package)."""
    memory = min(_MOST_BYTES, _BASE_BYTES + max(0, size - 4 * _MIB) * _BYTES_PER_BYTE)
    cpu = int(_BASE_S + size / _MIB * _S_PER_MIB)
    cpu = min(cpu, 300)
    return Limits(memory, cpu, max(_WALL_LEAST_S, float(cpu * _WALL_FACTOR)))


def scan_confined(path: str, options: Options) -> dict[str, Any]:
    """The document of a scan; FileProblem where none can be had."""
    try:
        found = os.stat(path)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint=say("name a shared object (.so)")
        ) from None
    if not os.path.isfile(path):
        raise FileProblem(
            say("{path} is not a regular file", path=path), hint=say("name a shared object (.so)")
        )
    if found.st_size > _LARGEST:
        text = say("{path} is larger than {most} GiB", path=path, most=_LARGEST >> 30)
        raise FileProblem(text, hint=say("no plugin is; refuse it"))
    limits = limits_of(found.st_size + _beside(path))
    reading, writing = os.pipe()
    # An interruption between the fork and the wait would leave the child alone.
    signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTING)
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(path, options, limits, mapped=found.st_size, descriptor=writing)
    os.close(writing)
    return _judged(path, limits, *_collect(child, reading, limits))


def _beside(path: str) -> int:
    """Bytes of shared objects that may be part of its package: beside the file, and in `.libs` above it."""
    folder = os.path.dirname(os.path.abspath(path))
    where, above = [folder], folder
    for _ in range(_LEVELS):
        above = os.path.dirname(above)
        where += [os.path.join(above, one) for one in _subfolders(above)]
    return sum(
        _size(os.path.join(one, name))
        for one in dict.fromkeys(where)
        for name in _names(one)
        if ".so" in name
    )


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:4096]
    except OSError:
        return []


def _subfolders(folder: str) -> list[str]:
    return [name for name in _names(folder) if name.endswith(".libs")]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _answer(path: str, options: Options, limits: Limits, *, mapped: int, descriptor: int) -> NoReturn:
    """The child: take limits, scan, write, end."""
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTING)
        _limit(limits, mapped)
        gc.disable()  # nearly all that is made is kept to the end
        body = _scanned(path, options)
        with os.fdopen(descriptor, "wb") as pipe:
            pipe.write(body)
        code = 0
    finally:
        os._exit(code)  # whatever happened; the parent says it


def _scanned(path: str, options: Options) -> bytes:
    try:
        found = document(scan(path, options))
    except NotElf as problem:
        return json.dumps({"refused": str(problem)}).encode()
    except Malformed as problem:
        return json.dumps({"refused": f"damaged: {problem}"}).encode()
    except MemoryError:
        return json.dumps({"memory": True}).encode()
    except OSError as problem:
        return json.dumps({"refused": problem.strerror or str(problem)}).encode()
    return json.dumps(found, ensure_ascii=True).encode()


def _limit(limits: Limits, mapped: int) -> None:
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory_bytes + mapped + _mapped_now()),
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 64 * _MIB),
    ):
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


def _mapped_now() -> int:
    """Address space that the interpreter and its libraries take already."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _collect(child: int, reading: int, limits: Limits) -> tuple[bytes, int | None]:
    """What the child wrote, and how it ended; None: it was ended because it took too long."""
    pieces = []
    ends = time.monotonic() + limits.wall_s
    late = False
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTING)
        while True:
            ready, _, _ = select.select([reading], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                late = True
                os.kill(child, signal.SIGKILL)
                break
            piece = os.read(reading, 1 << 16)
            if not piece:
                break
            pieces.append(piece)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(reading)
    _, status = os.waitpid(child, 0)
    return b"".join(pieces), None if late else status


def _judged(path: str, limits: Limits, body: bytes, status: int | None) -> dict[str, Any]:
    hint = say("refuse the file, or give it more on a machine that you can spare")
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
        text = say(
            "{path} could not be scanned within {cpu} s of processor time", path=path, cpu=limits.cpu_s
        )
        raise FileProblem(text, hint=hint)
    try:
        found: dict[str, Any] = json.loads(body)
    except ValueError:
        if os.WIFSIGNALED(status):
            text = say("{path}: the scan was ended by signal {number}", path=path, number=os.WTERMSIG(status))
            raise FileProblem(text, hint=hint) from None
        raise ChildFailed(path) from None
    if "memory" in found:
        most = limits.memory_bytes // _MIB
        raise FileProblem(
            say("{path} could not be scanned within {most} MiB", path=path, most=most), hint=hint
        )
    if "refused" in found:
        text = say("{path} cannot be scanned: it is {why}", path=path, why=found["refused"])
        raise FileProblem(text, hint=say("name a 64-bit shared object (.so)"))
    return found


class ChildFailed(AssertionError):
    """The child ended without an answer: a bug of ours, which `guarded` writes down."""
