"""The executor's side of the broker: which GPUs are this run's for the time being.

Alone on the machine a run asks once for all GPUs and keeps them, and then nothing here costs anything.
As soon as there are others it gives back whatever idles, keeps what is in use until that ends or is
called back, and asks for what its ready Steps lack. What it has is its own until it says otherwise,
whether the broker lives or not.
"""

from __future__ import annotations

import os
from functools import partial

from dsec.broker import messages, place
from dsec.broker.asked import members_of
from dsec.broker.reaching import REACH_S, Reaching
from dsec.core.brokerage import CRITICAL, ELASTIC, IDLE, PAUSEABLE, STAYS, Request
from dsec.devices.visible import GRANTED
from dsec.lacking import Lacking
from dsec.yielding import devices_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from dsec.loop import Loop
    from dsec.rundir import RunDir
    from dsec.runner import Runner

_REACHING, _GREETED, _JOINED, _APART = range(4)
_AGAIN_S = 30.0
"""How often a run that shares with nobody looks for a broker again."""
_PATIENCE_S = 0.1
"""For so long what is lacking is asked for before the run takes it from its own Steps or workers."""
_CHECK_S = 10.0
"""How often is looked whether the broker is well, and told who has what a Step waits for."""
_MOST_BARREN, _REST_S = 3, 1.0
"""After so many grants in a row that nothing was started on nothing is asked for, for so long."""
_QUIET_S = 25.0
"""A broker that has said nothing for so long, though it was asked, does not answer."""
_MOST_REPLACED = 3
"""So many brokers that do not answer are ended; with the next one the run goes on without."""


class Sharing:
    """One run among the others of this machine."""

    def __init__(self, run: RunDir, runner: Runner, *, environ: Mapping[bytes, bytes]) -> None:
        self._run = run
        self._runner = runner
        self._floor = runner.floor
        self._loop: Loop = self._floor.children.loop
        self._ledger = self._floor.ledger
        self._lacking = Lacking(runner, self._floor)
        self._reaching = Reaching(
            run, self._floor.children, environ=environ, found=self._greet, failed=self._go_apart
        )
        self._state = _REACHING
        self._sock: socket.socket | None = None
        self._closed = False
        self._replaced = 0
        """How many brokers did not answer."""
        self._known = {one.uuid for one in self._ledger.inventory.devices}
        self._held: set[str] = set()
        self._recalled: set[str] = set()
        """Of those held: to be given back as soon as nothing runs on them."""
        self._leaving: set[str] = set()
        """Of those recalled: resident workers leave them now."""
        self._staying: set[str] = set()
        """Of those recalled: resident workers stay on them a little longer."""
        self._others = 0
        """Runs that the devices are shared with."""
        self._grants = 0
        self._sent: object = None
        """What the last request was made from; None: the next one is to be sent in any case."""
        self._asked: Sequence[Request] = ()
        self._asked_s = self._heard_s = self._found_s = 0.0
        """When what is asked for now was, when the broker said something last, when it was found."""
        self._told = False
        """Whether it was told whose devices a Step waits for."""
        self._granted: set[str] = set()
        """What was granted since the last settling."""
        self._soon_recalled: set[str] = set()
        """Of what was granted since: called back already, once something was started on it."""
        self._barren = 0
        """Grants in a row that nothing was started on."""
        self._rests_until = 0.0
        """Nothing is asked for before: what was asked for did not help."""
        self._gave_way: set[tuple[int, int]] = set()
        """Instances that made room for another run: each does so once."""
        self._hear: dict[str, Callable[[dict[str, Any]], None]] = {
            "welcome": self._welcome,
            "company": self._company,
            "grant": self._grant,
            "recall": self._recall,
            "state": self._tell_holders,
            "refused": lambda told: self._go_apart(f"the broker refused it: {told.get('why', '')}"),
        }

    # Coming and going.

    def begin(self) -> None:
        """Look for the broker, or start one; until it answers no device is granted."""
        devices = self._ledger.usable()
        self._ledger.withhold(devices)
        self._floor.workers.called_back = self._leaving
        self._loop.at(self._loop.now() + _CHECK_S, self._check)
        if self._reaching.seek(devices):
            self._held.update(devices)
            self._ledger.allow(devices)

    def _greet(self, sock: socket.socket) -> None:
        try:
            sock.send(messages.hello(self._run.job, self._run.path, sorted(self._held)))
        except OSError:
            sock.close()
            self._reaching.seek_again(anew=False)
            return
        self._sock = sock
        if self._state != _APART:
            self._state = _GREETED
        self._found_s = self._heard_s = self._loop.now()
        self._loop.at(self._found_s + REACH_S, self._doubt)
        self._loop.watch(sock.fileno(), self._readable)

    def _doubt(self) -> None:
        """Who has not answered by now will not."""
        if self._sock is not None and self._state != _JOINED and self._loop.now() >= self._found_s + REACH_S:
            self._replace()

    def _replace(self) -> None:
        """End a broker that does not answer: another one takes over what it had granted."""
        folder = self._reaching.folder
        self._replaced += 1
        if self._replaced > _MOST_REPLACED or not (pid := place.end(folder)):
            self._go_apart(f"the broker (process {place.holder(folder)}) does not answer")
            return
        self._notice(f"the broker (process {pid}) did not answer and was ended: another one takes over")
        self._lost(anew=True)

    def _go_apart(self, why: str) -> None:
        """Share with nobody until a broker is found."""
        self._hang_up()
        first = self._state != _APART
        self._state = _APART
        self._loop.at(self._loop.now() + _AGAIN_S, self._look_again)
        if first:
            self._forget_recalled(())
            self._ledger.allow(self._ledger.usable())
            self._floor.starter.forget()
            self._notice(f"this run does not share its GPUs with the other runs of this machine: {why}")

    def _look_again(self) -> None:
        if self._state == _APART and not self._closed:
            self._held = self._ledger.in_use()
            self._reaching.seek()

    def _hang_up(self) -> None:
        if self._sock is not None:
            self._loop.unwatch(self._sock.fileno())
            self._sock.close()
            self._sock = None

    def _lost(self, *, anew: bool = False) -> None:
        """The broker is gone; another one is looked for, and what is held stays so."""
        self._hang_up()
        if self._state == _APART:
            self._loop.at(self._loop.now() + _AGAIN_S, self._look_again)
            return
        anew, self._state = anew or self._state == _JOINED, _REACHING
        self._asked = ()
        self._reaching.seek_again(anew=anew)

    def close(self, *, clean: bool) -> None:
        """The run is over; `clean`: nothing of it is left, so that its devices are free at once."""
        self._closed = True
        self._reaching.stop(clean=clean)
        if self._sock is not None and clean:
            self._send(messages.pack({"say": "bye"}))
        self._hang_up()

    # What the run does.

    @property
    def helps_itself(self) -> bool:
        """Whether what a Step lacks is to be taken from this run's own Steps and workers."""
        if self._state == _APART or (not self._others and self._has_all):
            return True
        return bool(self._asked) and self._loop.now() - self._asked_s >= _PATIENCE_S

    @property
    def _has_all(self) -> bool:
        return self._held.issuperset(self._ledger.usable())

    def settle(self) -> bool:
        """Give back and ask, now that all was started that could; whether something is still to come."""
        if self._state == _APART:
            return False
        if self._state != _JOINED:
            return self._lacking.any_gpus
        if self._soon_recalled:
            self._withdraw(self._soon_recalled & self._held)
            self._soon_recalled.clear()
        if not self._others and not self._recalled and self._has_all:
            self._granted.clear()
            return False
        if self._recalled:
            self._send_workers_away()
        idle = (self._held if self._others else self._recalled) - self._ledger.in_use()
        if self._granted:
            self._count_barren(barren=self._granted <= idle)
        if self._others:
            self._ask(sorted(idle))
        else:
            self._ask_for_all(sorted(idle))
        return (bool(self._asked) or self._rests_until > self._loop.now()) and self._lacking.any_gpus

    def _send_workers_away(self) -> None:
        """From what was called back, unless they have only just loaded what they serve."""
        for device in self._recalled - self._leaving - self._staying:
            stays_s = self._floor.workers.stays_s(device)
            if stays_s > 0:
                self._staying.add(device)
                self._loop.at(self._loop.now() + stays_s, partial(self._stayed, device))
            else:
                self._leaving.add(device)
        for device in self._leaving:
            self._floor.workers.leave(device)

    def _forget_recalled(self, but: Iterable[str]) -> None:
        for devices in (self._recalled, self._leaving, self._staying):
            devices.intersection_update(but)

    def _stayed(self, device: str) -> None:
        self._staying.discard(device)
        self._floor.starter.forget()

    def _count_barren(self, *, barren: bool) -> None:
        """A grant that nothing could be started on is odd; one after another would go round in circles."""
        self._granted.clear()
        self._barren = self._barren + 1 if barren else 0
        if self._barren >= _MOST_BARREN:
            self._barren, self._rests_until = 0, self._loop.now() + _REST_S
            self._loop.at(self._rests_until, self._floor.starter.forget)

    def _ask(self, back: Sequence[str]) -> None:
        now = self._loop.now()
        sign = (*self._lacking.sign(), now // _CHECK_S, now < self._rests_until)
        if sign == self._sent and not back:
            return
        rests = now < self._rests_until
        requests = [] if rests else self._lacking.requests(self._floor.recorder.at_us())
        self._say_now(back, requests)
        self._sent = sign

    def _ask_for_all(self, back: Sequence[str]) -> None:
        missing = tuple(one for one in self._ledger.usable() if one not in self._held or one in back)
        if back or missing != self._sent:
            self._say_now(back, [Request(len(missing), (missing,), 0, 0)] if missing else [])
            self._sent = missing

    def _say_now(self, back: Sequence[str], requests: Sequence[Request]) -> None:
        self._held.difference_update(back)
        self._forget_recalled(self._recalled.difference(back))
        self._ledger.withhold(back)
        if requests and not self._asked:
            self._asked_s, self._told = self._loop.now(), False
            self._loop.at(self._asked_s + _PATIENCE_S, self._floor.starter.forget)
        self._asked = requests
        self._send(messages.now(self._grants, back, requests, self._soft(), self._costs()))

    def _soft(self) -> list[str]:
        """Devices on which nothing runs that would lose more than the time of another start."""
        found: set[str] = set()
        for one in self._floor.running:
            if one.step.level == "discardable" and (one.at, one.iteration) not in self._gave_way:
                found.update(one.lease.devices)
        return sorted(found)

    def _costs(self) -> list[tuple[str, int, int]]:
        """What giving back each device that it holds would cost: of what runs on it, the dearest counts."""
        found = dict.fromkeys(self._held, (IDLE, 0))
        now_us = self._floor.recorder.at_us()
        if not self._others:
            return []
        yielding = self._runner.yields()
        for one in self._floor.running:
            level = yielding.level(one)
            if level != CRITICAL and (one.at, one.iteration) in self._gave_way:
                level = STAYS  # it makes room once
            saves = level in (ELASTIC, PAUSEABLE)
            cost_ms = one.step.grace_ms if saves else max(0, now_us - one.began_us) // 1000
            for device in devices_of(one):
                found[device] = max(found.get(device, (IDLE, 0)), (level, cost_ms))
        return [(device, *cost) for device, cost in sorted(found.items())]

    def stand_still(self) -> None:
        """Ask for nothing: the run is about to be stopped for a while."""
        if self._state == _JOINED:
            self._asked, self._sent = (), None
            self._send(messages.now(self._grants, (), (), ()))

    # What the broker says.

    def _send(self, packet: bytes) -> None:
        if self._sock is not None:
            try:
                self._sock.send(packet)
            except OSError:
                return  # it is gone, which is heard when its end of the socket is read

    def _readable(self) -> None:
        while (sock := self._sock) is not None:
            try:
                packet = sock.recv(messages.MOST_BYTES + 1)
            except BlockingIOError:
                return
            except OSError:
                packet = b""
            if not packet:
                self._lost()
                return
            self._heard_s = self._loop.now()
            told = messages.told(packet)
            if told is not None and told["tell"] in self._hear:
                self._hear[told["tell"]](told)

    def _welcome(self, told: dict[str, Any]) -> None:
        if self._state == _APART:
            if more := self._ledger.in_use() - self._held:  # begun since the hello
                self._held |= more
                self._send(messages.hello(self._run.job, self._run.path, sorted(self._held)))
                return
            self._notice("this run shares its GPUs with the other runs of this machine again")
            self._ledger.withhold(one for one in self._ledger.usable() if one not in self._held)
        self._state, self._others = _JOINED, int(told["others"])
        self._grants, self._asked, self._sent = 0, (), None
        self._soon_recalled.clear()
        self._granted.clear()
        self._ledger.allow(self._held)  # what another broker had called back, this one has not
        self._forget_recalled(())
        self._floor.starter.forget()

    def _company(self, told: dict[str, Any]) -> None:
        self._others, self._sent = int(told["others"]), None

    def _grant(self, told: dict[str, Any]) -> None:
        devices = self._known.intersection(told["devices"])
        self._granted |= devices
        self._grants += 1
        self._held |= devices
        self._asked, self._sent = (), None
        self._ledger.allow(devices)
        self._floor.starter.forget()

    def _recall(self, told: dict[str, Any]) -> None:
        devices = self._held.intersection(told["devices"])
        # A grant that is called back before anything could start on it would be for nothing.
        self._soon_recalled |= devices & self._granted
        self._withdraw(devices - self._granted)
        self._sent = None
        self._floor.starter.forget()
        if told["urgent"]:
            self._leaving |= devices - self._soon_recalled
            from dsec.makingroom import make_room  # few runs are ever asked to

            self._gave_way |= make_room(self._runner, devices, spared=self._gave_way)

    def _withdraw(self, devices: set[str]) -> None:
        """Nothing more starts on these."""
        self._recalled |= devices
        self._ledger.withhold(devices)

    def _check(self) -> None:
        """Now and then: is the broker well, and how long has something been waited for."""
        if self._closed:
            return
        now = self._loop.now()
        self._loop.at(now + _CHECK_S, self._check)
        if self._state != _JOINED or not self._asked:
            return
        if now - self._heard_s > _QUIET_S:
            self._replace()
        elif now - self._asked_s >= _CHECK_S and not self._told:
            self._send(messages.pack({"say": "ask"}))
        elif now - self._heard_s >= _CHECK_S:
            self._send(messages.pack({"say": "ping"}))

    def _tell_holders(self, told: dict[str, Any]) -> None:
        others = [one for one in members_of(told) if one.path != self._run.path and one.devices]
        if not others or not self._asked or self._told:
            return
        self._told = True
        names = ", ".join(f"{one.job} ({len(one.devices)})" for one in others)
        self._notice(f"it waits for {self._asked[0].many} GPUs; other runs have some: {names}")

    def _notice(self, detail: str) -> None:
        if self._runner.attention is not None:
            self._runner.attention.notice("sharing", detail)


def wanted(environ: Mapping[bytes, bytes]) -> bool:
    """Whether GPUs are to be shared; a run that a Step started has those that the Step was granted."""
    return os.fsdecode(environ.get(place.OFF, b"")).lower() != "off" and not environ.get(GRANTED.encode())
