"""The compiler gives the same bytes in every Python, also where no wheel of ours can be imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import VERSIONS, interpreter

ROOT = Path(__file__).resolve().parents[2]

# BLAKE3 comes as a wheel for one Python; a hash from the standard library stands in for it on
# both sides, because what is compared here is everything that is hashed.
STAND_IN = """
import hashlib
class blake3:
    def __init__(self, data=b""):
        self._state = hashlib.blake2b(data, digest_size=32)
    def update(self, data):
        self._state.update(data)
    def hexdigest(self):
        return self._state.hexdigest()
"""
SCRIPT = """
import random, sys
sys.path.insert(0, sys.argv[1])
from making import Make
from dsec.inventory import Device, Inventory
from dsec.plan import Source
from dsec.planfile import parse_plan, plan_bytes
from dsec.units import Bytes, Duration
from dsec_cli.contract.values import Gpu, GpuMemory, Iterations
from dsec_cli.dag.compile import Origin, compile_plan
from dsec_cli.dag.cycles import order_steps
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.summary import plan_text

make, chance = Make(), random.Random(5)
steps = []
for at in range(40):
    needs = [f"S{chance.randrange(at)}" for _ in range(2)] if at else []
    needs = [*dict.fromkeys(needs), "~S39"]
    step = make.step(f"S{at}", needs, at=at, name=f"\\u6b65 {at}", expect=Duration(at * 10**7))
    gpu = Gpu((), chance.randrange(3), GpuMemory(Bytes(chance.randrange(1, 40) * 2**30), False, ""), ">=a100")
    steps.append(step._replace(demand=step.demand._replace(gpu=gpu)))
contract = make.contract(steps, name="versions", iterations=Iterations((), 9, 1, 3, ()))
devices = tuple(
    Device(f"GPU-{at}", at, "", "h100-sxm-80gb", 79 * 2**30, None, at // 2, None, (), 1000, "ok")
    for at in range(4)
)
plan = compile_plan(
    order_steps(step_graph(contract)),
    contract,
    inventory=Inventory("described:x", 8000, 2**36, None, 2, devices, ()),
    origin=Origin("dsandbox.yaml", (b"x",), "dsec", lambda path: Source("dsandbox.yaml", len(path), 1)),
    learned={"S3": 12345},
)
data = plan_bytes(plan)
assert parse_plan(data, where="x") == plan
sys.stdout.buffer.write(data)
sys.stdout.buffer.write(plan_text(plan).encode())
"""


def compiled(python, folder, seed):
    stand_in = folder / "stand-in"
    stand_in.mkdir(exist_ok=True)
    (stand_in / "blake3.py").write_text(STAND_IN)
    (stand_in / "making.py").write_text(bare_conftest())
    done = subprocess.run(
        [python, "-S", "-B", "-c", SCRIPT, str(stand_in)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(stand_in), str(ROOT), str(ROOT / "runtime")]),
            "PYTHONHASHSEED": seed,
        },
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def bare_conftest():
    """`Make` without pytest and without the YAML parser, which are installed for one Python only."""
    text = (Path(__file__).parents[1] / "making.py").read_text()
    left_out = ("import pytest", "from dsec_cli.contract.build", "from dsec_cli.source")
    lines = [line for line in text.split("@pytest.fixture")[0].splitlines() if not line.startswith(left_out)]
    return "\n".join(lines)


@pytest.mark.battery
@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_bytes_in_every_python(version, tmp_path):
    python = interpreter(version)
    here = compiled(sys.executable, tmp_path, "0")
    assert here.startswith(b'{"analysis"')
    assert compiled(python, tmp_path, "77") == here
