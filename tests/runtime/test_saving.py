"""States saved in shards: complete or not there, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec import pagecache, saving
from dsec.sdk import NoSaveError, fast_chunks, fast_read, load_sharded, save_sharded, saves

ROOT = Path(__file__).resolve().parents[2]
quiet = {"tell": lambda text: None}

values = st.one_of(
    st.binary(max_size=9000),
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    st.lists(st.integers(), max_size=3),
)


@given(st.dictionaries(st.text(max_size=5), values, max_size=4), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_a_state_comes_back_as_it_was(tmp_path_factory, state, shards):
    folder = str(tmp_path_factory.mktemp("saves"))
    assert save_sharded(folder, state, shards=shards) == 0
    assert load_sharded(folder) == (state, 0, "")


def test_arrays_come_back_with_their_types_and_shapes(tmp_path):
    np = pytest.importorskip("numpy", reason="arrays need numpy")
    rng = np.random.default_rng(0)
    state = {
        "weights": rng.normal(size=(33, 17)).astype(np.float32),
        "turned": np.asfortranarray(rng.normal(size=(5, 6))),
        "every second": np.arange(20)[::2],
        "one": np.array(7, dtype=np.int16),
        "none": np.zeros((0, 3)),
        "flags": np.array([True, False]),
        "step": 12,
    }
    save_sharded(str(tmp_path), state, shards=3)
    found = load_sharded(str(tmp_path)).state
    assert list(found) == list(state)
    for name, value in state.items():
        np.testing.assert_array_equal(found[name], value)
    assert found["weights"].dtype == np.float32
    found["weights"][0, 0] = 1.0


def test_a_tensor_is_saved_through_its_array(tmp_path):
    np = pytest.importorskip("numpy", reason="arrays need numpy")

    class Tensor:
        def __init__(self, array):
            self.array = array

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            if self.array is None:
                raise TypeError("Got unsupported ScalarType BFloat16")
            return self.array

    save_sharded(str(tmp_path), {"t": Tensor(np.arange(4))})
    assert load_sharded(str(tmp_path)).state["t"].tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match=r"b: .*BFloat16; save it as integers"):
        save_sharded(str(tmp_path), {"b": Tensor(None)})


@pytest.mark.parametrize(
    ("state", "words"),
    [({"a": object()}, "a: object is neither"), ({3: b""}, "names are texts"), ({"a": {"b": b""}}, "JSON")],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(tmp_path, state, words):
    with pytest.raises(TypeError, match=words):
        save_sharded(str(tmp_path / "s"), state)
    assert not (tmp_path / "s").exists()


def test_an_array_of_objects_is_refused(tmp_path):
    np = pytest.importorskip("numpy", reason="arrays need numpy")
    with pytest.raises(TypeError, match="a: "):
        save_sharded(str(tmp_path), {"a": np.array([object()])})


def test_the_marker_is_written_last_and_everything_before_it_is_on_the_disk(tmp_path, monkeypatch):
    done = []
    names = {}
    real_open, real_sync, real_rename = os.open, os.fsync, os.rename

    def opened(path, flags, *rest, **kept):
        handle = real_open(path, flags, *rest, **kept)
        names[handle] = os.path.basename(path)
        return handle

    def synced(handle):
        done.append(("sync", os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))))
        real_sync(handle)

    def renamed(old, new):
        done.append(("rename", os.path.basename(new)))
        real_rename(old, new)

    monkeypatch.setattr(saving.os, "open", opened)
    monkeypatch.setattr(saving.os, "fsync", synced)
    monkeypatch.setattr(saving.os, "rename", renamed)
    save_sharded(str(tmp_path), b"x" * 20_000, shards=3)
    at = done.index(("rename", "complete.json"))
    shards = {f"{n:05d}.shard" for n in range(len([n for n in names.values() if n.endswith(".shard")]))}
    assert shards <= {name for what, name in done[:at] if what == "sync"}
    assert ("sync", "complete.json.tmp") in done[:at]
    assert done[at - 1] == done[at + 1] == ("sync", "000000000000.1")
    assert done[-1] == ("sync", tmp_path.name)


def test_an_incomplete_save_is_refused_and_the_last_complete_one_taken(tmp_path, capsys):
    folder = str(tmp_path)
    save_sharded(folder, b"six", at=6)
    save_sharded(folder, b"seven", at=7)
    (tmp_path / "000000000007.1" / "complete.json").unlink()
    found = load_sharded(folder)
    assert (found.state, found.at) == ({"": b"six"}, 6)
    assert "save 7" in found.note
    assert "did not get to the marker; save 6, the last complete one, was taken" in found.note
    assert capsys.readouterr().err == f"dsec: {found.note}\n"
    with pytest.raises(NoSaveError, match=r"save 7 .* is not used"):
        load_sharded(folder, at=7)
    with pytest.raises(NoSaveError, match="there is no save 3 in"):
        load_sharded(folder, at=3)
    assert saves(folder) == [6]


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "has 3 of 4 bytes"),
        (lambda file: file.write_bytes(file.read_bytes() + b"x"), "has 5 of 4 bytes"),
        (lambda file: file.write_bytes(b"\0" * 4), "other bytes than were written"),
        (lambda file: file.unlink(), "No such file"),
        (lambda file: (file.parent / "complete.json").write_text("{"), "marker cannot be read"),
        (lambda file: (file.parent / "complete.json").write_text("[]"), "format is None"),
        (lambda file: (file.parent / "complete.json").write_text('{"format":"dsec.save/9"}'), "dsec.save/9"),
    ],
)
def test_a_damaged_save_is_refused(tmp_path, harm, words):
    save_sharded(str(tmp_path), b"good", at=1)
    save_sharded(str(tmp_path), b"harm", at=2)
    harm(tmp_path / "000000000002.1" / "00000.shard")
    found = load_sharded(str(tmp_path), **quiet)
    assert found.at == 1
    assert words in found.note


def test_saves_are_kept_as_many_as_asked_for(tmp_path):
    folder = str(tmp_path)
    for at in range(5):
        save_sharded(folder, b"%d" % at, at=at)
    assert saves(folder) == [3, 4]
    save_sharded(folder, b"again", at=4)
    assert load_sharded(folder, at=4).state[""] == b"again"
    assert sorted(name for name in os.listdir(folder) if name != ".lock") == [
        "000000000003.1",
        "000000000004.2",
    ]
    save_sharded(folder, b"five", keep=0)
    assert saves(folder) == [3, 4, 5]
    save_sharded(folder, b"back", at=2, keep=1)
    assert saves(folder) == [2, 3, 4, 5], "nothing that is newer is taken away"


def test_a_full_disk_leaves_the_earlier_save_and_nothing_else(tmp_path, monkeypatch):
    folder = str(tmp_path)
    save_sharded(folder, b"old" * 9000, at=1)
    real = os.write
    room = [12_000]

    def write(handle, data):
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = real(handle, data[: room[0]])
        room[0] -= count
        return count

    monkeypatch.setattr(saving.os, "write", write)
    with pytest.raises(OSError, match="space"):
        save_sharded(folder, b"new" * 9000, at=2, shards=2)
    monkeypatch.undo()
    assert sorted(os.listdir(folder)) == [".lock", "000000000001.1"]
    assert load_sharded(folder).state[""] == b"old" * 9000
    save_sharded(folder, b"new", at=2)
    assert saves(folder) == [1, 2]


WRITER = """
import sys
from dsec.sdk import save_sharded
for at in range(100000):
    save_sharded(sys.argv[1], {"a": bytes([at % 256]) * 300_000, "at": at}, at=at, shards=3)
    print(at, flush=True)
"""


@pytest.mark.battery
def test_killed_at_any_moment_there_is_always_a_whole_state(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    for wait in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], env=env, stdout=subprocess.PIPE
        ) as writer:
            lines = [writer.stdout.readline() for _ in range(2 + wait)]
            threading.Event().wait(0.002 * wait)
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        last = int(lines[-1])
        found = load_sharded(str(tmp_path), **quiet)
        assert found.at >= last, "what was said to be saved is there"
        assert found.state == {"a": bytes([found.at % 256]) * 300_000, "at": found.at}
        save_sharded(str(tmp_path), b"", at=0, keep=1)
        for name in os.listdir(tmp_path):
            if name != ".lock":
                saving._remove(str(tmp_path / name))


def test_other_threads_run_while_a_state_is_written(tmp_path, monkeypatch):
    """What takes long (write, fsync) is called from several threads at once, so none holds Python's lock."""
    both = threading.Barrier(2, timeout=30)
    real = os.fsync

    def synced(handle):
        if os.readlink(f"/proc/self/fd/{handle}").endswith(".shard"):
            both.wait()
        real(handle)

    monkeypatch.setattr(saving.os, "fsync", synced)
    save_sharded(str(tmp_path), b"x" * 9000, shards=2)
    assert load_sharded(str(tmp_path)).state[""] == b"x" * 9000


def test_files_are_read_whole_and_in_pieces(tmp_path):
    data = os.urandom(3 * pagecache.PAGE_BYTES + 17)
    (tmp_path / "f").write_bytes(data)
    (tmp_path / "empty").write_bytes(b"")
    assert fast_read(str(tmp_path / "f")) == data
    assert fast_read(str(tmp_path / "empty")) == b""
    pieces = [bytes(piece) for piece in fast_chunks(str(tmp_path / "f"), chunk_bytes=pagecache.PAGE_BYTES)]
    assert b"".join(pieces) == data
    assert len(pieces) == 4
    with pytest.raises(FileNotFoundError):
        fast_read(str(tmp_path / "none"))


def resident(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        return sum(page & 1 for page in pagecache.resident_pages(handle, os.fstat(handle).st_size))
    finally:
        os.close(handle)


def test_reading_leaves_the_page_cache_as_it_was(tmp_path):
    path = str(tmp_path / "f")
    Path(path).write_bytes(os.urandom(1 << 20))
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)
    if resident(path):
        pytest.skip("this file system keeps its pages whatever is advised (tmpfs, for one)")
    fast_read(path)
    assert resident(path) == 0, "nothing stays of what was read"
    Path(path).read_bytes()
    before = resident(path)
    assert before
    fast_read(path)
    assert resident(path) == before, "what others had read stays"
