"""States come back bit by bit, whatever changed between two saves and whoever wrote them."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.sdk import state
from dsec.state import blocks, coding, encoding, pagewise
from dsec.state.layout import laid_out, views
from dsec.state.staging import copy_in
from dsec.state.writer import base_of
from dsec.state.writing import Wish, write_state

DTYPES = ("<u1", "<f2", "<i4", "<f8", "<c16", "|b1", ">i4")


def laid(tensors: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, memoryview]]:
    """What a saver's copy is: the layout, and every tensor's bytes."""
    layout = laid_out(tensors)
    buffer = memoryview(bytearray(layout.nbytes))
    copy_in(layout, buffer, threads=2)
    placed = tuple(one.placed for one in layout.sources)
    return placed, views(placed, buffer)


class Direct:
    """Saves in this process, one upon the other, as the writer does."""

    def __init__(self, folder: Path, *, keep: int = 0, quantise: tuple[str, ...] = ()) -> None:
        self.folder, self.keep, self.quantise = str(folder), keep, quantise
        self.base: Any = None

    def save(self, at: int, tensors: dict[str, Any]) -> Any:
        placed, data = laid(tensors)
        result = write_state(Wish(self.folder, at, placed, {}, self.keep, self.quantise), data, self.base)
        self.base = base_of(result, placed, data)
        return result


def same(found: state.State, tensors: dict[str, Any]) -> bool:
    return list(found.tensors) == list(tensors) and all(
        found.tensors[name].dtype == one.dtype
        and found.tensors[name].shape == one.shape
        and found.tensors[name].tobytes() == one.tobytes()
        for name, one in tensors.items()
    )


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, np.ndarray[Any, Any]]]:
    """A few states, each made from the one before by changes of all kinds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = draw(st.lists(st.text(max_size=4), min_size=1, max_size=3, unique=True))

    def fresh() -> Any:
        shape = draw(st.lists(st.integers(0, 9), max_size=3))
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        count = int(np.prod(shape)) * draw(st.sampled_from((1, 300)))
        data = rng.integers(0, 2 if dtype.kind == "b" else 256, count * dtype.itemsize, dtype=np.uint8)
        return data.view(dtype) if dtype.kind != "b" else data.astype(dtype)

    now = {name: fresh() for name in names}
    found = [dict(now)]
    for _ in range(draw(st.integers(1, 4))):
        now = {name: one.copy() for name, one in now.items()}
        name = draw(st.sampled_from(sorted(now)))
        what = draw(st.sampled_from(("same", "some", "stretch", "all", "other", "gone", "new")))
        flat = now[name].reshape(-1)
        if what == "some" and flat.size:
            flat[rng.integers(0, flat.size, draw(st.integers(1, 20)))] = flat[0]
        elif what == "stretch" and flat.size:
            begin = int(rng.integers(0, flat.size))
            flat[begin : begin + 40] = flat[-1]
        elif what == "all":
            now[name] = now[name][::-1].copy()
        elif what == "other":
            now[name] = fresh()
        elif what == "gone" and len(now) > 1:
            del now[name]
        elif what == "new":
            now["new"] = fresh()
        found.append(dict(now))
    return found


@given(histories(), st.booleans())
@settings(max_examples=60)
def test_every_state_of_a_history_comes_back(tmp_path_factory: Any, history: Any, bare: bool) -> None:
    folder = tmp_path_factory.mktemp("states")
    saver = Direct(folder)
    with pytest.MonkeyPatch.context() as patch:
        if bare:  # as on a machine without numpy, zstandard and blake3
            patch.setattr("dsec.state.writing._has_numpy", lambda: False)
            patch.setattr("dsec.state.writing.codec_name", lambda: "zlib")
            patch.setattr("dsec.state.writing.hash_name", lambda: "blake2b")
        for at, tensors in enumerate(history):
            saver.save(at, tensors)
    for at, tensors in enumerate(history):
        assert same(state.load(str(folder), at=at), tensors)


def elements(count: int, seed: int = 0) -> Any:
    """What weights look like in bfloat16: the upper halves of normal floats."""
    values = np.random.default_rng(seed).normal(0, 0.02, count).astype("<f4")
    return (values.view("<u4") >> 16).astype("<u2")


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


def test_odd_floats_keep_their_bits(tmp_path: Path) -> None:
    odd = np.array([0x7FC00001, 0xFFC12345, 0x80000000, 1, 0x7F800000], "<u4").view("<f4")
    with state.Saver(tmp_path) as saver:
        saver.save(0, {"odd": odd})
        odd.view("<u4")[0] ^= 2
        saver.save(1, {"odd": odd})
    assert state.load(str(tmp_path)).tensors["odd"].tobytes() == odd.tobytes()


@pytest.mark.parametrize("way", ["staging", "fork"])
def test_what_is_changed_after_save_is_not_in_the_state(tmp_path: Path, way: str) -> None:
    weights = elements(1 << 20)
    with state.Saver(tmp_path, copy=way, keep=0) as saver:
        wanted = []
        for at in range(4):
            wanted.append(weights.copy())
            handle = saver.save(at, {"weights": weights})
            weights[:] = at  # while it is being written
            weights[at::7] ^= 3
            assert handle.method == way
        handle.wait()
    for at, before in enumerate(wanted):
        assert (state.load(str(tmp_path), at=at).tensors["weights"] == before).all()


def test_one_memory_under_two_names_is_kept_once(tmp_path: Path) -> None:
    tied = elements(1 << 16)
    with state.Saver(tmp_path) as saver:
        result = saver.save(0, {"in": tied, "out": tied, "rows": tied.reshape(256, -1)}).wait()
    found = state.load(str(tmp_path)).tensors
    assert result.tracked == 2 * tied.nbytes  # the third has another shape
    assert found["in"] is found["out"]
    assert (found["rows"].reshape(-1) == tied).all()


def test_views_with_gaps_and_empty_ones_come_back(tmp_path: Path) -> None:
    whole = np.arange(60).reshape(6, 10)
    tensors = {
        "gaps": whole[::2, 1::3],
        "turned": whole.T,
        "none": whole[:0],
        "one": np.float32(3).reshape(()),
    }
    with state.Saver(tmp_path) as saver:
        saver.save(0, tensors)
        saver.save(1, tensors)
    found = state.load(str(tmp_path)).tensors
    for name, one in tensors.items():
        assert found[name].shape == one.shape
        assert (found[name] == one).all()


def test_values_and_generators_go_on_where_they_were(tmp_path: Path) -> None:
    np.random.seed(5)
    random.seed(5)
    random.gauss(0, 1)
    with state.Saver(tmp_path) as saver:
        saver.save(7, {"key": b"abc"}, values={"cursor": (3, 4), "note": "ü", "raw": b"\0\xff", "none": None})
    wanted = [random.random(), random.gauss(0, 1), float(np.random.rand())]
    found = state.load(str(tmp_path))
    assert bytes(found.tensors["key"]) == b"abc"
    rng = found.values.pop("rng")
    assert found.values == {"cursor": [3, 4], "note": "ü", "raw": b"\0\xff", "none": None}
    assert state.set_random_states({**rng, "other": 1}) == ["other"]
    assert [random.random(), random.gauss(0, 1), float(np.random.rand())] == wanted


@pytest.mark.parametrize(
    ("tensors", "values", "said"),
    [
        ({"a": object()}, {}, "a: object is neither a tensor"),
        ({"a": np.array([None])}, {}, "a: arrays of object cannot be kept"),
        ({"a": [1, 2]}, {}, "a: list is neither"),
        ({}, {"v": {1: 2}}, "v: a dict is no plain value"),
        ({}, {"v": np.float32(1)}, "v: a float32 is no plain value"),
    ],
)
def test_what_cannot_be_kept_is_named(tmp_path: Path, tensors: Any, values: Any, said: str) -> None:
    with state.Saver(tmp_path) as saver, pytest.raises(state.StateError, match=said):
        saver.save(0, tensors, values=values)


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


def test_old_states_go_and_what_new_ones_need_stays(tmp_path: Path) -> None:
    saver = Direct(tmp_path, keep=2)
    weights = elements(1 << 16)
    for at in range(5):
        weights[at] ^= 1
        saver.save(at, {"weights": weights})
    assert [one.at for one in state.stored(str(tmp_path))] == [0, 1, 2, 3, 4]  # one chain
    state.compact(str(tmp_path))
    assert [(one.at, one.links) for one in state.stored(str(tmp_path))] == [(4, 0)]
    assert (state.load(str(tmp_path)).tensors["weights"] == weights).all()


def test_going_back_makes_the_older_point_the_newest_state(tmp_path: Path) -> None:
    for at in (5, 6, 3):
        with state.Saver(tmp_path, keep=0) as saver:
            saver.save(at, {"at": np.array([at])})
    assert state.load(str(tmp_path)).at == 3
    assert state.load(str(tmp_path), at=6).tensors["at"][0] == 6


def test_two_savers_of_one_folder_lose_nothing(tmp_path: Path) -> None:
    savers = [state.Saver(tmp_path, keep=0) for _ in range(2)]
    for at in range(6):
        savers[at % 2].save(at, {"at": np.full(1000, at)})
    for saver in savers:
        saver.close()
    found = [one.at for one in state.stored(str(tmp_path))]
    assert sorted(found) == list(range(6))
    for at in found:
        assert (state.load(str(tmp_path), at=at).tensors["at"] == at).all()


def test_a_busy_writer_can_be_left_alone(tmp_path: Path) -> None:
    weights = elements(1 << 22)
    with state.Saver(tmp_path, when_busy="skip", keep=0) as saver:
        first = saver.save(0, {"weights": weights})
        second = saver.save(1, {"weights": weights})
        assert second.method == "skipped"
        assert second.done()
        with pytest.raises(state.StateError, match="was left out: the state before is still being written"):
            second.wait()
        first.wait()
        assert saver.save(2, {"weights": weights}).method == "staging"
    assert [one.at for one in state.stored(str(tmp_path))] == [0, 2]


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


def test_preparing_says_how_copies_are_made(tmp_path: Path) -> None:
    with state.Saver(tmp_path) as saver:
        assert (
            saver.prepare({"a": elements(1 << 16)}) == "staging: there is memory for two copies of the state"
        )
        assert saver.save(0, {"a": elements(1 << 16)}).why == "there is memory for two copies of the state"


def test_the_way_follows_from_memory_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from dsec.state import saver

    monkeypatch.setattr(saver, "_available", lambda: 100 << 20)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert saver.chosen("auto", 60 << 20) == (
        "fork",
        "100 MiB of memory are free, and two copies need 120 MiB",
    )
    monkeypatch.setattr(threading, "active_count", lambda: 3)
    assert saver.chosen("auto", 60 << 20)[0] == "staging"
    with pytest.raises(state.StateError, match="3 threads run"):
        saver.chosen("fork", 1)


def test_names_may_be_any_text_and_only_text(tmp_path: Path) -> None:
    with state.Saver(tmp_path) as saver:
        saver.save(0, {"": b"1", "a/b\n\0": b"2"})
        with pytest.raises(TypeError, match="names of tensors are texts"):
            saver.save(1, {1: b"2"})  # type: ignore[dict-item]
    assert {name: bytes(one) for name, one in state.load(str(tmp_path)).tensors.items()} == {
        "": b"1",
        "a/b\n\0": b"2",
    }


def test_a_large_tensor_is_many_blocks(tmp_path: Path) -> None:
    large = np.arange((blocks.BLOCK_BYTES * 2 + 100) // 4, dtype="<u4")
    with state.Saver(tmp_path) as saver:
        saver.save(0, {"large": large})
        large[-1] = 0
        result = saver.save(1, {"large": large}).wait()
    assert result.components["large"].encodings == {"equal": 2, "scatter": 1} or (
        result.components["large"].encodings == {"equal": 2, "runs": 1}
    )
    assert result.components["large"].changed == 1
    assert (state.load(str(tmp_path)).tensors["large"] == large).all()


def test_torch_like_tensors_are_taken_by_their_memory(tmp_path: Path) -> None:
    class Tensor:
        """What is asked of a CPU tensor of torch."""

        def __init__(self, array: Any) -> None:
            self.array, self.shape, self.device = array, array.shape, type("D", (), {"type": "cpu"})
            self.dtype = "torch.float32"

        def detach(self) -> Tensor:
            return self

        def numel(self) -> int:
            return int(self.array.size)

        def element_size(self) -> int:
            return int(self.array.itemsize)

        def numpy(self) -> Any:
            return self.array

    array = np.arange(12, dtype="<f4").reshape(3, 4)
    with state.Saver(tmp_path) as saver:
        saver.save(0, {"t": Tensor(array), "tied": array})
    found = state.load(str(tmp_path))
    assert found.types == {"t": "<f4", "tied": "<f4"}
    assert found.tensors["t"] is found.tensors["tied"]
    assert (found.tensors["t"] == array).all()


def test_choices_that_are_none_are_refused(tmp_path: Path) -> None:
    for wrong in ({"copy": "x"}, {"when_busy": "x"}, {"keep": -1}):
        with pytest.raises(ValueError, match=r"must not|one of"):
            state.Saver(tmp_path, **wrong)  # type: ignore[arg-type]
    with state.Saver(tmp_path) as saver, pytest.raises(ValueError, match="whole number from 0"):
        saver.save(-1, {})


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
