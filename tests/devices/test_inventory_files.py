"""Inventory files told apart, and the command that shows an inventory."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dsec.cards import GIB
from dsec.devices import profiles
from dsec.devices.fake import Change, FakeDevices
from dsec.errors import DSecError, FileProblem, InventoryProblem
from dsec.inventory import Inventory, steady
from dsec_cli.commands.inventoried import render
from dsec_cli.commands.inventory import as_json, read_inventory
from dsec_cli.fast import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "inventories"

BOX: dict[str, Any] = {
    "name": "box",
    "cpu": 32,
    "memory": "256Gi",
    "disk": "1TB",
    "gpus": [{"type": "rtx-3090", "count": 4, "nvlink": "pairs", "numa": [0, 0, 1, 1]}, {"type": "mi300x"}],
}


def test_files_are_told_apart(tmp_path: Path) -> None:
    saved = tmp_path / "box.json"
    saved.write_text(as_json(read_inventory("builtin:2xrtx-3090")))
    assert read_inventory(str(saved)) == steady(read_inventory("builtin:2xrtx-3090"))
    yaml = tmp_path / "box.yaml"
    yaml.write_text("name: n\ncpu: 1.5\ngpus:\n- {type: l4, count: 2}\n")
    assert read_inventory(str(yaml)).cpu_m == 1500
    described = tmp_path / "described.json"
    described.write_text('{"cpu": 2}')
    assert read_inventory(str(described)).cpu_m == 2000


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("cpu: 1\ncpu: 2\n", "cpu"),
        ("gpus:\n- {type: l4, type: l4}\n", "type"),
        ("cpu: [1\n", ":"),
        ("cpu: 1\n---\ncpu: 2\n", "2 documents"),
        ("", "is empty"),
        ('{"cpu": ', "no JSON"),
        ('{"format": "dsec.inventory/2"}', "this dsec reads dsec.inventory/1"),
        ('{"format": "dsec.inventory/1"}', "lacks"),
        ("just words\n", "mapping"),
    ],
)
def test_files_that_are_no_inventory(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "box"
    path.write_text(text)
    with pytest.raises(DSecError, match=what):
        read_inventory(str(path))


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("cpu_m", '"cpu_m": 16000', '"cpu_m": -5'),
        ("memory_bytes", '"memory_bytes": ', '"memory_bytes": -'),
        ("speed", '"speed": ', '"speed": -'),
        ("uuid", "GPU-rtx-3090-1", "GPU-rtx-3090-0"),
    ],
)
def test_a_saved_machine_that_cannot_be_is_refused(
    tmp_path: Path, field: str, before: str, after: str
) -> None:
    text = as_json(read_inventory("builtin:2xrtx-3090"))
    assert before in text
    (tmp_path / "box.json").write_text(text.replace(before, after))
    with pytest.raises(InventoryProblem, match=f"a {field} that no machine has"):
        read_inventory(str(tmp_path / "box.json"))


def test_a_missing_or_binary_file(tmp_path: Path) -> None:
    with pytest.raises(FileProblem) as caught:
        read_inventory(str(tmp_path / "absent.yaml"))
    assert "dsec inventory --json" in caught.value.hint
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\xfa\x00\x80cpu")
    with pytest.raises(DSecError):
        read_inventory(str(path))


def test_the_command_shows_an_inventory(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dsec", ["inventory", "--inventory", "builtin:1xl40s"]) == 0
    shown = capsys.readouterr().out
    assert "l40s" in shown
    assert " 44.36 GiB " in shown
    assert run("dsec", ["inventory", "--json", "--inventory", "builtin:1xl40s"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "dsec.inventory/1"


def test_this_machine_is_shown_with_its_notes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("dsec", ["inventory"]) == 0
    assert "processors" in capsys.readouterr().out


def test_unknown_is_said_not_zero() -> None:
    shown = render(Inventory("os", 1500, None, None, None, (), ("why",)))
    assert "memory      unknown" in shown
    assert "processors  1.5" in shown
    assert shown.endswith("note: why\n")


@pytest.mark.parametrize("name", profiles.names())
def test_every_profile_is_shown_in_80_columns(name: str) -> None:
    shown = render(read_inventory(f"builtin:{name}"))
    assert max(map(len, shown.splitlines())) <= 80


def test_a_measured_machine_is_shown_in_80_columns_with_what_it_has() -> None:
    box = read_inventory("builtin:8xl40s")
    devices = [
        device._replace(uuid=f"GPU-{at}a2b3c4d-0000-1111-2222-333344445555", free_bytes=GIB * at)
        for at, device in enumerate(box.devices)
    ]
    devices[3] = devices[3]._replace(health="lost", memory_bytes=None, free_bytes=None)
    shown = render(box._replace(devices=tuple(devices), notes=("long " * 30,))).splitlines()
    assert max(map(len, shown)) <= 80
    assert "free" in shown[7]
    assert "health" in shown[7]
    assert shown[8].endswith(" GPU-0a2b3c4d-...")
    assert " 0.00 GiB " in shown[8]
    assert " unknown " in shown[11]
    assert " lost " in shown[11]
    assert shown[-1].startswith("      long")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("==============NVSMI LOG==============\n\nTimestamp : Thu\n", "text of nvidia-smi -q without a GPU"),
        ("+---+\n| NVIDIA-SMI 590.48.01   Driver Version: 590 |\n", "a table of nvidia-smi without a GPU"),
        ("name, pci.bus_id\nL4, 00:09.0\n", "--query-gpu without name and memory.total"),
        ("pid, gpu_bus_id\n1, 00:09.0\n", "a table of nvidia-smi --query-compute-apps"),
        ("# gpu  pid  type\n# Idx    #   C/G\n    0  11327 C -\n", "a table of nvidia-smi pmon or dmon"),
        ("Failed to initialize NVML: Driver/library version mismatch\n", "the failure of an nvidia-smi"),
    ],
)
def test_other_output_of_nvidia_smi_is_told_what_to_save_instead(
    text: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "smi.txt"
    path.write_text(text)
    with pytest.raises(InventoryProblem, match=re.escape(words)) as caught:
        read_inventory(str(path))
    assert "nvidia-smi -q -x" in caught.value.hint


def test_a_refused_value_is_shown_shortened(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text("word " * 1000)
    with pytest.raises(InventoryProblem) as caught:
        read_inventory(str(path))
    assert len(caught.value.what) < 200 + len(str(path))


def test_names_of_a_file_cannot_command_a_terminal() -> None:
    shown = render(Inventory("os\x1b[2J", 1500, None, None, None, (), ("why\u202e",)))
    assert all(ch.isprintable() or ch == "\n" for ch in shown)


def test_devices_follow_a_script() -> None:
    box = read_inventory("builtin:2xrtx-3090")
    one, two = (device.uuid for device in box.devices)
    script = [Change(5, one, health="lost"), Change(2, two, free_bytes=GIB, holders=(7,))]
    devices = FakeDevices(box, script)
    assert devices.read() == box
    assert devices.holders(two) == ()
    devices.now_s = 2
    assert devices.read().devices[1].free_bytes == GIB
    assert devices.holders(two) == (7,)
    devices.now_s = 5
    lost = devices.read().devices[0]
    assert (lost.health, lost.memory_bytes, lost.links) == ("lost", None, ())
    assert devices.holders(one) is None
    with pytest.raises(AssertionError, match="does not have"):
        FakeDevices(box, [Change(1, "GPU-none", health="lost")])


def test_minute_to_minute_readings_are_left_out_of_the_steady_form() -> None:
    box = read_inventory("builtin:1xl40s")
    busy = FakeDevices(box, [Change(0, box.devices[0].uuid, free_bytes=5)]).read()
    assert busy != box
    assert steady(busy) == steady(box)
