"""What a machine grants next, remembered for each state that its devices were in.

A search asks the same few thousand questions again and again. They are answered by the ledger's own
code (`placement.choose`) the first time and looked up afterwards, so that a plan is tried out on
exactly the machine that the runtime will hand out.
"""

from __future__ import annotations

from dsec.core.placement import choose, slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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

    __slots__ = ("fit", "held", "quick", "returned", "taken")

    def __init__(self, held: tuple[tuple[int, int, bool], ...]) -> None:
        self.held = held
        """Per device: holders, memory used, whether one holder has all of it."""
        self.fit: dict[int, Answer | None] = {}
        self.quick: dict[int, Answer | None] = {}
        self.returned: dict[tuple[int, Group], State] = {}
        self.taken: dict[tuple[int, Group], State | None] = {}


class Grants:
    """Grants of an inventory's devices to a few different demands, named by their number."""

    def __init__(self, inventory: Inventory, demands: Sequence[Demand]) -> None:
        self._slots = slots(inventory)
        self._at = {slot.device.uuid: at for at, slot in enumerate(self._slots)}
        self._demands = demands
        self._states: dict[tuple[tuple[int, int, bool], ...], State] = {}
        self._groups: dict[tuple[int, ...], Group] = {}
        self.empty = self._state()
        self.best_speeds = [self._best_speed(demand) for demand in demands]
        """Per demand, the speed of the quickest devices that can meet it; 0: there are none."""
        self.mixed = len({slot.device.speed for slot in self._slots}) > 1
        """Whether it matters for how long which device is taken."""

    def grant(self, state: State, number: int, *, quick: bool) -> Answer | None:
        """The devices that demand `number` gets in `state`, and the state afterwards; None: not now."""
        known = state.quick if quick else state.fit
        try:
            return known[number]
        except KeyError:
            answer = known[number] = self._choose(state, number, quick=quick)
            return answer

    def release(self, state: State, number: int, group: Group) -> State:
        """The state once demand `number` has given its devices back."""
        try:
            return state.returned[number, group]
        except KeyError:
            self._load(state)
            for at in group.at:
                self._slots[at].give_back(self._demands[number].gpu_memory_bytes)
            after = state.returned[number, group] = self._state()
            return after

    def take(self, state: State, number: int, group: Group) -> State | None:
        """The state once demand `number` holds these very devices; None: they are not free for it."""
        try:
            return state.taken[number, group]
        except KeyError:
            self._load(state)
            demand, chosen = self._demands[number], [self._slots[at] for at in group.at]
            after = None
            if all(slot.free_for(demand) for slot in chosen):
                for slot in chosen:
                    slot.take(demand)
                after = self._state()
            state.taken[number, group] = after
            return after

    def _choose(self, state: State, number: int, *, quick: bool) -> Answer | None:
        self._load(state)
        demand = self._demands[number]
        chosen = choose(demand, self._slots, quickest=quick)
        if chosen is None:
            return None
        for slot in chosen:
            slot.take(demand)
        return self._state(), self._group(tuple(self._at[slot.device.uuid] for slot in chosen))

    def _group(self, at: tuple[int, ...]) -> Group:
        group = self._groups.get(at)
        if group is None:
            devices = [self._slots[one].device for one in at]
            uuids = tuple(device.uuid for device in devices)
            group = self._groups[at] = Group(at, uuids, min(device.speed for device in devices))
        return group

    def _load(self, state: State) -> None:
        for slot, (holders, used, whole) in zip(self._slots, state.held, strict=True):
            slot.holders, slot.used, slot.whole = holders, used, whole

    def _state(self) -> State:
        """The state that the slots are in."""
        held = tuple([(slot.holders, slot.used, slot.whole) for slot in self._slots])
        state = self._states.get(held)
        if state is None:
            if len(self._states) >= _MOST_STATES:
                self._forget()
            state = self._states[held] = State(held)
        return state

    def _forget(self) -> None:
        for state in self._states.values():
            for known in (state.fit, state.quick, state.returned, state.taken):
                known.clear()
        self._states.clear()

    def _best_speed(self, demand: Demand) -> int:
        self._load(self.empty)
        speeds = sorted((slot.device.speed for slot in self._slots if slot.free_for(demand)), reverse=True)
        return speeds[demand.gpu_count - 1] if 0 < demand.gpu_count <= len(speeds) else 0
