"""Files that are not what they say: a diagnosis in time, never a trace, a hang or a clean verdict."""

from __future__ import annotations

import os
import random
import resource
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dsec.errors import FileProblem
from dsec_cli.plugins.confined import limits_of, scan_confined
from dsec_cli.plugins.elf import Malformed, NotElf
from dsec_cli.plugins.scanning import Options, scan
from tests.plugins.building import HOSTILE, MAPS, build

LIMIT_S = 1.0
"""Processor time of one diagnosis, with the maps of the system's libraries at hand."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A well-formed plugin with symbols, relocations, unwind data and a constructor."""
    folder = tmp_path_factory.mktemp("sound")
    path = build(HOSTILE / "constructor.c", folder)
    scan(str(path), Options(cache=str(MAPS)))
    return path.read_bytes()


def put(data: bytes, at: int, shape: str, *values: int) -> bytes:
    """`data` with numbers written over it."""
    body = struct.pack("<" + shape, *values)
    return data[:at] + body + data[at + len(body) :]


def header(data: bytes, kind: int) -> int:
    """Where the program header of a kind is."""
    offset, count = struct.unpack("<Q", data[32:40])[0], struct.unpack("<H", data[56:58])[0]
    places = range(offset, offset + 56 * count, 56)
    return next(at for at in places if struct.unpack("<I", data[at : at + 4])[0] == kind)


def entry(data: bytes, tag: int) -> int:
    """Where the entry of a tag is in the dynamic section."""
    at = header(data, 2)
    offset, size = (
        struct.unpack("<Q", data[at + 8 : at + 16])[0],
        struct.unpack("<Q", data[at + 32 : at + 40])[0],
    )
    places = range(offset, offset + size, 16)
    return next(place for place in places if struct.unpack("<Q", data[place : place + 8])[0] == tag)


HUGE = (1 << 64) - 1
DYNAMIC = {"hash": 0x6FFFFEF5, "strings": 5, "symbols": 6, "relocations": 7, "size": 8, "string-size": 10}
DYNAMIC |= {
    "linkage": 23,
    "linkage-size": 2,
    "init": 12,
    "array": 25,
    "array-size": 27,
    "versions": 0x6FFFFFFE,
}


def shapes(data: bytes) -> dict[str, bytes]:
    """Malformed files by name."""
    found = {
        "empty": b"",
        "text": b"#!/bin/sh\necho hello\n",
        "magic-only": data[:4],
        "no-magic": b"\0" + data[1:],
        "32-bit": put(data, 4, "B", 1),
        "big-endian": put(data, 5, "B", 2),
        "class-9": put(data, 4, "B", 9),
        "object-file": put(data, 16, "H", 1),
        "core-file": put(data, 16, "H", 4),
        "machine-i386": put(data, 18, "H", 3),
        "machine-unknown": put(data, 18, "H", 0xFFFF),
        "no-headers": put(data, 56, "H", 0),
        "many-headers": put(data, 56, "H", 0xFFFF),
        "headers-far": put(data, 32, "Q", 1 << 40),
        "headers-last-byte": put(data, 32, "Q", len(data) - 1),
        "headers-negative": put(data, 32, "Q", HUGE - 8),
        "header-size-0": put(data, 54, "H", 0),
        "header-size-64": put(data, 54, "H", 64),
        "dynamic-far": put(data, header(data, 2) + 8, "Q", 1 << 50),
        "dynamic-huge": put(data, header(data, 2) + 32, "Q", HUGE),
        "unwind-far": put(data, header(data, 0x6474E550) + 16, "Q", 1 << 50),
        "zeros": data[:64] + b"\0" * (len(data) - 64),
        "ones": data[:64] + b"\xff" * (len(data) - 64),
    }
    for size in (16, 52, 63, 64, 65, 120, 500, 1000, 4096, 5000, len(data) - 1):
        found[f"cut-{size}"] = data[:size]
    load = header(data, 1)
    for name, at, value in (
        ("load-far", load + 8, 1 << 50), ("load-huge", load + 32, HUGE),
        ("load-address-huge", load + 16, HUGE - 4095),
        ("load-twice", load + 56 + 16, 0), ("load-memory-huge", load + 40, 1 << 62),
    ):  # fmt: skip
        found[name] = put(data, at, "Q", value)
    for name, tag in DYNAMIC.items():
        try:
            at = entry(data, tag) + 8
        except StopIteration:
            continue
        found[f"{name}-far"] = put(data, at, "Q", 1 << 50)
        found[f"{name}-max"] = put(data, at, "Q", HUGE)
        found[f"{name}-one"] = put(data, at, "Q", 1)
    return found


def diagnosis(path: Path) -> str:
    """How a scan of a file ends: its verdict, or that the file was refused; anything else raises."""
    before = time.process_time()
    try:
        found = scan(str(path), Options(cache=str(MAPS)))
    except (NotElf, Malformed):
        return "refused"
    finally:
        took = time.process_time() - before
        assert took < LIMIT_S, f"{took:.2f} s"
    return found.verdict()


@pytest.mark.battery
def test_malformed_files_are_diagnosed(sound: bytes, tmp_path: Path) -> None:
    made = shapes(sound)
    assert len(made) >= 60
    path = tmp_path / "plugin.so"
    for name, data in made.items():
        path.write_bytes(data)
        verdict = diagnosis(path)
        assert verdict != "ok", name
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 600 * 1024


def mutated(data: bytes, dice: random.Random) -> bytes:
    """`data` with a few bytes, words or stretches changed."""
    body = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        at = dice.randrange(len(body)) if dice.random() < 0.5 else dice.randrange(min(len(body), 1024))
        match dice.randrange(4):
            case 0:
                body[at] = dice.randrange(256)
            case 1:
                word = dice.choice((0, 1, HUGE, 1 << 31, 1 << 63, dice.getrandbits(64)))
                body[at : at + 8] = struct.pack("<Q", word)
            case 2:
                body[at : at + dice.randrange(64)] = bytes(dice.randrange(64))
            case _:
                del body[at : at + dice.randrange(1, 64)]
        if not body:
            break
    return bytes(body)


def bad(data: bytes, folder: Path, *, count: int, seed: int) -> list[str]:
    """What went wrong in so many mutations, by number."""
    dice = random.Random(seed)
    path = folder / "plugin.so"
    wrong = []
    for number in range(count):
        path.write_bytes(mutated(data, dice))
        try:
            diagnosis(path)
        except Exception as problem:  # noqa: BLE001  # whatever it is, it is a failure
            wrong.append(f"{seed}/{number}: {type(problem).__name__}: {problem}")
    return wrong


@pytest.mark.battery
def test_mutations_end_in_a_diagnosis(sound: bytes, tmp_path: Path) -> None:
    assert bad(sound, tmp_path, count=150, seed=1) == []


@pytest.mark.battery
@pytest.mark.parametrize("seed", range(10))
def test_many_mutations_end_in_a_diagnosis(seed: int, sound: bytes, tmp_path: Path) -> None:
    assert bad(sound, tmp_path, count=1000, seed=100 + seed) == []


def test_the_child_stays_within_its_limits(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "plugin.so"
    path.write_bytes(sound)
    found = scan_confined(str(path), Options(cache=str(MAPS)))
    assert found["format"] == "dsec.plugin-scan/1"
    assert limits_of(len(sound)).memory_bytes == 256 << 20
    sparse = tmp_path / "sparse.so"
    sparse.write_bytes(sound)
    os.truncate(sparse, 4 << 30)
    with pytest.raises(FileProblem, match="larger than 2 GiB"):
        scan_confined(str(sparse), Options(cache=str(MAPS)))


def test_what_is_no_file_is_refused_in_words(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.so", Path("/dev/null")):
        with pytest.raises(FileProblem):
            scan_confined(str(path), Options(cache=str(MAPS)))


LOADER = """
import ctypes, os, sys
os.dup2(os.open(os.devnull, os.O_RDWR), 2)
try:
    ctypes.CDLL(sys.argv[1], os.RTLD_NOW).ds_step_run
except (OSError, AttributeError):
    sys.exit(3)
"""
PLAIN_SOURCE = (
    "#include <stdlib.h>\nstatic int (*const t[])(const char *) = {atoi};\nint ds_data = 5;\n"
    "int ds_step_run(const char *a) { ds_data++; return t[0](a) + (malloc(3) != 0); }\n"
)


def exported(data: bytes) -> int:
    """How many dynamic symbols there are: versions are as many, and relocations follow them."""
    (versions,) = struct.unpack("<Q", data[entry(data, 0x6FFFFFF0) + 8 : entry(data, 0x6FFFFFF0) + 16])
    (needed,) = struct.unpack("<Q", data[entry(data, 0x6FFFFFFE) + 8 : entry(data, 0x6FFFFFFE) + 16])
    return (needed - versions) // 2


def misfits(data: bytes) -> dict[str, bytes]:
    """Files with one field that does not fit, which a loader refuses or dies of."""
    (relocations,) = struct.unpack("<Q", data[entry(data, 7) + 8 : entry(data, 7) + 16])
    (hashes,) = struct.unpack("<Q", data[entry(data, 0x6FFFFEF5) + 8 : entry(data, 0x6FFFFEF5) + 16])
    (versions,) = struct.unpack("<Q", data[entry(data, 0x6FFFFFF0) + 8 : entry(data, 0x6FFFFFF0) + 16])
    (needed,) = struct.unpack("<Q", data[entry(data, 0x6FFFFFFE) + 8 : entry(data, 0x6FFFFFFE) + 16])
    found = {
        "other-system": put(data, 7, "B", 97),
        "version-2": put(data, 6, "B", 2),
        "offset-askew": put(data, header(data, 1) + 56 + 8, "Q", 0x500),
        "no-dynamic": put(data, header(data, 2), "I", 0),
        "dynamic-moved": put(data, header(data, 2) + 16, "Q", 0x1008),
        "relocation-in-code": put(data, relocations, "Q", 0x1000),
        "relocation-at-0": put(data, relocations, "Q", 0),
        "too-many-relative": put(data, entry(data, 0x6FFFFFF9) + 8, "Q", 400),
        "entry-size": put(data, entry(data, 9) + 8, "Q", 25),
        "no-buckets": put(data, hashes, "I", 0),
        "filter-empty": put(data, hashes + 16, "Q", 0),
        "version-of-none": put(data, versions + 2, "H", 0x7FFF),
        "version-hash": put(data, needed + 16, "I", 7),
        "version-file": put(data, needed + 4, "I", 9),
    }
    (symbols,) = struct.unpack("<Q", data[entry(data, 6) + 8 : entry(data, 6) + 16])
    last = symbols + 24 * (exported(data) - 1)
    protected = header(data, 0x6474E552)
    found |= {
        "start-in-data": put(data, relocations + 16, "Q", 0x4000),
        "start-at-0": put(data, relocations + 16, "Q", 0),
        "protected-far": put(data, protected + 40, "Q", 1 << 33),
        "memory-of-4-PiB": put(data, header(data, 1) + 3 * 56 + 40, "Q", 1 << 52),
        "aligned-to-2-PiB": put(data, header(data, 1) + 56 + 48, "Q", 1 << 51),
        "export-without-name": put(data, last, "I", 0),
        "export-of-no-kind": put(data, last + 4, "B", 0xFF),
        "function-in-data": put(data, last - 24 + 8, "Q", 0x4000),
    }
    for tag in (0x6FFFFEF5, 7, 8, 9, 0x6FFFFFFE, 0x6FFFFFF0, 5, 6):
        found[f"without-{tag:#x}"] = put(data, entry(data, tag), "Q", 0x6FFFFFF1)
        found[f"ends-at-{tag:#x}"] = put(data, entry(data, tag), "Q", 0)
    return found


@pytest.mark.battery
def test_what_a_loader_refuses_is_no_clean_file(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PLAIN_SOURCE)
    path = build(tmp_path / "p.c", tmp_path)
    assert diagnosis(path) == "ok"
    target = tmp_path / "x.so"
    for name, data in misfits(path.read_bytes()).items():
        target.write_bytes(data)
        assert diagnosis(target) != "ok", name


@pytest.mark.battery
def test_the_loader_here_agrees(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PLAIN_SOURCE)
    path = build(tmp_path / "p.c", tmp_path)
    target = tmp_path / "x.so"
    for name, data in {"sound": path.read_bytes(), **misfits(path.read_bytes())}.items():
        target.write_bytes(data)
        words = [sys.executable, "-c", LOADER, str(target)]
        loaded = subprocess.run(words, check=False, timeout=60, capture_output=True).returncode == 0
        assert loaded == (name == "sound") or diagnosis(target) != "ok", name
