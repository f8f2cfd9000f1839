"""Who gets which device of a machine that several runs share: a decision, with the time as argument.

Every run has an account of the device time that it held, a hungry one's grows more slowly; who comes
anew, or back after wanting nothing, begins at the lowest account of those that are there, so that
nothing can be saved up. The run with the lowest account is served first. Where its first request does
not fit, what is free of it is kept for it, and devices are called back from runs whose accounts are not
lower; so many small requests cannot starve a large one. A request is granted as a whole or not at all,
so that nobody holds devices while it waits for others.

A request that must not wait (its Step is critical, or has been hungry for long) changes nothing about
whose turn it is; what it calls back is asked to make room now, as far as its own level allows.
"""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

IDLE_US = 5_000_000
"""Who neither holds nor wants a device for so long has left; less lies between two Steps of a run."""

GRANT_US = 10_000
"""Charged for each device that is granted: what is held for no time is not for nothing, either."""


class Request(Record):
    """What one Step waits for: any `many` devices of one of the sets, of the first that has them."""

    many: int
    sets: tuple[tuple[str, ...], ...]
    since_us: int
    hunger: int
    """In thousandths."""
    urgent: bool = False
    """It must not wait: who has what it needs is asked to make room."""


IDLE, DISCARDABLE, ELASTIC, PAUSEABLE, STAYS, CRITICAL = range(6)
"""What runs on a device that is to be given back: the lower is asked first.

Nothing; what is thrown away; what saves its state, elastic or pauseable; what cannot and stays until it
ends; what is critical and stays.
"""


class Grant(Record):
    """The run may use these devices from now on."""

    run: str
    devices: tuple[str, ...]


class Recall(Record):
    """The run is to use these no longer once what runs on them has ended, and give them back."""

    run: str
    devices: tuple[str, ...]
    urgent: bool = False
    """What runs on them is to make room now, where its level lets it."""


class _Account:
    """What the broker knows of one run."""

    __slots__ = (
        "costs",
        "held",
        "idle_us",
        "is_gone",
        "pressed",
        "recalled",
        "requests",
        "serial",
        "soft",
        "used_us",
    )

    def __init__(self, serial: int, used_us: int) -> None:
        self.serial = serial
        self.used_us = used_us
        self.idle_us = 0
        """For how long it has neither held nor wanted anything."""
        self.held: set[str] = set()
        self.recalled: set[str] = set()
        """Of those held: called back already."""
        self.pressed: set[str] = set()
        """Of those: called back by what must not wait."""
        self.soft: frozenset[str] = frozenset()
        """What runs on these says that it can make room at once."""
        self.costs: dict[str, tuple[int, int]] = {}
        """By device the level (`IDLE` to `CRITICAL`) and the cost of giving it back, as the run said."""
        self.is_gone = False
        """It hears nothing any more; what it holds comes back by itself."""
        self.requests: tuple[Request, ...] = ()

    @property
    def is_active(self) -> bool:
        return bool(self.held or self.requests)

    def pass_time(self, passed_us: int) -> None:
        self.idle_us = 0 if self.is_active else self.idle_us + passed_us
        hunger = max((one.hunger for one in self.requests), default=0)
        self.used_us += passed_us * len(self.held) * 1000 // (1000 + hunger)


class Brokerage:
    """The devices of one machine, and the runs that hold them or want them."""

    def __init__(self, now_us: int = 0) -> None:
        self._now_us = now_us
        self._accounts: dict[str, _Account] = {}
        self._holders: dict[str, int] = {}
        """How many runs hold the device; more than one only where they said so themselves."""
        self._serial = 0

    def join(self, run: str, held: Iterable[str], now_us: int, *, used_us: int | None = None) -> None:
        """A run is there, and holds these devices already: another broker granted them.

        `used_us`: its account there; None: it has none.
        """
        self._pass(now_us)
        if run in self._accounts:
            raise AssertionError(f"run {run} is here twice")
        self._serial += 1
        account = _Account(self._serial, self._lowest() if used_us is None else used_us)
        self._accounts[run] = account
        for device in sorted(set(held)):
            account.held.add(device)
            self._holders[device] = self._holders.get(device, 0) + 1

    def gone(self, run: str, now_us: int) -> None:
        """A run hears nothing any more, and its processes may still use what it holds."""
        self._pass(now_us)
        account = self._accounts[run]
        account.is_gone, account.requests = True, ()

    def leave(self, run: str, now_us: int) -> None:
        """A run is gone, and all its processes with it."""
        self._pass(now_us)
        account = self._accounts.pop(run)
        for device in account.held:
            self._let_go(device)

    def want(
        self,
        run: str,
        requests: Sequence[Request],
        now_us: int,
        *,
        soft: Iterable[str] = (),
        costs: Iterable[tuple[str, int, int]] = (),
    ) -> None:
        """What the run waits for now, the most urgent first, in place of what it wanted before.

        A request for more devices than it lists is left out: it would keep them from others for ever.
        `soft`: devices on which runs what can make room at once. `costs`: of what it holds, device by device,
        the level and the cost of giving it back.
        """
        self._pass(now_us)
        account = self._accounts[run]
        if account.idle_us >= IDLE_US:
            account.used_us = max(account.used_us, self._lowest())
            account.idle_us = 0
        account.soft = frozenset(soft)
        account.costs = {device: (level, cost) for device, level, cost in costs}
        account.requests = tuple(made for one in requests if (made := _possible(one)) is not None)

    def give_back(self, run: str, devices: Iterable[str], now_us: int) -> None:
        """The run uses these no longer; what it does not hold is nothing to it."""
        self._pass(now_us)
        account = self._accounts[run]
        for device in set(devices) & account.held:
            account.held.remove(device)
            account.recalled.discard(device)
            account.pressed.discard(device)
            self._let_go(device)

    def holders(self, device: str) -> tuple[str, ...]:
        """The runs that hold it."""
        return tuple(run for run, account in self._accounts.items() if device in account.held)

    def held(self, run: str) -> tuple[str, ...]:
        """What the run holds, by name."""
        return tuple(sorted(self._accounts[run].held))

    def requests(self, run: str) -> tuple[Request, ...]:
        """What the run waits for."""
        return self._accounts[run].requests

    def used_us(self, run: str) -> int:
        """The run's account."""
        return self._accounts[run].used_us

    def decide(self, now_us: int) -> list[Grant | Recall]:
        """What can be granted now, and what has to be asked for; what is granted is held from now on."""
        self._pass(now_us)
        decisions: list[Grant | Recall] = []
        kept: set[str] = set()
        blocked: set[str] = set()
        """Runs that wait for devices: what comes after the first request that does not fit waits, too."""
        while (run := self._next(blocked)) is not None:
            request = self._accounts[run].requests[0]
            target, free = self._nearest(request, kept)
            if len(free) >= request.many:
                decisions.append(self._grant(run, free[: request.many]))
                continue
            blocked.add(run)
            kept.update(free)
            decisions += self._call_back(run, target, request.many - len(free), kept)
        return decisions

    def _nearest(self, request: Request, kept: set[str]) -> tuple[tuple[str, ...], list[str]]:
        """The first set with enough free devices, else that with most free or coming; its free ones."""
        best: tuple[int, tuple[str, ...], list[str]] = (-1, (), [])
        for devices in request.sets:
            free = [one for one in devices if one not in self._holders and one not in kept]
            if len(free) >= request.many:
                return devices, free
            coming = sum(one not in kept and self._comes(one) for one in devices)
            if len(free) + coming > best[0]:
                best = (len(free) + coming, devices, free)
        return best[1], best[2]

    def _comes(self, device: str) -> bool:
        """Whether somebody holds it that was asked for it, or is gone."""
        return any(
            device in one.held and (one.is_gone or device in one.recalled) for one in self._accounts.values()
        )

    def _next(self, blocked: set[str]) -> str | None:
        """Whose turn it is."""
        waiting = [
            (account.used_us, account.requests[0].since_us, account.serial, run)
            for run, account in self._accounts.items()
            if account.requests and run not in blocked
        ]
        return min(waiting)[-1] if waiting else None

    def _grant(self, run: str, devices: list[str]) -> Grant:
        account = self._accounts[run]
        account.requests = account.requests[1:]
        account.used_us += GRANT_US * len(devices)
        account.held.update(devices)
        for device in devices:
            self._holders[device] = 1
        return Grant(run, tuple(devices))

    def _call_back(self, run: str, target: tuple[str, ...], missing: int, kept: set[str]) -> list[Recall]:
        """Ask for what is missing where giving it back costs least; what was called back comes anyhow.

        First by level, then by cost, then those who had the most.
        """
        mine, urgent = self._accounts[run].used_us, self._accounts[run].requests[0].urgent
        others = sorted(
            (-account.used_us, account.serial, name)
            for name, account in self._accounts.items()
            if name != run and (account.used_us >= mine or account.is_gone)
        )
        offers = sorted(
            (_order(self._accounts[name], device, urgent=urgent), rank, at, name, device)
            for rank, (_, _, name) in enumerate(others)
            for at, device in enumerate(target)
            if device in self._accounts[name].held and device not in kept
        )
        asked: dict[str, list[str]] = {}
        for _, _, _, name, device in offers[:missing]:
            kept.add(device)
            readiness = _readiness(self._accounts[name], device, urgent=urgent)
            if readiness in (_SOFT, _HELD) or (urgent and readiness == _COMING):
                asked.setdefault(name, []).append(device)
                self._accounts[name].recalled.add(device)
                if urgent:
                    self._accounts[name].pressed.add(device)
        return [Recall(name, tuple(devices), urgent) for name, devices in asked.items()]

    def _lowest(self) -> int:
        """Where the account of a run begins that was not there, or wanted nothing."""
        return min((one.used_us for one in self._accounts.values() if one.is_active), default=0)

    def _let_go(self, device: str) -> None:
        self._holders[device] -= 1
        if not self._holders[device]:
            del self._holders[device]

    def _pass(self, now_us: int) -> None:
        """Charge what was held since the last look; a clock that went back charges nothing."""
        passed = now_us - self._now_us
        self._now_us = max(now_us, self._now_us)
        if passed > 0:
            for account in self._accounts.values():
                account.pass_time(passed)


_PRESSED, _SOFT, _COMING, _HELD = range(4)
"""How soon a device that another run holds can be had."""


def _readiness(account: _Account, device: str, *, urgent: bool) -> int:
    if device in account.pressed or account.is_gone:
        return _PRESSED
    if urgent and device in account.soft:
        return _SOFT
    return _COMING if device in account.recalled else _HELD


def _order(account: _Account, device: str, *, urgent: bool) -> tuple[int, int, int, int]:
    """What is asked first: what comes anyhow; for what must not wait, by level and cost before all else."""
    readiness = _readiness(account, device, urgent=urgent)
    level, cost = account.costs.get(device, (DISCARDABLE if urgent and device in account.soft else STAYS, 0))
    if readiness == _PRESSED or not urgent:
        return readiness, level, cost, 0
    return _SOFT, level, cost, readiness


def _possible(request: Request) -> Request | None:
    """The request without sets that are too small; None: none is left."""
    many, sets, *rest = request
    enough = tuple([one for one in map(_once, sets) if 0 < many <= len(one)])
    return Request._make((many, enough, *rest)) if enough else None


def _once(devices: tuple[str, ...]) -> tuple[str, ...]:
    return devices if len(set(devices)) == len(devices) else tuple(dict.fromkeys(devices))
