"""A run as Prometheus reads it: right names, nothing unknown said, labels bounded, rules that fit."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dsec.core.exposition import MOST_NAMES, Moment, Said, render
from dsec.core.families import MOST_STEPS, Family, text
from dsec.core.totals import Totals
from dsec.events import (
    Cancel,
    Continue,
    DeviceState,
    Drop,
    Exit,
    Notice,
    Pause,
    Retry,
    RunEnd,
    RunStart,
    Spawn,
    WorkerStart,
    WorkerStop,
)
from dsec.exporter import _Signs, latest_sample
from dsec.inventory import Device

ROOT = Path(__file__).resolve().parents[2]
NOBODY = Said({}, {})
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")


def spawn(step, iteration, *, at=0, devices=(), attempt=1):
    return Spawn(at, step, iteration, attempt, 100, 1, 2, devices, "log", "")


def ended(step, iteration, cause="ok", *, wall=2_000_000, cpu=1_500_000, rss=2048, at=0):
    return Exit(at, step, iteration, 1, cause, 0, None, "", wall, cpu, rss, None, None, None)


def start(session=1):
    return RunStart(0, session, 1, 1, "boot", 1_700_000_000_000, False)


def shown(plan, events, *, sample=None, said=NOBODY, dead=False, compat=False):
    totals = Totals(plan)
    for event in events:
        totals.take(event)
    return render(plan, totals, Moment("nightly", sample, said, dead), compat=compat)


def values(text):
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    assert len({line[0] for line in lines}) == len(lines), "a line comes once"
    return {name: float(value) for name, value in lines}


SAMPLE = {
    "at_us": 5,
    "session": 1,
    "devices": [
        {
            "uuid": "GPU-a",
            "name": "H100",
            "state": "ok",
            "busy_permille": 930,
            "memory_used_bytes": 70,
            "memory_total_bytes": 80,
            "temperature_c": 61,
            "power_mw": 412_500,
            "pcie_rx_kbps": 12,
            "pcie_tx_kbps": None,
            "nvlink_rx_kbps": None,
            "nvlink_tx_kbps": None,
            "ecc_uncorrected": 0,
            "throttled": False,
            "others_bytes": None,
        },
        {"uuid": "GPU-b", "name": "H100", "state": "lost", "busy_permille": None},
    ],
    "steps": [
        {
            "step": "A",
            "iteration": 0,
            "attempt": 1,
            "worker": "",
            "pids": 2,
            "rss_bytes": 4096,
            "cpu_us": 5,
            "log_bytes": 9,
            "log_age_ms": 2500,
            "devices": {"GPU-a": 50, "GPU-b": None},
        },
    ],
    "host": {"memory_available_bytes": 7, "disk_free_bytes": None, "load_milli": 1500},
}


@pytest.fixture
def plan(kit):
    made = kit.plan(kit.step("A"), kit.step("B", "A"), kit.step("C", "A"), count=3)
    device = Device(**dict.fromkeys(Device._fields) | {"uuid": "GPU-a"})
    return made._replace(inventory=made.inventory._replace(devices=(device, device._replace(uuid="GPU-b"))))


EVENTS = [
    start(),
    spawn("A", 0, devices=("GPU-a",)),
    ended("A", 0),
    spawn("B", 0),
    ended("B", 0, "exit"),
    Retry(3, "B", 0, 2, 100),
    spawn("B", 0, attempt=2),
    ended("B", 0, cpu=None, rss=None),
    Drop(4, "C", 0, "why"),
    spawn("A", 1, devices=("GPU-a",)),
    Pause(5, "A", 1, 1, "frozen", "why"),
    Notice(6, "stalled", "A", 1, "", "no progress"),
    DeviceState(7, "GPU-a", "dirty", "pid 3"),
]


def test_a_run_in_all_its_parts(plan):
    found = values(shown(plan, EVENTS, sample=SAMPLE))
    wanted = {
        'dsec_run_info{run="nightly",name="job",plan="' + plan.hash[:16] + '"}': 1,
        "dsec_run_start_time_seconds": 1_700_000_000,
        'dsec_run_state{state="running"}': 1,
        'dsec_run_state{state="dead"}': 0,
        'dsec_step_instances{step="A",state="waiting"}': 1,
        'dsec_step_instances{step="A",state="done"}': 1,
        'dsec_step_instances{step="A",state="paused"}': 1,
        'dsec_step_instances{step="B",state="done"}': 1,
        'dsec_step_instances{step="C",state="dropped"}': 1,
        'dsec_step_duration_seconds_sum{step="B"}': 2,
        'dsec_step_duration_seconds_count{step="B"}': 1,
        'dsec_step_failures_total{step="B",cause="exit"}': 1,
        'dsec_step_retries_total{step="B"}': 1,
        'dsec_step_cpu_seconds_total{step="A"}': 1.5,
        'dsec_step_gpu_seconds_total{step="A"}': 2,
        'dsec_step_memory_peak_bytes{step="A"}': 2048 * 1024,
        "dsec_sandbox_utilization_ratio": 0.5,
        'dsec_pauses_total{how="frozen"}': 1,
        'dsec_notices_total{kind="stalled"}': 1,
        'dsec_gpu_utilization_ratio{gpu="GPU-a"}': 0.93,
        'dsec_gpu_power_watts{gpu="GPU-a"}': 412.5,
        'dsec_gpu_pcie_receive_bytes_per_second{gpu="GPU-a"}': 12_000,
        'dsec_gpu_ecc_uncorrected_total{gpu="GPU-a"}': 0,
        'dsec_gpu_state{gpu="GPU-a",state="dirty"}': 1,
        'dsec_gpu_state{gpu="GPU-a",state="ok"}': 0,
        'dsec_gpu_state{gpu="GPU-b",state="lost"}': 1,
        'dsec_step_memory_bytes{step="A"}': 4096,
        'dsec_step_gpu_memory_bytes{step="A",gpu="GPU-a"}': 50,
        'dsec_step_log_age_seconds{step="A"}': 2.5,
        "dsec_host_memory_available_bytes": 7,
        "dsec_host_load1": 1.5,
    }
    assert wanted.items() <= found.items()


def test_what_is_not_known_is_not_said(plan):
    text = shown(plan, EVENTS, sample=SAMPLE, compat=True)
    for name in (
        'dsec_gpu_utilization_ratio{gpu="GPU-b"}',
        'dsec_gpu_pcie_transmit_bytes_per_second{gpu="GPU-a"}',
        "dsec_gpu_nvlink",
        "dsec_gpu_memory_others_bytes",
        'dsec_step_gpu_memory_bytes{step="A",gpu="GPU-b"}',
        "dsec_host_disk_free_bytes",
        'dsec_step_gpu_seconds_total{step="B"}',
        "dsec_gradient_sync",
        "dsec_snapshot_recovery",
        "dsec_melt",
        "dsec_tool",
        "dsec_step_metric",
    ):
        assert name not in text
    empty = shown(plan, [])
    assert "dsec_run_start_time_seconds" not in empty
    assert values(empty)['dsec_step_instances{step="B",state="waiting"}'] == 3


def test_a_run_that_was_taken_over(plan):
    events = [*EVENTS, start(2), spawn("A", 1, at=1_250_000)]
    found = values(shown(plan, events, compat=True))
    assert found["dsec_snapshot_recovery_seconds"] == found["dsec_snapshot_recovery_time"] == 1.25
    assert found["dsec_run_session"] == 2
    assert found['dsec_step_instances{step="A",state="running"}'] == 1
    assert 'dsec_gpu_state{gpu="GPU-a",state="dirty"}' not in found, "each executor looks anew"


@pytest.mark.parametrize(
    ("events", "dead", "state"),
    [
        ([RunEnd(9, "succeeded", "")], True, "succeeded"),
        ([Cancel(8, "terminated"), RunEnd(9, "interrupted", "")], True, "interrupted"),
        ([], True, "dead"),
        ([], False, "running"),
    ],
)
def test_how_a_run_ended(plan, events, dead, state):
    found = values(shown(plan, [start(), *events], dead=dead))
    assert [name for name, value in found.items() if "run_state" in name and value] == [
        f'dsec_run_state{{state="{state}"}}'
    ]


def test_every_kind_of_event_is_taken(plan):
    shown(
        plan,
        [
            WorkerStart(1, "w", 1, 1, 1, (), "log"),
            WorkerStop(1, "w", 1, 0, None, "done", None, None),
            Continue(1, "A", 0, 1),
            ended("A", 2, "gave-way"),
        ],
    )


def test_syncs_and_breakers_have_their_metrics(kit):
    plan = kit.plan(kit.step("R", call="dsec.allreduce:all_reduce", worker="w"), count=4)
    events = [
        ended("R", 0),
        ended("R", 1),
        ended("R", 2),
        ended("R", 3, "raised"),
        ended("R", 3, "interrupted"),
    ]
    events.append(Notice(1, "melt-down", "R", 0, "", "opened"))
    found = values(shown(plan, events, compat=True))
    assert found["dsec_gradient_sync_success_ratio"] == found["dsec_gradient_sync_success_rate"] == 0.75
    assert not [name for name in found if "interrupted" in name and "failures" in name]
    assert found["dsec_meltdown_total"] == found["dsec_melt_down_count"] == 1


def test_labels_are_bounded_and_nothing_is_lost_in_the_rest(kit):
    count = MOST_STEPS + 50
    plan = kit.plan(*(kit.step(f"S{at}") for at in range(count)))
    events = [ended(f"S{at}", 0, "ok" if at % 2 else "exit") for at in range(count)]
    sample = {"steps": [{"step": f"S{at}", "rss_bytes": 1, "devices": {}} for at in range(count)]}
    said = Said({("S1", f"m{at}"): 1.0 for at in range(500)}, {f"t{at}": (1, 1.0) for at in range(500)})
    text = shown(plan, events, sample=sample, said=said)
    found = values(text)
    assert sum(value for name, value in found.items() if "duration_seconds_count" in name) == count // 2
    assert sum(value for name, value in found.items() if "step_failures" in name) == count // 2
    assert sum(value for name, value in found.items() if 'state="done"' in name) == count // 2
    assert found['dsec_step_memory_bytes{step="other"}'] == 50
    assert text.count("dsec_step_metric{") == text.count("dsec_tool_call_seconds_count{") == MOST_NAMES
    steps = set(re.findall(r'step="([^"]*)"', text))
    assert len(steps) == MOST_STEPS + 1


def test_labels_and_numbers_are_written_as_the_format_asks():
    family = Family(
        "m",
        "gauge",
        "a\\b\nc",
        tuple(("", (("x", 'q"\\\n'),), v) for v in (1, 2.5, math.nan, math.inf, -math.inf)),
    )
    assert text(family) == (
        "# HELP m a\\\\b\\nc\n# TYPE m gauge\n"
        + "".join(f'm{{x="q\\"\\\\\\n"}} {v}\n' for v in ("1", "2.5", "NaN", "+Inf", "-Inf"))
    )


def everything(plan, *, compat=False):
    plan = plan._replace(
        steps=(
            *plan.steps,
            plan.steps[0]._replace(
                id="R", command=plan.steps[0].command._replace(call="dsec.allreduce:all_reduce")
            ),
        )
    )
    sample = {
        **SAMPLE,
        "devices": [{name: 1 if value is None else value for name, value in SAMPLE["devices"][0].items()}],
        "host": {**SAMPLE["host"], "disk_free_bytes": 8},
    }
    events = [*EVENTS, ended("R", 0), Notice(1, "melt-down", "R", 0, "", ""), start(2), spawn("A", 1)]
    said = Said({("A", "loss"): 0.5}, {"web-search": (4, 2.0), "web_search": (2, 3.0)})
    return shown(plan, events, sample=sample, said=said, compat=compat)


@needs_promtool
def test_promtool_finds_nothing_to_say(plan):
    done = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=everything(plan).encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_names_of_the_design_document_come_when_asked_for(plan):
    names = set(values(everything(plan, compat=True))) - set(values(everything(plan)))
    assert names == {
        "dsec_sandbox_utilization_rate",
        "dsec_gradient_sync_success_rate",
        "dsec_snapshot_recovery_time",
        "dsec_melt_down_count",
        "dsec_tool_web_search_latency_ms",
    }


def exported(plan):
    return set(re.findall(r"^# TYPE (\S+)", everything(plan), re.MULTILINE))


def asked_for(expression):
    return {re.sub(r"_(sum|count)$", "", name) for name in re.findall(r"\bdsec_\w+", expression)}


def test_rules_and_panels_ask_for_what_there_is(plan):
    rules = (ROOT / "docs/monitoring/alerts.yml").read_text()
    expressions = re.findall(r"expr: (.*)", rules)
    board = json.loads((ROOT / "docs/monitoring/dashboard.json").read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    expressions += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked = set().union(*map(asked_for, expressions))
    assert asked <= exported(plan), asked - exported(plan)
    page = (ROOT / "docs/how-to/metrics.md").read_text()
    for name in exported(plan):
        assert f"`{name}`" in page, f"{name} is not on the page about metrics"


@needs_promtool
def test_promtool_reads_the_rules_and_the_panels(tmp_path):
    def check(path):
        return subprocess.run([PROMTOOL, "check", "rules", path], capture_output=True, text=True, check=False)

    done = check(ROOT / "docs/monitoring/alerts.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    board = json.loads((ROOT / "docs/monitoring/dashboard.json").read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    rules = [
        {"record": f"panel:{at}", "expr": one.replace("$instance", ".*")}
        for at, one in enumerate(expressions)
    ]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = check(tmp_path / "panels.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_steps_say_of_themselves_is_read_on(tmp_path):
    folder = tmp_path / "metrics"
    signs = _Signs(str(folder))
    assert signs.read() == Said({}, {})
    folder.mkdir()
    line = '{{"mono_us":1,"wall_ms":1,"pid":1,"rank":null,"metrics":{}}}\n'
    file = folder / "S5@3.1.jsonl"
    file.write_text(line.format('{"loss":0.5,"tool_web_search_latency_ms":250}'))
    assert signs.read() == Said({("S5", "loss"): 0.5}, {"web_search": (1, 0.25)})
    with file.open("a") as more:
        more.write(line.format('{"loss":"NaN","tool/web_search/latency_s":0.75,"tool_x_latency_s":"NaN"}'))
    found = signs.read()
    assert math.isnan(found.latest["S5", "loss"])
    assert found.calls == {"web_search": (2, 1.0)}


def test_a_sample_holds_while_it_is_fresh_and_of_this_executor(tmp_path):
    path = tmp_path / "audit"
    assert latest_sample(str(path), session=1) is None
    path.write_text(
        '{"format":"dsec.audit/1","job":"j"}\n{"at_us":1,"session":1}\n{"at_us":2,"session":1}\n{"at'
    )
    assert latest_sample(str(path), session=1) == {"at_us": 2, "session": 1}
    assert latest_sample(str(path), session=2) is None
    import os

    os.utime(path, (1, 1))
    assert latest_sample(str(path), session=1) is None
