"""What a machine grants next, remembered for each state that its devices were in.

A search asks the same few thousand questions again and again. They are answered by the ledger's own
code (`placement.choose`) the first time and looked up afterwards, so that a plan is tried out on
exactly the machine that the runtime will hand out.
"""

from __future__ import annotations

from dsec.core.placement import best_speed, choose, slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.core.placement import Slot
    from dsec.inventory import Inventory
    from dsec.plan import Demand

_MOST_STATES = 50_000
"""Remembered at once; beyond it everything is forgotten and asked anew."""


class Group:
    """The devices of one grant."""

    __slots__ = ("at", "speed", "uuids")

    def __init__(self, at: tuple[int, ...], uuids: tuple[str, ...], speed: int) -> None:
        self.at = at
        self.uuids = uuids
        self.speed = speed
        """Of the slowest of them, in thousandths."""


Answer = tuple["State", Group]


class State:
    """How much of each device is held, and what is known to follow from it."""

    __slots__ = ("fit", "held", "quick", "returned", "taken", "tokens")

    def __init__(self, held: tuple[tuple[int, int, bool], ...], tokens: tuple[int, ...]) -> None:
        self.held = held
        """Per device: holders, memory used, whether one holder has all of it."""
        self.tokens = tokens
        """What is left of each token."""
        self.fit: dict[int, Answer | None] = {}
        self.quick: dict[int, Answer | None] = {}
        self.returned: dict[tuple[int, Group], State] = {}
        self.taken: dict[tuple[int, Group], State | None] = {}


class Grants:
    """Grants of an inventory's devices to a few different demands, named by their number."""

    def __init__(self, inventory: Inventory, demands: Sequence[Demand]) -> None:
        self._slots = slots(inventory)
        self._at = {slot.device.uuid: at for at, slot in enumerate(self._slots)}
        kinds: dict[Demand, int] = {}
        self._kind = [kinds.setdefault(_of_devices(demand), len(kinds)) for demand in demands]
        """Per demand, the first one that asks for the same devices and tokens."""
        self._demands = list(kinds)
        names = {name: at for at, (name, _) in enumerate(inventory.tokens or ())}
        self._tokens = [amount for _, amount in inventory.tokens or ()]
        self._takes = [
            [(names[name], amount) for name, amount in demand.terms.tokens]
            if demand.terms is not None
            else []
            for demand in self._demands
        ]
        self.asks = [bool(self._demands[kind].gpu_count or self._takes[kind]) for kind in self._kind]
        """Per demand, whether there is anything to grant it."""
        self._states: dict[tuple[object, object], State] = {}
        self._groups: dict[tuple[int, ...], Group] = {}
        self.empty = self._state()
        speeds = [best_speed(demand, self._slots) if demand.gpu_count else 0 for demand in self._demands]
        self.best_speeds = [speeds[kind] for kind in self._kind]
        """Per demand, the speed of the quickest devices that can meet it; 0: there are none."""
        self.mixed = len({slot.device.speed for slot in self._slots}) > 1
        """Whether it matters for how long which device is taken."""

    def grant(self, state: State, number: int, *, quick: bool) -> Answer | None:
        """The devices that demand `number` gets in `state`, and the state afterwards; None: not now."""
        known, kind = state.quick if quick else state.fit, self._kind[number]
        try:
            return known[kind]
        except KeyError:
            answer = known[kind] = self._choose(state, kind, quick=quick)
            return answer

    def release(self, state: State, number: int, group: Group) -> State:
        """The state once demand `number` has given its devices back."""
        kind = self._kind[number]
        try:
            return state.returned[kind, group]
        except KeyError:
            self._load(state)
            for at in group.at:
                self._slots[at].give_back(self._demands[kind].gpu_memory_bytes)
            for at, amount in self._takes[kind]:
                self._tokens[at] += amount
            after = state.returned[kind, group] = self._state()
            return after

    def take(self, state: State, number: int, group: Group) -> State | None:
        """The state once demand `number` holds these very devices; None: they are not free for it."""
        kind = self._kind[number]
        try:
            return state.taken[kind, group]
        except KeyError:
            self._load(state)
            demand, chosen = self._demands[kind], [self._slots[at] for at in group.at]
            after = None
            if all(slot.free_for(demand) for slot in chosen) and self._has_tokens(kind):
                after = self._taken(kind, chosen)
            state.taken[kind, group] = after
            return after

    def _choose(self, state: State, kind: int, *, quick: bool) -> Answer | None:
        self._load(state)
        demand = self._demands[kind]
        chosen = choose(demand, self._slots, quickest=quick) if self._has_tokens(kind) else None
        if chosen is None:
            return None
        return self._taken(kind, chosen), self._group(tuple(self._at[slot.device.uuid] for slot in chosen))

    def _has_tokens(self, kind: int) -> bool:
        return all(self._tokens[at] >= amount for at, amount in self._takes[kind])

    def _taken(self, kind: int, chosen: Sequence[Slot]) -> State:
        """The state once a demand of this kind holds the chosen devices, too."""
        for slot in chosen:
            slot.take(self._demands[kind])
        for at, amount in self._takes[kind]:
            self._tokens[at] -= amount
        return self._state()

    def _group(self, at: tuple[int, ...]) -> Group:
        group = self._groups.get(at)
        if group is None:
            devices = [self._slots[one].device for one in at]
            uuids = tuple(device.uuid for device in devices)
            group = self._groups[at] = Group(at, uuids, min((device.speed for device in devices), default=0))
        return group

    def _load(self, state: State) -> None:
        for slot, (holders, used, whole) in zip(self._slots, state.held, strict=True):
            slot.holders, slot.used, slot.whole = holders, used, whole
        self._tokens[:] = state.tokens

    def _state(self) -> State:
        """The state that the slots are in."""
        held = tuple([(slot.holders, slot.used, slot.whole) for slot in self._slots])
        key = held, tuple(self._tokens)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= _MOST_STATES:
                self._forget()
            state = self._states[key] = State(*key)
        return state

    def _forget(self) -> None:
        for state in self._states.values():
            for known in (state.fit, state.quick, state.returned, state.taken):
                known.clear()
        self._states.clear()


def _of_devices(demand: Demand) -> Demand:
    """The part of a demand that decides about devices and tokens."""
    return demand._replace(cpu_m=0, memory_bytes=0, disk_bytes=0, network_bps=0)
