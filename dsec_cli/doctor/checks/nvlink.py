"""NVLinks that are down while their neighbours are up."""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, NOTE, Answer, Check, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def look(host: Host) -> Answer:
    """Of every GPU that has some."""
    known = [gpu for gpu in host.gpus().devices if gpu.links is not None]
    if not known:
        return Answer(ABSENT, (say("no GPU here has NVLink"),))
    active = {gpu.index: sum(gpu.links or ()) for gpu in known}
    most = max(active.values())
    if not most:
        return Answer(
            NOTE, (say("no NVLink is active: GPUs reach each other over PCIe"),), "nvidia-smi nvlink -s"
        )
    short = [index for index, count in active.items() if count < most]
    if short:
        return problem(
            say(
                "GPU {index} has {count} active NVLinks, another one {most}",
                index=short[0],
                count=active[short[0]],
                most=most,
            ),
            mend=say(
                "nvidia-smi nvlink -s -i {index}; look for Xid 74, and at the fabric manager", index=short[0]
            ),
        )
    return fine(say("{count} GPUs, {most} active NVLinks each", count=len(known), most=most))


CHECK = Check("nvlink", look, budget_s=10.0, of_gpus=True)
