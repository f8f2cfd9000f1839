"""The probe of a run: the library that times what Steps wait for, and what it wrote down.

The library (`inject.c`) is built once with the C compiler that is there and kept in the user's cache;
LD_PRELOAD puts it into the Steps of a run that asks for it, DSEC_PROBE names the folder it writes to.
"""

from __future__ import annotations

import json
import os
import struct

from dsec import compilers
from dsec.containment import read_beneath
from dsec.core.contention import KINDS, Blocked, Wait, blocked
from dsec.ownership import foreign_file
from dsec.record import Record
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inject.c")
NAME = "libdsec_inject.so"
_FLAGS = ("-O2", "-shared", "-fPIC", "-fvisibility=hidden")
_LIBRARIES = ("-ldl", "-lpthread")
_BUILD_S = 120
_HEAD = struct.Struct("<8sIIQQ128sII")
_TOTAL = struct.Struct("<QQQQ")
_EVENT = struct.Struct("<QIIQQQQQII")
_HEAD_BYTES = 4096
_SLOTS = 4096
_MOST_FILES = 10_000


class Built(Record):
    """The library, or why there is none."""

    path: str
    """ "" where there is none."""
    why: str


def library(environ: Mapping[str, str]) -> Built:
    """Build the library where it is not there yet."""
    asked = environ.get("DSEC_CACHE_DIR") or os.path.join(
        environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dsec"
    )
    path = os.path.join(asked, f"probe-{compilers.mark([SOURCE], _FLAGS)}", NAME)
    why = foreign_file(path, environ)
    if why:  # every Step would load it
        return Built("", say("{path} is not taken: {why}", path=path, why=why))
    if os.path.exists(path):
        return Built(path, "")
    if any(sign in path for sign in ": "):
        return Built("", say("{path} has a space or colon, which LD_PRELOAD cannot name", path=path))
    return _build(path, environ)


def _build(path: str, environ: Mapping[str, str]) -> Built:
    import subprocess

    compiler = compilers.find(environ)
    if not compiler:
        return Built("", say("there is no C compiler ({names})", names=", ".join(compilers.wanted(environ))))
    aside = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        command = [compiler, *_FLAGS, "-o", aside, SOURCE, *_LIBRARIES]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_BUILD_S, check=False
        )
        said = done.stderr.decode("utf-8", "replace").strip()
        if not done.returncode:
            # The dynamic linker complains of a library that it cannot load in every child of every Step.
            env = {"LD_PRELOAD": aside, "PATH": os.defpath}
            tried = subprocess.run(["sh", "-c", ":"], env=env, capture_output=True, timeout=60, check=False)
            said = tried.stderr.decode("utf-8", "replace").strip()
            if not said and not tried.returncode:
                os.chmod(aside, 0o700)  # whatever the umask leaves to a group
                os.replace(aside, path)
                return Built(path, "")
        why = compilers.complaint(said)
        return Built("", say("{compiler} could not build it: {why}", compiler=compiler, why=why))
    except (OSError, subprocess.TimeoutExpired) as problem:
        return Built("", say("{compiler} could not build it: {why}", compiler=compiler, why=problem))
    finally:
        if os.path.exists(aside):
            os.unlink(aside)


def folder_of(run_path: str) -> str:
    """Where the probes of a run write."""
    return f"{run_path}/probe"


def variables(built: Built, run_path: str, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What puts the library into a run's Steps; makes the folder it writes to."""
    os.makedirs(folder_of(run_path), exist_ok=True)
    others = environ.get("LD_PRELOAD", "")
    preload = f"{built.path}:{others}" if others else built.path
    return (("LD_PRELOAD", preload), ("DSEC_PROBE", folder_of(run_path)))


def waits(folder: str) -> Iterator[Wait]:
    """Every long wait that probes wrote down; what is being written just now is left out."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".probe"))
    except OSError:
        return
    for name in names[:_MOST_FILES]:
        try:
            yield from _waits_of(read_beneath(folder, name, most=_HEAD_BYTES + _SLOTS * _EVENT.size))
        except OSError:
            continue


def _waits_of(data: bytes) -> Iterator[Wait]:
    if len(data) < _HEAD_BYTES:
        return
    magic, version, pid, _, events, step, _, _ = _HEAD.unpack_from(data)
    if magic != b"DSECPRB1" or version != 1:
        return
    name = step.rstrip(b"\0").decode("utf-8", "replace")
    for at in range(min(events, _SLOTS)):
        place = _HEAD_BYTES + at * _EVENT.size
        if place + _EVENT.size > len(data):
            return
        serial, kind, tid, begin, took, device, inode, _, gil, _ = _EVENT.unpack_from(data, place)
        if serial and kind in KINDS:
            named = f"{os.major(device)}:{os.minor(device)}" if device else ""
            yield Wait(pid, name, tid, kind, begin, took, named, inode, bool(gil))


def contention(run_path: str) -> list[Blocked]:
    """Who held up whom in a run, as far as its probes saw it."""
    return blocked(waits(folder_of(run_path)))


def device_name(numbers: str) -> str:
    """`nvme0n1p1` for `259:1`; the numbers where the system has no name for them."""
    try:
        with open(f"/sys/dev/block/{numbers}/uevent", encoding="utf-8") as file:
            names = [line[8:].strip() for line in file if line.startswith("DEVNAME=")]
    except OSError:
        return numbers
    return names[0] if names else numbers


def keep(run_path: str) -> list[dict[str, Any]] | None:
    """Sum a run's probes up into `contention.json` beside its journal and take their files away.

    What an earlier executor's probes saw is in the sums. None: the run had no probe.
    """
    import shutil

    from dsec.wholefile import write_whole

    path = f"{run_path}/contention.json"
    told = present(run_path)
    if told is None or not os.path.isdir(folder_of(run_path)):
        return told
    try:
        write_whole(path, [json.dumps({"format": "dsec.contention/1", "blocked": told}).encode()])
        shutil.rmtree(folder_of(run_path), ignore_errors=True)
    except OSError:
        pass  # a full disk: the files stay, and the next report sums them up
    return told


def present(run_path: str) -> list[dict[str, Any]] | None:
    """What was kept and what the probes wrote since; None: the run had no probe."""
    before = kept(run_path)
    if not os.path.isdir(folder_of(run_path)):
        return before
    now = [one._asdict() | {"device": device_name(one.device)} for one in contention(run_path)]
    return _together(before or [], now)


def kept(run_path: str) -> list[dict[str, Any]] | None:
    """What `keep` kept; None: nothing."""
    try:
        with open(f"{run_path}/contention.json", encoding="utf-8") as file:
            return list(json.load(file)["blocked"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _together(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sums: dict[tuple[str, ...], dict[str, Any]] = {}
    for one in (*before, *now):
        key = (one["by"], one["step"], one["how"], one["device"])
        known = sums.get(key)
        if known is None:
            sums[key] = dict(one)
            continue
        known["ms"] += one["ms"]
        known["times"] += one["times"]
        known["longest_ms"] = max(known["longest_ms"], one["longest_ms"])
    return sorted(sums.values(), key=lambda one: -one["ms"])
