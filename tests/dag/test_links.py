"""Protocols and NVLink groups as the compiler settles them, on described machines."""

from __future__ import annotations

import pytest

from dsec.core.links import Impossible, Ways
from dsec.devices.described import from_document
from dsec.plan import Plan
from dsec_cli.dag.compile import Infeasible, Origin, compile_plan
from dsec_cli.dag.cycles import Order, order_steps
from dsec_cli.dag.graph import step_graph

PAIRS = {"gpus": [{"type": "a100-pcie-80gb", "count": 4, "nvlink": "pairs", "numa": [0, 0, 1, 1]}]}
LAB = {
    "machines": [
        {
            "name": "left",
            "network": {"rate": "100Gbps", "rdma": True},
            "gpus": [{"type": "a100-sxm-80gb", "count": 2}],
        },
        {"name": "right", "network": {"rate": "25Gbps", "rdma": True}, "gpus": [{"type": "l40s"}]},
        {"name": "far", "network": {"rdma": False}, "gpus": [{"type": "t4"}]},
        {"name": "dim", "gpus": [{"type": "l4"}]},
    ]
}


def ways(document, **how):
    found = from_document(document, "box")
    return Ways(found, **how), [device.uuid for device in found.devices]


def way(document, source, target, declared=None, **how):
    between, uuids = ways(document, **how)
    return between.way([uuids[at] for at in source], [uuids[at] for at in target], declared)


@pytest.mark.parametrize(
    ("document", "source", "target", "protocol", "route", "bandwidth", "reason"),
    [
        (PAIRS, (), (), "shared-memory", "host", "host", "both run on the host's processors"),
        (PAIRS, (0,), (), "pcie", "host", "pcie", "GPU 0 and the host's memory, NUMA 0"),
        (PAIRS, (0,), (0,), "shared-memory", "one device", "device", "both on GPU 0: nothing leaves it"),
        (PAIRS, (0,), (1,), "nvlink-p2p", "NV12", "nvlink", "GPU 0 to GPU 1: NV12"),
        (PAIRS, (0, 1), (0, 1), "nvlink-p2p", "NV12", "nvlink", "GPU 0 to GPU 1: NV12"),
        (
            PAIRS,
            (0, 1),
            (1, 2),
            "pcie",
            "SYS",
            "pcie across NUMA nodes",
            "GPU 0 to GPU 2: SYS, across NUMA nodes",
        ),
        (
            {"gpus": [{"type": "l40s", "count": 2, "numa": 0, "switch": 2}]},
            (0,),
            (1,),
            "pcie",
            "PIX",
            "pcie",
            "GPU 0 to GPU 1: PIX, one PCIe switch",
        ),
        (
            {"gpus": [{"type": "l40s", "count": 2}]},
            (0,),
            (1,),
            "shared-memory",
            "",
            "unknown",
            "unknown: what links GPU 0 and GPU 1 is not stated; both reach the host",
        ),
        (
            {"gpus": [{"type": "mig:1g.10gb", "memory": "9Gi", "count": 2}]},
            (0,),
            (1,),
            "shared-memory",
            "host",
            "host",
            "MIG instances have no path to each other: through the host's memory",
        ),
        (
            {"gpus": [{"type": "gh200-96gb", "count": 1}]},
            (0,),
            (),
            "shared-memory",
            "host",
            "host",
            "GPU 0 has its memory in common with the host",
        ),
        (
            LAB,
            (0,),
            (2,),
            "rdma-over-converged-ethernet",
            "network",
            "network 25,000 Mbps",
            "left and right are two machines, both with RDMA over Ethernet",
        ),
        (LAB, (0,), (3,), "tcp", "network", "network", "left and far are two machines; far has no RDMA"),
        (
            LAB,
            (0,),
            (4,),
            "tcp",
            "network",
            "network",
            "left and dim are two machines; whether dim has RDMA is not stated",
        ),
        (
            LAB,
            (0,),
            (),
            "tcp",
            "",
            "unknown",
            "unknown: a Step without a GPU may be on any of the machines, and tcp reaches each",
        ),
        (LAB, (0,), (1,), "nvlink-p2p", "NV12", "nvlink", "GPU 0 to GPU 1: NV12"),
    ],
)
def test_the_way_follows_from_both_places(document, source, target, protocol, route, bandwidth, reason):
    assert way(document, source, target) == (protocol, route, bandwidth, reason)
    back = way(document, target, source)
    assert back[:3] == (protocol, route, bandwidth), "the same in both directions"


@pytest.mark.parametrize(
    ("document", "source", "target", "declared", "text"),
    [
        (PAIRS, (0,), (2,), "nvlink-p2p", "GPU 0 to GPU 2: SYS, across NUMA nodes"),
        (PAIRS, (0,), (), "nvlink-p2p", "one end has no GPU"),
        (PAIRS, (), (), "nvlink-p2p", "neither end has a GPU"),
        (PAIRS, (), (), "pcie", "neither end has a GPU, and the host's processors share their memory"),
        (LAB, (0,), (2,), "nvlink-p2p", "left and right are two machines"),
        (LAB, (0,), (2,), "shared-memory", "left and right are two machines"),
        (LAB, (0,), (2,), "pcie", "left and right are two machines"),
        (LAB, (0,), (3,), "rdma-over-converged-ethernet", "far has no RDMA"),
        (
            {"gpus": [{"type": "mig:1g.10gb", "memory": "9Gi", "count": 2}]},
            (0,),
            (1,),
            "nvlink-p2p",
            "MIG instances have no path to each other: through the host's memory",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_fact(document, source, target, declared, text):
    assert way(document, source, target, declared) == Impossible(text)


@pytest.mark.parametrize(
    ("document", "source", "target", "declared", "route", "reason"),
    [
        (PAIRS, (0,), (1,), "pcie", "PCIe", "as declared; GPU 0 to GPU 1: NV12"),
        (PAIRS, (0,), (1,), "shared-memory", "host", "as declared; GPU 0 to GPU 1: NV12"),
        (PAIRS, (0,), (0,), "nvlink-p2p", "one device", "as declared; both on GPU 0: nothing leaves it"),
        (PAIRS, (0,), (2,), "quic", "host", "as declared"),
        (PAIRS, (0,), (2,), "tcp", "host", "as declared"),
        (
            PAIRS,
            (0,),
            (2,),
            "rdma-over-converged-ethernet",
            "network",
            "as declared; not verified: RDMA is not stated",
        ),
        (LAB, (0,), (2,), "quic", "network", "as declared"),
        (
            {"gpus": [{"type": "a100-pcie-80gb", "count": 2}]},
            (0,),
            (1,),
            "nvlink-p2p",
            "",
            "as declared; not verified: what links GPU 0 and GPU 1 is not stated; both reach the host",
        ),
    ],
)
def test_what_is_declared_and_possible_is_kept(document, source, target, declared, route, reason):
    found = way(document, source, target, declared)
    assert (found.protocol, found.route, found.reason) == (declared, route, reason)


def test_nvlink_that_is_off_is_neither_taken_nor_accepted():
    found = way(PAIRS, (0,), (1,), nvlink=False)
    assert (found.protocol, found.reason) == ("pcie", "GPU 0 to GPU 1: NV12, but nvlink_mode is off")
    assert way(PAIRS, (0,), (1,), "nvlink-p2p", nvlink=False) == Impossible("nvlink_mode is off")


def test_devices_that_only_stand_for_some_prove_nothing():
    found = way(PAIRS, (0,), (1,), placed=False)
    assert found.reason == "unknown: no inventory says which GPUs there are"


STEPS = """\
steps:
  - {id: A, run: "true", timeout: 9s, resources: {gpu: {count: 1, memory: 20Gi%s}}}
  - {id: B, run: "true", timeout: 9s, resources: {gpu: {count: 1, memory: 20Gi%s}}}
  - {id: C, run: "true", timeout: 9s, resources: {gpu: {count: 1, memory: 70Gi}}}
communication:
  - {from: A, to: B%s}
"""


def compiled(make, text, document):
    contract = make.read(text)
    order = order_steps(step_graph(contract))
    assert isinstance(order, Order)

    def locate(path):
        from dsec.plan import Source

        return Source("f", 1, 1)

    return compile_plan(
        order,
        contract,
        inventory=from_document(document, "box"),
        origin=Origin("ds_config.yaml", (text.encode(),), "dsec test", locate),
        learned={},
    )


def test_ends_of_a_declared_nvlink_get_one_group(make):
    plan = compiled(make, STEPS % ("", "", ", protocol: nvlink-p2p"), PAIRS)
    assert isinstance(plan, Plan)
    groups = {step.id: step.demand.terms.group if step.demand.terms else 0 for step in plan.steps}
    assert groups == {"A": 1, "B": 1, "C": 0}
    assert plan.links is not None
    assert plan.links[0].protocol == "nvlink-p2p"


def test_labels_get_groups_of_their_own_while_there_are_some(make):
    labels = ", nvlink_affinity: left", ", nvlink_affinity: right", ""
    plan = compiled(make, STEPS % labels, PAIRS)
    assert isinstance(plan, Plan)
    assert [step.demand.terms.group for step in plan.steps if step.demand.terms] == [1, 2]


def test_a_numbered_group_is_that_one(make):
    plan = compiled(make, STEPS % (", nvlink_affinity: link-group-1", "", ""), PAIRS)
    assert isinstance(plan, Plan)
    assert plan.steps[0].placement.reason == "a100-pcie-80gb 2: NUMA 1, link-group-1"


@pytest.mark.parametrize(
    ("first", "second", "protocol", "document", "words"),
    [
        (
            ", nvlink_affinity: link-group-7",
            "",
            "",
            PAIRS,
            "Steps A must share link-group-7 (nvlink_affinity): none can hold what they ask for; "
            "link-group-0: 2 x a100-pcie-80gb (GPU 0,1); link-group-1: 2 x a100-pcie-80gb (GPU 2,3)",
        ),
        (
            ", nvlink_affinity: link-group-0",
            ", nvlink_affinity: link-group-1",
            ", protocol: nvlink-p2p",
            PAIRS,
            "Steps A, B must share link-group-0 and link-group-1 (nvlink_affinity), which are two groups",
        ),
        (
            "",
            "",
            ", protocol: nvlink-p2p",
            {"gpus": [{"type": "l40s", "count": 2, "numa": [0, 1]}]},
            "Steps A, B must share an NVLink group (protocol: nvlink-p2p): there is none; "
            "without NVLink: 2 x l40s (GPU 0,1)",
        ),
    ],
)
def test_what_no_group_can_hold_is_refused(make, first, second, protocol, document, words):
    refused = compiled(make, STEPS % (first, second, protocol), document)
    assert isinstance(refused, Infeasible)
    [finding] = refused.findings
    assert finding.code == "DS509"
    assert words in finding.message


def test_where_nothing_is_known_of_links_a_declared_nvlink_is_not_verified(make):
    document = {"gpus": [{"type": "a100-pcie-80gb", "count": 2}]}
    plan = compiled(make, STEPS % ("", "", ", protocol: nvlink-p2p"), document)
    assert isinstance(plan, Plan)
    assert plan.links is not None
    assert plan.links[0].declared


def test_without_communication_a_plan_has_no_links(make):
    plan = compiled(make, "steps:\n  - {id: A, run: 'true', timeout: 9s}\n", PAIRS)
    assert isinstance(plan, Plan)
    assert plan.links is None
    assert plan.steps[0].demand.terms is None


def test_tokens_and_the_network_bound_what_runs_side_by_side(make):
    head = "tokens: {judge: 2}\nelasticity: {network: {bandwidth_max: 10Gbps}}\nsteps:\n"
    step = "  - {id: %s%d, run: 'true', timeout: 9s, expected_duration: 10s, resources: {cpu: 0.1, %s}}\n"
    kinds = ("J", "tokens: {judge: 1}"), ("N", "network: 4Gbps")
    text = head + "".join(step % (name, at, takes) for at in range(4) for name, takes in kinds)
    plan = compiled(make, text, {"cpu": 64})
    assert isinstance(plan, Plan)
    assert plan.inventory.tokens == (("judge", 2), ("network bit/s", 10**10))
    assert plan.analysis.makespan_ms == 20_000


def test_a_token_that_is_not_there_is_refused(make):
    text = "steps:\n  - {id: A, run: 'true', timeout: 9s, resources: {tokens: {judge: 1}}}\n"
    refused = compiled(make, text, PAIRS)
    assert isinstance(refused, Infeasible)
    assert refused.findings[0].message == "Step A takes 1 of judge, of which there are 0"


def test_strict_topology_and_sharing_reach_the_plan(make):
    text = (
        "steps:\n  - {id: A, run: 'true', timeout: 9s,"
        " resources: {gpu: {count: 2, memory: 20Gi, share: exclusive, topology: strict}}}\n"
    )
    plan = compiled(make, text, PAIRS)
    assert isinstance(plan, Plan)
    assert plan.steps[0].placement.reason == (
        "a100-pcie-80gb 0,1: NV12, NUMA 0, strictly joined by NVLink, exclusive"
    )
    refused = compiled(make, text, {"gpus": [{"type": "l40s", "count": 2, "numa": 0}]})
    assert isinstance(refused, Infeasible)
    assert "at most 1 of them joined by NVLink (links: NODE)" in refused.findings[0].message


def test_sharing_by_memory_needs_memory(make):
    text = "steps:\n  - {id: A, run: 'true', timeout: 9s, resources: {gpu: {count: 1, share: fraction}}}\n"
    refused = compiled(make, text, PAIRS)
    assert isinstance(refused, Infeasible)
    [finding] = refused.findings
    assert finding.message == "Step A shares its GPUs by memory, and states none"
    assert isinstance(compiled(make, text.replace("1, sh", "1, memory: 9Gi, sh"), PAIRS), Plan)


def test_steps_of_one_label_get_one_numa_node(make):
    labels = ", numa_affinity: a", ", numa_affinity: b", ""
    plan = compiled(make, STEPS % labels, PAIRS)
    assert isinstance(plan, Plan)
    assert [step.demand.terms.numa for step in plan.steps if step.demand.terms] == [0, 1]
    assert plan.steps[0].placement.reason == "a100-pcie-80gb 0: NUMA 0, numa_affinity"
    plan = compiled(make, STEPS % (", numa_affinity: numa-1", ", numa_affinity: numa-1", ""), PAIRS)
    assert isinstance(plan, Plan)
    assert {step.placement.devices[0][-1] for step in plan.steps[:2]} <= {"2", "3"}


def test_a_numa_node_that_cannot_hold_them_is_refused(make):
    refused = compiled(make, STEPS % (", numa_affinity: numa-5", "", ""), PAIRS)
    assert isinstance(refused, Infeasible)
    assert refused.findings[0].message == (
        "Steps A must share the NUMA node of numa-5 (numa_affinity): none can hold what they ask for; "
        "NUMA 0: 2 x a100-pcie-80gb (GPU 0,1); NUMA 1: 2 x a100-pcie-80gb (GPU 2,3)"
    )


def test_labels_that_cannot_be_kept_are_noted(make):
    document = {"gpus": [{"type": "a100-pcie-80gb", "count": 2}]}
    plan = compiled(make, STEPS % (", nvlink_affinity: x", ", numa_affinity: y", ""), document)
    assert isinstance(plan, Plan)
    assert plan.notes[-2:] == (
        "nvlink_affinity x is not kept: how GPUs are linked is not known",
        "numa_affinity y is not kept: NUMA nodes are not known",
    )
