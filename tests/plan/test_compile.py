"""What the compiler decides: defaults, reasons, placement, keys, refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.inventory import Device, Inventory
from dsec.plan import Source
from dsec.planfile import parse_plan, plan_bytes
from dsec.quickplan import parse_plan as quick_plan
from dsec.units import Bytes, Duration
from dsec_cli.contract.values import FaultTolerance, Gpu, GpuMemory, Iterations, Retries, Run
from dsec_cli.dag.compile import Infeasible, Origin, compile_plan
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.graph import step_graph

GIB = 2**30


def machine(count=4, *, type_="a100-sxm-80gb", size=79 * GIB, cores=8):
    ids = [f"GPU-{at}" for at in range(count)]
    devices = tuple(
        Device(
            uuid=uuid,
            index=at,
            model="",
            type=type_,
            memory_bytes=size,
            free_bytes=size // 2,
            numa=at // 2,
            pci=None,
            links=tuple((other, "NV12") for other in ids if other != uuid),
            speed=1000,
            health="ok",
        )
        for at, uuid in enumerate(ids)
    )
    return Inventory("nvml", cores * 1000, 64 * GIB, 10 * GIB, 2, devices, ())


ORIGIN = Origin("dsandbox.yaml", (b"text",), "dsec test", lambda path: Source("dsandbox.yaml", len(path), 1))


def compiled(contract, inventory=None, *, learned=None, origin=ORIGIN):
    order = order_steps(step_graph(contract))
    assert isinstance(order, Order)
    return compile_plan(
        order, contract, inventory=inventory or machine(), origin=origin, learned=learned or {}
    )


def gpu(count, memory=None, type_=None):
    return Gpu(("gpu",), count, GpuMemory(Bytes(memory), False, "") if memory else None, type_)


def with_gpu(make, id_, needs=(), *, at=0, **stated):
    step = make.step(id_, list(needs), at=at)
    return step._replace(demand=step.demand._replace(path=("x",), gpu=gpu(**stated)))


def test_what_a_bare_step_gets_and_why(make):
    plan = compiled(make.contract([make.step("S")]))
    [step] = plan.steps
    assert (step.demand.cpu_m, step.demand.gpu_count, step.level, step.timeout_ms, step.grace_ms) == (
        1000,
        0,
        "pauseable",
        0,
        10_000,
    )
    assert (step.retries.max, step.estimate_ms, step.estimate_source, step.cwd) == (0, 1000, "default", ".")
    assert step.command.argv == ("true",)
    assert step.reasons == (
        "cpu only: no GPU asked for",
        "cpu: one core, as the Step states none",
        "estimate: 1s, as nothing is declared and nothing was measured",
        "level: pauseable, the default",
    )
    assert plan.name == "dsandbox"


def test_what_a_step_states_is_kept(make):
    step = make.step(
        "S",
        run=Run((), None, "m:f"),
        args='{"a":1}',
        worker="w",
        level="critical",
        timeout=Duration(1),
        grace=Duration(5 * 10**9),
        retries=Retries(2, Duration(10**9), 3),
        env=(("B", "2"),),
        cwd="src",
        expect=Duration(1_500_000_001),
    )
    plan = compiled(make.contract([step], name="job"))
    [planned] = plan.steps
    assert tuple(planned.command) == ((), "", "m:f", '{"a":1}', "w")
    assert (planned.level, planned.timeout_ms, planned.grace_ms, planned.cwd) == ("critical", 1, 5000, "src")
    assert tuple(planned.retries) == (2, 1000, 3)
    assert (planned.estimate_ms, planned.estimate_source, plan.name) == (1501, "declared", "job")


def test_a_call_without_a_worker_has_its_own(make):
    plan = compiled(make.contract([make.step("S", run=Run((), None, "m:f"))]))
    assert plan.steps[0].command.worker == "S"


def test_level_and_grace_come_from_the_contract_before_the_default(make):
    stated = FaultTolerance((), "elastic", Duration(3 * 10**9), None)
    plan = compiled(make.contract([make.step("S")], fault_tolerance=stated))
    assert (plan.steps[0].level, plan.steps[0].grace_ms) == ("elastic", 3000)
    assert "level: as fault_tolerance.level has it" in plan.steps[0].reasons


@pytest.mark.parametrize(
    ("learned", "expect", "found"),
    [
        (12_345, None, (12_000, "history")),
        (99, 5, (99, "history")),
        (None, 5, (5, "declared")),
        (0, 5, (0, "history")),
    ],
)
def test_measured_beats_declared_and_is_kept_to_two_digits(make, learned, expect, found):
    step = make.step("S", expect=Duration(expect * 10**6) if expect else None)
    plan = compiled(make.contract([step]), learned={"S": learned} if learned is not None else {})
    assert (plan.steps[0].estimate_ms, plan.steps[0].estimate_source) == found


def test_steps_come_in_order_with_ranks_slack_and_levels(make):
    steps = [
        make.step("end", ["long", "short"], expect=Duration(10 * 10**6)),
        make.step("long", expect=Duration(70 * 10**6), at=1),
        make.step("short", expect=Duration(20 * 10**6), at=2),
    ]
    plan = compiled(make.contract(steps))
    assert [(step.id, step.rank_ms, step.slack_ms) for step in plan.steps] == [
        ("long", 80, 0),
        ("short", 30, 50),
        ("end", 10, 0),
    ]
    assert plan.analysis.levels == (("long", "short"), ("end",))
    assert plan.analysis.critical_path == ("long", "end")
    assert (plan.analysis.critical_path_ms, plan.analysis.lower_bound_ms, plan.analysis.makespan_ms) == (
        80,
        80,
        80,
    )


def test_one_edge_per_step_waited_for_and_one_per_step_carried(make):
    steps = [
        make.step("A", ["~B"], outputs=["f-{iteration}"]),
        make.step("B", ["A"], inputs=["f-{iteration}", "f-{previous}"], at=1),
    ]
    stated = Iterations((), 5, 2, 4, ())
    plan = compiled(make.contract(steps, iterations=stated))
    assert [(e.step, e.kind, e.staleness) for e in plan.steps[0].needs] == [("B", "carried", 2)]
    assert [(e.step, e.kind, e.staleness) for e in plan.steps[1].needs] == [
        ("A", "order", 0),
        ("A", "carried", 2),
    ]
    assert "carried: reads B of up to 3 iterations before" in plan.steps[0].reasons
    assert tuple(plan.iterations) == (5, 2, 4)


def test_a_cut_is_a_carried_need_and_named_in_the_analysis(make):
    steps = [make.step("A", ["B"], break_cycle=True, break_point="B"), make.step("B", ["A"], at=1)]
    plan = compiled(make.contract(steps))
    assert plan.analysis.cuts == (("B", "A"),)
    assert [(e.step, e.kind) for e in plan.steps[0].needs] == [("B", "carried")]
    assert any("break_cycle" in reason for reason in plan.steps[0].reasons)


def test_steps_side_by_side_are_placed_side_by_side_with_the_reason(make):
    steps = [with_gpu(make, f"S{at}", at=at, count=2) for at in range(2)]
    plan = compiled(make.contract(steps))
    assert [step.placement.devices for step in plan.steps] == [("GPU-0", "GPU-1"), ("GPU-2", "GPU-3")]
    assert plan.steps[0].reasons[0] == "gpu of any type x2: a100-sxm-80gb 0,1: NV12, NUMA 0"
    assert plan.analysis.makespan_ms == 1000


def test_too_few_devices_make_the_schedule_longer_not_the_plan_impossible(make):
    steps = [with_gpu(make, f"S{at}", at=at, count=3) for at in range(2)]
    plan = compiled(make.contract(steps))
    assert plan.analysis.critical_path_ms == 1000
    assert (plan.analysis.lower_bound_ms, plan.analysis.makespan_ms) == (2000, 2000)


def test_small_steps_share_a_device_and_it_is_said(make):
    steps = [with_gpu(make, f"S{at}", at=at, count=1, memory=30 * GIB) for at in range(2)]
    plan = compiled(make.contract(steps), machine(1))
    assert {step.placement.devices for step in plan.steps} == {("GPU-0",)}
    assert all("shared, memory packed" in step.placement.reason for step in plan.steps)


@pytest.mark.parametrize(
    ("stated", "key", "words"),
    [
        ({"count": 5}, "count", "needs 5 GPUs"),
        ({"count": 1, "memory": 80 * GIB}, "memory", "80.00 GiB"),
        ({"count": 1, "type_": "h100"}, "type", "is another type"),
        ({"count": 1, "type_": "quantum-9000"}, "type", "quantum-9000"),
    ],
)
def test_what_no_device_can_meet_is_refused_with_the_arithmetic(make, stated, key, words):
    fine = make.step("fine")
    refused = compiled(
        make.contract([fine, with_gpu(make, "S", at=1, **stated), with_gpu(make, "T", at=2, **stated)])
    )
    assert isinstance(refused, Infeasible)
    assert [(one.code, one.where) for one in refused.findings] == [("DS210", ("gpu", key))] * 2
    assert words in refused.findings[0].message


def test_a_step_without_a_command_is_refused(make):
    refused = compiled(make.contract([make.step("S", run=None)]))
    assert isinstance(refused, Infeasible)
    assert [one.code for one in refused.findings] == ["DS109"]


def test_readings_that_change_by_the_minute_are_not_in_the_plan(make):
    contract = make.contract([with_gpu(make, "S", count=1)])
    one = compiled(contract, machine())
    inventory = machine()
    busy = tuple(device._replace(free_bytes=GIB) for device in inventory.devices)
    two = compiled(contract, inventory._replace(devices=busy, disk_bytes=9 * GIB))
    assert plan_bytes(one) == plan_bytes(two)


KEPT = {
    "timeout": Duration(9),
    "grace": Duration(9),
    "expect": Duration(9),
    "level": "critical",
    "name": "other",
}
SEEN = {"run": Run(("false",), None, None), "env": (("A", "1"),), "cwd": "x"}


@pytest.mark.parametrize(
    ("fields", "same"),
    [*(({k: v}, True) for k, v in KEPT.items()), *(({k: v}, False) for k, v in SEEN.items())],
)
def test_a_key_changes_with_what_decides_the_result_and_so_do_those_behind_it(make, fields, same):
    def keys(**stated):
        steps = [make.step("A", **stated), make.step("B", ["A"], at=1), make.step("C", at=2)]
        return {step.id: step.key for step in compiled(make.contract(steps)).steps}

    before, after = keys(), keys(**fields)
    assert (before["A"] == after["A"]) is same
    assert (before["B"] == after["B"]) is same
    assert before["C"] == after["C"]
    assert len(set(before.values())) == 3


@given(data=st.data())
def test_every_plan_decodes_to_itself(make, data):
    n = data.draw(st.integers(1, 6))
    steps = []
    for at in range(n):
        needs = [f"S{k}" for k in data.draw(st.sets(st.integers(0, at - 1)))] if at else []
        carried = [f"~S{k}" for k in data.draw(st.sets(st.integers(0, n - 1), max_size=2))]
        step = make.step(f"S{at}", [*needs, *carried], at=at, name=data.draw(st.text(max_size=5)))
        count = data.draw(st.integers(0, 4))
        memory = data.draw(st.sampled_from([None, GIB, 40 * GIB]))
        steps.append(step._replace(demand=step.demand._replace(gpu=gpu(count, memory))))
    plan = compiled(make.contract(steps))
    assert parse_plan(plan_bytes(plan), where="test") == plan
    place = {step.id: at for at, step in enumerate(plan.steps)}
    for step in plan.steps:
        assert all(place[edge.step] < place[step.id] for edge in step.needs if edge.kind != "carried")
        assert len(step.placement.devices) == step.demand.gpu_count
    assert plan.analysis.lower_bound_ms <= plan.analysis.makespan_ms


def test_a_plan_says_which_order_it_follows_and_what_the_others_lead_to(make):
    """Two processors; in the order of the document the long Step would begin last."""
    lengths = {"a": 2, "b": 2, "long": 4}
    steps = [
        make.step(id_, at=at, expect=Duration(length * 10**9))
        for at, (id_, length) in enumerate(lengths.items())
    ]
    plan = compiled(make.contract(steps), machine(0, cores=2))
    schedule = plan.analysis.schedule
    assert (schedule.order, schedule.devices, schedule.trials) == ("rank", "fit", 0)
    assert dict(schedule.makespans_ms) == {"fifo": 6000, "lpt": 4000, "rank": 4000, "rank+fbi": 4000}
    assert (dict(schedule.bounds_ms)["cpu"], schedule.over_bound_ppm) == (4000, 0)
    assert [step.rank_ms for step in plan.steps] == [2000, 2000, 4000]


def test_the_quickest_devices_are_taken_where_that_ends_earlier(make):
    """What fits best is the small slow device, and the Step takes ten times as long there."""
    slow = (
        machine(1, type_="l4", size=22 * GIB)
        .devices[0]
        ._replace(speed=100, index=1, uuid="GPU-slow", links=())
    )
    both = machine(1)._replace(devices=(*machine(1).devices, slow))
    plan = compiled(make.contract([with_gpu(make, "S", count=1, memory=10 * GIB)]), both)
    assert plan.analysis.schedule.devices == "quick"
    assert plan.quick
    assert (plan.steps[0].placement.devices, plan.analysis.makespan_ms) == (("GPU-0",), 1000)
    assert dict(plan.analysis.schedule.makespans_ms)["fifo"] == 1000


def test_a_plan_keeps_the_bounds_of_gpu_hours(make):
    contract = make.contract([make.step("S")])
    assert compiled(contract).budget is None
    assert b'"budget"' not in plan_bytes(compiled(contract))
    plan = compiled(contract._replace(min_gpu_hours=0.5, max_gpu_hours=8.0))
    assert plan.budget == (1_800_000, 28_800_000)
    assert parse_plan(plan_bytes(plan), where="plan.json") == plan
    assert quick_plan(plan_bytes(plan), name="plan.json") == plan
    assert compiled(contract._replace(max_gpu_hours=1.0)).budget == (None, 3_600_000)
