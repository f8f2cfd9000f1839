"""What a change costs: each kind gets the encoding that suits it, and gives the same bits back."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from dsec.sdk import state
from dsec.state import blocks, coding, encoding, pagewise

from .direct import Direct, elements


@pytest.mark.parametrize(
    ("share", "kind", "least"),
    [(0.0, "equal", 1e9), (0.01, "scatter", 100), (0.04, "scatter", 35), (0.9, "xor", 1.5)],
)
def test_each_kind_of_change_gets_its_encoding(share: float, kind: str, least: float) -> None:
    base = elements(1 << 20)
    now = base.copy()
    rng = np.random.default_rng(1)
    where = rng.choice(now.size, int(share * now.size), replace=False)
    now[where] ^= rng.integers(1, 8, where.size).astype("<u2")
    compress = coding.compressor(coding.codec_name())
    encoded = encoding.encode(memoryview(now).cast("B"), memoryview(base).cast("B"), 2, compress)
    assert encoded.kind == kind
    assert encoded.changed == where.size
    assert now.nbytes / max(encoded.nbytes, 1e-3) > least


def test_few_rows_cost_little_more_than_themselves() -> None:
    base = elements(1 << 20)
    now = base.copy()
    now.reshape(-1, 4096)[::25] ^= 5
    encoded = encoding.encode(
        memoryview(now).cast("B"), memoryview(base).cast("B"), 2, coding.compressor(coding.codec_name())
    )
    assert encoded.kind == blocks.RUNS
    assert now.nbytes / encoded.nbytes > 24


def test_a_tensor_without_a_base_is_split_into_byte_planes() -> None:
    now = elements(1 << 20)
    encoded = encoding.encode(memoryview(now).cast("B"), None, 2, coding.compressor(coding.codec_name()))
    assert encoded.kind == blocks.PLANES
    assert now.nbytes / encoded.nbytes > 1.3
    assert encoded.changed is None


def test_noise_is_stored_as_it_is() -> None:
    now = np.random.default_rng(0).integers(0, 256, 1 << 18, dtype=np.uint8)
    encoded = encoding.encode(memoryview(now), None, 1, coding.compressor(coding.codec_name()))
    assert (encoded.kind, encoded.nbytes) == (blocks.RAW, now.nbytes)


def test_without_numpy_a_change_costs_its_page() -> None:
    base = bytes(1 << 20)
    now = bytearray(base)
    now[5000] = 1
    now[900_000] = 1
    encoded = pagewise.encode(memoryview(now), memoryview(base), coding.compressor("zlib"))
    assert encoded.kind == blocks.PAGES
    assert encoded.changed == 2 * pagewise.PIECE_BYTES


def test_an_anchor_comes_after_sixteen_deltas(tmp_path: Path) -> None:
    saver = Direct(tmp_path, keep=2)
    weights = elements(1 << 16)
    links = []
    for at in range(20):
        weights[at] ^= 1
        saver.save(at, {"weights": weights})
        links.append(state.stored(str(tmp_path))[-1].links)
    assert links == [*range(17), *range(3)]
    assert (state.load(str(tmp_path)).tensors["weights"] == weights).all()


def test_an_anchor_comes_when_deltas_grow_large(tmp_path: Path) -> None:
    saver = Direct(tmp_path)
    anchors = []
    for at in range(6):  # float noise: a delta is as large as the state
        noise = np.random.default_rng(at).integers(0, 2**32, 1 << 14, dtype=np.uint32)
        anchors.append(saver.save(at, {"noise": noise}).anchor)
    assert anchors == [True, False, True, False, True, False]


@pytest.mark.parametrize("dtype", ["<f4", "<f2", "bfloat16"])
def test_quantised_tensors_are_off_by_what_is_said(tmp_path: Path, dtype: str) -> None:
    from dsec.state import quantising

    values = np.random.default_rng(0).normal(0, 1, 5000).astype("<f4")
    bits = (values.view("<u4") >> 16).astype("<u2") if dtype == "bfloat16" else values.astype(dtype)
    data = memoryview(bits).cast("B")
    found = quantising.quantised(data, dtype, coding.compressor("zlib"))
    assert found is not None
    encoded, back, error = found
    exact = quantising._floats(np, data, dtype).astype("f8")
    read = quantising._floats(np, memoryview(back), dtype).astype("f8")
    assert error.greatest == pytest.approx(np.abs(read - exact).max())
    assert error.relative == pytest.approx(np.sqrt(((read - exact) ** 2).mean() / (exact**2).mean()))
    assert 0.001 < error.relative < 0.02
    assert encoded.nbytes < 1.02 * (5000 + 4 * 20)
    assert np.abs(read - exact).max() <= np.abs(exact).max() / 127


def test_quantised_states_say_so_and_others_stay_exact(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tensors = {
        "adam.v": rng.normal(0, 1, 3000).astype("<f4"),
        "adam.inf": np.array([np.inf, 1], "<f4"),
        "steps": np.arange(5),
        "weights": rng.normal(0, 1, 3000).astype("<f4"),
    }
    with state.Saver(tmp_path, quantise=("adam.*", "steps")) as saver:
        for at in range(3):
            tensors["adam.v"][at] += 1
            result = saver.save(at, tensors).wait()
    found = state.load(str(tmp_path))
    assert list(found.lossy) == ["adam.v"]
    told = result.components["adam.v"]
    assert found.lossy["adam.v"] == {"greatest": told.greatest_error, "relative": told.relative_error}
    off = np.abs(found.tensors["adam.v"] - tensors["adam.v"]).max()
    assert 0 < off == pytest.approx(told.greatest_error)
    for name in ("adam.inf", "steps", "weights"):
        assert (found.tensors[name] == tensors[name]).all()


def test_planes_and_gaps_decode_what_they_encode() -> None:
    compress, expand = coding.compressor("zlib"), coding.decompressor("zlib")
    rng = np.random.default_rng(3)
    for width, share in itertools.product((1, 2, 4, 8), (0.0005, 0.02, 0.34, 0.6, 1.0)):
        base = rng.integers(0, 256, 8 * 5000, dtype=np.uint8)
        now = base.copy().view(f"<u{width}")
        where = rng.choice(now.size, max(1, int(share * now.size)), replace=False)
        now[where] += 1
        encoded = encoding.encode(memoryview(now).cast("B"), memoryview(base), width, compress)
        data = memoryview(b"".join(bytes(part) for part in encoded.parts))
        into = memoryview(bytearray(base.tobytes()))
        stored = blocks.Stored(encoded.kind, data, encoded.lengths, encoded.changed or 0)
        encoding.decode(stored, into, width, expand)
        assert bytes(into) == now.tobytes()
