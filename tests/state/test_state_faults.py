"""A state is whole or not there: whatever dies, fills up or rots."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsec.sdk import state
from dsec.state import coding, forking, statefile, writing
from dsec.state.layout import laid_out, views
from dsec.state.staging import copy_in
from dsec.state.writer import base_of

ROOT = Path(__file__).resolve().parents[2]


def save_here(folder: Path, at: int, tensors: dict[str, Any], base: Any = None, *, keep: int = 0) -> Any:
    """Save in this process; gives what the next save builds on."""
    layout = laid_out(tensors)
    buffer = memoryview(bytearray(layout.nbytes))
    copy_in(layout, buffer, threads=1)
    placed = tuple(one.placed for one in layout.sources)
    data = views(placed, buffer)
    return base_of(
        writing.write_state(writing.Wish(str(folder), at, placed, {}, keep), data, base), placed, data
    )


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder with an anchor and a delta upon it."""
    weights = np.arange(5000, dtype="<u2")
    base = save_here(tmp_path, 1, {"w": weights, "b": np.ones(3)})
    weights[::50] ^= 1
    save_here(tmp_path, 2, {"w": weights, "b": np.ones(3)}, base)
    return tmp_path


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.state"))


def told(folder: Path, **wanted: Any) -> tuple[Any, list[str]]:
    said: list[str] = []
    return state.load(str(folder), tell=said.append, **wanted), said


def spots(path: Path) -> dict[str, int]:
    """An offset in each part of a state's file."""
    size = path.stat().st_size
    with statefile.opened(str(path)) as one:
        blocks = len(one.data)
    return {"magic": 6, "blocks": len(statefile.MAGIC) + 3, "record": blocks + 5, "length": size - 64,
            "algorithm": size - 56, "hash": size - 20, "end": size - 3}  # fmt: skip


@pytest.mark.parametrize("part", ["magic", "blocks", "record", "length", "algorithm", "hash", "end"])
def test_a_flipped_bit_anywhere_is_found(two: Path, part: str) -> None:
    newest = files(two)[-1]
    data = bytearray(newest.read_bytes())
    data[spots(newest)[part]] ^= 4
    newest.write_bytes(data)
    found, said = told(two)
    assert found.at == 1
    assert said[0].startswith(f"dsec: state {newest.name} is not used: ")
    assert said[0].endswith("; state 1 was taken, the newest good one")
    assert found.note == said[0].removeprefix("dsec: ")
    with pytest.raises(state.NoStateError, match="is not used"):
        told(two, at=2)


def test_a_bit_flipped_in_the_anchor_spoils_its_deltas_too(two: Path) -> None:
    anchor = files(two)[0]
    data = bytearray(anchor.read_bytes())
    data[spots(anchor)["blocks"] + 400] ^= 1
    anchor.write_bytes(data)
    with pytest.raises(
        state.NoStateError, match=r"000000000002-2.state is not used.*000000000001-1.state is not"
    ):
        told(two)


def test_a_file_cut_off_anywhere_is_refused(two: Path) -> None:
    newest = files(two)[-1]
    whole = newest.read_bytes()
    for size in sorted(
        {0, 1, 15, 16, 17, *spots(newest).values(), len(whole) - 1, len(whole) - 8, len(whole) + 1}
    ):
        newest.write_bytes((whole + b"\0")[:size])
        assert told(two)[0].at == 1, size


def test_a_delta_upon_another_base_is_refused(two: Path, tmp_path: Path) -> None:
    anchor, delta = files(two)
    other = tmp_path / "other"
    save_here(other, 1, {"w": np.zeros(5000, "<u2"), "b": np.ones(3)})
    anchor.write_bytes(files(other)[0].read_bytes())
    found, said = told(two)
    assert (found.at, f"its base {anchor.name} is another than it was made from" in said[0]) == (1, True)
    anchor.unlink()
    with pytest.raises(state.NoStateError, match=f"its base {anchor.name} is missing"):
        told(two)
    assert delta.exists()


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Give a file another record, properly sealed."""
    with statefile.opened(str(path)) as one:
        record, data = one.record, bytes(one.data)
    change(record)
    text = json.dumps(record).encode()
    told_ = bytes.fromhex(coding.hasher(record["hash"])(text))
    path.write_bytes(
        data + text + statefile._TRAILER.pack(len(text), record["hash"].encode(), told_, statefile.END)
    )


def _first(record: dict[str, Any]) -> list[Any]:
    return record["tensors"][0]["blocks"][0]  # type: ignore[no-any-return]


EQUAL_TENSOR = {"name": "w", "dtype": "<u2", "shape": [5], "nbytes": 10, "width": 2, "blocks": [["equal"]]}
LIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "a newer version": lambda record: record.update(version=[2, 0]),
    "another format": lambda record: record.update(format="other"),
    "no sizes": lambda record: record["tensors"][0].update(nbytes=None),
    "a negative size": lambda record: record["tensors"][0].update(nbytes=-2),
    "an odd width": lambda record: record["tensors"][0].update(width=3),
    "a larger tensor": lambda record: record["tensors"][0].update(nbytes=20000),
    "more blocks": lambda record: record["tensors"][0]["blocks"].append(["equal"]),
    "no tensors": lambda record: record.update(tensors=[1]),
    "an unknown encoding": lambda record: _first(record).__setitem__(0, "magic"),
    "a block beyond the file": lambda record: _first(record).__setitem__(1, 1 << 40),
    "a block before the file": lambda record: _first(record).__setitem__(1, -1),
    "lengths that do not add up": lambda record: _first(record).__setitem__(2, [3]),
    "lengths that are none": lambda record: _first(record).__setitem__(2, ["x"]),
    "more changes than there are": lambda record: _first(record).__setitem__(3, 4000),
    "changes that are no number": lambda record: _first(record).__setitem__(3, "x"),
    "another hash": lambda record: _first(record).__setitem__(4, "00" * 32),
    "equal to nothing": lambda record: record.update(base=None, tensors=[EQUAL_TENSOR]),
    "an unknown codec": lambda record: record.update(codec="rar"),
    "a base that is none": lambda record: record.update(base="x"),
    "itself as its base": lambda record: record.update(base={"file": "000000000002-2.state", "id": "0"}),
}  # fmt: skip


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_record_that_lies_is_refused(two: Path, lie: str) -> None:
    rewritten(files(two)[-1], LIES[lie])
    assert told(two)[0].at == 1


def test_a_compressed_block_that_grows_without_end_is_refused() -> None:
    for codec in coding.CODECS:
        small = coding.compressor(codec)(bytes(10 << 20))
        with pytest.raises(state.StateError, match="block"):
            coding.decompressor(codec)(small, 1000)


STEPS = ("add", "commit", "fsync", "rename", "unlink")


def _dies_at(count: int, folder: Path, at: int, weights: Any, base: Any) -> int:
    """Save in a child that dies before its so many-th step; gives its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = [count]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return real(*args, **named)

        return call

    try:
        statefile.Writing.add = counted(statefile.Writing.add)  # type: ignore[method-assign]
        statefile.Writing.commit = counted(statefile.Writing.commit)  # type: ignore[method-assign]
        for name in ("fsync", "rename", "unlink"):
            setattr(os, name, counted(getattr(os, name)))
        save_here(folder, at, {"w": weights}, base, keep=1)
        os._exit(0)
    finally:
        os._exit(1)


def test_a_writer_that_dies_at_any_step_leaves_the_state_before_or_the_new_one(tmp_path: Path) -> None:
    weights = np.arange(9000, dtype="<u2")
    codes, found = [], []
    for count in range(40):
        folder = tmp_path / str(count)
        save_here(folder, 1, {"w": weights})
        now = weights ^ 1
        codes.append(_dies_at(count, folder, 2, now, None))
        back = state.load(str(folder))
        found.append(back.at)
        assert (back.tensors["w"] == (now if back.at == 2 else weights)).all()
        save_here(folder, 3, {"w": now}, keep=1)
        assert state.load(str(folder)).at == 3
        assert not list(folder.glob(".*.tmp"))
        if codes[-1] == 0:
            break
    assert codes[-1] == 0
    assert set(codes[:-1]) == {9}
    assert len(codes) >= 6
    assert found == sorted(found)
    assert found[0] == 1


def script(text: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a small program."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT / "runtime")},
        **options,
    )


def test_a_state_handed_over_is_written_though_the_training_is_killed(tmp_path: Path) -> None:
    ran = script(
        """
        import os, signal, sys
        import numpy as np
        from dsec.sdk import state
        saver = state.Saver(sys.argv[1])
        saver.save(5, {"w": np.arange(2000000)}, values={"cursor": 8})
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path,
    )
    assert ran.returncode == -signal.SIGKILL
    with open(
        tmp_path / ".lock", "a"
    ) as lock:  # it is gone when the lock can be had and nothing is half written
        import fcntl
        import time

        until = time.monotonic() + 30
        while not files(tmp_path) and time.monotonic() < until:
            time.sleep(0.01)
        fcntl.flock(lock, fcntl.LOCK_EX)
    found = state.load(str(tmp_path))
    assert (found.at, found.values["cursor"]) == (5, 8)


@pytest.mark.battery
def test_a_training_that_ends_waits_for_its_last_state(tmp_path: Path) -> None:
    ran = script(
        """
        import sys
        import numpy as np
        from dsec.sdk import state
        state.Saver(sys.argv[1]).save(5, {"w": np.arange(2000000)})
        """,
        tmp_path,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert state.load(str(tmp_path)).at == 5


def test_a_killed_writer_is_told_and_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = np.arange(1000)
    with state.Saver(tmp_path, keep=0) as saver:
        saver.save(0, {"w": weights}).wait()
        writer = saver._way._writer  # type: ignore[union-attr]
        os.kill(writer.pid, signal.SIGSTOP)  # type: ignore[union-attr]
        handle = saver.save(1, {"w": weights})
        with pytest.raises(TimeoutError, match="state 1 is still being written"):
            handle.wait(0.01)
        os.kill(writer.pid, signal.SIGKILL)  # type: ignore[union-attr]
        with pytest.raises(state.StateError, match="was ended before it had written this one"):
            handle.wait()
        result = saver.save(2, {"w": weights}).wait()
        assert result.anchor
    assert "state 1 was not saved: the process that writes states was ended" in capsys.readouterr().err
    assert [one.at for one in state.stored(str(tmp_path))] == [0, 2]


def test_a_killed_child_leaves_the_state_before_to_build_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.arange(1000)
    with state.Saver(tmp_path, copy="fork", keep=0) as saver:
        saver.save(0, {"w": weights}).wait()
        weights[3] = 0
        with monkeypatch.context() as patch:
            patch.setattr(forking, "write_state", lambda *_: signal.pause())
            handle = saver.save(1, {"w": weights})
            os.kill(saver._way._child, signal.SIGKILL)  # type: ignore[union-attr]
            with pytest.raises(state.StateError, match="was ended before it had written this one"):
                handle.wait()
        weights[4] = 0
        result = saver.save(2, {"w": weights}).wait()
    assert (result.anchor, result.components["w"].changed) == (False, 2)
    assert (state.load(str(tmp_path)).tensors["w"] == weights).all()


@pytest.mark.battery
@pytest.mark.parametrize("way", ["staging", "fork"])
def test_a_full_disk_is_told_and_leaves_what_was_there(tmp_path: Path, way: str) -> None:
    ran = script(
        """
        import resource, sys
        import numpy as np
        from dsec.sdk import state
        folder, way = sys.argv[1:]
        with state.Saver(folder, copy=way) as saver:
            weights = np.arange(1000)
            saver.prepare({"w": np.zeros(300000)})  # shared memory is a file, too
            writer = saver._way._writer.pid if way == "staging" else 0
            resource.prlimit(writer, resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
            saver.save(1, {"w": weights}, rng=False).wait()
            try:
                saver.save(2, {"w": np.random.default_rng(0).integers(0, 2**60, 300000)}, rng=False).wait()
            except state.StateError as problem:
                print(problem)
            weights[0] = 7
            print(saver.save(3, {"w": weights}, rng=False).wait().anchor)
        """,
        tmp_path,
        way,
    )
    assert ran.stdout == f"{tmp_path}: File too large\nFalse\n", ran.stderr
    assert "state 2 was not saved" in ran.stderr
    assert [one.at for one in state.stored(str(tmp_path))] == [1, 3]
    assert state.load(str(tmp_path)).tensors["w"][0] == 7
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wanted = pytest.raises(state.StateError, match=r"file/states: Not a directory|file: Not a directory")
    with state.Saver(tmp_path / "file" / "states") as saver, wanted:
        saver.save(0, {"w": np.ones(3)}).wait()
    with pytest.raises(state.NoStateError, match="there is no state in"):
        state.load(str(tmp_path))


def test_a_forked_child_does_not_end_its_parents_writer(tmp_path: Path) -> None:
    with state.Saver(tmp_path) as saver:
        saver.save(0, {"w": np.ones(3)}).wait()
        child = os.fork()
        if not child:
            saver.close()
            os._exit(0)
        os.waitpid(child, 0)
        saver.save(1, {"w": np.ones(3)}).wait()
    assert state.load(str(tmp_path)).at == 1


def test_states_are_listed_with_what_is_wrong(two: Path) -> None:
    files(two)[0].write_bytes(b"nothing")
    first, second = state.stored(str(two))
    assert (first.links, first.problem) == (None, "it has 7 bytes and was cut off")
    assert (second.tracked, second.problem) == (None, "it has 7 bytes and was cut off")
    assert state.prune(str(two), keep=1) == []
    assert len(files(two)) == 2
