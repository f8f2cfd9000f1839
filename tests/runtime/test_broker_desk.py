"""The broker without its process: what is said and answered, and what a run is granted."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dsec.broker import messages
from dsec.broker.desk import Desk, Lease, Who
from dsec.broker.messages import Ask, Bye, Hello, Now, Ping
from dsec.core.brokerage import Request

GPUS = ("g0", "g1", "g2", "g3")
SECOND = 1_000_000


def who(name: str, pid: int = 100) -> Who:
    return Who(name, f"/runs/{name}", pid, 7)


def want(many: int, among: tuple[str, ...] = GPUS, *, urgent: bool = False) -> Request:
    return Request(many, (among,), 0, 0, urgent)


class Table:
    """A desk, and runs that say things to it."""

    def __init__(self, *names: str, **options: int) -> None:
        self.desk = Desk(0, **options)
        self.now = 0
        self.at = {name: at for at, name in enumerate(names)}
        self.seen = dict.fromkeys(names, 0)
        self.heard: list[tuple[str, dict[str, object]]] = []
        for name in names:
            self.hello(name)

    def hello(self, name: str, *held: str, pid: int = 100) -> None:
        self.seen[name] = 0
        message = Hello(name, f"/runs/{name}", held)
        self._heard(self.desk.hear(self.at[name], message, self.now, who=who(name, pid)))

    def say(self, name: str, message: object) -> None:
        self._heard(self.desk.hear(self.at[name], message, self.now))  # type: ignore[arg-type]

    def ask(
        self, name: str, *requests: Request, back: tuple[str, ...] = (), soft: tuple[str, ...] = ()
    ) -> None:
        self.say(name, Now(self.seen[name], back, requests, soft))

    def lose(self, name: str) -> None:
        self._heard(self.desk.lost(self.at[name], self.now))

    def _heard(self, answers) -> None:
        names = {at: name for name, at in self.at.items()}
        for connection, told in answers:
            json.loads(messages.pack(told))
            self.heard.append((names[connection], told))
            if told["tell"] == "grant":
                self.seen[names[connection]] += 1

    def grants(self) -> list[tuple[str, list[str]]]:
        """What was granted since this was asked last."""
        found = [(name, told["devices"]) for name, told in self.heard if told["tell"] == "grant"]
        self.heard = [one for one in self.heard if one[1]["tell"] != "grant"]
        return found

    def last(self, name: str) -> dict[str, object]:
        return [told for whose, told in self.heard if whose == name][-1]


def test_everybody_is_told_how_many_others_there_are():
    table = Table("a", "b")
    assert table.heard == [
        ("a", {"tell": "welcome", "others": 0}),
        ("b", {"tell": "welcome", "others": 1}),
        ("a", {"tell": "company", "others": 1}),
    ]
    table.say("a", Bye())
    assert table.last("b") == {"tell": "company", "others": 0}


def test_what_was_written_before_a_grant_arrived_is_no_further_wish():
    table = Table("a", "b")
    table.ask("a", want(1))
    table.seen["a"] = 0  # as if it had written again before the grant reached it
    table.ask("a", want(1))
    assert table.grants() == [("a", ["g0"])]
    table.seen["a"] = 1
    table.ask("a", want(1))
    assert table.grants() == [("a", ["g1"])]


def test_a_run_that_is_lost_keeps_what_it_holds_until_it_is_cleared():
    table = Table("a", "b")
    table.ask("a", want(4))
    table.lose("a")
    table.ask("b", want(1))
    assert table.grants() == [("a", list(GPUS))]
    assert [one.path for one in table.desk.gone()] == ["/runs/a"]
    table._heard(table.desk.cleared("/runs/a", 0))
    assert table.grants() == [("b", ["g0"])]
    assert table.last("b") == {"tell": "company", "others": 0}


def test_who_comes_back_holds_what_it_says_and_no_more():
    table = Table("a", "b")
    table.ask("a", want(3))
    table.lose("a")
    table.hello("a", "g1")
    table.ask("b", want(3))
    assert table.grants() == [("a", ["g0", "g1", "g2"]), ("b", ["g0", "g2", "g3"])]


def test_who_resumes_a_run_takes_the_place_of_its_dead_executor():
    table = Table("a")
    table.ask("a", want(4))
    table.lose("a")
    table.hello("a", pid=101)
    table.ask("a", want(4))
    assert table.grants() == [("a", list(GPUS)), ("a", list(GPUS))]


def test_two_processes_cannot_carry_one_run_out():
    table = Table("a")
    table.at["again"] = 7
    answers = table.desk.hear(7, Hello("a", "/runs/a", ()), 0, who=who("a", 101))
    assert answers == [(7, {"tell": "refused", "why": "process 100 carries the run out"})]


def test_leases_of_another_broker_are_held_for_who_had_them():
    desk = Desk(0)
    desk.restore([Lease(who("a"), ("g0", "g1"), 5 * SECOND)], 0)
    assert [one.job for one in desk.gone()] == ["a"]
    desk.hear(2, Hello("b", "/runs/b", ()), 0, who=who("b"))
    assert not [told for _, told in desk.hear(2, Now(0, (), (want(3),), ()), 0) if told["tell"] == "grant"]
    answers = desk.hear(1, Hello("a", "/runs/a", ("g0",)), 0, who=who("a"))
    assert (2, {"tell": "grant", "devices": ["g1", "g2", "g3"]}) in answers
    held = {one.who.job: one.devices for one in desk.leases()}
    assert held == {"a": ("g0",), "b": ("g1", "g2", "g3")}
    assert next(one.used_us for one in desk.leases() if one.who.job == "a") == 5 * SECOND


def test_nothing_is_granted_while_runs_of_an_earlier_broker_may_come_back():
    table = Table("b", mute_until_us=SECOND)
    table.ask("b", want(1))
    assert table.grants() == []
    table.at["a"] = 1
    table.hello("a", "g0")
    table._heard(table.desk.tick(SECOND))
    assert table.grants() == [("b", ["g1"])]


def test_what_must_not_wait_presses_what_can_make_room_first():
    table = Table("a", "b")
    table.ask("a", want(2))
    table.ask("a", want(2), soft=("g1",))
    table.ask("a", soft=("g1",))
    table.ask("b", want(1, urgent=True))
    assert table.last("a") == {"tell": "recall", "devices": ["g1"], "urgent": True}


def test_what_must_not_wait_waits_for_its_turn_all_the_same():
    table = Table("a", "b")
    table.ask("b", want(2))
    table.ask("a", want(2))
    table.now = 10 * SECOND
    table.ask("b", back=("g0",))
    table.now = 30 * SECOND
    table.heard.clear()
    table.ask("a", want(2, urgent=True), soft=())
    assert not [told for name, told in table.heard if name == "b" and told["tell"] == "recall"]


def test_its_state_names_runs_devices_and_waits():
    table = Table("a", "b")
    table.ask("a", want(4))
    table.ask("b", want(2, urgent=True))
    table.now = 3 * SECOND
    table.say("b", Ask())
    runs = {one["job"]: one for one in table.last("b")["runs"]}
    assert runs["a"]["devices"] == list(GPUS)
    assert runs["b"]["waiting"] == [{"gpus": 2, "waited_us": 3 * SECOND, "urgent": True}]
    table.say("b", Ping())
    assert table.last("b") == {"tell": "pong"}


def test_who_did_not_say_hello_is_refused():
    assert Desk(0).hear(1, Now(0, (), (), ()), 0) == [(1, {"tell": "refused", "why": "it did not say hello"})]


_ACTS = st.lists(
    st.tuples(
        st.sampled_from(("hello", "lost", "cleared", "want", "back", "bye", "crash")),
        st.sampled_from("abc"),
        st.integers(1, 4),
        st.integers(0, 2 * SECOND),
    ),
    max_size=60,
)


class Fleet:
    """Runs as they really are: what each may use now, whatever the broker believes."""

    def __init__(self) -> None:
        self.table = Table()
        self.table.at = {name: at for at, name in enumerate("abc")}
        self.uses: dict[str, set[str]] = {}
        self.joined: set[str] = set()
        self.dead: set[str] = set()

    def act(self, act: str, name: str, many: int) -> None:
        table = self.table
        if act == "hello" and name not in self.joined and name not in self.dead:
            self.uses.setdefault(name, set())
            table.hello(name, *sorted(self.uses[name]))
            self.joined.add(name)
        elif act == "lost" and name in self.joined:
            table.lose(name)
            self.joined.remove(name)
            self.dead.add(name)
        elif act == "cleared" and name in self.dead:
            self.dead.remove(name)
            self.uses.pop(name)
            table._heard(table.desk.cleared(f"/runs/{name}", table.now))
        elif act == "want" and name in self.joined:
            table.ask(name, want(many), want(1))
        elif act == "back" and name in self.joined:
            back = sorted(self.uses[name])[:many]
            self.uses[name] -= set(back)
            table.ask(name, back=tuple(back))
        elif act == "bye" and name in self.joined:
            self.uses.pop(name)
            self.joined.remove(name)
            table.say(name, Bye())
        elif act == "crash":
            leases = table.desk.leases()
            table.desk = Desk(table.now)
            table.desk.restore(leases, table.now)
            self.joined.clear()
        for name, devices in table.grants():
            assert not self.uses[name] & set(devices)
            self.uses[name] |= set(devices)


@given(_ACTS)
def test_no_device_is_used_by_two_whatever_dies_in_whatever_order(acts):
    fleet = Fleet()
    for act, name, many, passed in acts:
        fleet.table.now += passed
        fleet.act(act, name, many)
        used = [device for devices in fleet.uses.values() for device in devices]
        assert len(used) == len(set(used)), fleet.uses
        kept = {device for lease in fleet.table.desk.leases() for device in lease.devices}
        assert kept >= set(used), "what is in use is in the leases that the next broker reads"
