"""GPUs that fell off the bus, must be reset, answer nothing, or do not say their memory."""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, ERROR, UNKNOWN, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def look(host: Host) -> Answer:
    """Every GPU that the driver counts."""
    gpus = host.gpus()
    if gpus.code:
        return Answer(ABSENT, (say("no GPU can be asked: see driver"),))
    if not gpus.devices:
        return Answer(ABSENT, (say("the driver has no GPU"),))
    lines = [
        say("GPU {index} ({pci}): {health}", index=gpu.index, pci=gpu.pci or "?", health=gpu.health)
        for gpu in gpus.devices
        if gpu.health != "ok"
    ]
    unread = [
        say(
            "GPU {index} ({model}): its memory is unknown: {why}",
            index=gpu.index,
            model=gpu.model,
            why=gpu.memory_why,
        )
        for gpu in gpus.devices
        if gpu.health == "ok" and gpu.memory_why
    ]
    if not lines and unread:
        return Answer(
            UNKNOWN,
            (
                say(
                    "the memory of {bad} of {count} GPUs is unknown", bad=len(unread), count=len(gpus.devices)
                ),
                *unread,
            ),
            say("nvidia-smi of this user should not know it either; the driver's log may say more"),
        )
    if not lines:
        models = sorted({gpu.model for gpu in gpus.devices})
        return fine(
            say("GPUs that answer: {count} ({models})", count=len(gpus.devices), models=", ".join(models))
        )
    return problem(
        say("{bad} of {count} GPUs cannot be used", bad=len(lines), count=len(gpus.devices)),
        *lines,
        *unread,
        mend=say("restart the machine; if it comes again, seat or replace the card, and look at xid"),
        severity=ERROR,
    )


CHECK = Check("gpus", look, words=("gpu",), budget_s=10.0, of_gpus=True)
