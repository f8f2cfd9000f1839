"""What every plan keeps, whatever the contract: precedence, the queue's makespan, the same bytes."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import Make

from dsec.core.search import Draw
from dsec.inventory import Device, Inventory
from dsec.plan import Source
from dsec.planfile import parse_plan, plan_bytes
from dsec.quickplan import parse_plan as read_quickly
from dsec.units import Bytes, Duration
from dsec_cli.contract.values import Gpu, GpuMemory
from dsec_cli.dag.compile import Origin, compile_plan
from dsec_cli.dag.cycles import order_steps
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.replay import use_of

GIB = 2**30
DEVICES = tuple(
    Device(f"GPU-{at}", at, "", "card", 40 * GIB, None, at // 2, None, (), 1000 - 400 * (at > 1), "ok")
    for at in range(4)
)
BOX = Inventory("described:box", 4000, 2**36, None, 2, DEVICES, ())
MAKE = Make()


@st.composite
def contracts(draw):
    steps = []
    for at in range(draw(st.integers(1, 9))):
        needs = sorted(draw(st.sets(st.integers(0, at - 1), max_size=2))) if at else []
        step = MAKE.step(f"S{at}", [f"S{one}" for one in needs], at=at)
        count, size = draw(st.integers(0, 2)), draw(st.sampled_from([5, 20, 40]))
        gpu = Gpu((), count, GpuMemory(Bytes(size * GIB), False, ""), None)
        expect = Duration(draw(st.integers(0, 50)) * 10**9)
        demand = step.demand._replace(gpu=gpu, cpu_m=draw(st.sampled_from([500, 1000, 4000])))
        steps.append(step._replace(demand=demand, expect=expect))
    return MAKE.contract(steps, name="drawn")


def plan_of(contract):
    return compile_plan(
        order_steps(step_graph(contract)),
        contract,
        inventory=BOX,
        origin=Origin("dsandbox.yaml", (b"x",), "dsec", lambda path: Source("dsandbox.yaml", len(path), 1)),
        learned={},
    )


@pytest.mark.battery
@settings(max_examples=25)
@given(contract=contracts())
def test_a_plan_is_in_order_no_worse_than_a_queue_and_the_same_again(contract):
    plan = plan_of(contract)
    place = {step.id: at for at, step in enumerate(plan.steps)}
    for step in plan.steps:
        assert all(place[edge.step] < place[step.id] for edge in step.needs if edge.kind != "carried")
        assert len(step.placement.devices) == step.demand.gpu_count
    spans = dict(plan.analysis.schedule.makespans_ms)
    assert plan.analysis.lower_bound_ms <= plan.analysis.makespan_ms == min(spans.values()) <= spans["fifo"]
    data = plan_bytes(plan)
    assert plan_bytes(plan_of(contract)) == data
    # Its text is kept with its Steps; written anew from what is read, it is the same.
    assert plan_bytes(parse_plan(data, where="x")) == data == plan_bytes(read_quickly(data, name="x"))


@pytest.mark.battery
def test_the_file_is_the_same_under_any_hash_seed(tmp_path):
    text = "name: seeds\nbaseline: {cpu: 2, memory: 4Gi}\nelasticity: {}\n"
    text += "fault_tolerance: {level: elastic}\ndependencies: []\nsteps:\n"
    for at in range(30):
        needs = f"    needs: [S{at // 2}, S{at * 2 // 3}]\n" if at > 2 else ""
        text += (
            f"  - id: S{at}\n    run: 'true'\n    timeout: 1m\n    expected_duration: {1 + at * 7 % 11}s\n"
        )
        text += needs
    (tmp_path / "dsandbox.yaml").write_text(text)
    (tmp_path / "box.yaml").write_text("name: box\ncpu: 3\nmemory: 8Gi\n")
    plans = set()
    for seed in ("0", "1", "4242"):
        code = "import sys; from dsec_cli.fast import dsec; sys.argv[0] = 'dsec'; sys.exit(dsec())"
        words = ("plan", "dsandbox.yaml", "--inventory", "box.yaml", "--json")
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode()
        plans.add(done.stdout)
    assert len(plans) == 1


def test_a_plan_says_which_steps_are_given_other_devices_than_most():
    plan = next(filter(lambda one: one.analysis.schedule.otherwise, map(searched_plan, range(9))))
    others = set(plan.analysis.schedule.otherwise)
    assert others < {step.id for step in plan.steps}
    assert [step.id for step, quick in zip(plan.steps, plan.quicks, strict=True) if quick != plan.quick] == [
        step.id for step in plan.steps if step.id in others
    ]
    assert use_of(plan).makespan == plan.analysis.makespan_ms, "played again, it is the same"
    stored = plan_bytes(plan)
    assert parse_plan(stored, where="plan").quicks == read_quickly(stored, name="x").quicks == plan.quicks


def searched_plan(seed):
    """Of a contract whose schedule is searched for."""
    draw, steps = Draw([seed]), []
    for at in range(20):
        step = MAKE.step(f"S{at}", sorted({f"S{draw.below(at)}" for _ in range(2)}) if at else [], at=at)
        gpu = Gpu((), draw.below(3), GpuMemory(Bytes((5 + 10 * draw.below(3)) * GIB), False, ""), None)
        demand = step.demand._replace(gpu=gpu, cpu_m=500 + 500 * draw.below(2))
        steps.append(step._replace(demand=demand, expect=Duration((1 + draw.below(60)) * 10**9)))
    return plan_of(MAKE.contract(steps, name="drawn"))
