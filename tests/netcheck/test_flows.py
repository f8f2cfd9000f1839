"""Flows as they are written, and as a plan has them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.planfile import load_plan
from dsec_cli.netcheck.flows import Flow, FlowProblem, flow_text, flows_of, overridden, parse_flow
from tests.cli.conftest import Ran, command, ds

__all__ = ["ds"]

INVENTORY = """\
name: two
machines:
  - name: left
    cpu: 8
    memory: 64Gi
    gpus: [{type: l40s, count: 1}]
    network: {rate: 10Gbps, rdma: false}
  - name: right
    cpu: 8
    memory: 64Gi
    gpus: [{type: a100-sxm-80gb, count: 1}]
    network: {rate: 10Gbps, rdma: false}
"""
CONTRACT = """\
version: "1.0.0"
name: job
baseline: {gpu: {count: 1, memory: 8Gi, type: any}, cpu: 1, memory: 1Gi}
elasticity:
  gpu: {min_count: 1, max_count: 2}
  network: {bandwidth_min: 100Mbps, bandwidth_max: 1Gbps}
latency_cap: 80ms
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s}
dependencies: []
steps:
  - id: actor
    run: "true"
    timeout: 1m
    resources: {gpu: {count: 1, type: l40s}, network: 400Mbps}
    outputs: [out/a]
  - id: learner
    run: "true"
    timeout: 1m
    resources: {gpu: {count: 1, type: a100-sxm-80gb}}
    inputs: [out/a]
communication:
  - {from: actor, to: learner}
"""


@pytest.mark.parametrize(
    ("text", "flow"),
    [
        ("a:b:4MiB@20/s", Flow("a", "b", 4 << 20, 20_000, 1, "tcp", "command line")),
        ("a:b:64KiBx4", Flow("a", "b", 64 << 10, 0, 4, "tcp", "command line")),
        ("a:b:1MB@30/minx2", Flow("a", "b", 10**6, 500, 2, "tcp", "command line")),
        ("a:b:1KiB@0.5/s", Flow("a", "b", 1 << 10, 500, 1, "tcp", "command line")),
    ],
)
def test_flows_that_are_written(text: str, flow: Flow) -> None:
    assert parse_flow(text) == flow


@pytest.mark.parametrize(
    "text",
    ["", "a", "a:b", "a::1KiB", "a:b:x", "a:b:-1KiB", "a:b:1KiB@", "a:b:1KiB@1/week", "a:b:1KiB@0/s",
     "a:b:1KiBx0", "a:b:1KiBx99", "a:b:1KiB@nan/s", "a:b:1KiB@inf/s", "a:b:0B"],
)  # fmt: skip
def test_flows_that_are_written_wrongly(text: str) -> None:
    with pytest.raises(FlowProblem) as caught:
        parse_flow(text)
    assert "actor:learner:4MiB@20/s" in caught.value.hint


@given(st.text(alphabet="ab:@/sx0123456789KMiB.-", max_size=30))
def test_any_text_is_a_flow_or_is_refused(text: str) -> None:
    try:
        flow = parse_flow(text)
    except FlowProblem:
        return
    assert flow.size_bytes > 0
    assert flow_text(flow)


def test_flows_of_a_plan(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    (tmp_path / "two.yaml").write_text(INVENTORY)
    made = ds("dsec", "plan", "--inventory", "two.yaml", "-o", "plan.json")
    assert made.returncode == 0, made.stdout + made.stderr
    plan = load_plan(str(tmp_path / "plan.json"))
    assert plan.network is not None
    assert tuple(plan.network) == (10**8, 80_000_000, None)
    assert json.loads((tmp_path / "plan.json").read_text())["network"] == {
        "bandwidth_min_bps": 10**8,
        "latency_cap_ns": 80_000_000,
    }
    (flow,) = flows_of(plan, {})
    assert (flow.source, flow.target, flow.source_place, flow.target_place) == (
        "actor",
        "learner",
        "left",
        "right",
    )
    assert flow.asked_bps == pytest.approx(400_000_000, rel=0.001)
    assert flow.said_by == "the plan's communication"
    # A Step may be said to run elsewhere, and a stated flow goes before the planned one.
    assert flows_of(plan, {"learner": 1})[0].target_place == "learner"
    # On one machine nothing crosses a network, until a Step is said to run elsewhere.
    alone = plan._replace(inventory=plan.inventory._replace(nodes=None, devices=()))
    alone = alone._replace(links=tuple(link._replace(protocol="shared-memory") for link in plan.links or ()))
    assert flows_of(alone, {}) == ()
    (flow_out,) = flows_of(alone, {"learner": 1})
    assert (flow_out.source_place, flow_out.target_place) == ("here", "learner")
    (other,) = overridden([flow], [parse_flow("actor:learner:4MiB@20/s")])
    assert (other.size_bytes, other.target_place) == (4 << 20, "right")


@pytest.mark.battery
def test_a_plan_is_replayed_between_its_machines(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    (tmp_path / "two.yaml").write_text(INVENTORY)
    assert ds("dsec", "plan", "--inventory", "two.yaml", "-o", "plan.json").returncode == 0
    words = ("--plan", "plan.json", "--duration", "100ms", "-q", "--probes", "echo,bulk")
    ran = ds("dsec", "netcheck", "run", *words)
    assert ran.returncode == 3
    assert b"nobody knows where 'left' is" in ran.stderr
    (tmp_path / "token").write_text("f" * 64)
    (tmp_path / "token").chmod(0o600)
    line = command("dsec", "netcheck", "serve", "--listen", "127.0.0.1:0", "--token-file", "token")
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[3].rstrip(";")
        peers = ("--peers", f"left={address},right={address}", "--token-file", "token")
        ran = ds("dsec", "netcheck", "run", *words, *peers)
        server.terminate()
    assert ran.returncode == 0, ran.stdout
    assert b"actor -> learner" in ran.stdout
    assert b"the plan's communication" in ran.stdout
    assert b"latency_cap 80.0 ms" in ran.stdout
