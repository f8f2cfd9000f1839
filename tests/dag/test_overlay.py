"""What a run did, as it is laid over the graph: waits, retries, failures and held GPUs."""

from __future__ import annotations

from dsec.core.fold import fold
from dsec.events import Drop, Exit, Retry, RunStart, Spawn
from dsec_cli.commands.overlay import bars_of, observed, waits_of
from dsec_cli.dag.view import failure_text
from tests.runtime.conftest import make_demand, make_plan, make_step


def spawn(at_ms, step, iteration=0, attempt=1, devices=()):
    return Spawn(at_ms * 1000, step, iteration, attempt, 11, 1, 1, devices, "x.log", "")


def ended(at_ms, step, iteration=0, attempt=1, cause="ok", code=0):
    return Exit(at_ms * 1000, step, iteration, attempt, cause, code, None, "", 20_000, 1, 1, None, None, None)


START = RunStart(0, 1, 10, 1, "boot", 1_000_000, False)


def test_an_instance_waits_from_when_all_it_needs_was_done():
    plan = make_plan(
        make_step("a"), make_step("b", "a", carried=(("b", 0),)), count=2, staleness=0, in_flight=2
    )
    told = [
        *(START, spawn(5, "a"), ended(10, "a"), spawn(12, "b"), spawn(12, "a", 1), ended(20, "a", 1)),
        *(ended(50, "b"), spawn(57, "b", 1), ended(60, "b", 1)),
    ]
    assert waits_of(plan, told) == {"a": [5, 2], "b": [2, 7]}


def test_a_later_attempt_is_no_wait_and_a_dropped_need_keeps_nobody():
    plan = make_plan(make_step("a"), make_step("b", "a"))
    told = [
        *(START, spawn(1, "a"), ended(9, "a", cause="exit", code=3), Retry(9_000, "a", 0, 2, 5)),
        *(spawn(20, "a", attempt=2), ended(30, "a", attempt=2, cause="exit", code=3)),
        *(Drop(31_000, "a", 0, "it failed"), spawn(40, "b")),
    ]
    assert waits_of(plan, told) == {"a": [1], "b": [9]}


def test_failures_retries_and_held_gpus_are_counted():
    plan = make_plan(make_step("a", demand=make_demand(gpu_count=2)), make_step("b"))
    device = plan.inventory._replace(devices=("GPU-0", "GPU-1"))
    told = [
        *(START, spawn(0, "a", devices=("GPU-0", "GPU-1")), ended(10, "a", cause="exit", code=3)),
        *(Retry(10_000, "a", 0, 2, 5), spawn(20, "a", attempt=2, devices=("GPU-0", "GPU-1"))),
    ]
    bars, span = bars_of(told)
    seen = observed(plan._replace(inventory=device), fold(told), told, bars, span)
    assert span == 20
    found = seen["a"]
    assert (found.state, found.failures, found.retries, found.attempts) == ("running", 1, 1, 2)
    assert (found.gpu_ms, found.gpu_permille) == (20, 500)
    assert failure_text(found) == "1 failure, 1 retry, the last exited with code 3"
    assert (seen["b"].state, seen["b"].waited_ms, seen["b"].gpu_ms) == ("waiting", None, None)
    assert failure_text(seen["b"]) == ""


def test_what_the_end_of_a_run_cut_off_waits_and_has_not_failed():
    plan = make_plan(make_step("a"), make_step("b"))
    told = [
        START,
        spawn(0, "a"),
        spawn(0, "b"),
        ended(9, "a", cause="interrupted"),
        ended(9, "b", cause="exit", code=1),
    ]
    bars, span = bars_of(told)
    seen = observed(plan, fold(told), told, bars, span)
    assert (seen["a"].state, seen["a"].failures) == ("waiting", 0)
    assert (seen["b"].state, seen["b"].failures) == ("failed", 1)
