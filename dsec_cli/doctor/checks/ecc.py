"""Memory errors of GPUs: those that were not corrected, and rows that wait to be replaced."""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, ERROR, NOTE, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def look(host: Host) -> Answer:
    """Every GPU with ECC memory."""
    known = [gpu for gpu in host.gpus().devices if gpu.ecc is not None]
    if not known:
        return Answer(ABSENT, (say("no GPU here has ECC memory"),))
    hurt = [gpu for gpu in known if gpu.uncorrected or gpu.remap_failed]
    if hurt:
        gpu = hurt[0]
        return problem(
            say(
                "GPU {index}: {count} memory errors could not be corrected",
                index=gpu.index,
                count=gpu.uncorrected or 0,
            ),
            *(
                [say("a damaged row could not be replaced: the card is to be exchanged")]
                if gpu.remap_failed
                else []
            ),
            mend=as_root(f"nvidia-smi --gpu-reset -i {gpu.index}"),
            severity=ERROR,
        )
    waiting = [gpu for gpu in known if gpu.remap_pending or gpu.ecc_pending not in (None, gpu.ecc)]
    if waiting:
        index = waiting[0].index
        return problem(
            say(
                "GPU {index} waits for a reset: damaged memory is to be replaced, or ECC switched",
                index=index,
            ),
            mend=as_root(f"nvidia-smi --gpu-reset -i {index}"),
        )
    earlier = [gpu for gpu in known if gpu.uncorrected_ever]
    if earlier:
        text = say(
            "GPU {index} had {count} uncorrected memory errors in its life",
            index=earlier[0].index,
            count=earlier[0].uncorrected_ever,
        )
        return Answer(NOTE, (text,))
    off = [gpu for gpu in known if not gpu.ecc]
    if off:
        return Answer(
            NOTE,
            (say("ECC is off on {off} of {count} GPUs", off=len(off), count=len(known)),),
            as_root("nvidia-smi -e 1"),
        )
    return fine(say("no memory error was left uncorrected"))


CHECK = Check("ecc", look, budget_s=10.0, of_gpus=True)
