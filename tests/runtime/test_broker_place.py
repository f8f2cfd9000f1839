"""The broker's folder, its packets and its file of leases; who becomes broker, and who needs none."""

from __future__ import annotations

import json
import os
import socket
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.broker import asked, firstcome, leftovers, messages, place, register
from dsec.broker.desk import Lease, Who
from dsec.broker.messages import Now
from dsec.broker.reaching import Reaching
from dsec.core.brokerage import Request
from dsec.inventory import Device, Inventory
from dsec.sweep import boot_id, look

GPUS = ("g0", "g1", "g2", "g3")

_NAMES = st.text(max_size=12)
_REQUESTS = st.lists(
    st.builds(
        Request,
        st.integers(1, 8),
        st.lists(st.lists(_NAMES, min_size=1, max_size=4).map(tuple), min_size=1, max_size=3).map(tuple),
        st.integers(0, 10**12),
        st.integers(0, 1000),
        st.booleans(),
    ),
    max_size=40,
)


@pytest.mark.battery
@given(st.integers(0, 10**6), st.lists(_NAMES), _REQUESTS, st.lists(_NAMES))
def test_what_is_packed_is_read(seen, back, requests, soft):
    read = messages.read(messages.now(seen, back, requests, soft))
    assert read == Now(seen, tuple(back), tuple(requests[: messages.MOST_REQUESTS]), tuple(soft))


def test_a_message_is_cut_to_what_a_packet_takes():
    devices = tuple(f"{at}-{'x' * 400}" for at in range(64))
    requests = [Request(1, (devices[at:] + devices[:at],), 0, 0) for at in range(32)]
    packet = messages.now(0, (), requests, ())
    assert len(packet) <= messages.MOST_BYTES
    assert isinstance(read := messages.read(packet), Now)
    assert 0 < len(read.requests) < 32


@given(
    st.binary(max_size=60)
    | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists).map(
        lambda value: json.dumps(
            {"say": "now", "seen": value, "back": value, "sets": value, "want": value, "soft": value}
        ).encode()
    )
)
def test_any_packet_is_read_or_refused(packet):
    assert isinstance(messages.read(packet), (str, Now))


def who(name: str, pid: int = 100) -> Who:
    return Who(name, f"/runs/{name}", pid, 7)


def test_leases_are_read_as_they_were_written(tmp_path):
    path = str(tmp_path / "leases.json")
    leases = [Lease(who("a"), ("g0", "g1"), 5), Lease(who("b"), (), 0)]
    register.save(path, leases, boot=boot_id())
    assert register.load(path) == leases
    assert os.listdir(tmp_path) == ["leases.json"]
    register.save(path, leases, boot="another")
    assert register.load(path) == [], "pids of another boot mean nothing"
    for text in (
        "",
        "{",
        "[]",
        '{"format":"dsec.leases/9"}',
        '{"format":"dsec.leases/1","boot":1,"runs":[{}]}',
    ):
        (tmp_path / "leases.json").write_text(text)
        assert register.load(path) in (None, [])
    register.forget(path)
    assert register.load(path) is None


def test_one_is_elected_and_the_next_when_it_is_gone(tmp_path):
    folder = place.folder({b"XDG_RUNTIME_DIR": os.fsencode(tmp_path)})
    assert place.connect(folder) is None
    first = place.elect(folder)
    assert first is not None
    assert place.elect(folder) is None
    sock = place.connect(folder)
    assert sock is not None
    with sock:
        assert place.peer(sock)[:2] == (os.getpid(), os.getuid())
    for fd in first:
        os.close(fd)
    assert place.connect(folder) is None, "a socket on which nobody listens"
    second = place.elect(folder)
    assert second is not None
    for fd in second:
        os.close(fd)


def test_a_folder_with_a_long_name_will_do(tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    folder = place.folder({b"XDG_RUNTIME_DIR": os.fsencode(deep)})
    elected = place.elect(folder)
    assert elected is not None
    sock = place.connect(folder)
    assert isinstance(sock, socket.socket)
    sock.close()
    for fd in elected:
        os.close(fd)


def test_the_folder_is_the_users_alone_and_simulated_boxes_have_their_own(tmp_path):
    environ = {b"XDG_RUNTIME_DIR": os.fsencode(tmp_path)}
    real = place.folder(environ)
    os.chmod(real, 0o755)
    assert os.stat(place.folder(environ)).st_mode & 0o777 == 0o700
    boxes = {place.named({**environ, b"SIM_GPU_SCENARIO": name}) for name in (b"/a", b"/b", b"/a")}
    assert len({real, *boxes}) == 3
    place.tidy(real)
    assert os.path.isdir(real), "that of a real box stays"


def test_who_is_first_has_all_at_once_and_only_then(tmp_path):
    folder = place.folder({b"XDG_RUNTIME_DIR": os.fsencode(tmp_path)})
    elected = place.elect(folder)
    assert elected is not None
    run = SimpleNamespace(job="j", path="/runs/j")
    assert firstcome.first(run, folder, elected, GPUS)
    (lease,) = register.load(f"{folder}/leases.json") or ()
    assert (lease.who.job, lease.who.pid, lease.devices) == ("j", os.getpid(), GPUS)
    assert not firstcome.first(run, folder, elected, GPUS), "somebody has them"
    os.unlink(f"{folder}/leases.json")
    os.pwrite(elected.lock, b"1\n", 0)
    assert not firstcome.first(run, folder, elected, GPUS), "a broker was there, and its leases are lost"
    for fd in elected:
        os.close(fd)


class Clock:
    """A loop whose time stands still, and what is due on it."""

    def __init__(self) -> None:
        self.due: list[tuple[float, object]] = []

    def now(self) -> float:
        return 100.0

    def at(self, when: float, call: object) -> None:
        self.due.append((when, call))


def test_who_is_first_starts_the_broker_a_moment_later_or_never(tmp_path):
    clock, told = Clock(), []
    environ = {b"XDG_RUNTIME_DIR": os.fsencode(tmp_path)}
    reaching = Reaching(
        SimpleNamespace(job="j", path="/runs/j"),
        SimpleNamespace(loop=clock),
        environ=environ,
        found=told.append,
        failed=told.append,
    )
    assert reaching.seek(GPUS), "all are its own at once"
    assert [when for when, _ in clock.due] == [100.25]
    folder = place.folder(environ)
    assert place.elect(folder) is None
    sock = place.connect(folder)
    assert isinstance(sock, socket.socket), "others can come already"
    sock.close()
    reaching.stop(clean=True)
    assert told == []
    assert register.load(f"{folder}/leases.json") == []
    assert place.holder(folder) == 0
    for fd in place.elect(folder) or pytest.fail("the lock is free again"):
        os.close(fd)


def test_leftovers_are_gone_only_when_nothing_was_found_three_times(tmp_path):
    me = look(os.getpid())
    assert me is not None
    alive = leftovers.Leftovers(Who("j", str(tmp_path), me.pid, me.ticks), 0.0)
    assert [alive.look(at) for at in range(6)] == [False] * 6
    gone = leftovers.Leftovers(Who("j", str(tmp_path), me.pid, me.ticks - 1), 0.0)
    assert [gone.look(at) for at in range(3)] == [False, False, True]


def test_what_other_runs_hold_is_not_taken_for_lost(monkeypatch):
    device = Device("g0", 0, "", "", 100, 40, None, None, (), 1000, "ok")
    inventory = Inventory("nvml", 1000, None, None, None, (device, device._replace(uuid="g1")), ())
    member = asked.Member("j", "/runs/j", 1, True, ("g0",), (), 0)
    monkeypatch.setattr(asked, "members", lambda _: [member])
    assert [one.free_bytes for one in asked.without_others(inventory).devices] == [None, 40]
    idle = inventory._replace(devices=(device._replace(free_bytes=100),))
    monkeypatch.setattr(asked, "members", lambda _: pytest.fail("nobody is asked about an idle machine"))
    assert asked.without_others(idle) == idle
