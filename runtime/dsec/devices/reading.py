"""What one look at the devices finds: readings and events; what is not known is None."""

from __future__ import annotations

from dsec.record import Record


class Reading(Record):
    """One GPU, or one MIG instance, at one moment; a lost device knows nothing but its name."""

    uuid: str
    """`unread-INDEX` where it was never answered, as in the inventory."""
    index: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    name: str = ""
    state: str = "unknown"
    """`ok`, `lost` (fell off the bus), or `unknown`."""
    reason: str = ""
    """Why it is not ok, in words."""
    parent: str = ""
    """UUID of the GPU that a MIG instance is a part of; what is read of that GPU alone (temperature,
    power, links, errors, clocks) is told of each of its instances."""
    busy_permille: int | None = None
    """Share of the time in which work ran; MIG instances have none, and neither has Linux on Windows."""
    memory_used_bytes: int | None = None
    """Without what the driver keeps, where it tells that apart (`memory_reserved_bytes`)."""
    memory_total_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    shared_with_host: bool = False
    """The memory is the host's: used and total are those of the machine."""
    temperature_c: int | None = None
    power_mw: int | None = None
    pcie_rx_kbps: int | None = None
    """KiB a second, as all rates here; None until there are two readings of a counter."""
    pcie_tx_kbps: int | None = None
    nvlink_rx_kbps: int | None = None
    """Over all links; never 0 for a card without links or without counters: None."""
    nvlink_tx_kbps: int | None = None
    ecc_uncorrected: int | None = None
    """Since the driver was loaded; None: the memory does not count errors."""
    throttled: tuple[str, ...] | None = None
    """What holds the clocks down (`heat`, `power`, `brake`, `hardware`); (): nothing does."""
    clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    mig: bool | None = None


class XidEvent(Record):
    """The driver reported an error of a device; one of all instances is reported for each."""

    uuid: str
    xid: int
    """The number; `dsec.core.xids` knows what it means."""
