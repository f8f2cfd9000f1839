"""States come back bit by bit, whatever changed between two saves and whoever wrote them."""

from __future__ import annotations

import mmap
import os
import random
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.sdk import state
from dsec.state import blocks, choosing, forking
from dsec.state.layout import laid_out

from .direct import Direct, elements, same

DTYPES = ("<u1", "<f2", "<i4", "<f8", "<c16", "|b1", ">i4")


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


@pytest.mark.battery
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


def test_odd_floats_keep_their_bits(tmp_path: Path) -> None:
    odd = np.array([0x7FC00001, 0xFFC12345, 0x80000000, 1, 0x7F800000], "<u4").view("<f4")
    with state.Saver(tmp_path) as saver:
        saver.save(0, {"odd": odd})
        odd.view("<u4")[0] ^= 2
        saver.save(1, {"odd": odd})
    assert state.load(str(tmp_path)).tensors["odd"].tobytes() == odd.tobytes()


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("way", ["staging", "fork"])
def test_what_is_changed_after_save_is_not_in_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, short: bool
) -> None:
    monkeypatch.setattr(choosing, "_available", lambda: 0 if short else None)
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
        ({"a": {"b": [1, {2}]}}, {}, "a.b.1: set is neither"),
        ({}, {"v": {1: 2}}, "v: a dict is no plain value"),
        ({}, {"v": np.float32(1)}, "v: a float32 is no plain value"),
    ],
)
def test_what_cannot_be_kept_is_named(tmp_path: Path, tensors: Any, values: Any, said: str) -> None:
    with state.Saver(tmp_path) as saver, pytest.raises(state.StateError, match=said):
        saver.save(0, tensors, values=values)


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


@pytest.mark.battery
def test_going_back_makes_the_older_point_the_newest_state(tmp_path: Path) -> None:
    for at in (5, 6, 3):
        with state.Saver(tmp_path, keep=0) as saver:
            saver.save(at, {"at": np.array([at])})
    assert state.load(str(tmp_path)).at == 3
    assert state.load(str(tmp_path), at=6).tensors["at"][0] == 6


@pytest.mark.battery
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


def test_preparing_says_how_copies_are_made(tmp_path: Path) -> None:
    with state.Saver(tmp_path) as saver:
        said = saver.prepare({"a": elements(1 << 16)})
        assert re.fullmatch(r"staging: a fork took [\d.]+ ms, a copy [\d.]+ ms", said)  # of 128 KiB
        assert f"staging: {saver.save(0, {'a': elements(1 << 16)}).why}" == said


def test_preparing_takes_the_way_that_stands_still_for_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "_fork_s", lambda: 0.0)
    weights = elements(1 << 16)
    with state.Saver(tmp_path, keep=0) as saver:
        assert saver.prepare({"a": weights}).startswith("fork: a fork took 0.0 ms, a copy ")
        assert saver.save(0, {"a": weights}).method == "fork"
        done = threading.Event()
        other = threading.Thread(target=done.wait)
        other.start()
        assert saver.prepare({"a": weights}).startswith("fork")  # a child may be writing still
        weights[::9] ^= 1
        handle = saver.save(1, {"a": weights})
        assert (handle.method, handle.why) == ("staging", "there is memory for two copies of the state")
        assert handle.wait().anchor  # another process writes it
        done.set()
        other.join()
    assert (state.load(str(tmp_path)).tensors["a"] == weights).all()
    assert [one.at for one in state.stored(str(tmp_path))] == [0, 1]


def test_nothing_is_tried_where_forking_is_no_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 3)
    with state.Saver(tmp_path) as saver:
        assert saver.prepare({"a": elements(8)}) == (
            "staging: there is memory for two copies of the state, and it cannot be forked: "
            "3 threads run, and a lock that one of them holds would stay locked"
        )


def test_a_child_that_copied_gives_up_whole_pages_of_tensors_alone() -> None:
    around = np.full(10 * mmap.PAGESIZE, 7, np.uint8)
    tensor = around[100:-100]
    child = os.fork()
    if not child:
        forking._let_go(laid_out({"t": tensor, "b": b"1", "gaps": around[::2]}))
        gone = int((around == 0).sum())
        kept = (around[:100] == 7).all() and (around[-100:] == 7).all()
        os._exit(0 if kept and gone % mmap.PAGESIZE == 0 and 8 <= gone // mmap.PAGESIZE <= 9 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (around == 7).all()  # in this process nothing is gone


def test_the_way_follows_from_memory_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_available", lambda: 100 << 20)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert choosing.chosen("auto", 60 << 20) == (
        "fork",
        "100 MiB of memory are free, and two copies need 120 MiB",
    )
    monkeypatch.setattr(threading, "active_count", lambda: 3)
    assert choosing.chosen("auto", 60 << 20)[0] == "staging"
    with pytest.raises(state.StateError, match="3 threads run"):
        choosing.chosen("fork", 1)


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
