"""Checks of GPUs against simulated drivers and cards, and against what real machines printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from simulated import Machine

from dsec.codec import decode
from dsec.errors import DSecError
from dsec_cli.doctor.check import find_checks
from dsec_cli.doctor.checks.xid import told
from dsec_cli.doctor.gpufacts import Gpu, Gpus
from dsec_cli.doctor.host import Host
from dsec_cli.doctor.smifacts import read

ROOT = Path(__file__).resolve().parents[2]
CHECKS = {check.name: check for check in find_checks()}
OF_GPUS = [check for check in find_checks() if check.of_gpus]
TWO = "count 2\ngpu * name NVIDIA H100 80GB HBM3\ngpu * total 85899345920\n"


def facts(machine: Machine, rules: str, old: int = 0) -> Gpus:
    """What the process of the facts prints on a machine with these rules."""
    machine.rules(rules)
    environ = machine.environ(old, PYTHONPATH=f"{ROOT}:{ROOT / 'runtime'}")
    words = [sys.executable, "-m", "dsec_cli.doctor.gpufacts"]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return decode(Gpus, json.loads(done.stdout))


def statuses(gpus: Gpus) -> dict[str, str]:
    """Name and status of every check of GPUs that found anything."""
    host = Host({}, "/nowhere", root="/nowhere", gpus=gpus)
    answers = {check.name: check.look(host) for check in OF_GPUS}
    for name, answer in answers.items():
        assert answer.lines[0], name
        assert (answer.status == "problem") <= bool(answer.mend), name
    return {name: answer.status for name, answer in answers.items() if answer.status != "absent"}


def first_line(gpus: Gpus, name: str) -> str:
    return CHECKS[name].look(Host({}, "/nowhere", root="/nowhere", gpus=gpus)).lines[0]


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        (TWO, {"driver": "ok", "gpus": "ok", "cuda": "ok"}),
        (TWO + "gpu * throttle 0\n", {"clocks": "ok"}),
        (TWO + "gpu 1 lost 1\n", {"gpus": "problem", "driver": "ok"}),
        (TWO + "gpu 1 ecc 1\ngpu 1 ecc_uncorrected 3\n", {"ecc": "problem"}),
        (TWO + "gpu * ecc 1\n", {"ecc": "ok"}),
        (TWO + "gpu * persistence 0\n", {"persistence": "problem"}),
        (TWO + "gpu * persistence 1\n", {"persistence": "ok"}),
        (TWO + "gpu 0 throttle 64\n", {"clocks": "problem"}),
        (TWO + "gpu 0 throttle 4\n", {"clocks": "note"}),
        (TWO + "driver 535.54.03\n", {"driver": "problem"}),
        (TWO + "driver 535.104.05\n", {"driver": "ok"}),
        ("count 0\n", {"driver": "ok"}),
        ("init 18\n", {"driver": "problem"}),
        ("init 9\n", {"driver": "problem"}),
        ("init 4\n", {"driver": "problem"}),
        ("init 999\n", {"driver": "problem"}),
    ],
)  # fmt: skip
def test_simulated_machines(machine: Machine, rules: str, wanted: dict[str, str]) -> None:
    found = statuses(facts(machine, rules))
    assert found.items() >= wanted.items()


def test_a_library_that_crashes_or_hangs_takes_nothing_along(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsec_cli.doctor.host._NVML_S", 1.0)
    for rules, said in (("crash 1\n", "crashed"), ("hang 1\n", "does not answer")):
        machine.rules(rules)
        host = Host(machine.environ(), "/nowhere")
        answer = CHECKS["driver"].look(host)
        assert answer.status == "problem"
        assert said in answer.lines[0]
        assert CHECKS["gpus"].look(host).status == "absent"


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([], "ok"),
        ([("0000:c1:00", 79)], "problem"),
        ([("0000:c1:00", 31)], "note"),
        ([("a", 31), ("b", 48)], "problem"),
    ],
)
def test_errors_in_the_kernels_log(events: list[tuple[str, int]], status: str) -> None:
    assert told(events, gpus=True).status == status
    assert (told(events, gpus=False).status == "absent") == (not events)


GPU = Gpu(0, "GPU-0", "NVIDIA H100", "0000:01:00.0", "ok")
BOTH = GPU._replace(links=(True, True))


def of(*gpus: Gpu, **fields: Any) -> Gpus:
    return Gpus(0, "", "550.54.14", 12040, "12.560", gpus)._replace(**fields)


@pytest.mark.parametrize(
    ("gpus", "name", "status"),
    [
        (of(GPU._replace(mig=False, mig_pending=True)), "mig", "problem"),
        (of(GPU._replace(mig=True, mig_pending=True, mig_instances=0)), "mig", "problem"),
        (of(GPU._replace(mig=True, mig_pending=True, mig_instances=3)), "mig", "note"),
        (of(GPU._replace(mig=False, mig_pending=False)), "mig", "ok"),
        (of(GPU._replace(ecc=True, ecc_pending=True, remap_pending=True)), "ecc", "problem"),
        (of(GPU._replace(ecc=True, ecc_pending=True, remap_failed=True)), "ecc", "problem"),
        (of(GPU._replace(ecc=True, ecc_pending=False)), "ecc", "problem"),
        (of(GPU._replace(ecc=True, uncorrected_ever=2)), "ecc", "note"),
        (of(GPU._replace(ecc=False)), "ecc", "note"),
        (of(BOTH, BOTH._replace(index=1, links=(True, False))), "nvlink", "problem"),
        (of(BOTH, BOTH._replace(index=1)), "nvlink", "ok"),
        (of(GPU._replace(links=(False, False))), "nvlink", "note"),
        (of(GPU), "nvlink", "absent"),
        (of(GPU, cuda=11080), "cuda", "problem"),
        (of(GPU, cuda=None), "cuda", "absent"),
        (of(GPU, driver=""), "driver", "unknown"),
        (of(GPU._replace(health="reset required")), "gpus", "problem"),
        (of(GPU, GPU._replace(memory_why="it does not say")), "gpus", "unknown"),
        (of(GPU._replace(health="lost"), GPU._replace(memory_why="it does not say")), "gpus", "problem"),
    ],
)  # fmt: skip
def test_facts_and_what_they_mean(gpus: Gpus, name: str, status: str) -> None:
    assert CHECKS[name].look(Host({}, "/nowhere", gpus=gpus)).status == status


@pytest.mark.parametrize(
    ("installed", "here", "status"),
    [
        ({"nvidia-cuda-runtime-cu12": "12.1.105"}, 12040, "ok"),
        ({"nvidia-cuda-runtime-cu12": "12.8.90"}, 12040, "note"),
        ({"nvidia-cuda-runtime": "13.0.48"}, 12040, "problem"),
        ({"torch": "2.5.1+cu124"}, 12020, "note"),
        ({"torch": "2.5.1"}, 12020, "ok"),
        ({"torch": "2.9.0+cu130"}, 12090, "problem"),
    ],
)
def test_cuda_of_the_driver_and_of_libraries(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], here: int, status: str
) -> None:
    class Installed:
        def __init__(self, name: str, version: str) -> None:
            self.metadata, self.version = {"Name": name}, version

    rows = [Installed(*row) for row in installed.items()]
    monkeypatch.setattr("dsec_cli.doctor.checks.cuda.distributions", lambda: rows)
    answer = CHECKS["cuda"].look(Host({}, "/nowhere", gpus=of(GPU, cuda=here)))
    assert answer.status == status


CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
COPIES = ROOT / "tests" / "data" / "doctor"
WANTED = {
    "smi-q_h100-590_load.txt": {"driver": "ok", "gpus": "ok", "persistence": "ok", "ecc": "ok", "mig": "ok"},
    "smi-q_h100mig-590_load.txt": {"driver": "ok", "mig": "note"},
    "smi-q_h200-590_load.txt": {"driver": "ok", "ecc": "ok"},
    "smi-q_h200mig-590_load.txt": {"driver": "ok", "mig": "note"},
    "smi-q_l40s-595_load.txt": {"driver": "ok", "gpus": "ok"},
    "smi-q_laptop_rtx3070ti_head.txt": {"gpus": "ok"},
    "smi-q_rtx2080s-595_load.txt": {"driver": "ok", "gpus": "ok"},
    "smi-q_rtx4080s-595_load.txt": {"driver": "ok", "gpus": "ok"},
    "smi-q_win-rtx2080s-610_load.txt": {"driver": "ok", "gpus": "ok"},
    "smi-qx_a100-sxm4-v12.xml": {"driver": "problem", "gpus": "ok", "mig": "note", "persistence": "problem"},
    "smi-qx_gtx-1660-ti.xml": {"driver": "problem", "gpus": "ok"},
    "smi-qx_quadro-p2000-v12.xml": {"gpus": "ok"},
    "smi-qx_rtx-3090-v12.xml": {"gpus": "ok"},
    "smi-qx_rtx-4000-sff-ada-v13.xml": {"gpus": "ok"},
}


@pytest.mark.parametrize("name", WANTED)
def test_what_real_machines_printed(name: str) -> None:
    path = CAPTURES / name if (CAPTURES / name).is_file() else COPIES / name
    if not path.is_file():
        pytest.skip(f"{name} is not beside this checkout")
    found = statuses(read(path.read_text(errors="replace"), where=name))
    assert found.items() >= WANTED[name].items()


def test_every_capture_of_queries_is_tried(shared: Path) -> None:
    names = {path.name for path in (shared / "captures").glob("smi-q*")}
    assert names == set(WANTED)


def test_failures_that_nvidia_smi_prints(shared: Path) -> None:
    texts = (shared / "captures" / "smi-errors.txt").read_text().split("---\n")
    mismatch = read(texts[0], where="x")
    assert (mismatch.code, mismatch.driver) == (18, "570.124")
    assert statuses(mismatch) == {"driver": "problem"}
    assert read(texts[3], where="x").code == 9


def test_a_value_that_is_unknown_is_no_failure_of_the_library() -> None:
    text = "==NVSMI LOG==\nDriver Version : 550.54.14\nGPU 00000000:01:00.0\n    Fan Speed : Unknown Error\n"
    assert statuses(read(text, where="x")).items() >= {"driver": "ok", "gpus": "ok"}.items()
    with pytest.raises(DSecError):  # another of its outputs, with such a value
        read("timestamp, fan.speed [%]\n2026/06/24, [Unknown Error]\n", where="x")


def test_a_lost_card_alone_is_told(shared: Path) -> None:
    text = (shared / "captures" / "smi-errors.txt").read_text().split("---\n")[2]
    found = read(text, where="x")
    assert [(gpu.pci, gpu.health) for gpu in found.devices] == [("0000:C1:00.0", "lost")]
    assert statuses(found)["gpus"] == "problem"


@pytest.mark.parametrize("text", ["", "no such thing", "<nvidia_smi_log><gpu>", "<nvidia_smi_log", "\0"])
def test_what_is_no_output_is_refused(text: str) -> None:
    with pytest.raises(DSecError):
        read(text, where="x")


@pytest.mark.parametrize(
    ("model", "total", "why"),
    [
        ("NVIDIA H100 80GB HBM3", "81559 MiB", ""),
        ("NVIDIA H100 80GB HBM3", "N/A", "nvidia-smi says N/A of it"),
        ("NVIDIA H100 80GB HBM3", "[Unknown Error]", "nvidia-smi says [Unknown Error] of it"),
        ("NVIDIA H100 80GB HBM3", "0 MiB", "nvidia-smi says 0 MiB of it"),
        ("NVIDIA GB10", "N/A", ""),
        ("NVIDIA Thor", "Not Supported", ""),
    ],
)
def test_memory_that_saved_output_does_not_have(model: str, total: str, why: str) -> None:
    text = f"==============NVSMI LOG==============\nGPU 00000000:01:00.0\n    Product Name : {model}\n"
    (gpu,) = read(f"{text}    FB Memory Usage\n        Total : {total}\n", where="x").devices
    assert gpu.memory_why == why
