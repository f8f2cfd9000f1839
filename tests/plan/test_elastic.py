"""Which Steps are elastic, and within what: their own bounds, those of the job, and neither for calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.pace import slowed, stretched
from dsec.core.starting import elastic_pool
from dsec.plan import Elastic, Source
from dsec_cli.dag.demand import demand_of
from dsec_cli.dag.elastic import elastic_steps
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.picture import picture_of
from dsec_cli.dag.views.html import data

JOB = "elasticity: {{gpu: {{min_count: {}, max_count: {}}}}}\n"


@pytest.mark.parametrize(
    ("job", "level", "gpu", "bounds"),
    [
        (None, "pauseable", "count: 2", None),
        (None, "pauseable", "count: 2, min_count: 1", (1, 2)),
        (None, "pauseable", "count: 2, max_count: 4", (2, 4)),
        (None, "critical", "count: 2, min_count: 1, max_count: 3", (1, 3)),
        ((1, 4), "pauseable", "count: 2", None),
        ((1, 4), "elastic", "count: 2", (1, 4)),
        ((3, 4), "elastic", "count: 2", (2, 4)),
        ((1, 1), "elastic", "count: 2", (1, 2)),
        ((1, 4), "elastic", "count: 2, max_count: 2", (1, 2)),
        ((1, 4), "elastic", "count: 2, min_count: 2, max_count: 2", None),
        ((0, 4), "elastic", "count: 1", (1, 4)),
        ((1, 4), "elastic", "count: 0", None),
    ],
)
def test_bounds(make, job, level, gpu, bounds):
    text = (JOB.format(*job) if job else "") + "steps:\n"
    text += f"  - {{id: S, run: x, timeout: 1h, level: {level}, resources: {{gpu: {{{gpu}}}}}}}\n"
    assert found(make, text) == ((Elastic("S", *bounds),) if bounds else None)


def test_a_call_is_not_elastic(make):
    step = "{id: S, call: m:f, timeout: 1h, resources: {gpu: {count: 1, max_count: 4}}}"
    assert found(make, f"steps:\n  - {step}\n") is None


def found(make, text):
    contract = make.read(text, "dsandbox.yaml")
    return elastic_steps(contract.steps, [demand_of(one, contract) for one in contract.steps], contract)


@given(st.integers(0, 10**9), st.integers(1, 64), st.integers(1, 64))
def test_more_devices_never_take_longer_and_never_do_wonders(length, base, count):
    took = stretched(length, base, count)
    assert stretched(length, base, base) == length
    assert stretched(length, base, count + 1) <= took
    exact = length * (base / count) ** 0.9
    assert took == pytest.approx(exact, rel=1e-4, abs=2)


@given(st.integers(0, 10**9), st.integers(1, 2000), st.integers(1, 2000))
def test_slower_devices_take_longer_in_proportion(length, best, speed):
    assert slowed(length, best, speed) == (length if speed >= best else -(-length * best // speed))


def test_the_pool_is_three_tenths():
    assert [elastic_pool(many) for many in (0, 1, 3, 4, 8, 10, 24)] == [0, 0, 0, 1, 2, 3, 7]


def test_the_page_of_the_graph_says_it(make):
    text = "{id: S, run: x, timeout: 1h, resources: {gpu: {count: 2, min_count: 1, max_count: 4}}}"
    contract = make.read(f"steps:\n  - {text}\n", "dsandbox.yaml")
    drawn = picture_of(
        contract,
        step_graph(contract),
        title="t",
        learned={},
        locate=lambda path: Source("dsandbox.yaml", 1, 1),
    )
    assert data(drawn.picture)["steps"][0]["demand"] == "2 GPU, 1 core, starts on 1 to 4 GPUs"
