"""Saved nvidia-smi output, written here in its traps; recorded outputs are read in `test_captures`."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.cards import MIB
from dsec.devices import smi
from dsec.devices.topology import matrix
from dsec.errors import InventoryProblem

TABS = """\
\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tSYS\tPIX\t0-7,16-23\t\tN/A\t\tN/A
GPU1\tSYS\t X \tSYS\t8-15,24-31\t1\t\tN/A
NIC0\tPIX\tSYS\t X \t\t\t

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
"""

SPACES = """\
        GPU0    GPU1    GPU2    mlx5_0  CPU Affinity    NUMA Affinity
GPU0     X      NV12    SYS     PXB     0-23    0-3
GPU1    NV12     X      NODE    SYS     24-47   1
GPU2    SYS     NODE     X      SYS     48-71   2
mlx5_0  PXB     SYS     SYS      X
"""


def test_a_matrix_with_tabs_escapes_and_empty_columns() -> None:
    found = matrix(TABS)
    assert found.names == ("GPU0", "GPU1")
    assert found.rows == (("", "SYS"), ("SYS", ""))
    assert found.cpus == ("0-7,16-23", "8-15,24-31")
    assert found.numa == (None, 1)


def test_a_matrix_with_spaces_and_a_range_of_nodes() -> None:
    found = matrix(SPACES)
    assert found.rows == (("", "NV12", "SYS"), ("NV12", "", "NODE"), ("SYS", "NODE", ""))
    assert found.numa == (None, 1, 2)


@pytest.mark.parametrize("text", ["", "GPU0 GPU1\n", "GPU0    GPU1\nGPU0 X SYS\n", "hello\nGPU0 is lost\n"])
def test_no_matrix(text: str) -> None:
    assert matrix(text).names == ()


def test_listing_and_matrix_together() -> None:
    listing = "".join(f"GPU {at}: NVIDIA A40 (UUID: GPU-0{at})\n" for at in range(3))
    found = smi.from_output(listing + SPACES, "saved.txt")
    assert [device.type for device in found.devices] == ["a40"] * 3
    assert found.devices[0].links == (("GPU-01", "NV12"), ("GPU-02", "SYS"))
    assert found.cpu_m == 72000
    with pytest.raises(InventoryProblem, match="lists 2 GPUs but its matrix has 3"):
        smi.from_output("".join(listing.splitlines(keepends=True)[:2]) + SPACES, "saved.txt")


def test_listed_instances_stand_for_their_gpu() -> None:
    text = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-a)\n"
        "  MIG 1g.10gb     Device  1: (UUID: MIG-b)\n"
        "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-b)\n"
    )
    found = smi.from_output(text, "saved.txt")
    assert [(device.uuid, device.type, device.index) for device in found.devices] == [
        ("MIG-a", "mig:3g.40gb", 0),
        ("MIG-b", "mig:1g.10gb", 0),
        ("GPU-b", "h100-sxm-80gb", 1),
    ]


XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <gpu id="00000000:01:00.0">
    <product_name>NVIDIA L40S</product_name><uuid>GPU-x</uuid>
    <fb_memory_usage><total>46068 MiB</total><reserved>609 MiB</reserved></fb_memory_usage>
  </gpu>
  <gpu id="00000000:02:00.0">
    <product_name>NVIDIA GB10</product_name><uuid>GPU-y</uuid>
    <fb_memory_usage><total>N/A</total></fb_memory_usage>
  </gpu>
</nvidia_smi_log>
"""


def test_xml() -> None:
    found = smi.from_output(XML, "saved.xml")
    assert found.devices[0].memory_bytes == (46068 - 609) * MIB
    assert found.devices[0].pci == "00000000:01:00.0"
    assert found.devices[1].type == "gb10"
    assert found.devices[1].uuid == "GPU-y"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (XML.replace("<!DOCTYPE", '<!DOCTYPE x [<!ENTITY a "aa">]>\n<!--'), "entities"),
        (XML.replace("NVIDIA L40S", "&a;"), "is no XML"),
        (XML.replace("</nvidia_smi_log>", ""), "is no XML"),
        ("<nvidia_smi_log></nvidia_smi_log>", "lists no GPU"),
        ("nothing", "lists no GPU"),
    ],
)
def test_bad_xml(text: str, what: str) -> None:
    with pytest.raises(InventoryProblem, match=what):
        smi.from_output(text, "saved.xml")


@settings(max_examples=100)
@given(st.text(max_size=80), st.sampled_from([TABS, SPACES, XML, ""]), st.integers(0, 400))
def test_damaged_output_is_read_or_refused(noise: str, text: str, at: int) -> None:
    damaged = text[:at] + noise + text[at:]
    with contextlib.suppress(InventoryProblem):
        smi.from_output(damaged, "x")
