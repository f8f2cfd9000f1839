"""What the executor does when a device turns sick, and when an elastic Step needs another number of GPUs.

The sick device is given to nobody until it is well; what runs on it goes on elsewhere: it saves its
state where it can, else its Step starts again. A critical attempt is left alone, and so is one that
no other device could take.
"""

from __future__ import annotations

from dsec.core.leases import Ledger
from dsec.core.starting import Size
from dsec.easing import size
from dsec.events import DeviceState
from dsec.yielding import devices_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.attempts import Attempt
    from dsec.attention import Attention
    from dsec.inventory import Inventory
    from dsec.runner import Runner
    from dsec.yielding import Yielding


def device_changed(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    """Act on a tell of the kind `device`."""
    yielding = runner.yields()
    state, reason = told["state"], told["reason"]
    uuid = told["device"] = _known(told["device"], yielding.floor.ledger.inventory)
    if not yielding.judge(uuid, state, reason):
        return
    yielding.floor.recorder.emit(DeviceState(yielding.floor.recorder.at_us(), uuid, state, reason))
    if state == "ok":
        return
    yielding.floor.workers.leave(uuid)
    for attempt in list(yielding.floor.running):
        if uuid in devices_of(attempt) and not attempt.stopped:
            _send_away(attempt, attention, yielding, told)


def occupied(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    """Act on a tell of the kind `occupied`: what starts now takes other GPUs, where there are some."""
    floor = runner.floor
    uuid = told["device"]
    if all(one.uuid != uuid for one in floor.ledger.inventory.devices):
        return
    news, much = floor.ledger.measure(uuid, told["held"])
    if news:
        floor.starter.forget()
    if much:
        attention.notice("device", f"other processes hold {size(told['held'])} of this GPU", device=uuid)


def _known(uuid: str, inventory: Inventory) -> str:
    """The device's own name, where it was lost before the driver told that to the monitor (`unread-3`)."""
    index = uuid.removeprefix("unread-")
    if index == uuid:
        return uuid
    return next((one.uuid for one in inventory.devices if str(one.index) == index), uuid)


def _send_away(attempt: Attempt, attention: Attention, yielding: Yielding, told: dict[str, Any]) -> None:
    why = _why_stays(attempt, yielding)
    if why:
        attention.notice(
            "device", why, step=attempt.step.id, iteration=attempt.iteration, device=told["device"]
        )
        return
    reason = f"GPU {told['device']} is {told['state']}: {told['reason']}"
    yielding.move(attempt, reason, seen_us=told["seen_us"], save=told["state"] != "lost")


def _why_stays(attempt: Attempt, yielding: Yielding) -> str:
    """Why it is left where it is; "": it goes."""
    if attempt.step.level == "critical":
        return "it is critical, so it is left alone on a device that is out of service"
    empty = Ledger(yielding.floor.ledger.inventory)
    for uuid in yielding.out_of_service:
        empty.lose(uuid)
    if empty.grant(attempt.step.demand) is None:
        return "no other device could take it, so it stays on one that is out of service"
    return ""


def resize(told: dict[str, Any], attention: Attention, runner: Runner) -> None:
    """Act on a tell of the kind `resize`."""
    floor = runner.yields().floor
    at = next((at for at, step in enumerate(floor.steps) if step.id == told["step"]), -1)
    if at < 0:
        return
    before = floor.starter.size(at)
    floor.starter.resize(at, Size(told["firm"], told["most"]))
    grown = told["firm"] > before.firm
    detail = f"{told['why']}: it starts with up to {told['firm' if grown else 'most']} GPUs from now on"
    attention.notice("grown" if grown else "shrunk", detail, step=told["step"])
