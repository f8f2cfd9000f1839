"""Root keys of a contract that a plan carries out: data set, step counts, snapshots, rates of cards."""

from __future__ import annotations

import json

import pytest

from dsec.planfile import parse_plan, plan_bytes
from dsec.sdk import context
from dsec.units import BytesPerSecond, Duration, FlopsPerSecond
from dsec_cli.dag.compile import Infeasible
from tests.plan.test_compile import compiled, machine, with_gpu

TERA = 10**12


def test_step_counts_reach_every_step_and_a_steps_own_variable_goes_over_them(make):
    contract = make.contract(
        [make.step("a", []), make.step("b", [], env=(("DSEC_MAX_STEPS_PER_EPISODE", "7"),))]
    )
    plan = compiled(contract._replace(max_steps_per_episode=3, checkpoint_interval_steps=2))
    env = {step.id: dict(step.env) for step in plan.steps}
    assert env["a"] == {"DSEC_CHECKPOINT_INTERVAL_STEPS": "2", "DSEC_MAX_STEPS_PER_EPISODE": "3"}
    assert env["b"]["DSEC_MAX_STEPS_PER_EPISODE"] == "7"
    run = {"DSEC_RUN": "j", "DSEC_STEP": "a", "DSEC_RUN_DIR": "/r"}
    found = context(run | env["a"])
    assert (found.max_steps_per_episode, found.checkpoint_interval_steps) == (3, 2)
    assert context(run).max_steps_per_episode is None


def test_the_data_set_is_checked_like_a_dependency(make):
    contract = make.contract([make.step("a", [])])
    plan = compiled(contract._replace(data_source="ds://datasets/drive"))
    assert [(one.name, one.kind, one.version, one.source) for one in plan.dependencies] == [
        ("data_source", "dataset", "", "ds://datasets/drive")
    ]
    assert compiled(contract).dependencies == ()


def test_the_interval_of_snapshots_is_in_the_plan_and_comes_back(make):
    plan = compiled(make.contract([make.step("a", [])])._replace(snapshot_interval=Duration(90 * 10**9)))
    assert plan.snapshot_interval_ns == 90 * 10**9
    assert parse_plan(plan_bytes(plan), where="p") == plan
    assert json.loads(plan_bytes(plan))["snapshot_interval_ns"] == 90 * 10**9


def rated(make, *, flops=0, memory_rate=0, type_=None):
    step = with_gpu(make, "a", count=1, type_=type_)
    rates = {
        "fp16_throughput": FlopsPerSecond(flops) if flops else None,
        "memory_bandwidth": BytesPerSecond(memory_rate) if memory_rate else None,
    }
    return make.contract([step._replace(demand=step.demand._replace(**rates))])


@pytest.mark.parametrize(
    ("type_", "rate", "fits"),
    [
        ("h100-sxm-80gb", {"flops": 2000 * TERA}, True),  # as people round 1979, the sparse rate
        ("h100-sxm-80gb", {"flops": 2200 * TERA}, False),
        ("t4", {"flops": 130 * TERA}, False),  # it has no sparse rate
        ("t4", {"memory_rate": 320 * 10**9}, True),
        ("a100-sxm-80gb", {"memory_rate": 3 * TERA}, False),
        ("h200-sxm-141gb", {"memory_rate": 3 * TERA}, True),
    ],
)
def test_only_cards_that_reach_the_stated_rates_are_taken(make, type_, rate, fits):
    found = compiled(rated(make, **rate), machine(type_=type_))
    assert isinstance(found, Infeasible) is not fits


def test_a_rate_that_no_card_of_the_type_reaches_is_named(make):
    found = compiled(rated(make, type_="t4", memory_rate=99 * TERA), machine(type_="t4"))
    assert isinstance(found, Infeasible)
    assert "t4 of 99TB/s" in found.findings[0].message
