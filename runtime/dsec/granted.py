"""Whether this process sees exactly the GPUs that its Step was granted. Standard library only.

`python -m dsec.granted` asks it for a plain command: 0 yes, 1 no (one line says why), 3 CUDA could
not be asked. `--deep` asks CUDA itself, not only the mask that CUDA will read.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEVICES = "DSEC_DEVICES"
"""`UUID=INDEX,...`: what was granted; the index counts in PCI order."""
MASK = "CUDA_VISIBLE_DEVICES"
_UUID_BYTES = 16


class DeviceMismatchError(RuntimeError):
    """This process does not see the GPUs that its Step was granted."""


def granted(env: Mapping[str, str]) -> dict[str, str]:
    """UUIDs that the Step was granted, each with its index; empty outside of a run and without GPUs."""
    pairs = (entry.partition("=") for entry in env.get(DEVICES, "").split(",") if entry)
    return {uuid: index for uuid, _, index in pairs}


def foreign(env: Mapping[str, str]) -> str:
    """One line that names a GPU which the mask shows and which was not granted; "": there is none."""
    given = granted(env)
    if not given:
        return ""
    mask = env.get(MASK)
    if mask is None:
        return f"{MASK} is not set, so every GPU is seen; granted: {_list(given)}"
    for entry in _entries(mask):
        if _named(entry, given) is None:
            return f"{MASK}={mask} shows {entry}, which was not granted; granted: {_list(given)}"
    return ""


def mismatch(env: Mapping[str, str]) -> str:
    """One line that says how mask and grant differ; "": they do not."""
    problem = foreign(env)
    given = granted(env)
    if problem or not given:
        return problem
    seen = shown(env)
    missing = [uuid for uuid in given if uuid not in seen]
    if missing:
        return f"{MASK}={env.get(MASK, '')} hides {missing[0]}; granted: {_list(given)}"
    return ""


def shown(env: Mapping[str, str]) -> tuple[str, ...]:
    """The granted GPUs that the mask shows, in its order."""
    given = granted(env)
    found = (_named(entry, given) for entry in _entries(env.get(MASK, "")))
    return tuple(dict.fromkeys(uuid for uuid in found if uuid is not None))


def _entries(mask: str) -> list[str]:
    """The entries up to the first that can name nothing, as CUDA reads them: `-1` hides all behind it."""
    entries: list[str] = []
    for entry in map(str.strip, mask.split(",")):
        if not (entry.isdecimal() or entry.startswith(("GPU-", "MIG-"))):
            break
        entries.append(entry)
    return entries


def _named(entry: str, given: Mapping[str, str]) -> str | None:
    """The granted device that an entry of a mask names: an index, a UUID, or the start of one."""
    if entry.isdecimal():
        return next((uuid for uuid, index in given.items() if index == entry), None)
    matches = [uuid for uuid in given if uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None


def _list(given: Mapping[str, str]) -> str:
    return ", ".join(given)


def asked_cuda(library: str = "libcuda.so.1") -> list[str] | None:
    """UUIDs (32 hex digits each) of the GPUs that CUDA shows, in its order; None: it cannot be asked.

    CUDA that was asked once cannot be used in forked children, so nobody asks it in a process that
    still has work to do.
    """
    import ctypes

    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        return None
    count = ctypes.c_int()
    result = cuda.cuInit(0)
    if result == 100:  # no device
        return []
    if result or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return None
    ask = getattr(cuda, "cuDeviceGetUuid_v2", None) or cuda.cuDeviceGetUuid
    found = []
    for at in range(count.value):
        device, uuid = ctypes.c_int(), (ctypes.c_ubyte * _UUID_BYTES)()
        if cuda.cuDeviceGet(ctypes.byref(device), at) or ask(ctypes.byref(uuid), device):
            return None
        found.append(bytes(uuid).hex())
    return found


def compared(seen: list[str], env: Mapping[str, str]) -> str:
    """One line that says how what CUDA shows and the grant differ; "": they do not."""
    given = {_digits(uuid): uuid for uuid in granted(env)}
    strange = [uuid for uuid in seen if uuid not in given]
    if strange:
        return f"CUDA shows a GPU of UUID {strange[0]}, which was not granted; granted: {_list(granted(env))}"
    missing = [uuid for digits, uuid in given.items() if digits not in seen]
    if missing:
        return f"CUDA does not show {missing[0]}; granted: {_list(granted(env))}"
    return ""


def _digits(uuid: str) -> str:
    return uuid.partition("-")[2].replace("-", "").lower()


def main(argv: list[str]) -> int:
    """Compare, and say what is wrong in one line."""
    problem = mismatch(os.environ)
    if not problem and "--deep" in argv and granted(os.environ):
        seen = asked_cuda()
        if seen is None:
            sys.stderr.write("dsec: CUDA could not be asked which GPUs it shows\n")
            return 3
        problem = compared(seen, os.environ)
    if problem:
        sys.stderr.write(f"dsec: {problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
