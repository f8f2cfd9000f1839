"""The executor's side of sharing, word by word: the test plays the broker."""

from __future__ import annotations

import json
import os
import socket
import time
from types import SimpleNamespace

import pytest

from dsec.broker import place
from dsec.core.leases import Ledger
from dsec.inventory import Device, Inventory
from dsec.loop import Loop
from dsec.plan import Demand
from dsec.sharing import Sharing

NAMES = tuple(f"g{at}" for at in range(4))
BOX = Inventory(
    "nvml",
    8000,
    None,
    None,
    None,
    tuple(Device(name, at, "", "", None, None, None, None, (), 1000, "ok") for at, name in enumerate(NAMES)),
    (),
)


class Queue:
    """Steps of one GPU each that are ready: a scheduler and a starter of few words."""

    any_dropped = False

    def __init__(self) -> None:
        self.waiting = 0

    def ready(self):
        return [0] if self.waiting else []

    def bucket(self, _):
        return [0] * self.waiting

    def locate(self, _):
        return 0, 0

    def asks(self, _):
        return 1

    def forget(self):
        return


class Played:
    """A run that shares, and a broker that says what the test tells it to."""

    def __init__(self, folder) -> None:
        environ = {b"XDG_RUNTIME_DIR": os.fsencode(folder)}
        self.elected = place.elect(place.folder(environ))
        assert self.elected is not None
        self.listener = socket.socket(fileno=self.elected.listener)
        self.loop, self.ledger, self.queue = Loop(sockets=True), Ledger(BOX), Queue()
        self.left: list[str] = []
        self.notices: list[str] = []
        self.stays_s = 0.0
        step = SimpleNamespace(
            demand=Demand(0, 0, 1, 0, (), 0, 0),
            command=SimpleNamespace(call=""),
            level="pauseable",
            placement=SimpleNamespace(devices=()),
            needs=(),
        )
        floor = SimpleNamespace(
            children=SimpleNamespace(loop=self.loop),
            ledger=self.ledger,
            scheduler=self.queue,
            starter=self.queue,
            workers=SimpleNamespace(leave=self.left.append, called_back=(), stays_s=lambda _: self.stays_s),
            recorder=SimpleNamespace(at_us=lambda: 0),
            running={},
            steps=(step,),
        )
        attention = SimpleNamespace(notice=lambda _, detail: self.notices.append(detail))
        yields = SimpleNamespace(floor=floor)
        runner = SimpleNamespace(floor=floor, yielding=None, attention=attention, yields=lambda: yields)
        self.sharing = Sharing(SimpleNamespace(job="j", path="/runs/j"), runner, environ=environ)  # type: ignore[arg-type]
        self.sharing.begin()
        self.sock = self.listener.accept()[0]
        self.sock.settimeout(10)
        assert self.heard()["say"] == "hello"

    def heard(self):
        return json.loads(self.sock.recv(65536))

    def say(self, *told: dict[str, object]) -> None:
        """All of it arrives before the run does anything about it."""
        for one in told:
            self.sock.send(json.dumps(one).encode())
        self.loop.step(time.monotonic() + 5)

    def close(self) -> None:
        self.sharing.close(clean=True)
        self.sock.close()
        self.listener.close()
        os.close(self.elected.lock)
        self.loop.close()


@pytest.fixture
def played(tmp_path):
    made = Played(tmp_path)
    yield made
    made.close()


def test_nothing_is_had_before_the_broker_has_answered(played):
    played.queue.waiting = 1
    assert played.ledger.grant(Demand(0, 0, 1, 0, (), 0, 0)) is None
    assert played.sharing.settle(), "the run does not end meanwhile"
    played.queue.waiting = 0
    assert not played.sharing.settle()


def test_alone_it_asks_for_all_and_then_for_nothing_more(played):
    played.queue.waiting = 1
    played.say({"tell": "welcome", "others": 0})
    assert played.sharing.settle()
    asked = played.heard()
    assert (asked["want"][0][0], asked["sets"]) == (4, [list(NAMES)])
    played.say({"tell": "grant", "devices": list(NAMES)})
    assert not played.sharing.settle()
    assert played.sharing.helps_itself
    assert played.ledger.grant(Demand(0, 0, 4, 0, (), 0, 0)) is not None


def test_in_company_it_gives_back_what_idles_and_asks_for_what_it_lacks(played):
    played.say({"tell": "welcome", "others": 0})
    played.sharing.settle()
    played.heard()
    played.say({"tell": "grant", "devices": list(NAMES)})
    lease = played.ledger.grant(Demand(0, 0, 1, 0, (), 0, 0))
    played.say({"tell": "company", "others": 1})
    assert not played.sharing.settle()
    now = played.heard()
    assert (now["back"], now["want"], now["seen"]) == (["g1", "g2", "g3"], [], 1)
    played.queue.waiting = 2
    assert played.sharing.settle()
    assert [one[0] for one in played.heard()["want"]] == [1, 1]
    assert not played.sharing.helps_itself, "it waits a moment before it takes from its own"
    assert lease is not None


def test_what_is_called_back_starts_nothing_more_and_goes_when_it_idles(played):
    played.say({"tell": "welcome", "others": 1})
    played.say({"tell": "grant", "devices": ["g0"]})
    lease = played.ledger.grant(Demand(0, 0, 1, 0, (), 0, 0))
    assert lease is not None
    played.sharing.settle()
    played.heard()
    played.say({"tell": "recall", "devices": ["g0", "g3"], "urgent": False})
    played.queue.waiting = 1
    played.sharing.settle()
    assert played.left == ["g0"], "idle workers leave it; what it does not hold it cannot give back"
    assert played.heard()["back"] == []
    played.ledger.release(lease)
    assert played.ledger.grant(Demand(0, 0, 1, 0, (), 0, 0)) is None
    played.sharing.settle()
    assert played.heard()["back"] == ["g0"]


def test_a_worker_that_has_only_just_loaded_what_it_serves_stays_a_little(played):
    played.stays_s = 0.2
    played.say({"tell": "welcome", "others": 1})
    played.say({"tell": "grant", "devices": ["g0", "g1"]})
    assert played.ledger.grant(Demand(0, 0, 2, 0, (), 0, 0)) is not None
    played.sharing.settle()
    played.say({"tell": "recall", "devices": ["g0"], "urgent": False})
    played.sharing.settle()
    assert played.left == []
    played.stays_s = 0.0
    until = time.monotonic() + 10
    while not played.left and time.monotonic() < until:
        played.loop.step(until)
        played.sharing.settle()
    assert played.left == ["g0"]
    played.stays_s = 100.0
    played.say({"tell": "recall", "devices": ["g1"], "urgent": True})
    played.sharing.settle()
    assert "g1" in played.left, "what must not wait does not wait for that"


def test_what_is_called_back_with_its_grant_starts_something_first(played):
    played.queue.waiting = 1
    played.say({"tell": "welcome", "others": 1})
    played.sharing.settle()
    played.heard()
    played.say({"tell": "grant", "devices": ["g0"]}, {"tell": "recall", "devices": ["g0"], "urgent": False})
    lease = played.ledger.grant(Demand(0, 0, 1, 0, (), 0, 0))
    assert lease is not None
    played.queue.waiting = 0
    played.sharing.settle()
    assert played.heard()["back"] == []
    played.ledger.release(lease)
    played.sharing.settle()
    assert played.heard()["back"] == ["g0"]


def test_grants_that_nothing_starts_on_do_not_go_round_in_circles(played):
    played.queue.waiting = 1
    played.say({"tell": "welcome", "others": 1})
    asked = []
    for _ in range(4):
        assert played.sharing.settle(), "the run does not end for it"
        asked.append(len(played.heard()["want"]))
        played.say({"tell": "grant", "devices": ["g0"]})
    assert asked == [1, 1, 1, 0]


def test_a_broker_that_hangs_up_costs_nothing_that_is_held(played):
    played.say({"tell": "welcome", "others": 1})
    played.say({"tell": "grant", "devices": ["g2"]})
    assert played.ledger.grant(Demand(0, 0, 1, 0, (), 0, 0)) is not None
    played.sock.close()
    played.loop.step(time.monotonic() + 5)
    played.loop.step(time.monotonic() + 5)
    played.sock = played.listener.accept()[0]
    assert played.heard()["held"] == ["g2"]
    assert not played.notices


def test_a_broker_that_refuses_leaves_the_run_all_gpus(played):
    played.say({"tell": "refused", "why": "it speaks form 9"})
    assert played.notices == [
        "this run does not share its GPUs with the other runs of this machine: the broker refused it: "
        "it speaks form 9"
    ]
    assert played.ledger.grant(Demand(0, 0, 4, 0, (), 0, 0)) is not None
    assert not played.sharing.settle()


def test_words_that_nobody_knows_are_passed_over(played):
    played.sock.send(b"\xff{")
    played.sock.send(b"[]")
    odd = (
        {"tell": "tale"},
        {"say": "x"},
        {"tell": "grant"},
        {"tell": "recall", "devices": 7, "urgent": True},
    )
    played.say({"tell": "welcome", "others": 1}, *odd, {"tell": "state", "runs": [3]})
    assert played.sharing.settle() is False
    assert played.heard()["seen"] == 0
    played.say({"tell": "grant", "devices": ["g0", "nobody's"]})
    assert played.sharing.settle() is False
    assert played.heard()["back"] == ["g0"]
