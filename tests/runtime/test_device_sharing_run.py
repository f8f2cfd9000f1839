"""A run shares no GPU while a free one fits, whatever devices its plan was made for."""

from __future__ import annotations

from sharedbox import USES, finish

from dsec.cards import GIB
from dsec.plan import Placement

ALL_BEGIN = (
    'touch "$LOCKS/began-$DSEC_STEP"; while [ $(ls "$LOCKS" | grep -c began) -lt 3 ]; do sleep 0.02; done'
)


def test_a_run_does_not_share_gpus_as_its_plan_did(gpu_box, kit):
    """The plan is of a machine with three GPUs; this one has eight, and all Steps run at once."""
    uuids = [f"GPU-{gpu + 0xA0:08x}-0000-4000-8000-{gpu:012x}" for gpu in range(3)]
    steps = []
    for name, count in (("s0", 3), ("s1", 3), ("s2", 2)):
        demand = kit.demand(cpu_m=0, gpu_count=count, gpu_memory_bytes=20 * GIB)
        planned = Placement(tuple(uuids[:count]), "planned")
        steps.append(kit.step(name, shell=USES + ALL_BEGIN, demand=demand, placement=planned))
    job = gpu_box.job("one", *steps)
    finish(gpu_box.start(job))
    held = [uuid for event in job.events("spawn") for uuid in event["devices"]]
    assert len(held) == len(set(held)) == 8
    assert not gpu_box.twice()
