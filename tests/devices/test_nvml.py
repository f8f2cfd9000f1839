"""NVML through the real bindings: a fake library in a child process, and a Python one without compiler."""

from __future__ import annotations

import ctypes.util
import importlib.util
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from simulated import FIRST, ROOT, Machine

from dsec.cards import GIB, MIB
from dsec.codec import decode
from dsec.devices import host, nvml
from dsec.inventory import Inventory

FAKES = os.path.join(ROOT, "tests", "fakes", "nvml")

H100 = """count 8
gpu * name NVIDIA H100 80GB HBM3
gpu * total 81559
gpu * reserved 479
gpu * switch 18
gpu * level * 50
"""

READ = """
import json, sys
from dsec.codec import encode
from dsec.devices import nvml
print(json.dumps(encode(nvml.read())))
"""


@pytest.fixture
def read(machine: Machine) -> Any:
    """Inventory that a scenario gives, read by the real bindings."""

    def run(scenario: str, *, old: int = 0) -> Inventory:
        machine.rules(scenario)
        return decode(Inventory, json.loads(machine.python(READ, old=old)))

    return run


def test_healthy_box(read: Any) -> None:
    found = read(H100)
    assert found.origin == "nvml"
    assert len(found.devices) == 8
    assert found.notes == ()
    first = found.devices[0]
    assert first.model == "NVIDIA H100 80GB HBM3"
    assert first.type == "h100-sxm-80gb"
    assert first.uuid == "GPU-000000a0-0000-4000-8000-000000000000"
    assert first.memory_bytes == (81559 - 479) * MIB
    assert first.free_bytes == first.memory_bytes
    assert first.pci == "00000000:01:00.0"
    assert first.health == "ok"
    assert len({device.uuid for device in found.devices}) == 8
    for device in found.devices:
        others = {other.uuid for other in found.devices} - {device.uuid}
        assert dict(device.links) == dict.fromkeys(others, "NV18")


@pytest.mark.parametrize("how", ["1", "2"])
def test_a_lost_gpu_leaves_the_others_readable(read: Any, how: str) -> None:
    found = read(H100 + f"gpu 3 lost {how}\n")
    assert [device.health for device in found.devices] == ["ok"] * 3 + ["lost"] + ["ok"] * 4
    lost = found.devices[3]
    assert lost.memory_bytes is None
    assert lost.free_bytes is None
    assert lost.links == ()
    assert all(device.memory_bytes == 81080 * MIB for device in found.devices if device is not lost)
    assert all(len(device.links) == 6 for device in found.devices if device is not lost)
    assert any(note.startswith("GPU 3: lost") for note in found.notes)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (18, "differ in version"),
        (9, "driver is not loaded"),
        (4, "no permission"),
        (12, "libnvidia-ml.so.1"),
        (999, "unknown reason"),
        (77, "error 77"),
    ],
)
def test_a_driver_that_does_not_answer_is_a_note(read: Any, code: int, words: str) -> None:
    found = read(f"init {code}\n")
    assert found.devices == ()
    assert found.origin == "os"
    assert found.cpu_m > 0
    assert any(words in note for note in found.notes), found.notes


def test_no_library_is_a_note(tmp_path: Any) -> None:
    if ctypes.util.find_library("nvidia-ml") is not None:
        pytest.skip("this machine has the NVIDIA library")
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "runtime"), "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", READ], env=environ, capture_output=True, check=True)
    found = decode(Inventory, json.loads(done.stdout))
    assert found.devices == ()
    assert any("libnvidia-ml.so.1" in note for note in found.notes)


@pytest.mark.battery
@pytest.mark.parametrize("old", [1, 2])
def test_an_old_driver_lacks_the_versioned_calls(read: Any, old: int) -> None:
    found = read(H100, old=old)
    assert len(found.devices) == 8
    device = found.devices[0]
    assert device.memory_bytes == 81559 * MIB, "version 1 does not know what the driver keeps"
    assert device.free_bytes == (81559 - 479) * MIB
    assert device.pci == "00000000:01:00.0"
    assert device.type == "h100-sxm-80gb"


def test_memory_shared_with_the_host(read: Any) -> None:
    found = read("count 1\ngpu 0 name NVIDIA GB10\n")
    device = found.devices[0]
    assert device.type == "gb10"
    assert device.memory_bytes == found.memory_bytes
    assert device.free_bytes is None
    assert any("shares the host's memory" in note for note in found.notes)


def test_an_unreadable_field_is_unknown_not_zero(read: Any) -> None:
    found = read(
        H100 + "gpu 2 error memory 999\ngpu 4 error name 4\ngpu 5 error pci 3\ngpu * error nvlink 3\n"
    )
    assert found.devices[2].memory_bytes is None
    assert found.devices[2].health == "ok"
    assert found.devices[4].model == ""
    assert found.devices[4].type == ""
    assert found.devices[4].memory_bytes == 81080 * MIB
    assert found.devices[5].pci is None
    assert {link for device in found.devices for _, link in device.links} == {"SYS"}


def test_no_topology_at_all(read: Any) -> None:
    found = read("count 2\ngpu * name NVIDIA L40S\ngpu * total 46068\n")
    assert [device.links for device in found.devices] == [(), ()]


def test_nvlink_pairs_and_pcie_between_them(read: Any) -> None:
    scenario = "count 4\ngpu * name NVIDIA GeForce RTX 3090\ngpu * total 24576\ngpu * level * 40\n"
    scenario += "".join(f"gpu {one} peer {two} 4\n" for one, two in ((0, 1), (1, 0), (2, 3), (3, 2)))
    found = read(scenario)
    uuids = [device.uuid for device in found.devices]
    assert dict(found.devices[0].links) == {uuids[1]: "NV4", uuids[2]: "NODE", uuids[3]: "NODE"}
    assert dict(found.devices[3].links) == {uuids[0]: "NODE", uuids[1]: "NODE", uuids[2]: "NV4"}


def test_mig_instances_are_devices(read: Any) -> None:
    scenario = "count 3\ngpu * name NVIDIA H100 80GB HBM3\ngpu * total 81559\ngpu * reserved 479\n"
    scenario += "gpu 0 mig 1\ngpu 0 instance 3g.40gb 40448\ngpu 0 instance 1g.10gb 9984\ngpu 2 mig 1\n"
    found = read(scenario)
    assert [device.index for device in found.devices] == [0, 0, 1]
    assert [device.type for device in found.devices] == ["mig:3g.40gb", "mig:1g.10gb", "h100-sxm-80gb"]
    assert [device.uuid[:4] for device in found.devices] == ["MIG-", "MIG-", "GPU-"]
    assert found.devices[0].memory_bytes == 40448 * MIB
    assert found.devices[0].speed > found.devices[1].speed > 0
    assert any("GPU 2 is in MIG mode without an instance" in note for note in found.notes)


def test_processors_near_a_gpu_tell_its_node_where_sysfs_does_not(read: Any) -> None:
    found = read("count 2\ngpu * name NVIDIA L4\ngpu * total 23034\ngpu 0 cpus 0-0\ngpu 1 cpus 63-63\n")
    there = host.node_of(frozenset({0}))
    assert [device.numa for device in found.devices] == [there, host.node_of(frozenset({63}))]


def test_compute_instances_share_the_memory_of_their_gpu_instance(read: Any) -> None:
    scenario = "count 1\ngpu * name NVIDIA H200\ngpu * total 143771\ngpu 0 mig 1\n"
    scenario += "gpu 0 instance 1c.3g.71gb 71424\ngpu 0 instance 2c.3g.71gb 71424\n"
    found = read(scenario)
    assert [device.type for device in found.devices] == ["mig:1c.3g.71gb", "mig:2c.3g.71gb"]
    assert [device.memory_bytes for device in found.devices] == [23808 * MIB, 47616 * MIB]


@pytest.mark.parametrize(
    ("level", "link"),
    [(0, "PIX"), (10, "PIX"), (20, "PXB"), (30, "PHB"), (40, "NODE"), (50, "SYS"), (60, "")],
)
def test_common_ancestors_are_link_classes(read: Any, level: int, link: str) -> None:
    found = read(f"count 2\ngpu * name NVIDIA L40S\ngpu * total 46068\ngpu * level * {level}\n")
    assert [[link for _, link in device.links] for device in found.devices] == [[link] if link else []] * 2


@pytest.mark.parametrize("count", [0, 64])
def test_any_number_of_gpus(read: Any, count: int) -> None:
    found = read(H100.replace("count 8", f"count {count}"))
    assert len(found.devices) == count
    assert len({device.uuid for device in found.devices}) == count
    if count == 0:
        assert found.notes[-1] == "the NVIDIA driver runs but has no GPU"


def test_a_gpu_lost_in_mid_run(machine: Machine) -> None:
    """The same process reads again after the scenario changed."""
    machine.rules(H100)
    code = """
import sys
from dsec.devices import nvml
before = nvml.read()
with open(sys.argv[1], "a") as file:
    file.write("gpu 6 lost 1\\n")
after = nvml.read()
print([d.health for d in before.devices].count("lost"), [d.health for d in after.devices].count("lost"))
"""
    assert machine.python(code, str(machine.path)).split() == ["0", "1"]


APART = """
import json
from dsec.codec import encode
from dsec.devices import host
from dsec.devices.apart import read_apart
print(json.dumps(encode(read_apart(host.read(), timeout_s=TIMEOUT))))
"""


@pytest.mark.parametrize(
    ("scenario", "timeout_s", "devices", "words"),
    [
        (H100, 30, 8, ""),
        ("crash 1\n", 30, 0, "crashed (signal 11)"),
        ("hang 60\n", 1, 0, "did not answer within 1 s"),
    ],
)
def test_a_library_that_takes_its_caller_down_is_a_note(
    machine: Machine, scenario: str, timeout_s: int, devices: int, words: str
) -> None:
    machine.rules(scenario)
    answer = machine.python(APART.replace("TIMEOUT", str(timeout_s)))
    found = decode(Inventory, json.loads(answer))
    assert len(found.devices) == devices
    assert not words or any(words in note for note in found.notes), found.notes


HOLDERS = "import sys; from dsec.devices import nvml; print(nvml.holders(sys.argv[1]))"


@pytest.mark.battery
@pytest.mark.parametrize("old", [0, 1, 2])
@pytest.mark.parametrize(
    ("extra", "uuid", "answer"),
    [
        ("gpu 0 pid 4711 1024\ngpu 0 pid 12 -1\ngpu 0 graphics_pid 99 5\n", FIRST, "(12, 99, 4711)"),
        ("", FIRST, "()"),
        ("gpu 0 error processes 3\n", FIRST, "None"),
        ("gpu 0 lost 2\n", FIRST, "None"),
        ("", "GPU-unknown", "None"),
        ("init 18\n", FIRST, "None"),
    ],
)
def test_holders(machine: Machine, old: int, extra: str, uuid: str, answer: str) -> None:
    machine.rules(H100 + extra)
    assert machine.python(HOLDERS, uuid, old=old).strip() == answer


# Without a compiler: the same reading against a library object in this process.


@pytest.fixture
def pure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    import pynvml

    spec = importlib.util.spec_from_file_location("dsec_test_pure_nvml", os.path.join(FAKES, "pure.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def use(scenario: str) -> Inventory:
        monkeypatch.setattr(pynvml, "nvmlLib", module.Library(scenario))
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
        return nvml.read()

    yield use
    assert pynvml._nvmlLib_refcount == 0, "every nvmlInit is paired with a shutdown"


def test_without_a_compiler(pure: Any) -> None:
    found = pure(H100 + "gpu 3 lost 1\ngpu 0 pid 77 1\n")
    assert [device.health for device in found.devices].count("lost") == 1
    assert found.devices[0].memory_bytes == 81080 * MIB
    assert {link for device in found.devices for _, link in device.links} == {"NV18"}
    assert nvml.holders(found.devices[0].uuid) == (77,)
    assert pure("init 18\n").devices == ()
    mig = pure("count 1\ngpu 0 name NVIDIA H200\ngpu 0 mig 1\ngpu 0 instance 1c.3g.71gb 71424\n")
    assert [device.type for device in mig.devices] == ["mig:1c.3g.71gb"]


@pytest.mark.battery
def test_both_fakes_agree(pure: Any, read: Any) -> None:
    for scenario in (H100, H100 + "gpu 3 lost 2\n", "count 0\n", "init 9\n"):
        one, two = pure(scenario), read(scenario)
        assert one.devices == two.devices
        assert one.notes == two.notes


@pytest.mark.parametrize(
    ("ends", "pair", "count"),
    [
        ({"GPU-0": ["switch"] * 12, "GPU-1": ["switch"] * 11}, (0, 1), 11),
        ({"GPU-0": ["0000:01:00.0"] * 2, "GPU-1": []}, (0, 1), 2),
        ({"GPU-0": ["00000000:01:00.0"] * 4, "GPU-1": ["0000:00:00.0"] * 3}, (1, 0), 4),
        ({"GPU-0": ["00000000:99:00.0"], "GPU-1": ["switch"]}, (0, 1), 0),
    ],
)
def test_links_are_counted_from_both_ends(
    ends: dict[str, list[str]], pair: tuple[int, int], count: int
) -> None:
    from dsec.devices.links import nvlink_counts
    from dsec.inventory import Device

    devices = [
        Device(f"GPU-{at}", at, "", "", 8 * GIB, None, None, f"00000000:{at:02}:00.0", (), 1, "ok")
        for at in range(2)
    ]
    counts = nvlink_counts(ends, devices)
    assert counts.get((f"GPU-{pair[0]}", f"GPU-{pair[1]}"), 0) == count
    for one, two in itertools.permutations(counts, 2):
        assert one != two[::-1] or counts[one] == counts[two]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("error memory 3", "the driver says that it is not supported, which of this card is not so"),
        ("error memory 4", "the driver refuses it to this user (NVML error 4)"),
        ("error memory 999", "it cannot be read (NVML error 999)"),
        ("total 0", "the driver says 0"),
    ],
)
def test_why_the_memory_of_a_card_is_unknown(read: Any, rule: str, why: str) -> None:
    found = read(H100 + f"gpu 2 {rule}\n")
    assert found.devices[2].memory_bytes is None
    assert found.devices[1].memory_bytes
    assert f"GPU 2 (NVIDIA H100 80GB HBM3): its memory is unknown: {why}" in found.notes
