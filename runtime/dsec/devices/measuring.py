"""Reads one device field by field: what a card, driver or binding does not have stays None."""

from __future__ import annotations

from typing import Any

from dsec import cards
from dsec.devices.door import LOST, NOT_SUPPORTED, RESET_REQUIRED, Door
from dsec.devices.reading import Reading

_UNCORRECTED, _VOLATILE = 1, 0
_SM, _MEMORY = 1, 2
_PCIE_TX, _PCIE_RX = 197, 198
_NVLINK_TX, _NVLINK_RX = 138, 139
_ALL_LINKS = 2**32 - 1
_WIDE = (2, 3)
"""Field values of 64 bits; a PCIe counter of 32 wraps several times a second."""
_REASONS = {0x04: "power", 0x08: "hardware", 0x20: "heat", 0x40: "heat", 0x80: "brake"}
"""Bits of the driver's answer; the others (idle, set clocks, boost groups, display) harm nothing."""
_KIB = 1024


class Counters:
    """Rates from counters that only grow, and the slow questions that need not be asked each time."""

    def __init__(self, *, slow_ns: int) -> None:
        self._last: dict[tuple[str, int], tuple[int, int]] = {}
        self._slow: dict[str, tuple[int, tuple[int | None, int | None]]] = {}
        self._slow_ns = slow_ns

    def rate(self, uuid: str, field: int, value: int | None, at_ns: int) -> int | None:
        """Growth a second since the last reading; None for the first, and after a counter began anew."""
        if value is None:
            self._last.pop((uuid, field), None)
            return None
        before = self._last.get((uuid, field))
        self._last[uuid, field] = value, at_ns
        if before is None or value < before[0] or at_ns <= before[1]:
            return None
        return (value - before[0]) * 1_000_000_000 // (at_ns - before[1])

    def pcie(self, door: Door, handle: Any, uuid: str, at_ns: int) -> tuple[int | None, int | None]:
        """(sent, received) by the question that takes the driver 20 ms each; the answer holds a while."""
        kept = self._slow.get(uuid)
        if kept is not None and at_ns - kept[0] < self._slow_ns:
            return kept[1]
        sent = door.ask("nvmlDeviceGetPcieThroughput", handle, 0)
        received = door.ask("nvmlDeviceGetPcieThroughput", handle, 1)
        self._slow[uuid] = at_ns, (sent, received)
        return sent, received


def measure(door: Door, handle: Any, blank: Reading, counters: Counters, at_ns: int) -> Reading:
    """`blank` with all that the device answers; a device that is lost meanwhile has no readings."""
    door.seen.clear()
    used = door.ask("nvmlDeviceGetUtilizationRates", handle)
    sent, received, nvlink_sent, nvlink_received = _traffic(door, handle, blank.uuid, counters, at_ns)
    reading = with_memory(door, handle, blank)._replace(
        busy_permille=None if used is None else used.gpu * 10,
        temperature_c=_temperature(door, handle),
        power_mw=door.ask("nvmlDeviceGetPowerUsage", handle),
        pcie_tx_kbps=sent,
        pcie_rx_kbps=received,
        nvlink_tx_kbps=nvlink_sent,
        nvlink_rx_kbps=nvlink_received,
        ecc_uncorrected=door.ask("nvmlDeviceGetTotalEccErrors", handle, _UNCORRECTED, _VOLATILE),
        throttled=_throttled(door, handle),
        clock_mhz=door.ask("nvmlDeviceGetClockInfo", handle, _SM),
        memory_clock_mhz=door.ask("nvmlDeviceGetClockInfo", handle, _MEMORY),
    )
    return judged(door, reading, blank)


def judged(door: Door, reading: Reading, blank: Reading) -> Reading:
    """The reading with the state that the codes of its questions tell."""
    if LOST in door.seen:
        return blank._replace(state="lost", reason="fell off the bus")
    if RESET_REQUIRED in door.seen:
        return reading._replace(state="unknown", reason="must be reset")
    if 0 not in door.seen:
        return blank._replace(state="unknown", reason=f"answers nothing (NVML error {door.code})")
    return reading._replace(state="ok", reason="")


def shares_host(model: str, code: int) -> bool:
    """Whether a card that refuses its memory with that code has none of its own; unlisted ones may."""
    row = cards.card(cards.from_model(model, None))
    return code == NOT_SUPPORTED and model != "" and (row is None or row.mib is None)


_WHY = {
    0: "the driver says 0",
    NOT_SUPPORTED: "the driver says that it is not supported, which of this card is not so",
    4: "the driver refuses it to this user (NVML error 4)",
}


def why_unknown(code: int) -> str:
    """Why the memory of a card is not known, by NVML's answer."""
    return _WHY.get(code, f"it cannot be read (NVML error {code})")


def with_memory(door: Door, handle: Any, blank: Reading) -> Reading:
    """Memory by version 2, which tells apart what the driver keeps, else by version 1."""
    info = door.ask("nvmlDeviceGetMemoryInfo", handle, version=getattr(door.library, "nvmlMemory_v2", None))
    first = door.code
    if info is None and first not in (LOST, NOT_SUPPORTED):
        info = door.ask("nvmlDeviceGetMemoryInfo", handle)
    if info is None or not info.total:
        code = NOT_SUPPORTED if first == NOT_SUPPORTED else door.code
        return blank._replace(shared_with_host=shares_host(blank.name, code))
    return blank._replace(
        memory_used_bytes=info.used,
        memory_total_bytes=info.total,
        memory_reserved_bytes=getattr(info, "reserved", None),
    )


def _temperature(door: Door, handle: Any) -> int | None:
    plain: int | None = door.ask("nvmlDeviceGetTemperature", handle, 0)
    if plain is not None:
        return plain
    versioned: int | None = door.ask("nvmlDeviceGetTemperatureV", handle, 0)
    return versioned


def _throttled(door: Door, handle: Any) -> tuple[str, ...] | None:
    bits = door.ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if bits is None:
        bits = door.ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    if bits is None:
        return None
    return tuple(sorted({word for bit, word in _REASONS.items() if bits & bit}))


def _traffic(
    door: Door, handle: Any, uuid: str, counters: Counters, at_ns: int
) -> tuple[int | None, int | None, int | None, int | None]:
    """KiB a second: PCIe sent and received, NVLink sent and received."""
    fields = (_PCIE_TX, _PCIE_RX, (_NVLINK_TX, _ALL_LINKS), (_NVLINK_RX, _ALL_LINKS))
    answers = door.ask("nvmlDeviceGetFieldValues", handle, fields)
    values = [None] * 4 if answers is None else [_wide(door, answer) for answer in answers]
    sent, received = (
        counters.rate(uuid, field, value, at_ns)
        for field, value in zip((_PCIE_TX, _PCIE_RX), values[:2], strict=True)
    )
    links = [
        counters.rate(uuid, field, value, at_ns)
        for field, value in zip((_NVLINK_TX, _NVLINK_RX), values[2:], strict=True)
    ]
    if values[0] is None or values[1] is None:
        slow_sent, slow_received = counters.pcie(door, handle, uuid, at_ns)
        return slow_sent, slow_received, links[0], links[1]
    return _kib(sent), _kib(received), links[0], links[1]


def _wide(door: Door, answer: Any) -> int | None:
    if answer.nvmlReturn == LOST:
        door.seen.add(LOST)
    if answer.nvmlReturn or answer.valueType not in _WIDE:
        return None
    return int(answer.value.ullVal)


def _kib(rate: int | None) -> int | None:
    return None if rate is None else rate // _KIB
