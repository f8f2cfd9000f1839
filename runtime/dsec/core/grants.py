"""What a machine grants next, in numbers: the rules of the ledger without its objects.

A plan is tried out some hundred times, and each time every Step is granted its devices. What cannot
change while that goes on is worked out once: which devices can meet a demand at all, and up to what is
held of them; which of the devices that are free belong together. Who is asked is `placement` and
`groups`, so that plans are tried out on exactly the machine that the runtime will hand out.
"""

from __future__ import annotations

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
_MOST_KNOWN = 50_000
"""Answers remembered at once; beyond it all are forgotten and asked anew."""

State = tuple[int, ...]
"""Per device the memory that is held of it, or all; then what is left of each token."""


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


class _Kind:
    """What demands ask of devices and tokens that differ in nothing else."""

    __slots__ = ("by_speed", "count", "demand", "fit", "holds", "most", "quick", "rooms", "tokens")

    def __init__(self, demand: Demand, table: Sequence[Slot], tokens: dict[str, int]) -> None:
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
                self.holds[at] = _ALL if alone else demand.gpu_memory_bytes
                self.most[at] = 0 if alone else room - demand.gpu_memory_bytes
        self.rooms = [(at, most) for at, most in enumerate(self.most) if most >= 0]
        speeds = sorted({table[at].device.speed for at, _ in self.rooms}, reverse=True)
        self.by_speed = [[one for one in self.rooms if table[one[0]].device.speed == each] for each in speeds]
        """The same by speed, the quickest first."""
        taken = demand.terms.tokens if demand.terms is not None else ()
        self.tokens = [(tokens[name], amount) for name, amount in taken]
        """Where in a state each token is, and how many of it are taken."""
        self.fit: dict[State, Answer | None] = {}
        self.quick: dict[State, Answer | None] = {}


class Grants:
    """Grants of an inventory's devices to a few different demands, named by their number."""

    def __init__(self, inventory: Inventory, demands: Sequence[Demand]) -> None:
        table = self._slots = slots(inventory)
        there = inventory.tokens or ()
        tokens = {name: len(table) + at for at, (name, _) in enumerate(there)}
        kinds = {one: _Kind(one, table, tokens) for one in dict.fromkeys(map(_of_devices, demands))}
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
        self._crowded = any(self._foreign)
        """Whether other processes hold some of the devices."""
        self._capacities = [_UNKNOWN if slot.capacity is None else slot.capacity for slot in table]
        self._groups: dict[tuple[int, ...], Group] = {}
        self._together: dict[tuple[_Kind, bool, tuple[int, ...]], tuple[int, ...]] = {}
        self._broken: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        self._first: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._known = 0

    def grant(self, state: State, number: int, *, quick: bool) -> Answer | None:
        """The devices that demand `number` gets in `state`, and the state afterwards; None: not now."""
        kind = self._kinds[number]
        answer = (kind.quick if quick else kind.fit).get(state, NOT_ASKED)
        return self.ask(state, number, quick=quick) if answer is NOT_ASKED else answer

    def ask(self, state: State, number: int, *, quick: bool) -> Answer | None:
        """The same, not looked up but found out and remembered."""
        kind = self._kinds[number]
        if self._known >= _MOST_KNOWN:
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
        case = kind, quick, free
        pool = self._together.get(case)
        if pool is None:
            pool = self._together[case] = self._joined(*case)
        if len(pool) <= count:
            return pool or None
        broken = self._broken_by(tuple([at for at in pool if not state[at]]))
        foreign, capacities = self._foreign, self._capacities
        best = sorted(
            [(foreign[at], state[at] > 0, capacities[at] - state[at], broken[at], at) for at in pool]
        )
        return tuple(sorted([one[4] for one in best[:count]]))

    def _single(self, state: State, choices: Iterable[Sequence[tuple[int, int]]]) -> tuple[int, ...] | None:
        """The same for one device: an idle one, else the fullest, of the first choice that has any free."""
        capacities = self._capacities
        for rooms in choices:
            idle, fullest, least = [], -1, _UNKNOWN
            for at, most in rooms:
                held = state[at]
                if not held:
                    idle.append(at)
                elif held <= most and capacities[at] - held < least:
                    fullest, least = at, capacities[at] - held
            if idle:
                return self._idlest(tuple(idle))
            if fullest >= 0:
                return (fullest,)
        return None

    def _idlest(self, idle: tuple[int, ...]) -> tuple[int, ...]:
        """Of several idle devices the one that is given away first."""
        found = self._first.get(idle)
        if found is None:
            broken, capacities = self._broken_by(idle), self._capacities
            found = self._first[idle] = (min(idle, key=lambda at: (capacities[at], broken[at], at)),)
        return found

    def _joined(self, kind: _Kind, quick: bool, free: tuple[int, ...]) -> tuple[int, ...]:
        """Of the free devices those that belong together best; none when they must and do not."""
        table, count = self._slots, kind.count
        if count > 1:
            at = {slot.device.uuid: place for place, slot in enumerate(table)}
            found = together([table[one] for one in free], count, kind.demand.terms, quickest=quick)
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
        for found in (self._together, self._broken, self._first):
            if len(found) > _MOST_KNOWN:
                found.clear()
        self._known = 0


def _held(state: State, kind: _Kind, chosen: tuple[int, ...]) -> State:
    after = list(state)
    for at in chosen:
        after[at] += kind.holds[at]
    for at, amount in kind.tokens:
        after[at] -= amount
    return tuple(after)


def _of_devices(demand: Demand) -> Demand:
    """The part of a demand that decides about devices and tokens."""
    return demand._replace(cpu_m=0, memory_bytes=0, disk_bytes=0, network_bps=0)
