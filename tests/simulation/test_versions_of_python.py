"""A simulation gives the same history in every Python, and under every hash seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import VERSIONS, interpreter

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import hashlib
from scenes import box, need, scene, step
from dsec.core.pace import Span
from dsec.core.simmeasures import measure
from dsec.core.simulated import Fault, Manners
from dsec.core.simulation import simulate
from dsec_cli.simulation.draws import Draw, Lasts

draw, lasts = Draw(5, "x"), Lasts("lognormal", 50, spread_permille=1700)
levels = ("critical", "pauseable", "elastic", "discardable")
steps = [
    step(
        f"S{at}", need(1 + draw.below(3), gpus=draw.below(3)), lasts.draw(draw),
        [f"S{draw.below(at)}"] if at and draw.below(2) else [],
        rank=draw.below(9), level=levels[draw.below(4)], grace=draw.below(9),
    )
    for at in range(300)
]
faults = [
    Fault("gpu-lost", 300, ("GPU-1",), 0, frozenset(), 0, 500, "lost"),
    Fault("slow", 500, ("GPU-2",), 0, frozenset(), 300, 200, "slow"),
]
played = scene(
    steps, box([("a", 1000, 80)] * 4 + [("b", 700, 40)] * 4, cores=32),
    faults=faults, manners=Manners(3, 4, preempt=True), count=2, in_flight=2, checkpoint=7,
    spans={at: Span(1, 4) for at, one in enumerate(steps) if one.demand.gpu_count == 2},
)
history = simulate(played)
assert not history.never
print(hashlib.sha256(repr((history, measure(played, history))).encode()).hexdigest())
"""


def played_by(python, seed):
    """What that Python makes of the scene."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("", "runtime", "tests"))
    told = subprocess.run(
        [python, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert not told.returncode, told.stderr
    return told.stdout


@pytest.mark.battery
@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_history(version):
    assert played_by(interpreter(version), "1") == played_by(sys.executable, "2")
