"""Watching GPUs through the real bindings, over all that a simulated machine can do to them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from simulated import FIRST, Machine, Watch, uuid

from dsec.cards import MIB

Begin = Callable[..., Watch]

H100 = """count 8
gpu * name NVIDIA H100 80GB HBM3
gpu * total 81559
gpu * reserved 479
gpu * used 1024
gpu * temperature 45
gpu * power 350000
gpu * utilization 30
gpu * ecc_uncorrected 0
gpu * throttle 0
gpu * clock 1980
gpu * nvlink_tx 4096
gpu * nvlink_rx 2048
gpu * pcie_tx 100
gpu * pcie_rx 200
"""
NAMES = {
    "busy_permille",
    "clock_mhz",
    "ecc_uncorrected",
    "index",
    "memory_clock_mhz",
    "memory_reserved_bytes",
    "memory_total_bytes",
    "memory_used_bytes",
    "mig",
    "name",
    "nvlink_rx_kbps",
    "nvlink_tx_kbps",
    "parent",
    "pcie_rx_kbps",
    "pcie_tx_kbps",
    "power_mw",
    "reason",
    "shared_with_host",
    "state",
    "temperature_c",
    "throttled",
    "uuid",
}


def test_a_healthy_box(watch: Begin) -> None:
    found = watch(H100).devices()
    assert [one["uuid"] for one in found] == [uuid(gpu) for gpu in range(8)]
    first = found[0]
    assert set(first) == NAMES
    assert first["state"] == "ok"
    assert first["reason"] == ""
    assert first["name"] == "NVIDIA H100 80GB HBM3"
    assert first["busy_permille"] == 300
    assert first["memory_total_bytes"] == 81559 * MIB
    assert first["memory_reserved_bytes"] == 479 * MIB
    assert first["memory_used_bytes"] == 1024 * MIB
    assert first["temperature_c"] == 45
    assert first["power_mw"] == 350_000
    assert first["ecc_uncorrected"] == 0
    assert first["throttled"] == []
    assert first["clock_mhz"] == 1980
    assert (first["pcie_tx_kbps"], first["pcie_rx_kbps"]) == (100, 200)
    assert first["shared_with_host"] is False
    assert first["mig"] is None


def test_a_driver_that_answers_next_to_nothing_leaves_everything_unknown(watch: Begin) -> None:
    (only,) = watch("count 1\ngpu 0 name NVIDIA T4\ngpu 0 error memory 999\n").devices()
    assert only["state"] == "ok"
    unknown = {key for key, value in only.items() if value is None}
    assert unknown == NAMES - {"index", "name", "parent", "reason", "shared_with_host", "state", "uuid"}


@pytest.mark.parametrize("how", ["1", "2"])
def test_a_gpu_lost_in_mid_run_leaves_seven(watch: Begin, machine: Machine, how: str) -> None:
    one = watch(H100, rescan_s=3600)
    assert {reading["state"] for reading in one.devices()} == {"ok"}
    machine.rules(H100 + f"gpu 3 lost {how}\n")
    found = one.devices()
    assert [reading["state"] for reading in found] == ["ok"] * 3 + ["lost"] + ["ok"] * 4
    lost = found[3]
    assert (lost["uuid"], lost["name"]) == (uuid(3), "NVIDIA H100 80GB HBM3"), "it is known by name"
    assert lost["reason"] == "fell off the bus"
    assert lost["memory_used_bytes"] is None
    assert lost["temperature_c"] is None
    assert all(other["memory_used_bytes"] == 1024 * MIB for other in found if other is not lost)
    assert one.ask("processes", uuid(3)) is None
    assert one.ask("processes", uuid(4)) == {}
    machine.rules(H100)
    assert [reading["state"] for reading in one.devices()] == ["ok"] * 8, "it came back"


def test_a_gpu_lost_before_anybody_looked_has_the_name_of_the_inventory(watch: Begin) -> None:
    found = watch(H100 + "gpu 3 lost 1\n").devices()
    assert found[3]["uuid"] == "unread-3"
    assert found[3]["state"] == "lost"


def test_a_gpu_that_must_be_reset_is_not_ok(watch: Begin) -> None:
    found = watch(H100 + "gpu 2 error power 16\n").devices()
    assert (found[2]["state"], found[2]["reason"]) == ("unknown", "must be reset")
    assert {one["state"] for one in found if one is not found[2]} == {"ok"}


@pytest.mark.parametrize("old", [1, 2])
def test_an_old_driver_lacks_what_it_lacks(watch: Begin, old: int) -> None:
    one = watch(H100 + "gpu 0 pid 4711 1024\ngpu 0 pid 12 -1\n", old=old)
    first = one.devices()[0]
    assert first["memory_reserved_bytes"] is None
    assert first["memory_used_bytes"] == (1024 + 479) * MIB, "version 1 counts what the driver keeps"
    assert first["throttled"] == []
    assert first["temperature_c"] == 45
    assert one.ask("processes", FIRST) == {"4711": 1024 * MIB, "12": None}


def test_the_temperature_by_the_question_of_new_drivers(watch: Begin) -> None:
    found = watch(H100 + "gpu * error plain_temperature 13\n").devices()
    assert found[0]["temperature_c"] == 45


def test_memory_that_is_the_hosts(watch: Begin) -> None:
    (only,) = watch("count 1\ngpu 0 name NVIDIA GB10\n").devices()
    assert only["shared_with_host"] is True
    assert only["memory_total_bytes"] > only["memory_used_bytes"] > 0
    assert only["memory_reserved_bytes"] is None
    assert only["state"] == "ok"


def test_linux_on_windows(watch: Begin) -> None:
    one = watch(H100 + "gpu * error utilization 3\ngpu 0 pid 7 -1\ngpu 0 pid 8 5\n")
    assert one.devices()[0]["busy_permille"] is None
    assert one.ask("processes", FIRST) == {"7": None, "8": 5 * MIB}


def test_mig_instances_are_the_devices(watch: Begin, machine: Machine) -> None:
    mig = "gpu 1 mig 1\ngpu 1 instance 3g.40gb 40448\ngpu 1 instance 1g.10gb 9984\n"
    one = watch(H100 + mig + "gpu 1 pid 5 100 0\ngpu 1 pid 6 200 1\n", rescan_s=3600)
    found = one.devices()
    assert [reading["index"] for reading in found] == [0, 1, 1, 2, 3, 4, 5, 6, 7]
    big, small = found[1], found[2]
    assert (big["parent"], small["parent"]) == (uuid(1), uuid(1))
    assert big["uuid"].startswith("MIG-")
    assert big["name"].endswith("MIG 3g.40gb")
    assert (big["memory_total_bytes"], small["memory_total_bytes"]) == (40448 * MIB, 9984 * MIB)
    assert big["busy_permille"] is None, "unknown, which is not idle"
    assert big["temperature_c"] == 45
    assert big["mig"] is True
    assert one.ask("processes", big["uuid"]) == {"5": 100 * MIB}
    assert one.ask("processes", small["uuid"]) == {"6": 200 * MIB}
    machine.rules(H100 + mig + "gpu 1 lost 2\ngpu 1 xid 79\n")
    lost = [reading["uuid"] for reading in one.devices() if reading["state"] == "lost"]
    assert lost == [big["uuid"], small["uuid"]]
    assert [event["uuid"] for event in one.ask("events")] == lost, "an error of the GPU is one of each"


@pytest.mark.parametrize(
    ("code", "words"),
    [(18, "differ in version"), (9, "driver is not loaded"), (4, "no permission"), (999, "unknown reason")],
)
def test_a_driver_that_does_not_answer_is_tried_again(
    watch: Begin, machine: Machine, code: int, words: str
) -> None:
    one = watch(f"init {code}\n")
    assert one.devices() == []
    assert one.ask("events") == []
    assert one.ask("processes", FIRST) is None
    problem = one.ask("problem")
    assert words in problem
    assert "\n" not in problem
    machine.rules(H100)
    assert len(one.devices()) == 8
    assert one.ask("problem") == ""


def test_it_is_not_tried_again_all_the_time(watch: Begin, machine: Machine) -> None:
    one = watch("init 9\n", retry_s=3600)
    machine.rules(H100)
    assert one.devices() == []
    assert "driver is not loaded" in one.ask("problem")


def test_no_library_is_said(machine: Machine, tmp_path: object) -> None:
    code = (
        "from dsec.devices.sampling import Sampler; s = Sampler(); print(s.devices(), s.problem); s.close()"
    )
    environ = {**machine.environ(), "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("() ") or "nvidia" in done.stdout.lower()
    assert done.stderr == ""


def test_files_of_another_driver_do_not_harm_who_has_begun(watch: Begin, machine: Machine) -> None:
    one = watch(H100)
    assert len(one.devices()) == 8
    machine.rules(H100 + "init 18\n")
    assert len(one.devices()) == 8
    late = watch(H100 + "init 18\n")
    assert late.devices() == []
    assert "already run are not affected" in late.ask("problem")


@pytest.mark.parametrize("code", [1, 18, 999])
def test_a_driver_that_is_reloaded_in_mid_run(watch: Begin, machine: Machine, code: int) -> None:
    one = watch(H100)
    assert len(one.devices()) == 8
    machine.rules(H100 + f"down {code}\ninit 9\n")
    assert one.devices() == []
    assert one.devices() == []
    assert "driver is not loaded" in one.ask("problem")
    machine.rules(H100)
    assert [reading["state"] for reading in one.devices()] == ["ok"] * 8


def test_a_driver_that_is_updated_in_mid_run(machine: Machine, nvml_library: Callable[..., str]) -> None:
    """The library that was loaded fits the new driver no more; the one on the disk does."""
    link = machine.path.with_name("driver")
    link.symlink_to(nvml_library(1))
    code = """if True:
        import os, sys
        from dsec.devices.sampling import Sampler
        scenario, link, new = sys.argv[1:]
        sampler = Sampler(retry_s=0)
        print(sampler.devices()[0].memory_reserved_bytes)
        with open(scenario) as file:
            rules = file.read()
        with open(scenario, "a") as file:
            file.write("down 18\\ninit 18\\n")
        print(sampler.devices(), sampler.devices(), sampler.problem)
        os.unlink(link)
        os.symlink(new, link)
        print(len(sampler.devices()))
        with open(scenario, "w") as file:
            file.write(rules)
        print(sampler.devices()[0].memory_reserved_bytes, repr(sampler.problem))
    """
    machine.rules(H100)
    environ = {**machine.environ(), "LD_LIBRARY_PATH": str(link)}
    argv = [sys.executable, "-c", code, str(machine.path), str(link), nvml_library(0)]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, meanwhile, still, after = done.stdout.splitlines()
    assert before == "None"
    assert meanwhile.startswith("() () the NVIDIA library and the loaded driver differ")
    assert still == "0"
    assert after == f"{479 * MIB} ''"


@pytest.mark.parametrize("count", [0, 64])
def test_any_number_of_gpus(watch: Begin, count: int) -> None:
    one = watch(H100.replace("count 8", f"count {count}"))
    found = one.devices()
    assert len(found) == count
    assert len({reading["uuid"] for reading in found}) == count
    assert one.ask("problem") == ""


def test_gpus_that_come_later_are_seen(watch: Begin, machine: Machine) -> None:
    one = watch(H100.replace("count 8", "count 1"))
    assert len(one.devices()) == 1
    machine.rules(H100)
    assert len(one.devices()) == 8


def test_errors_of_the_driver_come_once_and_from_now_on(watch: Begin, machine: Machine) -> None:
    one = watch(H100 + "gpu 5 xid 13\n")
    assert one.ask("events") == [], "it was before anybody looked"
    machine.rules(H100 + "gpu 5 xid 13\ngpu 5 xid 79\ngpu 2 xid 31\n")
    events = one.ask("events")
    assert sorted((event["uuid"], event["xid"]) for event in events) == [(uuid(2), 31), (uuid(5), 79)]
    assert one.ask("events") == []


def test_a_card_that_cannot_report_errors_leaves_those_of_others(watch: Begin, machine: Machine) -> None:
    one = watch(H100 + "gpu 0 error events 3\n")
    machine.rules(H100 + "gpu 0 error events 3\ngpu 0 xid 48\ngpu 1 xid 48\n")
    assert one.ask("events") == [{"uuid": uuid(1), "xid": 48}]


def test_rates_come_from_two_readings(watch: Begin, machine: Machine) -> None:
    one = watch(H100 + "gpu * pcie_counters 1\n")
    first = one.devices()[0]
    for name in ("pcie_tx_kbps", "pcie_rx_kbps", "nvlink_tx_kbps", "nvlink_rx_kbps"):
        assert first[name] is None, "one reading of a counter is no rate"
    time.sleep(0.5)
    second = one.devices()[0]
    for name, rate in (("pcie_tx_kbps", 100), ("pcie_rx_kbps", 200), ("nvlink_tx_kbps", 4096)):
        assert rate / 2 < second[name] < rate * 2
    machine.rules(H100.replace("nvlink_tx 4096", "nvlink_tx 1"))
    assert one.devices()[0]["nvlink_tx_kbps"] is None, "a counter that began anew is no rate either"


def test_a_card_without_links_has_no_rate_of_links(watch: Begin) -> None:
    one = watch("count 1\ngpu 0 name NVIDIA L4\ngpu 0 total 23034\n")
    one.devices()
    assert one.devices()[0]["nvlink_tx_kbps"] is None
    assert one.devices()[0]["pcie_tx_kbps"] is None


@pytest.mark.parametrize(
    ("bits", "words"),
    [(0x1, []), (0x4, ["power"]), (0x20, ["heat"]), (0x60, ["heat"]), (0x88, ["brake", "hardware"])],
)
def test_what_holds_the_clocks_down(watch: Begin, bits: int, words: list[str]) -> None:
    assert watch(H100 + f"gpu 0 throttle {bits}\n").devices()[0]["throttled"] == words


def test_a_field_that_fails_is_unknown_and_the_others_are_read(watch: Begin) -> None:
    first = watch(
        H100 + "gpu 0 error temperature 999\ngpu 0 error fields 13\ngpu 0 error power 4\n"
    ).devices()[0]
    assert (first["temperature_c"], first["power_mw"], first["nvlink_rx_kbps"]) == (None, None, None)
    assert (first["state"], first["busy_permille"], first["pcie_tx_kbps"]) == ("ok", 300, 100)


def test_rules_by_time(watch: Begin) -> None:
    now = time.monotonic_ns() // 1_000_000
    heat = "gpu 0 temperature ramp 40 90 10\n@1s gpu 1 temperature 77\n"
    heat += "@1s-2s gpu 2 temperature 88\n@1h gpu 3 lost 1\n"
    found = watch(f"start {now - 5000}\n{H100}{heat}").devices()
    assert 60 <= found[0]["temperature_c"] <= 80
    assert [found[gpu]["temperature_c"] for gpu in (1, 2, 3)] == [77, 45, 45]
    done = watch(f"start {now - 60_000}\n{H100}{heat}").devices()
    assert done[0]["temperature_c"] == 90


def test_a_scenario_that_is_included_is_read_again_too(watch: Begin, machine: Machine) -> None:
    more = machine.path.with_name("more" * 60 + ".txt")
    more.write_text("gpu 0 temperature 50\n")
    one = watch(f"{H100}include {more}\n")
    assert one.devices()[0]["temperature_c"] == 50
    more.write_text("gpu 0 temperature 60 \n")
    assert one.devices()[0]["temperature_c"] == 60
