"""Who gets which device of a machine that several runs share: a decision, with the time as argument.

Every run has an account of the device time that it held, a hungry one's grows more slowly; who comes
anew, or back after wanting nothing, begins at the lowest account of those that are there, so that
nothing can be saved up. The run with the lowest account is served first. Where its first request does
not fit, what is free of it is kept for it, and devices are called back from runs whose accounts are not
lower; so many small requests cannot starve a large one. A request is granted as a whole or not at all,
so that nobody holds devices while it waits for others.
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
    """What one Step waits for: any `many` devices of those listed."""

    many: int
    among: tuple[str, ...]
    since_us: int
    hunger: int
    """In thousandths."""


class Grant(Record):
    """The run may use these devices from now on."""

    run: str
    devices: tuple[str, ...]


class Recall(Record):
    """The run is to use these no longer once what runs on them has ended, and give them back."""

    run: str
    devices: tuple[str, ...]


class _Account:
    """What the broker knows of one run."""

    __slots__ = ("held", "idle_us", "recalled", "requests", "serial", "used_us")

    def __init__(self, serial: int, used_us: int) -> None:
        self.serial = serial
        self.used_us = used_us
        self.idle_us = 0
        """For how long it has neither held nor wanted anything."""
        self.held: set[str] = set()
        self.recalled: set[str] = set()
        """Of those held: called back already."""
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

    def join(self, run: str, held: Iterable[str], now_us: int) -> None:
        """A run is there, and holds these devices already: another broker granted them."""
        self._pass(now_us)
        if run in self._accounts:
            raise AssertionError(f"run {run} is here twice")
        self._serial += 1
        account = self._accounts[run] = _Account(self._serial, self._lowest())
        for device in sorted(set(held)):
            account.held.add(device)
            self._holders[device] = self._holders.get(device, 0) + 1

    def leave(self, run: str, now_us: int) -> None:
        """A run is gone, and all its processes with it."""
        self._pass(now_us)
        account = self._accounts.pop(run)
        for device in account.held:
            self._let_go(device)

    def want(self, run: str, requests: Sequence[Request], now_us: int) -> None:
        """What the run waits for now, the most urgent first, in place of what it wanted before.

        A request for more devices than it lists is left out: it would keep them from others for ever.
        """
        self._pass(now_us)
        account = self._accounts[run]
        if account.idle_us >= IDLE_US:
            account.used_us = max(account.used_us, self._lowest())
            account.idle_us = 0
        account.requests = tuple(one for one in requests if 0 < one.many <= len(set(one.among)))

    def give_back(self, run: str, devices: Iterable[str], now_us: int) -> None:
        """The run uses these no longer; what it does not hold is nothing to it."""
        self._pass(now_us)
        account = self._accounts[run]
        for device in set(devices) & account.held:
            account.held.remove(device)
            account.recalled.discard(device)
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
            account = self._accounts[run]
            request = account.requests[0]
            free = [one for one in request.among if one not in self._holders and one not in kept]
            if len(free) >= request.many:
                decisions.append(self._grant(run, free[: request.many]))
                continue
            blocked.add(run)
            kept.update(free)
            decisions += self._call_back(run, request, request.many - len(free), kept)
        return decisions

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

    def _call_back(self, run: str, request: Request, many: int, kept: set[str]) -> list[Recall]:
        """Ask those who had the most for what is missing; what was called back already comes anyhow."""
        mine = self._accounts[run]
        found: list[Recall] = []
        others = [
            (-account.used_us, account.serial, name)
            for name, account in self._accounts.items()
            if name != run and account.used_us >= mine.used_us
        ]
        coming = [
            device
            for _, _, name in sorted(others)
            for device in request.among
            if device in self._accounts[name].recalled and device not in kept
        ][:many]
        kept.update(coming)
        many -= len(coming)
        for _, _, name in sorted(others):
            account = self._accounts[name]
            named = [one for one in request.among if one in account.held - account.recalled][:many]
            if named:
                account.recalled.update(named)
                kept.update(named)
                many -= len(named)
                found.append(Recall(name, tuple(named)))
        return found

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
