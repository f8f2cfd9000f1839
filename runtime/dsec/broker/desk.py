"""Who is there, what they say, and what they are told: the broker without its sockets and its clock.

A run that goes without a word keeps what it holds until `cleared` says that nothing of it is left.
"""

from __future__ import annotations

from dsec.broker.messages import Ask, Bye, Hello, Now, Ping
from dsec.core.brokerage import Brokerage, Grant, Request
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from dsec.broker.messages import Message

    Answer: TypeAlias = tuple[int, dict[str, object]]
    """For which connection, and what."""


_SHOWN = 4
"""Of the requests of a run: all of them of many runs would not fit into a packet."""


class Who(Record):
    """A run, as the broker knows it."""

    job: str
    path: str
    pid: int
    ticks: int
    """Start time of its executor: with the pid, unique until the next boot."""


class Lease(Record):
    """What a run holds, as it is kept for the next broker."""

    who: Who
    devices: tuple[str, ...]
    used_us: int


class _Client:
    __slots__ = ("connection", "grants", "told", "who")

    def __init__(self, who: Who, connection: int | None) -> None:
        self.who = who
        self.connection = connection
        """None: it is gone, or has not come to this broker yet."""
        self.grants = 0
        self.told = -1
        """How many others there are, as it was told last."""


class Desk:
    """One broker."""

    def __init__(self, now_us: int, *, mute_until_us: int = 0) -> None:
        """`mute_until_us`: nothing is granted before: runs of an earlier broker may still come back."""
        self._brokerage = Brokerage(now_us)
        self._clients: dict[str, _Client] = {}
        """By the run's folder."""
        self._paths: dict[int, str] = {}
        """By connection."""
        self._mute_until_us = mute_until_us
        self.changed = False
        """Whether somebody holds more than the leases that were kept last say."""

    def restore(self, leases: Iterable[Lease], now_us: int) -> None:
        """Take over what another broker had granted; who holds it is to come back."""
        for one in leases:
            self._clients[one.who.path] = _Client(one.who, None)
            self._brokerage.join(one.who.path, one.devices, now_us, used_us=one.used_us)
            self._brokerage.gone(one.who.path, now_us)

    def leases(self) -> list[Lease]:
        """What is held, by run."""
        return [
            Lease(one.who, self._brokerage.held(path), self._brokerage.used_us(path))
            for path, one in self._clients.items()
        ]

    @property
    def is_empty(self) -> bool:
        """Whether no run is known."""
        return not self._clients

    @property
    def any_waiting(self) -> bool:
        """Whether a run lacks something."""
        return any(self._brokerage.requests(path) for path in self._clients)

    def gone(self) -> list[Who]:
        """Runs without a connection."""
        return [one.who for one in self._clients.values() if one.connection is None]

    def hear(self, connection: int, message: Message, now_us: int, *, who: Who | None = None) -> list[Answer]:
        """What is to be answered, and to whom; `who`: the sender of a hello."""
        if isinstance(message, Ask):
            return [(connection, self.state(now_us))]
        if isinstance(message, Ping):
            return [(connection, {"tell": "pong"})]
        if isinstance(message, Hello):
            if who is None:
                raise AssertionError("a hello without a sender")
            return self._welcome(connection, message, who, now_us)
        path = self._paths.get(connection)
        if path is None:
            return [(connection, _refused("it did not say hello"))]
        if isinstance(message, Bye):
            self._leave(path, now_us)
        elif isinstance(message, Now):
            self._heed(path, message, now_us)
        return self.tick(now_us)

    def tick(self, now_us: int) -> list[Answer]:
        """What can be granted by now, and what has to be asked for."""
        answers = self._company()
        if now_us < self._mute_until_us:
            return answers
        for decision in self._brokerage.decide(now_us):
            client = self._clients[decision.run]
            told: dict[str, object]
            if isinstance(decision, Grant):
                self.changed = True
                client.grants += 1
                told = {"tell": "grant", "devices": list(decision.devices)}
            else:
                told = {"tell": "recall", "devices": list(decision.devices), "urgent": decision.urgent}
            if client.connection is not None:
                answers.append((client.connection, told))
        return answers

    def lost(self, connection: int, now_us: int) -> list[Answer]:
        """A connection ended; its run keeps what it holds."""
        path = self._paths.pop(connection, None)
        if path is None:
            return []
        self._clients[path].connection = None
        self._brokerage.gone(path, now_us)
        return self.tick(now_us)

    def cleared(self, path: str, now_us: int) -> list[Answer]:
        """Nothing is left of a run that was gone."""
        self._leave(path, now_us)
        return self.tick(now_us)

    def state(self, now_us: int) -> dict[str, object]:
        """Who is there, who has what, and who waits for how many since when."""
        runs = [
            {
                **one.who._asdict(),
                "connected": one.connection is not None,
                "devices": list(self._brokerage.held(path)),
                "waiting": [
                    {"gpus": each.many, "waited_us": max(0, now_us - each.since_us), "urgent": each.urgent}
                    for each in self._brokerage.requests(path)[:_SHOWN]
                ],
                "used_us": self._brokerage.used_us(path),
            }
            for path, one in self._clients.items()
        ]
        return {"tell": "state", "runs": runs}

    def _welcome(self, connection: int, message: Hello, who: Who, now_us: int) -> list[Answer]:
        known = self._clients.get(who.path)
        used_us: int | None = None
        if known is not None:
            if known.connection is not None and known.who != who:
                return [(connection, _refused(f"process {known.who.pid} carries the run out"))]
            # The same executor, whose earlier connection or broker ended; or the one that resumed
            # the run, which has ended whatever the earlier one left before it came here.
            used_us = self._brokerage.used_us(who.path)
            self._leave(who.path, now_us)
        self._clients[who.path] = _Client(who, connection)
        self._paths[connection] = who.path
        self._brokerage.join(who.path, message.held, now_us, used_us=used_us)
        self.changed = True
        others = self._clients[who.path].told = len(self._clients) - 1
        return [(connection, {"tell": "welcome", "others": others}), *self.tick(now_us)]

    def _heed(self, path: str, message: Now, now_us: int) -> None:
        self._brokerage.give_back(path, message.back, now_us)
        if message.seen == self._clients[path].grants:
            requests = [
                Request._make((many, sets, now_us - waited_us, *rest))
                for many, sets, waited_us, *rest in message.requests
            ]
            self._brokerage.want(path, requests, now_us, soft=message.soft, costs=message.costs)

    def _leave(self, path: str, now_us: int) -> None:
        client = self._clients.pop(path)
        if client.connection is not None:
            self._paths.pop(client.connection, None)
        self._brokerage.leave(path, now_us)
        self.changed = True

    def _company(self) -> list[Answer]:
        """Tell everybody how many others there are, where that is news."""
        others = len(self._clients) - 1
        answers: list[Answer] = []
        for one in self._clients.values():
            if one.connection is not None and one.told != others:
                one.told = others
                answers.append((one.connection, {"tell": "company", "others": others}))
        return answers


def _refused(why: str) -> dict[str, object]:
    return {"tell": "refused", "why": why}
