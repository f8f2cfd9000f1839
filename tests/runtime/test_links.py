"""Steps that communicate are told how, from where both ends really are."""

from __future__ import annotations

import json

from dsec.inventory import Device
from dsec.linkbook import LinkBook
from dsec.plan import Link, Placement, Terms
from dsec.planfile import seal
from dsec.sdk import context


def device(at, **links):
    pairs = tuple((f"GPU-{other[1:]}", link) for other, link in links.items())
    return Device(f"GPU-{at}", at, "A100", "a100", 1, None, 0, None, pairs, 1000, "ok")


BOX = (device(0, g1="NV12", g2="SYS"), device(1, g0="NV12", g2="SYS"), device(2, g0="SYS", g1="SYS"))


def book(kit, *, declared=False, protocol="nvlink-p2p", **plan):
    steps = [kit.step("A"), kit.step("B", "A"), kit.step("C", "B")]
    steps = [step._replace(placement=Placement((f"GPU-{at}",), "")) for at, step in enumerate(steps)]
    link = Link("A", "B", protocol, "NV12", "nvlink", declared, "GPU 0 to GPU 1: NV12")
    made = kit.plan(*steps)
    inventory = made.inventory._replace(devices=BOX)
    return LinkBook(made._replace(inventory=inventory, links=(link,), **plan), inventory)


def told(found):
    [one] = json.loads(found)
    return one


def test_as_planned_the_way_is_the_planned_one(kit):
    found = book(kit)
    assert told(found.text("A", ("GPU-0",)))["protocol"] == "nvlink-p2p"
    assert told(found.text("B", ("GPU-1",))) == {
        "from": "A",
        "to": "B",
        "protocol": "nvlink-p2p",
        "route": "NV12",
        "bandwidth": "nvlink",
        "reason": "GPU 0 to GPU 1: NV12",
    }


def test_on_other_devices_it_is_another_way(kit):
    found = book(kit)
    found.text("A", ("GPU-0",))
    other = told(found.text("B", ("GPU-2",)))
    assert (other["protocol"], other["route"]) == ("pcie", "SYS")
    assert other["reason"] == "GPU 0 to GPU 2: SYS, across NUMA nodes"


def test_the_source_is_where_it_was_started_last(kit):
    found = book(kit)
    found.text("A", ("GPU-2",))
    assert told(found.text("B", ("GPU-1",)))["route"] == "SYS"


def test_what_is_declared_and_cannot_be_is_said(kit):
    found = book(kit, declared=True)
    found.text("A", ("GPU-2",))
    assert (
        told(found.text("B", ("GPU-1",)))["reason"]
        == "not nvlink-p2p: GPU 2 to GPU 1: SYS, across NUMA nodes"
    )


def test_nvlink_that_is_off_is_not_used_elsewhere_either(kit):
    found = book(kit, protocol="pcie", nvlink_mode="off")
    found.text("A", ("GPU-1",))
    assert told(found.text("B", ("GPU-0",)))["reason"] == "GPU 1 to GPU 0: NV12, but nvlink_mode is off"


def test_the_sdk_gives_the_links(kit):
    environ = {"DSEC_RUN": "r", "DSEC_STEP": "B", "DSEC_RUN_DIR": "d"}
    assert context(environ).links == ()
    [link] = context({**environ, "DSEC_LINKS": book(kit).text("B", ("GPU-1",))}).links
    assert (link["from"], link["protocol"]) == ("A", "nvlink-p2p")


def test_a_step_without_communication_is_told_nothing(kit):
    assert book(kit).text("C", ("GPU-2",)) == ""


def test_a_process_finds_its_links_in_its_environment(job, kit):
    steps = [kit.step("A", shell='printf %s "$DSEC_LINKS" > "$DSEC_RUN_DIR/a"'), kit.step("B", "A")]
    steps[1] = kit.step("B", "A", shell='printf %s "${DSEC_LINKS-none}" > "$DSEC_RUN_DIR/b"')
    link = Link("A", "B", "shared-memory", "host", "host", False, "both run on the host's processors")
    plan = kit.plan(*steps, kit.step("C", shell='printf %s "${DSEC_LINKS-none}" > "$DSEC_RUN_DIR/c"'))
    job.run(seal(plan._replace(links=(link,), hash="")))
    texts = [(job.run_dir / "work" / name).read_text() for name in "abc"]
    assert told(texts[0]) == told(texts[1])
    assert told(texts[1])["protocol"] == "shared-memory"
    assert texts[2] == "none"


def test_only_so_many_hold_a_token_at_a_time(job, kit):
    script = 'mkdir "$DSEC_RUN_DIR/seat" && sleep 0.05 && rmdir "$DSEC_RUN_DIR/seat"'
    demand = kit.demand(cpu_m=1, terms=Terms(tokens=(("seat", 1),)))
    plan = kit.plan(*(kit.step(name, shell=script, demand=demand) for name in "ABCD"))
    inventory = plan.inventory._replace(tokens=(("seat", 1),))
    job.run(seal(plan._replace(inventory=inventory, hash="")), expect=0)


def test_a_run_keeps_strict_topology_and_sharing(job, simulated_box):
    job.env |= simulated_box("4xa100-pcie-80gb")
    pairs = "gpu 0 peer 1 12\ngpu 1 peer 0 12\ngpu 2 peer 3 12\ngpu 3 peer 2 12\n"
    with open(job.env["SIM_GPU_SCENARIO"], "a") as rules:
        rules.write(pairs)
    step = "  - {id: %s%d, run: sleep 0.05, timeout: 9s, resources: {cpu: 0.1, gpu: {%s}}}\n"
    kinds = {
        "pair": "count: 2, topology: strict",
        "alone": "count: 1, memory: 10Gi, share: exclusive",
        "part": "count: 1, memory: 30Gi",
    }
    steps = [step % (name, at, gpu) for at in range(4) for name, gpu in kinds.items()]
    (job.folder / "ds_config.yaml").write_text("steps:\n" + "".join(steps))
    job.dsec("run", "ds_config.yaml", "--job-id", "j")
    pairs, running = [], {}
    for event in job.events():
        if event["event"] == "spawn":
            running[event["step"]] = [uuid[-1] for uuid in event["devices"]]
            if event["step"].startswith("pair"):
                pairs.append("".join(running[event["step"]]))
        elif event["event"] == "exit":
            del running[event["step"]]
        held = {}
        for name, numbers in running.items():
            for number in numbers:
                held.setdefault(number, []).append(name.rstrip("0123"))
        shared = [names for names in held.values() if len(names) > 1]
        assert all(names == ["part", "part"] for names in shared), held
    assert set(pairs) <= {"01", "23"}
    assert len(pairs) == 4
