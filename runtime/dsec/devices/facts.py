"""What tells two machines' GPUs apart beyond an inventory: driver, CUDA, ECC, MIG, clocks, limits.

Its `main` prints it as JSON together with the inventory; `read_facts` runs that in a
process of its own, because a driver in trouble may hang or crash whoever asks.
"""

from __future__ import annotations

import json
import subprocess
import sys

from dsec.codec import canonical, decode, encode
from dsec.devices import host, nvml
from dsec.devices.door import Door, library_there, opened
from dsec.errors import StoredFormError
from dsec.interpreter import apart
from dsec.inventory import Inventory
from dsec.record import Record

TIMEOUT_S = 20.0
_GRAPHICS, _SM, _MEMORY = 0, 1, 2


class Card(Record):
    """Settings of one GPU; None: it does not tell."""

    uuid: str
    capability: str | None
    """Compute capability: `8.0`."""
    ecc: bool | None
    mig: bool | None
    persistence: bool | None
    power_limit_mw: int | None
    sm_mhz: int | None
    """Highest clock of the multiprocessors."""
    memory_mhz: int | None
    application_mhz: int | None
    """Clock that applications are held to."""
    vbios: str | None


class Facts(Record):
    """What the NVIDIA driver says of a machine."""

    inventory: Inventory
    driver: str | None
    cuda: str | None
    """Newest CUDA that the driver runs: `12.4`."""
    nvlink_version: int | None
    cards: tuple[Card, ...]


def facts_of(machine: Inventory) -> Facts:
    """Ask the driver; without one, `machine` with the reason among its notes."""
    with opened() as door:
        if isinstance(door, str):
            return Facts(machine._replace(notes=(*machine.notes, door)), None, None, None, ())
        driver, cuda = (
            _text(door.ask("nvmlSystemGetDriverVersion")),
            door.ask("nvmlSystemGetCudaDriverVersion_v2"),
        )
        count = door.ask("nvmlDeviceGetCount") or 0
        handles = [door.ask("nvmlDeviceGetHandleByIndex", index) for index in range(count)]
        cards = tuple(_card(door, handle) for handle in handles if handle is not None)
        version = next(
            (door.ask("nvmlDeviceGetNvLinkVersion", one, 0) for one in handles if one is not None), None
        )
    found = nvml.devices_of(machine)
    told = None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}"
    return Facts(found, driver, told, version, cards)


def _card(door: Door, handle: object) -> Card:
    capability = door.ask("nvmlDeviceGetCudaComputeCapability", handle)
    return Card(
        uuid=_text(door.ask("nvmlDeviceGetUUID", handle)) or "",
        capability=None if capability is None else f"{capability[0]}.{capability[1]}",
        ecc=_now(door.ask("nvmlDeviceGetEccMode", handle)),
        mig=_now(door.ask("nvmlDeviceGetMigMode", handle)),
        persistence=_switch(door.ask("nvmlDeviceGetPersistenceMode", handle)),
        power_limit_mw=door.ask("nvmlDeviceGetPowerManagementLimit", handle),
        sm_mhz=door.ask("nvmlDeviceGetMaxClockInfo", handle, _SM),
        memory_mhz=door.ask("nvmlDeviceGetMaxClockInfo", handle, _MEMORY),
        application_mhz=door.ask("nvmlDeviceGetApplicationsClock", handle, _GRAPHICS),
        vbios=_text(door.ask("nvmlDeviceGetVbiosVersion", handle)),
    )


def _text(answer: object) -> str | None:
    if isinstance(answer, bytes):
        return answer.decode("utf-8", "replace")
    return answer if isinstance(answer, str) else None


def _now(answer: object) -> bool | None:
    """The present one of a pair of present and pending."""
    return bool(answer[0]) if isinstance(answer, (list, tuple)) and answer else None


def _switch(answer: object) -> bool | None:
    return bool(answer) if isinstance(answer, int) else None


def read_facts(*, timeout_s: float = TIMEOUT_S) -> Facts:
    """The facts of this machine, asked in a process of its own."""
    machine = host.read()
    if not library_there():
        return facts_of(machine)
    try:
        done = subprocess.run(
            apart("dsec.devices.facts"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _without(machine, f"did not answer within {timeout_s:g} s")
    try:
        return decode(Facts, json.loads(done.stdout))
    except (ValueError, StoredFormError):
        return _without(machine, f"could not be asked (exit status {done.returncode})")


def _without(machine: Inventory, what: str) -> Facts:
    note = f"the NVIDIA library {what}: no GPU was read"
    return Facts(machine._replace(notes=(*machine.notes, note)), None, None, None, ())


def main() -> None:
    """Print the facts of this machine."""
    sys.stdout.buffer.write(canonical(encode(facts_of(host.read()))))
