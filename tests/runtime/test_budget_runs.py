"""Runs that use up their GPU-hours, on simulated GPUs: the executor, its monitor and the report."""

from __future__ import annotations

import json

import pytest

from dsec.plan import Budget
from dsec.planfile import seal
from dsec.simgpu.scenario import box, of_box


@pytest.fixture
def hold(job, kit, nvml_library):
    """Carries out a plan of one Step on one GPU that may be held for a second; gives what it printed."""
    path = job.folder / "rules"
    path.write_text(of_box(box("2xh100")))
    job.env |= {
        "LD_LIBRARY_PATH": nvml_library(), "SIM_GPU_SCENARIO": str(path), "DSEC_AUDIT_S": "0.2"
    }  # fmt: skip

    def carried_out(shell, *, count, expect):
        step = kit.step("train", shell=shell, demand=kit.demand(gpu_count=1))
        plan = kit.plan(step, count=count)._replace(budget=Budget(None, 1000), hash="")
        return job.run(seal(plan), expect=expect)

    return carried_out


def details(job):
    return [one["detail"] for one in job.events("notice") if one["kind"] == "budget"]


@pytest.mark.battery
def test_a_run_that_would_take_much_more_is_ended_in_order(job, hold):
    out = hold("sleep 0.5", count=60, expect=3)
    assert "max_gpu_hours is used up: 0.000" in out
    assert "go on with: dsec resume j" in out
    [end] = job.events("run-end")
    assert (end["outcome"], end["detail"]) == ("stopped", details(job)[-1])
    # A second of budget is used up within the second execution, or, where little else goes on, the third.
    assert 1 <= len([one for one in job.events("exit") if one["cause"] == "ok"]) < 60
    found = json.loads(job.dsec("report", "j", "--json"))
    assert found["outcome"] == "stopped"
    spans = [(one["at_us"], one["devices"]) for one in job.events("spawn")]
    ends = [one["at_us"] for one in job.events("exit")]
    held = sum(end - begin for (begin, _), end in zip(spans, ends, strict=True))
    assert found["settlement"]["used_gpu_us"] == held
    assert found["settlement"]["hidden"]["monitor_cpu_us"] > 0
    assert [one["kind"] for one in found["remarks"]] == ["budget"] * len(details(job))
    assert "## Settlement" in (job.run_dir / "report.md").read_text()


@pytest.mark.battery
def test_a_run_of_which_nothing_is_known_is_warned_of_and_finishes(job, hold):
    hold("sleep 2", count=1, expect=0)
    [detail] = details(job)
    assert detail.endswith("how far the run is is not known: it goes on")


def test_a_step_that_says_how_far_it_is_decides(job, hold):
    hold("""echo '{"progress": 0.2}' > $DSEC_METRICS; sleep 30""", count=1, expect=3)
    assert "by its progress the run would take" in details(job)[-1]
