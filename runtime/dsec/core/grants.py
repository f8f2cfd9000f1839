"""What a machine grants next, in numbers: the rules of the ledger without its objects.

A plan is tried out some hundred times, and each time every Step is granted its devices. What cannot
change while that goes on is worked out once: which devices can meet a demand at all, and up to what is
held of them; which of the devices that are free belong together. Who is asked is `placement` and
`groups`, so that plans are tried out on exactly the machine that the runtime will hand out.
"""

from __future__ import annotations

from math import gcd

from dsec.core.groups import NVLINK, sizes, together
from dsec.core.placement import best_speed, slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dsec.core.placement import Slot
    from dsec.inventory import Inventory
    from dsec.plan import Demand

_ALL = 2**62
"""Held of a device that one holder has whole."""
_UNKNOWN = 2**63
"""Left of a device whose memory is not known: it fits worst."""
_MOST_KNOWN, _OF_MANY = 50_000, 5_000
"""Answers remembered at once; beyond it all are forgotten and asked anew. The second is for graphs so large
that an answer is asked for again at once or never."""
_MANY = 20_000
"""Steps of such a graph."""

State = tuple[int, ...]
"""Per device what is held of it, in a unit of the `Grants`, or all; then what is left of each token."""


class Group:
    """The devices of one grant."""

    __slots__ = ("at", "speed", "uuids")

    def __init__(self, at: tuple[int, ...], uuids: tuple[str, ...], speed: int) -> None:
        self.at = at
        self.uuids = uuids
        self.speed = speed
        """Of the slowest of them, in thousandths."""


Answer = tuple[State, Group]
NOT_ASKED: Answer = ((), Group((), (), 0))
"""Stands for an answer that is not known, as None says that nothing is granted."""

Pools = dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, ...]]
"""By the devices that are free, and those of them that are idle."""


class _Kind:
    """What demands ask of devices and tokens that differ in nothing else."""

    __slots__ = ("by_speed", "count", "demand", "fit", "holds", "most", "pools", "quick", "rooms", "tokens")

    def __init__(self, demand: Demand, table: Sequence[Slot], tokens: dict[str, int], grain: int) -> None:
        self.demand = demand
        self.count = demand.gpu_count
        self.holds = [0] * len(table)
        """Per device, what is held of it once it is granted."""
        self.most = [-1] * len(table)
        """Per device, what may be held of it before; -1: it will not do."""
        for at, slot in enumerate(table):
            if slot.free_for(demand):
                slot.take(demand)
                alone, room = slot.whole, slot.capacity or 0
                slot.give_back(demand.gpu_memory_bytes)
                self.holds[at] = _ALL if alone else demand.gpu_memory_bytes // grain
                self.most[at] = 0 if alone else (room - demand.gpu_memory_bytes) // grain
        self.rooms = [(at, most) for at, most in enumerate(self.most) if most >= 0]
        speeds = sorted({table[at].device.speed for at, _ in self.rooms}, reverse=True)
        self.by_speed = [[one for one in self.rooms if table[one[0]].device.speed == each] for each in speeds]
        """The same by speed, the quickest first."""
        taken = demand.terms.tokens if demand.terms is not None else ()
        self.tokens = [(tokens[name], amount) for name, amount in taken]
        """Where in a state each token is, and how many of it are taken."""
        self.fit: dict[State, Answer | None] = {}
        self.quick: dict[State, Answer | None] = {}
        self.pools: tuple[Pools, Pools] = {}, {}
        """Of devices that are free those that belong together best; then the same of the quickest."""


class Grants:
    """Grants of an inventory's devices to a few different demands, named by their number."""

    def __init__(self, inventory: Inventory, demands: Sequence[Demand], *, steps: int = 0) -> None:
        """`steps`: how many there are that have these demands."""
        table = self._slots = slots(inventory)
        self._most_known = _OF_MANY if steps >= _MANY else _MOST_KNOWN
        there = inventory.tokens or ()
        tokens = {name: len(table) + at for at, (name, _) in enumerate(there)}
        # Sizes in the largest unit of which all are multiples: small numbers take half the time.
        grain = gcd(*(slot.capacity or 0 for slot in table), *(one.gpu_memory_bytes for one in demands)) or 1
        kinds = {one: _Kind(one, table, tokens, grain) for one in dict.fromkeys(map(_of_devices, demands))}
        self._kinds = [kinds[_of_devices(demand)] for demand in demands]
        self.empty: State = (*(0 for _ in table), *(amount for _, amount in there))
        numbers = {kind: at for at, kind in enumerate(kinds.values())}
        self.kinds = [numbers[kind] if kind.count or kind.tokens else -1 for kind in self._kinds]
        """Per demand, a number that those share that are granted alike; -1: there is nothing to grant."""
        speeds = {kind: best_speed(kind.demand, table) if kind.count else 0 for kind in kinds.values()}
        self.best_speeds = [speeds[kind] for kind in self._kinds]
        """Per demand, the speed of the quickest devices that can meet it; 0: there are none."""
        self.mixed = len({slot.device.speed for slot in table}) > 1
        """Whether it matters for how long which device is taken."""
        self._foreign = [slot.foreign for slot in table]
        self._busy = [slot.crowded for slot in table]
        self._crowded = any(self._foreign) or any(self._busy)
        """Whether other processes hold some of the devices."""
        self._capacities = [_UNKNOWN if slot.capacity is None else slot.capacity // grain for slot in table]
        self._worths = [slot.worth for slot in table]
        self._groups: dict[tuple[int, ...], Group] = {}
        self._broken: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        self._first: dict[tuple[tuple[int, ...], int], tuple[int, ...]] = {}
        """Of idle devices those that are given away first, as many as are wanted."""
        self._known = 0

    def grant(self, state: State, number: int, *, quick: bool) -> Answer | None:
        """The devices that demand `number` gets in `state`, and the state afterwards; None: not now."""
        kind = self._kinds[number]
        answer = (kind.quick if quick else kind.fit).get(state, NOT_ASKED)
        return self.ask(state, number, quick=quick) if answer is NOT_ASKED else answer

    def ask(self, state: State, number: int, *, quick: bool) -> Answer | None:
        """The same, not looked up but found out and remembered."""
        kind = self._kinds[number]
        if self._known >= self._most_known:
            self._forget()
        self._known += 1
        chosen = self._chosen(state, kind, quick=quick)
        answer = None
        if chosen is not None:
            answer = _held(state, kind, chosen), self._groups.get(chosen) or self._group(chosen)
        (kind.quick if quick else kind.fit)[state] = answer
        return answer

    def answers(self, *, quick: bool) -> list[dict[State, Answer | None]]:
        """Per demand, what is known of `grant` already."""
        return [kind.quick if quick else kind.fit for kind in self._kinds]

    def release(self, state: State, number: int, group: Group) -> State:
        """The state once demand `number` has given its devices back."""
        kind, after = self._kinds[number], list(state)
        holds = kind.holds
        for at in group.at:
            after[at] -= holds[at]
        if kind.tokens:
            for at, amount in kind.tokens:
                after[at] += amount
        return tuple(after)

    def release_all(self, state: State, held: Iterable[tuple[int, Group]]) -> State:
        """The same for several."""
        after = list(state)
        for number, group in held:
            kind = self._kinds[number]
            holds = kind.holds
            for at in group.at:
                after[at] -= holds[at]
            for at, amount in kind.tokens:
                after[at] += amount
        return tuple(after)

    def take(self, state: State, number: int, group: Group) -> State | None:
        """The state once demand `number` holds these very devices; None: they are not free for it."""
        kind = self._kinds[number]
        for at in group.at:
            if state[at] > kind.most[at]:
                return None
        for at, amount in kind.tokens:
            if state[at] < amount:
                return None
        return _held(state, kind, group.at)

    def shared(self, state: State, group: Group) -> int:
        """How many of its devices others use in `state`."""
        return sum(1 for at in group.at if state[at] or self._busy[at])

    def _chosen(self, state: State, kind: _Kind, *, quick: bool) -> tuple[int, ...] | None:
        """What `placement.choose` would."""
        if kind.tokens and any(state[at] < amount for at, amount in kind.tokens):
            return None
        count = kind.count
        if count == 1 and not self._crowded:
            return self._single(state, kind.by_speed if quick else (kind.rooms,))
        free = tuple([at for at, most in kind.rooms if state[at] <= most])
        if len(free) < count or not count:
            return None if count else ()
        busy = self._busy
        pool = self._pool(kind, free, tuple([at for at in free if not (state[at] or busy[at])]), quick)
        if len(pool) <= count:
            return pool or None
        idle = tuple([at for at in pool if not state[at]])
        if self._crowded:
            foreign, broken, capacities = self._foreign, self._broken_by(idle), self._capacities
            fits = [(capacities[at] - state[at],) if state[at] else self._worths[at] for at in pool]
            best = [
                (busy[at] or state[at] > 0, foreign[at], state[at] > 0, fit, broken[at], at)
                for at, fit in zip(pool, fits, strict=True)
            ]
            return tuple(sorted([one[-1] for one in sorted(best)[:count]]))
        return self._of_pool(state, pool, idle, count)

    def _of_pool(
        self, state: State, pool: tuple[int, ...], idle: tuple[int, ...], count: int
    ) -> tuple[int, ...]:
        """Of devices without others' processes: idle ones, then the fullest; so many of them, ascending."""
        if len(idle) >= count:
            case = idle, count
            found = self._first.get(case)
            if found is None:
                broken, worths = self._broken_by(idle), self._worths
                order = sorted(idle, key=lambda at: (worths[at], broken[at], at))
                found = self._first[case] = tuple(sorted(order[:count]))
            return found
        broken, capacities = self._broken_by(idle), self._capacities
        held = sorted([(capacities[at] - state[at], broken[at], at) for at in pool if state[at]])
        return tuple(sorted([*idle, *[at for _, _, at in held[: count - len(idle)]]]))

    def _single(self, state: State, choices: Iterable[Sequence[tuple[int, int]]]) -> tuple[int, ...] | None:
        """The same for one device: an idle one of the first choice that has any, else the fullest."""
        capacities = self._capacities
        shared = -1
        for rooms in choices:
            idle, fullest, least = [], -1, _UNKNOWN
            for at, most in rooms:
                held = state[at]
                if not held:
                    idle.append(at)
                elif held <= most and capacities[at] - held < least:
                    fullest, least = at, capacities[at] - held
            if idle:
                case = tuple(idle), 1
                return self._first.get(case) or self._of_pool(state, (), *case)
            if shared < 0:
                shared = fullest
        return None if shared < 0 else (shared,)

    def _pool(
        self, kind: _Kind, free: tuple[int, ...], idle: tuple[int, ...], quick: bool
    ) -> tuple[int, ...]:
        """Devices of which any so many will do: idle ones only, where there are enough that go together."""
        pools = kind.pools[quick]
        enough = len(idle) >= kind.count
        for case in ((idle, idle), (free, idle)) if enough and idle != free else ((free, idle),):
            pool = pools.get(case)
            if pool is None:
                pool = pools[case] = self._joined(kind, quick, *case)
            if pool:
                return pool
        return ()

    def _joined(
        self, kind: _Kind, quick: bool, free: tuple[int, ...], idle: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Of the free devices those that belong together best; none when they must and do not."""
        table, count = self._slots, kind.count
        if count > 1:
            at = {slot.device.uuid: place for place, slot in enumerate(table)}
            taken = {table[one] for one in set(free) - set(idle)}
            found = together(
                [table[one] for one in free], count, kind.demand.terms, quickest=quick, taken=taken
            )
            return tuple([at[slot.device.uuid] for slot in found or ()])
        if not quick:
            return free
        best = max(table[at].device.speed for at in free)
        return tuple([at for at in free if table[at].device.speed == best])

    def _broken_by(self, idle: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Per device, how many of each group it is in are idle."""
        found = self._broken.get(idle)
        if found is None:
            crowd = sizes([self._slots[at] for at in idle])
            found = self._broken[idle] = [
                tuple([crowd.get(group, 0) for group in slot.islands[NVLINK:]]) for slot in self._slots
            ]
        return found

    def _group(self, at: tuple[int, ...]) -> Group:
        devices = [self._slots[one].device for one in at]
        uuids = tuple(device.uuid for device in devices)
        group = self._groups[at] = Group(at, uuids, min((device.speed for device in devices), default=0))
        return group

    def _forget(self) -> None:
        for kind in self._kinds:
            kind.fit.clear()
            kind.quick.clear()
            for pools in kind.pools:
                if len(pools) > _MOST_KNOWN:
                    pools.clear()
        for found in (self._broken, self._first):
            if len(found) > _MOST_KNOWN:
                found.clear()
        self._known = 0


def _held(state: State, kind: _Kind, chosen: tuple[int, ...]) -> State:
    after, holds = list(state), kind.holds
    for at in chosen:
        after[at] += holds[at]
    if kind.tokens:
        for at, amount in kind.tokens:
            after[at] -= amount
    return tuple(after)


def _of_devices(demand: Demand) -> Demand:
    """The part of a demand that decides about devices and tokens."""
    return demand._replace(cpu_m=0, memory_bytes=0, disk_bytes=0, network_bps=0)
