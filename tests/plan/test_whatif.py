"""Scenarios: what their texts say, what they change, and the table they end in."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.inventory import Device, Inventory
from dsec.plan import Source
from dsec.units import Bytes, Duration
from dsec_cli.cells import cells
from dsec_cli.commands.speaking import teller
from dsec_cli.contract.values import Iterations
from dsec_cli.dag.compile import Origin, compile_plan
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.noise import spread, trials_for
from dsec_cli.dag.replay import use_of
from dsec_cli.dag.whatif import OF_JOB, OF_STEP, BadScenarioError, Change, Percent, read
from dsec_cli.dag.whatif_change import changed, without
from dsec_cli.dag.whatif_text import refused, scenario, whatif_document, whatif_text

GIB = 2**30
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "whatif"
IDS = ("S1", "S2", "S3")


def machine(count=2):
    devices = tuple(
        Device(f"GPU-{at}", at, "", "a100-sxm-40gb", 39 * GIB, None, None, None, (), 1000, "ok")
        for at in range(count)
    )
    return Inventory("described:x", 4000, 64 * GIB, None, None, devices, ())


ORIGIN = Origin("dsandbox.yaml", (b"text",), "dsec test", lambda path: Source("dsandbox.yaml", len(path), 1))


def test_the_fields_of_a_scenario_are_read():
    assert read("step=S2, gpu.count=2 ,duration=50%,step=S1,cpu=1.5,remove,iterations=40", IDS) == (
        Change("S2", "gpu.count", 2),
        Change("S2", "duration", Percent(50)),
        Change("S1", "cpu", 1500),
        Change("S1", "remove", True),
        Change("", "iterations", 40),
    )
    assert read("step=S1,memory=2Gi,duration=1m30s,level=critical,gpu.type=h100,split=3", IDS) == (
        Change("S1", "memory", Bytes(2 * GIB)),
        Change("S1", "duration", Duration(90 * 10**9)),
        Change("S1", "level", "critical"),
        Change("S1", "gpu.type", "h100"),
        Change("S1", "split", 3),
    )
    [memory] = read("step=S1,gpu.memory=24GB-class", IDS)
    assert memory.value.nominal


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("", "'' is no field", "fields: step, gpu.count"),
        ("step=S9,cpu=2", "there is no Step 'S9'", "there are: S1, S2, S3"),
        ("step=S1,gpu.cuont=2", "'gpu.cuont' is no field", "did you mean gpu.count? fields: step"),
        ("cpu=2", "cpu of which Step?", "step=ID,cpu=2"),
        ("step=S1", "changes nothing", "step=S4,gpu.count=2"),
        ("step=S1,cpu", "cpu becomes what?", "cpu=4"),
        ("step=S1,cpu=two", "cpu cannot be 'two'", "cpu=4"),
        ("step=S1,cpu=1.2345", "cpu cannot be", "cpu=4"),
        ("step=S1,cpu=\u0663", "cpu cannot be", "cpu=4"),
        ("step=S1,gpu.count=-1", "gpu.count cannot be '-1'", "gpu.count=2"),
        ("step=S1,gpu.memory=24gb", "gpu.memory cannot be '24gb'", "gpu.memory=24GB"),
        ("step=S1,duration=5", "duration cannot be '5'", "duration=5s"),
        ("step=S1,duration=-5%", "duration cannot be '-5%'", "duration=40s"),
        ("step=S1,level=high", "level cannot be 'high'", "critical|pauseable"),
        ("step=S1,remove=no", "remove cannot be 'no'", "remove"),
        ("iterations=0", "iterations cannot be '0'", "iterations=40"),
        ("step=S1" + ",cpu=1" * 300, "more than 200 changes", "change the contract"),
        ("x" * 100_000, "is no field", "fields"),
    ],
)
def test_what_is_no_scenario_is_said_with_what_would_be_one(text, what, hint):
    with pytest.raises(BadScenarioError) as problem:
        read(text, IDS)
    assert what in problem.value.what
    assert hint in problem.value.hint
    assert len(problem.value.what) < 300


@given(st.text(alphabet="step=S1,gpu.countmryxd5%0 \n\x00é", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        found = read(text, IDS)
    except BadScenarioError as problem:
        found = (problem.hint,)
    assert found


def test_every_field_has_a_reader_and_an_example():
    for field in (*OF_STEP, *OF_JOB):
        example = {
            "split": "2",
            "remove": "",
            "gpu.type": "h100",
            "level": "critical",
            "gpu.share": "mig",
            "gpu.within": "numa",
            "gpu.topology": "strict",
        }.get(field)
        units = {"gpu.memory": "1Gi", "memory": "1Gi", "duration": "1s"}
        value = example if example is not None else units.get(field, "2")
        assert read(f"step=S1,{field}={value}", IDS)[0].field == field


def tried(contract, text, durations=None):
    order = order_steps(step_graph(contract))
    assert isinstance(order, Order)
    return changed(contract, order, read(text, order.graph.numbers), durations or {})


def one(result, id_):
    return next(step for step in result.order.graph.steps if step.id == id_)


def test_a_step_is_changed_and_the_others_are_not(make):
    contract = make.contract([make.step("S1"), make.step("S2", ["S1"], at=1)])
    found = tried(contract, "step=S2,gpu.count=2,gpu.memory=24Gi,cpu=3,memory=1Gi,level=critical")
    step = one(found, "S2")
    assert (step.demand.gpu.count, step.demand.gpu.memory.text) == (2, "24Gi")
    assert (step.demand.cpu_m, step.demand.memory, step.level) == (3000, GIB, "critical")
    assert one(found, "S1") == contract.steps[0]
    assert found.told == (
        "S2 gpu.count 0 -> 2",
        "S2 gpu.memory whole device -> 24Gi",
        "S2 cpu default -> 3",
        "S2 memory none -> 1Gi",
        "S2 level default -> critical",
    )
    assert one(tried(contract, "step=S2,gpu.count=2,gpu.count=0"), "S2").demand.gpu is None
    terms = tried(contract, "step=S2,gpu.share=exclusive,gpu.within=numa,gpu.topology=strict")
    gpu = one(terms, "S2").demand.gpu
    assert (gpu.count, gpu.share, gpu.within, gpu.topology) == (1, "exclusive", "numa", "strict")
    assert terms.told[1] == "S2 gpu.within default -> numa"


@pytest.mark.parametrize(
    ("durations", "text", "ms", "told"),
    [
        ({}, "duration=50%", 500, "S1 duration 1s? -> 500ms"),
        ({"S1": 4000}, "duration=50%", 2000, "S1 duration 4s~ -> 2s"),
        ({"S1": 4000}, "duration=3s", 3000, "S1 duration 4s~ -> 3s"),
        ({}, "duration=10s,duration=10%", 1000, "S1 duration 10s -> 1s"),
    ],
)
def test_a_duration_counts_instead_of_what_was_measured(make, durations, text, ms, told):
    found = tried(make.contract([make.step("S1")]), f"step=S1,{text}", durations)
    assert one(found, "S1").expect.ms == ms
    assert "S1" not in found.durations
    assert found.told[-1] == told


def test_iterations_change_and_what_follows_from_them(make):
    contract = make.contract([make.step("S1")], iterations=Iterations((), 5, 0, 2, ()))
    assert tried(contract, "max_staleness=2").contract.iterations.in_flight == 4
    assert tried(contract, "in_flight=7,max_staleness=2").contract.iterations.in_flight == 7
    once = tried(make.contract([make.step("S1")]), "iterations=4").contract.iterations
    assert (once.count, once.in_flight, once.max_staleness) == (4, 2, 0)


def pairs(edges):
    return {(edge.source, edge.target) for edge in edges}


def test_who_waited_for_a_removed_step_waits_for_what_it_waited_for(make):
    contract = make.contract(
        [
            make.step("S1", ["~S4"]),
            make.step("S2", ["S1", "~S3"], at=1),
            make.step("S3", ["S2"], at=2),
            make.step("S4", ["S2", "S3"], at=3),
        ]
    )
    graph = without(step_graph(contract), "S2")
    assert pairs(graph.edges) == {("S1", "S3"), ("S1", "S4"), ("S3", "S4")}
    assert pairs(graph.carried) == {("S4", "S1"), ("S3", "S3"), ("S3", "S4")}
    assert isinstance(order_steps(graph), Order)
    assert [step.id for step in tried(contract, "step=S2,remove").order.graph.steps] == ["S1", "S3", "S4"]


def test_steps_are_removed_last_and_never_all(make):
    contract = make.contract([make.step("S1"), make.step("S2", at=1)])
    with pytest.raises(BadScenarioError, match="after it was removed"):
        tried(contract, "step=S1,remove,cpu=2")
    with pytest.raises(BadScenarioError, match="removes every Step"):
        tried(contract, "step=S1,remove,step=S2,remove")


@given(st.data(), st.lists(st.lists(st.integers(0, 6), max_size=3), min_size=2, max_size=7))
def test_removing_steps_leaves_an_order(make, data, needs):
    contract = make.numbered(
        [sorted({at for at in some if at < number}) for number, some in enumerate(needs)]
    )
    graph = step_graph(contract)
    reach = {one.id: {one.id} for one in graph.steps}
    for edge in graph.edges:
        reach[edge.target] |= reach[edge.source]
    name = data.draw(st.sampled_from([step.id for step in graph.steps]))
    left = without(graph, name)
    again = {one.id: {one.id} for one in left.steps}
    assert isinstance(order_steps(left), Order)
    for at in order_steps(left).sequence:
        for edge in left.edges:
            if edge.target == left.steps[at].id:
                again[edge.target] |= again[edge.source]
    assert again == {id_: some - {name} for id_, some in reach.items() if id_ != name}


def compiled(result, inventory):
    return compile_plan(
        result.order, result.contract, inventory=inventory, origin=ORIGIN, learned=result.durations
    )


def job(make):
    steps = [
        make.step("load", expect=Duration(2 * 10**9)),
        make.step("act", ["load"], at=1, expect=Duration(9 * 10**9)),
        make.step("judge", ["load"], at=2, expect=Duration(7 * 10**9)),
        make.step("learn", ["act", "judge"], at=3, expect=Duration(4 * 10**9)),
    ]
    steps[1:] = [
        tried(make.contract([step._replace(needs=())]), f"step={step.id},gpu.count=1")
        .order.graph.steps[0]
        ._replace(needs=step.needs)
        for step in steps[1:]
    ]
    return make.contract(steps, name="job", iterations=Iterations((), 10, 1, 3, ()))


TEXTS = (
    "step=act,gpu.count=2",
    "step=act,duration=50%,step=judge,duration=50%",
    "step=judge,remove",
    "iterations=20,max_staleness=0",
    "step=learn,cpu=4",
)


def scenarios(make, *, noise=None):
    contract, found = job(make), []
    for name, inventory in (("two cards", machine()), ("one card", machine(1))):
        for text in (None, *TEXTS):
            if text is None:
                order = order_steps(step_graph(contract))
                result = changed(contract, order, (), {})
            else:
                result = tried(contract, text)
            plan = compiled(result, inventory)
            if not hasattr(plan, "steps"):
                found.append(refused(result.told, name, tuple(one.message for one in plan.findings)))
                continue
            found.append(
                scenario(
                    result.told,
                    name,
                    plan,
                    None if noise is None else spread(plan, noise),
                    as_long_as_before=text == TEXTS[0],
                )
            )
    return found


def test_scenarios_stand_side_by_side(make):
    text = whatif_text("job", scenarios(make, noise=0.3))
    assert max(map(len, text.splitlines())) <= 80
    path = GOLDEN / "table.txt"
    if os.environ.get("DSEC_BLESS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_the_table_is_said_in_chinese_within_eighty_cells(make):
    text = whatif_text("job", scenarios(make, noise=0.3), teller("zh"))
    assert "关键路径" in text
    assert "as it stands" not in text
    assert "against" not in text
    assert max(map(cells, text.splitlines())) <= 80


def test_a_terminal_obeys_nothing_in_a_name(make):
    assert "\x1b" not in whatif_text("a\x1b[31mb", scenarios(make)[:1])


def test_the_document_says_what_the_table_says(make):
    some = scenarios(make, noise=0.5)
    document = whatif_document("job", some)
    assert (document["format"], document["name"]) == ("dsec.whatif/1", "job")
    first = document["scenarios"][0]
    assert first["makespan_ms"] == some[0].plan.analysis.makespan_ms
    assert first["noise"]["sigma"] == 0.5
    last = next(one for one in document["scenarios"] if one["refused"])
    assert last["makespan_ms"] is None
    assert last["gpu_idle_permille"] is None


def test_a_plan_that_is_tried_again_takes_as_long(make):
    for one_ in scenarios(make):
        if one_.plan is not None:
            assert one_.use.makespan == one_.plan.analysis.makespan_ms


def test_use_is_counted_by_hand(make):
    """load 2 s, then act 9 s beside judge 7 s, then learn 4 s: 15 s, of which two GPUs work 20 of 30."""
    plan = compiled(changed(job(make), order_steps(step_graph(job(make))), (), {}), machine())
    found = use_of(plan)
    assert (found.makespan, found.gpu_idle_permille) == (15_000, round(10_000 * 1000 / 30_000))
    assert found.cpu_busy_permille == round(22_000 * 1000 / (4 * 15_000))


def test_noise_is_drawn_from_the_steps_and_nothing_else(make):
    plan = compiled(changed(job(make), order_steps(step_graph(job(make))), (), {}), machine())
    found = spread(plan, 0.3)
    assert found == spread(plan, 0.3)
    assert found.trials == 200
    assert found.p50 <= found.p95 <= found.worst
    assert spread(plan, 0.01).p50 == pytest.approx(15_000, rel=0.02)
    assert spread(plan, 1.0).p95 > found.p95


def test_factors_are_lognormal_with_median_one(make):
    """A chain of one Step: quantiles of exp(0.3 z) are 1 and exp(0.3 x 1.645) = 1.64."""
    contract = make.contract([make.step("S1", expect=Duration(10**13))])
    plan = compiled(changed(contract, order_steps(step_graph(contract)), (), {}), machine())
    found = spread(plan, 0.3)
    assert found.p50 / 10**7 == pytest.approx(1, abs=0.06)
    assert found.p95 / 10**7 == pytest.approx(1.64, abs=0.15)


@pytest.mark.parametrize(("steps", "trials"), [(1, 200), (250, 200), (1000, 50), (100_000, 5)])
def test_large_plans_are_tried_less_often(steps, trials):
    assert trials_for(steps) == trials
