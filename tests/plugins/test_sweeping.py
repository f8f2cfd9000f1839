"""Large files: what is looked for at every byte is found where a slow search finds it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.plugins import bytesearch
from dsec_cli.plugins.elf import Image, Segment
from dsec_cli.plugins.scanning import Options, scan
from dsec_cli.plugins.sweeping import distances
from tests.plugins.building import HOSTILE, MAPS, WELL_MEANT, build, header

PIECES = st.lists(
    st.sampled_from((b"\x0f\x05", b"\xcd\x80", b"\x0f", b"\x34", b"\xff\x25", b"\x7fELF", b"vdso", b"\0"))
    | st.binary(min_size=1, max_size=5)
)


def image_of(data: bytes) -> Image:
    return Image(data, len(data), 3, 62, 0, (), {}, [], (), ())


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytesearch, "CHUNK", 16)
    monkeypatch.setattr(bytesearch, "_WORTH_NUMPY", 1)


@pytest.mark.usefixtures("_small")
@given(PIECES, st.integers(0, 40), st.integers(0, 90))
def test_all_places_are_found(pieces: list[bytes], start: int, length: int) -> None:
    data = b"".join(pieces)
    image = image_of(data)
    stop = min(len(data), start + length)
    for wanted in (b"\x0f\x05", b"\xcd\x80", b"\x0f\x34", b"\xff\x25", b"\x7fELF", b"vdso", b"\0\0"):
        slow = [at for at in range(start, stop) if data[at : min(at + len(wanted), stop)] == wanted]
        assert list(bytesearch.find_all(image, wanted, start, start + length)) == slow


@pytest.mark.usefixtures("_small")
@given(
    st.binary(max_size=70),
    st.lists(st.tuples(st.integers(0, 66), st.integers(0, 3)), max_size=8),
    st.lists(st.integers(-(1 << 31), 1 << 31) | st.integers(-300, 300), min_size=1, max_size=4),
)
def test_all_distances_to_a_target_are_found(
    filler: bytes, calls: list[tuple[int, int]], apart: list[int]
) -> None:
    base = 1 << 33
    targets = sorted({base + one for one in apart})
    data = bytearray(filler)
    for at, which in calls:
        reach = targets[which % len(targets)] - (base + at + 4)
        if at + 4 <= len(data) and -(1 << 31) <= reach < 1 << 31:
            data[at : at + 4] = struct.pack("<i", reach)
    slow = [
        base + at
        for at in range(len(data) - 3)
        if base + at + 4 + struct.unpack_from("<i", data, at)[0] in targets
    ]
    segment = Segment(1, 5, 0, base, len(data), len(data))
    assert sorted(set(distances(image_of(bytes(data)), segment, set(targets)))) == slow


@pytest.mark.parametrize(
    "source", [WELL_MEANT / "wrappers.c", WELL_MEANT / "reads.c", HOSTILE / "int80.c", HOSTILE / "listens.c"]
)
def test_a_swept_file_shows_what_the_exact_reading_shows(source: Path, tmp_path: Path) -> None:
    path = str(build(source, tmp_path, *header(source).get("flags", [])))
    exact = scan(path, Options(cache=str(MAPS)))
    swept = scan(path, Options(cache=str(MAPS), exact_bytes=0))
    assert {one.permission for one in exact.needs} <= {one.permission for one in swept.needs}
    assert exact.calls is not None
    assert swept.calls is not None
    codes = {one.code for one in swept.findings}
    # Who calls a wrapper of a gate stays unknown in a swept file, and is said to.
    assert {one.number for one in exact.calls} <= {
        one.number for one in swept.calls
    } or "nr-computed" in codes
    assert swept.verdict() != "ok"
    gates = {"gate-int80", "gate-sysenter", "nr-computed"}
    assert {one.code for one in exact.findings} & gates <= codes
