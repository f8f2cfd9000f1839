"""The script that draws the pictures of the README: how it reads and writes PNG, and what it makes up."""

from __future__ import annotations

import importlib.util
import struct
import zlib
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.commands.opened import open_contract
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.graph import step_graph

ROOT = Path(__file__).parent.parent.parent
SPEC = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
assert SPEC is not None
assert SPEC.loader is not None
pictures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pictures)


def guess(how: int, left: int, up: int, corner: int) -> int:
    """What a filter expects a byte to be, straight from the PNG specification."""
    if how == 4:
        near = left + up - corner
        return min((left, up, corner), key=lambda one: (abs(near - one), (left, up, corner).index(one)))
    return (0, left, up, (left + up) // 2)[how]


def written(pixels: numpy.ndarray, filters: list[int]) -> bytes:
    """A PNG whose row `at` has the filter `filters[at]`."""
    height, width, depth = pixels.shape
    wide = numpy.zeros((height + 1, width + 1, depth), int)
    wide[1:, 1:] = pixels
    lines = b""
    for row in range(height):
        lines += bytes([filters[row]])
        for at in range(1, width + 1):
            for part in range(depth):
                before = (wide[row + 1, at - 1, part], wide[row, at, part], wide[row, at - 1, part])
                expected = guess(filters[row], *map(int, before))
                lines += bytes([(int(wide[row + 1, at, part]) - expected) % 256])
    head = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[depth], 0, 0, 0)
    body = zlib.compress(lines)
    parts = ((b"IHDR", head), (b"IDAT", body[:9]), (b"IDAT", body[9:]), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(pictures._chunk(*part) for part in parts)


@given(
    seed=st.integers(0, 999),
    filters=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    depth=st.sampled_from([3, 4]),
)
def test_rows_of_every_filter_are_read(seed, filters, depth):
    pixels = numpy.random.default_rng(seed).integers(0, 256, (len(filters), 5, depth))
    assert (pictures._pixels(written(pixels, filters)) == pixels).all()


def test_few_colours_are_kept_as_they_are():
    pixels = numpy.random.default_rng(1).integers(0, 2, (6, 7, 3)) * 200
    small = pictures.squeezed(written(pixels, [0] * 6))
    assert small.startswith(b"\x89PNG")
    table = small[small.index(b"PLTE") + 4 :]
    body = small[small.index(b"IDAT") + 4 : small.index(b"IEND") - 8]
    rows = numpy.frombuffer(zlib.decompress(body), numpy.uint8).reshape(6, 8)[:, 1:]
    found = numpy.array([list(table[3 * at : 3 * at + 3]) for at in rows.ravel()]).reshape(6, 7, 3)
    assert (found == pixels).all()


@pytest.mark.battery
def test_the_large_graph_has_two_thousand_steps_and_an_order(tmp_path):
    path = tmp_path / "dsandbox.yaml"
    path.write_text("\n".join(pictures.large()) + "\n")
    graph = step_graph(open_contract(str(path)).contract)
    assert len(graph.steps) == 2_000
    assert isinstance(order_steps(graph), Order)


@pytest.mark.parametrize("name", ["example-light", "example-dark", "large-light", "large-dark"])
def test_each_picture_is_there_and_small(name):
    data = (ROOT / "docs" / "pictures" / f"{name}.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == (pictures.WIDTH, pictures.HEIGHT)
    assert len(data) <= pictures.MOST_BYTES
