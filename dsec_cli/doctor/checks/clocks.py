"""GPUs that run slower than they could, and why."""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, NOTE, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_MILD = "power cap"


def look(host: Host) -> Answer:
    """What the driver says at this moment."""
    known = [gpu for gpu in host.gpus().devices if gpu.throttled is not None]
    if not known:
        return Answer(ABSENT, (say("no GPU here says whether it is slowed down"),))
    slow = [gpu for gpu in known if set(gpu.throttled or ()) - {_MILD}]
    if slow:
        lines = [
            say(
                "GPU {index}: {why}, {temperature} C, {clock} of {most} MHz",
                index=gpu.index,
                why=", ".join(gpu.throttled or ()),
                temperature=_plain(gpu.temperature_c),
                clock=_plain(gpu.clock_mhz),
                most=_plain(gpu.most_clock_mhz),
            )
            for gpu in slow
        ]
        return problem(
            say("{count} GPUs are slowed down", count=len(slow)),
            *lines,
            mend=say("look at air, fans and the power supply; nvidia-smi -q -d PERFORMANCE,TEMPERATURE"),
        )
    capped = [gpu for gpu in known if gpu.throttled]
    if capped:
        return Answer(
            NOTE, (say("{count} GPUs are at their power limit", count=len(capped)),), "nvidia-smi -q -d POWER"
        )
    return fine(say("no GPU is slowed down"))


def _plain(value: int | None) -> str:
    return "?" if value is None else str(value)


CHECK = Check("clocks", look, budget_s=10.0, of_gpus=True)
