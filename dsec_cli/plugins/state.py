"""What is known of the registers and of the stack frame at one point of a function."""

from __future__ import annotations

from dsec_cli.plugins.decoding import RSP
from dsec_cli.plugins.values import NUMBER, counts, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.values import Value


class State:
    """Registers, and slots of the stack frame by their distance from the stack pointer at entry."""

    __slots__ = ("low", "registers", "slots")

    def __init__(self, registers: list[Value], slots: dict[int, tuple[Value, int]], low: int | None) -> None:
        self.registers = registers
        self.slots = slots
        self.low = low
        """The lowest slot whose address others know; they may write it and what lies above."""

    def copy(self) -> State:
        """The same, apart."""
        return State(list(self.registers), dict(self.slots), self.low)

    def joined(self, other: State) -> State:
        """What holds of both."""
        pairs = zip(self.registers, other.registers, strict=True)
        registers = [a if a is b else join(a, b) for a, b in pairs]
        slots: dict[int, tuple[Value, int]] = {}
        for at, here in self.slots.items():
            there = other.slots.get(at)
            if there is here:
                slots[at] = here
            elif there is not None and there[1] == here[1]:
                both = join(here[0], there[0])
                if both is not None:
                    slots[at] = (both, here[1])
        lows = [low for low in (self.low, other.low) if low is not None]
        return State(registers, slots, min(lows) if lows else None)

    def same(self, other: State) -> bool:
        """Whether nothing differs."""
        return self.registers == other.registers and self.slots == other.slots and self.low == other.low

    def forget_what_differs(self, other: State) -> None:
        """Give up what is not the same in `other`: a loop that counts would go on for long."""
        for at, (one, there) in enumerate(zip(self.registers, other.registers, strict=True)):
            if one != there:
                self.registers[at] = NUMBER if counts(one) and counts(there) else None
        self.slots = {at: held for at, held in self.slots.items() if other.slots.get(at) == held}

    def tell(self, value: Value) -> None:
        """Others learn an address of the frame."""
        if isinstance(value, tuple) and value[0] == "sp":
            at = value[1]
            self.low = at if self.low is None else min(self.low, at)

    def spoil(self) -> None:
        """Others may have written what they know of the frame."""
        if self.low is not None:
            self.slots = {at: held for at, held in self.slots.items() if at < self.low}


def entry_state() -> State:
    """What is known when a function is called."""
    registers: list[Value] = [("in", at) for at in range(16)]
    registers[RSP] = ("sp", 0)
    return State(registers, {}, None)


def unknown_state() -> State:
    """What is known where code comes from nobody knows where."""
    return State([None] * 16, {}, None)
