"""Persistence mode: without it the driver starts anew with every first user, which takes seconds."""

from __future__ import annotations

import os
import shutil
import subprocess

from dsec_cli.doctor.check import ABSENT, Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def look(host: Host) -> Answer:
    """Every GPU that says it."""
    known = [gpu for gpu in host.gpus().devices if gpu.persistence is not None]
    if not known:
        return Answer(ABSENT, (say("no GPU here says whether the driver stays loaded"),))
    off = [gpu for gpu in known if not gpu.persistence]
    if not off:
        return fine(say("the driver stays loaded between runs"))
    return problem(
        say("{off} of {count} GPUs are not in persistence mode", off=len(off), count=len(known)),
        say(
            "the first program to use one waits for seconds, and its settings are lost when the last one ends"
        ),
        mend=as_root("nvidia-smi -pm 1"),
    )


def fix(host: Host) -> str:
    """Switch it on, where this user may."""
    program = shutil.which("nvidia-smi", path=host.environ.get("PATH"))
    if os.geteuid() or program is None:
        return say("left alone: persistence mode needs root and nvidia-smi")
    done = subprocess.run([program, "-pm", "1"], capture_output=True, text=True, timeout=20, check=False)
    if done.returncode:
        return say("nvidia-smi -pm 1 failed: {why}", why=" ".join(done.stdout.split())[:200])
    return say("persistence mode is on")


CHECK = Check("persistence", look, budget_s=10.0, of_gpus=True, fix=fix)
