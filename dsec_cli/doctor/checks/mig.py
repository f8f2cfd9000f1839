"""MIG: modes that wait for a reset, and GPUs that are cut up for nobody."""

from __future__ import annotations

from dsec_cli.doctor.check import ABSENT, NOTE, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def look(host: Host) -> Answer:
    """Every GPU that can be cut."""
    known = [gpu for gpu in host.gpus().devices if gpu.mig is not None]
    if not known:
        return Answer(ABSENT, (say("no GPU here can be cut into MIG instances"),))
    waiting = [gpu for gpu in known if gpu.mig_pending is not None and gpu.mig_pending != gpu.mig]
    if waiting:
        gpu = waiting[0]
        return problem(
            say("MIG of GPU {index} changes at the next reset", index=gpu.index),
            mend=as_root(f"nvidia-smi --gpu-reset -i {gpu.index}"),
        )
    empty = [gpu for gpu in known if gpu.mig and gpu.mig_instances == 0]
    if empty:
        return problem(
            say(
                "GPU {index} is in MIG mode and has no instance: nothing can run on it", index=empty[0].index
            ),
            mend=as_root(f"nvidia-smi mig -i {empty[0].index} -cgi 0 -C"),
        )
    cut = [gpu for gpu in known if gpu.mig]
    if cut:
        names = ", ".join(str(gpu.index) for gpu in cut)
        return Answer(
            NOTE, (say("in MIG mode: GPU {names}; their use in per cent stays unknown", names=names),)
        )
    return fine(say("no GPU is in MIG mode"))


CHECK = Check("mig", look, budget_s=10.0, of_gpus=True)
