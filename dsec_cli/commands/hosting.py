"""Before the first Step: whether the machine is in order for what the plan names, as doctor asks."""

from __future__ import annotations

import os
import sys

from dsec.errors import PlanProblem
from dsec_cli.report.output import to_stderr
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.inventory import Device, Inventory
    from dsec.plan import HostNeed, Plan
    from dsec_cli.doctor.check import Answer, Check
    from dsec_cli.doctor.gpufacts import Gpu, Gpus

_REAL = ("nvml", "os")
"""Inventories that were read here; a described one stands for another machine."""
_MODULE = "/sys/module/nvidia/version"


def check_host(plan: Plan, inventory: Inventory, *, state: str) -> None:
    """Refuse a machine that fails a check which the plan names, and warn of what is not in order.

    A plan that names none, or one for a described machine, costs nothing here, not even an import.
    Facts of GPUs are those that were read for the inventory: no process is started for them.
    """
    if plan.host is None or inventory.origin not in _REAL:
        return
    from dsec_cli.doctor.host import Host

    host = Host(os.environ, state, gpus=facts(inventory))
    for need in plan.host:
        _judge(need, _check(need).look(host))


def _check(need: HostNeed) -> Check:
    name = f"dsec_cli.doctor.checks.{need.check}"
    try:
        __import__(name)
    except (ImportError, ValueError):
        raise PlanProblem(
            say("the plan needs {check!r} of the machine, which this DSec cannot look at", check=need.check),
            hint="use the DSec that wrote it, or compile the contract again",
        ) from None
    found: Check = sys.modules[name].CHECK
    return found


def _judge(need: HostNeed, answer: Answer) -> None:
    from dsec_cli.doctor.check import ABSENT, ERROR, PROBLEM

    bad = answer.status == PROBLEM and answer.severity == ERROR
    if bad or answer.status == ABSENT:
        raise PlanProblem(
            say(
                "the machine is not fit for the plan: {check}: {what} ({why})",
                check=need.check,
                what=answer.lines[0],
                why=need.why,
            ),
            hint=answer.mend or say("see dsec doctor"),
        )
    if answer.status == PROBLEM:
        line = say("dsec: warning: {check}: {what}", check=need.check, what=answer.lines[0])
        to_stderr(f"{line}\n")


def facts(inventory: Inventory) -> Gpus:
    """What the checks want to know of the GPUs, from what was read for the inventory."""
    from dsec_cli.doctor.gpufacts import Gpus

    if inventory.origin == "os":
        return Gpus(_code(inventory), "", _driver(), None, "", ())
    devices = tuple(_devices(inventory.devices))
    return Gpus(0, "", _driver() or _asked(), None, "", devices)


def _code(inventory: Inventory) -> int:
    """Why there is no GPU: NVML's answer, told by the inventory's notes."""
    from dsec.devices.door import INIT

    return next((number for number, text in INIT.items() if text in inventory.notes), 12)


def _devices(devices: tuple[Device, ...]) -> Iterator[Gpu]:
    from dsec_cli.doctor.gpufacts import Gpu

    for device in devices:
        count = max((int(link[2:]) for _, link in device.links if link[2:].isdecimal()), default=0)
        cut = device.uuid.startswith("MIG-")
        yield Gpu(
            device.index,
            device.uuid,
            device.model,
            device.pci or "",
            device.health,
            mig=cut or None,
            mig_instances=1 if cut else None,
            links=(True,) * count or None,
        )


def _driver() -> str:
    """Version of the driver that is loaded, by the kernel; "": it does not say."""
    try:
        with open(_MODULE, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _asked() -> str:
    """The same by NVML, where the kernel hides it."""
    from dsec.devices.door import opened

    with opened() as door:
        return "" if isinstance(door, str) else str(door.ask("nvmlSystemGetDriverVersion") or "")
