"""Which Steps are split, where, and what becomes of the graph around them."""

import json
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.inventory import Device, Inventory
from dsec.plan import Source
from dsec.planfile import plan_bytes
from dsec.units import Bytes, Duration
from dsec_cli.contract.values import ElasticGpu, Elasticity, Gpu, GpuMemory, Iterations, Layer, Link, Run
from dsec_cli.dag.compile import Origin, compile_plan
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.split import FEWEST, WHOLE, decide
from dsec_cli.dag.split_graph import split_graph
from dsec_cli.dag.splitting import split_order

GIB = 2**30
ORIGIN = Origin("dsandbox.yaml", (b"text",), "dsec test", lambda path: Source("dsandbox.yaml", len(path), 1))


def machine(*sizes, type_="a100-sxm-40gb"):
    devices = tuple(
        Device(f"GPU-{at}", at, "", type_, size * GIB, None, None, None, (), 1000, "ok")
        for at, size in enumerate(sizes)
    )
    return Inventory("described:x", 16_000, 64 * GIB, None, None, devices, ())


def layers(*sizes):
    return tuple(Layer(None, Bytes(size * GIB), many) for size, many in sizes)


def big(make, id_="S2", needs=(), *, of=((4, 6),), memory=None, count=1, at=1, **fields):
    stated = {"outputs": ["{run}/g-{iteration}.npz"], "layers": layers(*of), **fields}
    step = make.step(id_, list(needs), at=at, **stated)
    size = GpuMemory(Bytes(memory * GIB), False, f"{memory}Gi") if memory else None
    return step._replace(demand=step.demand._replace(path=("r",), gpu=Gpu(("r", "gpu"), count, size, None)))


def cut(contract, inventory, **asked):
    return decide(step_graph(contract), contract, inventory, asked)


def words(decided):
    return [one.message for one in decided.findings]


def test_what_fits_a_device_stays_whole(make):
    assert cut(make.contract([big(make)]), machine(24, 8)).splits == {}


def test_what_fits_none_is_cut_into_as_few_parts_as_fill_devices_to_ninety_per_cent(make):
    contract = make.contract([big(make)])
    assert cut(contract, machine(20, 20)).splits["S2"].ends == (3, 6)
    assert cut(contract, machine(13, 13, 13)).splits["S2"].ends == (2, 4, 6), "12 of 13 GiB are over 90 %"
    assert cut(contract, machine(13, 13)).splits["S2"].ends == (3, 6), "there are no more devices"


def test_devices_of_different_sizes_take_parts_of_different_sizes(make):
    found = cut(make.contract([big(make, of=((9, 1), (4, 4)))]), machine(18, 14)).splits["S2"]
    assert found.ends == (2, 5)


def test_memory_beyond_the_layers_is_needed_on_every_device(make):
    contract = make.contract([big(make, memory=30)])  # 24 of layers, 6 besides
    assert cut(contract, machine(22, 22)).splits["S2"].beside == 6 * GIB
    graph = split_graph(step_graph(contract), cut(contract, machine(22, 22)).splits, {})
    assert [str(step.demand.gpu.memory.bytes) for step in graph.steps[:2]] == ["18Gi", "18Gi"]
    assert words(cut(contract, machine(9, 9))) == [
        "Step S2 cannot be split: layer 0 takes 4.00 GiB (4,096 MiB), and the largest device has "
        "3.00 GiB (3,072 MiB) besides 6.00 GiB (6,144 MiB)"
    ]


@pytest.mark.parametrize(
    ("of", "sizes", "text"),
    [
        (
            ((30, 1), (1, 2)),
            (24, 24),
            "layer 0 takes 30.00 GiB (30,720 MiB), and the largest device has 24.00",
        ),
        (((9, 4),), (10, 10), "its 4 layers take 36.00 GiB (36,864 MiB), and no cut of them, whole and in"),
        (((6, 3),), (9, 9), "fits 2 devices of 18.00 GiB (18,432 MiB) in all"),
    ],
)
def test_why_it_cannot_be_split_is_said_with_its_arithmetic(make, of, sizes, text):
    [found] = cut(make.contract([big(make, of=of)]), machine(*sizes)).findings
    assert text in found.message
    assert (found.code, found.where) == ("DS210", ("steps", 1, "layers"))


def test_another_type_is_no_matter_of_size(make):
    step = big(make)
    step = step._replace(demand=step.demand._replace(gpu=step.demand.gpu._replace(type="h100")))
    contract = make.contract([step])
    assert cut(contract, machine(20, 20)) == ({}, ()), "DS210 says it of the whole Step"
    assert "no device of its kind" in words(cut(contract, machine(20, 20), S2=2))[0]


def test_elasticity_bounds_the_parts(make):
    bound = Elasticity((), ElasticGpu((), 1, 2, None, None), None)
    contract = make.contract([big(make)], elasticity=bound)
    assert cut(contract, machine(20, 20, 20)).splits["S2"].ends == (3, 6)
    assert cut(contract, machine(13, 13, 13)).splits["S2"].ends == (3, 6), (
        "over 90 %, but no third is allowed"
    )
    for asked in ({}, {"S2": 3}):
        found = words(cut(contract, machine(9, 9, 9), **asked))
        assert "its 3 parts take as many GPUs, and elasticity.gpu.max_count is 2" in found[0]


def test_what_is_asked_for_is_done(make):
    contract = make.contract([big(make)])
    assert cut(contract, machine(40, 40, 40, 40), S2=FEWEST).splits["S2"].ends == (3, 6)
    assert cut(contract, machine(40, 40, 40, 40), S2=4).splits["S2"].ends == (1, 3, 4, 6)
    assert cut(contract, machine(20, 20), S2=WHOLE) == ({}, ())
    assert (
        "in 3 parts it needs as many layers and devices; there are 6 and 2"
        in (words(cut(contract, machine(20, 20), S2=3))[0])
    )
    assert words(cut(make.contract([make.step("S1")]), machine(20), S1=2)) == [
        "Step S1 cannot be split: it states no layers"
    ]


def test_a_step_without_a_gpu_can_be_cut_on_request(make):
    step = big(make)
    contract = make.contract([step._replace(demand=step.demand._replace(gpu=None))])
    assert cut(contract, machine()).splits == {}
    assert cut(contract, machine(), S2=2).splits["S2"].ends == (3, 6)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"count": 2}, "it asks for 2 GPUs, and layers are those of a Step on one"),
        (
            {"outputs": ["model.pt"]},
            "its output model.pt is no .npy or .npz file, which is all that sum reads",
        ),
        (
            {"outputs": ["g.npz"], "inputs": ["g.npz"]},
            "it reads its own output g.npz, which its parts would read half old, half new",
        ),
        ({"id_": "x" * 60}, f"its id is too long for parts: {'x' * 60}.all-reduce has 71 characters"),
        ({"of": ((1, 9_000), (1, 9_000), (1, 9_000))}, "27000 layers are more than 20000"),
    ],
)
def test_what_forbids_any_split(make, fields, text):
    step = big(make, **fields)
    found = cut(make.contract([step]), machine(20, 20), **{step.id: 2})
    assert words(found) == [f"Step {step.id} cannot be split: {text}"]


@pytest.mark.parametrize("asked", [{}, {"S2": 1}, {"S2": 2}])
@pytest.mark.parametrize("sizes", [(20, 20), (80, 80)])
def test_memory_below_that_of_the_layers_is_refused_whatever_the_devices(make, asked, sizes):
    found = cut(make.contract([big(make, memory=20)]), machine(*sizes), **asked)
    assert words(found) == ["Step S2 cannot be placed: its memory is 20Gi, its layers alone take 24Gi"]
    assert not found.splits
    whole = cut(make.contract([big(make, memory=24)]), machine(*sizes), **asked)
    assert all("alone" not in text for text in words(whole))
    pair = cut(make.contract([big(make, memory=12, count=2)]), machine(*sizes))
    assert words(pair) == [], "two GPUs of 12 GiB hold layers of 24"


def test_a_function_may_put_any_files_together(make):
    step = big(make, outputs=["model.pt"], all_reduce="mine:join")
    assert cut(make.contract([step]), machine(20, 20)).splits["S2"].ends == (3, 6)


@pytest.mark.parametrize("other", ["S2.0", "S2.1", "S2.all-reduce", "S2.2"])
def test_ids_that_are_taken_forbid_it(make, other):
    contract = make.contract([big(make), make.step(other)])
    assert f"{other} is the id of another Step" in words(cut(contract, machine(20, 20, 20), S2=3))[0]


def edges(graph):
    return {(edge.source, edge.target) for edge in graph.edges}


def test_everything_around_it_is_rewired(make):
    steps = [
        make.step("S1", outputs=["b.npy"]),
        big(make, inputs=["b.npy"], needs=["~S4"]),
        make.step("S3", inputs=["{run}/g-{iteration}.npz"]),
        make.step("S4", ["S3"]),
        make.step("S5", ["S2", "~S2"]),
    ]
    contract = make.contract(steps)
    graph = split_graph(step_graph(contract), cut(contract, machine(20, 20)).splits, {})
    assert [step.id for step in graph.steps] == ["S1", "S2.0", "S2.1", "S2.all-reduce", "S3", "S4", "S5"]
    assert edges(graph) == {
        ("S1", "S2.0"),
        ("S1", "S2.1"),
        ("S2.0", "S2.all-reduce"),
        ("S2.1", "S2.all-reduce"),
        ("S2.all-reduce", "S3"),
        ("S3", "S4"),
        ("S2.all-reduce", "S5"),
    }
    assert {(edge.source, edge.target) for edge in graph.carried} == {
        ("S4", "S2.0"),
        ("S4", "S2.1"),
        ("S2.all-reduce", "S5"),
    }
    assert [list(some) for some in graph.successors] == [[1, 2], [3], [3], [4, 6], [5], [], []]
    assert isinstance(order_steps(graph), Order)


def test_a_cut_cycle_stays_cut(make):
    steps = [make.step("S1", ["S2"]), big(make, needs=["S1"], break_cycle=True)]
    contract = make.contract(steps, iterations=Iterations((), 3, 0, 2, ()))
    graph = split_graph(step_graph(contract), cut(contract, machine(20, 20)).splits, {})
    assert {(edge.source, edge.target) for edge in graph.cuts} == {("S1", "S2.0"), ("S1", "S2.1")}
    assert isinstance(order_steps(graph), Order)


def planned(contract, inventory, learned=None, **asked):
    order = order_steps(step_graph(contract))
    found = split_order(order, contract, inventory, asked=asked, learned=learned or {})
    assert not found.findings
    return compile_plan(
        found.order, found.contract, inventory=inventory, origin=ORIGIN, learned=found.learned
    )


def test_the_plan_holds_parts_and_what_puts_them_together(make):
    step = big(make, name="Forward", expect=Duration(40 * 10**9), env=(("A", "1"),), all_reduce="mean")
    plan = planned(make.contract([make.step("S1"), step]), machine(20, 20))
    parts = {one.id: one for one in plan.steps}
    first, second, whole = parts["S2.0"], parts["S2.1"], parts["S2.all-reduce"]
    assert (first.name, second.name, whole.name) == ("Forward 0-2", "Forward 3-5", "AllReduce")
    assert dict(second.env) == {
        "A": "1",
        "DSEC_SPLIT_COUNT": "2",
        "DSEC_SPLIT_INDEX": "1",
        "DSEC_SPLIT_LAYERS": "3-5",
    }
    assert first.outputs == ("{run}/g-{iteration}.part0.npz",)
    assert (first.demand.gpu_count, first.demand.gpu_memory_bytes) == (1, 12 * GIB)
    assert first.placement.devices != second.placement.devices
    assert (first.estimate_ms, first.estimate_source) == (20_000, "declared")
    assert first.reasons[-2:] == (
        "split: layers 0-2 of 0-5 of S2, 12Gi of 24Gi",
        "estimate: 50 % of S2's, as of its layers' memory",
    )
    assert whole.command.call == "dsec.allreduce:all_reduce"
    assert json.loads(whole.command.args) == {
        "how": "mean",
        "outputs": ["{run}/g-{iteration}.npz"],
        "parts": 2,
    }
    assert whole.inputs == ("{run}/g-{iteration}.part0.npz", "{run}/g-{iteration}.part1.npz")
    assert whole.outputs == step.outputs[0][1:]
    assert whole.demand.gpu_count == 0
    assert whole.reasons[-2] == "split: makes one of the outputs of the 2 parts of S2 (mean)"
    assert whole.reasons[-1] == (
        "split: 2 parts, the largest as small as can be, devices filled to 90 % at most, as S2 needs 1 GPU "
        "(any type) with 24.00 GiB (24,576 MiB) each; 0 of 2 fit: 2 x a100-sxm-40gb has 20.00 GiB "
        "(20,480 MiB) usable"
    )


def test_what_whole_runs_took_is_shared_out_until_parts_have_run(make):
    contract = make.contract([big(make)])
    estimates = {
        one.id: one.estimate_ms for one in planned(contract, machine(20, 20), {"S2": 8000, "S2.1": 700}).steps
    }
    assert (estimates["S2.0"], estimates["S2.1"]) == (4000, 700)


def test_a_part_is_not_elastic(make):
    step = big(make, level="elastic")
    bound = Elasticity((), ElasticGpu((), 1, 2, None, None), None)
    gpu = step.demand.gpu._replace(min_count=1, max_count=2)
    contract = make.contract([step._replace(demand=step.demand._replace(gpu=gpu))], elasticity=bound)
    assert planned(contract, machine(30)).elastic
    assert not planned(contract, machine(20, 20)).elastic


def test_calls_have_a_worker_for_each_part(make):
    call = Run((), None, "m:f")
    own = planned(make.contract([big(make, run=call)]), machine(20, 20))
    shared = planned(make.contract([big(make, run=call, worker="learner")]), machine(20, 20))
    assert [one.command.worker for one in own.steps] == ["S2.0", "S2.1", "S2.all-reduce"]
    assert [one.command.worker for one in shared.steps][:2] == ["learner.0-2-of-2", "learner.3-5-of-2"]


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=8),
    rooms=st.lists(st.integers(4, 30), min_size=1, max_size=4),
)
def test_whatever_is_cut_fits_and_nothing_is_lost(make, sizes, rooms):
    contract = make.contract([big(make, of=tuple((size, 1) for size in sizes))])
    found = cut(contract, machine(*rooms))
    if sum(sizes) <= max(rooms):
        assert found == ({}, ())
        return
    if found.findings:
        return
    ends = found.splits["S2"].ends
    assert ends[-1] == len(sizes)
    row = (0, *accumulate(sizes))
    parts = [row[end] - row[start] for start, end in zip((0, *ends), ends, strict=False)]
    room = sorted(rooms, reverse=True)
    assert all(part <= able for part, able in zip(sorted(parts, reverse=True), room, strict=False))
    plan = planned(contract, machine(*rooms))
    assert sum(one.demand.gpu_memory_bytes for one in plan.steps) == sum(sizes) * GIB


def test_a_contract_without_layers_is_planned_to_the_same_bytes(make):
    contract = make.contract([make.step("S1"), make.step("S2", ["S1"], at=1)])
    order = order_steps(step_graph(contract))
    plain = compile_plan(order, contract, inventory=machine(20), origin=ORIGIN, learned={})
    assert plan_bytes(planned(contract, machine(20))) == plan_bytes(plain)
    assert split_order(order, contract, machine(20), asked={}, learned={}).order is order


def test_communication_is_that_of_the_parts(make):
    links = (
        Link(("communication", 0), "S1", "S2", "tcp"),
        Link(("communication", 1), "S2", "S3", None),
    )
    steps = [make.step("S1"), big(make), make.step("S3", at=2)]
    plan = planned(make.contract(steps, communication=links), machine(20, 20))
    needs = {(edge.step, step.id, edge.kind) for step in plan.steps for edge in step.needs}
    assert needs >= {
        ("S1", "S2.0", "communication"),
        ("S1", "S2.1", "communication"),
        ("S2.all-reduce", "S3", "communication"),
    }
    assert {(link.source, link.target) for link in plan.links} == {
        ("S1", "S2.0"),
        ("S1", "S2.1"),
        ("S2.all-reduce", "S3"),
    }


def test_layers_that_take_nothing_are_cut_on_request(make):
    contract = make.contract([big(make, of=((0, 4),), expect=Duration(10**9))])
    plan = planned(contract, machine(20, 20), {"S2": 500}, S2=2)
    assert {one.demand.gpu_memory_bytes for one in plan.steps} == {0}
