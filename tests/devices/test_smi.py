"""Saved output of nvidia-smi in its traps, written here: text of -q, the table, CSV, pastes of several."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec import cards
from dsec.cards import MIB
from dsec.core.placement import feasible
from dsec.devices import instances, smi, smitext
from dsec.devices.described import DRIVER_MIB
from dsec.errors import InventoryProblem
from dsec.inventory import AMPLE_CPU_M
from dsec.plan import Demand

QUERY = """\
==============NVSMI LOG==============

Driver Version                            : 550.54.14
Attached GPUs                             : 2
GPU 00000000:01:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GPU UUID                              : GPU-aa
    FB Memory Usage
        Total                             : 81920 MiB
        Reserved                          : 614 MiB
        Used                              : 0 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB

GPU 00000000:41:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    MIG Mode
        Current                           : Enabled
        Pending                           : Enabled
    MIG Device
        Index                             : 0
        GPU Instance ID                   : 3
        Compute Instance ID               : 0
        Device Attributes
            Shared
                Multiprocessor count      : 14
        FB Memory Usage
            Total                         : 19968 MiB
        BAR1 Memory Usage
            Total                         : 32767 MiB
    GPU UUID                              : GPU-bb
    FB Memory Usage
        Total                             : 81920 MiB
        Reserved                          : 869 MiB
"""

OLD_TABLE = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 450.51.06    Driver Version: 450.51.06    CUDA Version: 11.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla V100-SXM2...  On   | 00000000:00:1B.0 Off |                    0 |
| N/A   41C    P0    44W / 300W |      0MiB / 16160MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
|   1  Tesla T4            On   | 00000000:00:1E.0 Off |                    0 |
| N/A   34C    P0    24W /  70W |   1024MiB / 15360MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
"""
LISTING = "GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-v)\nGPU 1: Tesla T4 (UUID: GPU-t)\n"
MATRIX = """\
        GPU0    GPU1    NIC0    mlx5_1  CPU Affinity    NUMA Affinity
GPU0     X      NODE    PIX     SYS     0-3,8-11        0-1
GPU1    NODE     X      SYS     PIX     4-7             1
NIC0    PIX     SYS      X      SYS
"""
CSV = """\
index, name, uuid, pci.bus_id, memory.total [MiB], memory.reserved [MiB], mig.mode.current
0, NVIDIA L40S, GPU-l, 00000000:01:00.0, 46068 MiB, 609 MiB, [N/A]
1, NVIDIA H100 80GB HBM3, GPU-h, 00000000:02:00.0, 81559 MiB, 479 MiB, Enabled
2, a, b
"""
SIX = "\t\x1b[4m" + "\t".join(f"GPU{at}" for at in range(6)) + "\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
SIX += "".join(
    f"GPU{row}\t"
    + "\t".join(" X " if row == to else "PXB" if row // 3 == to // 3 else "SYS" for to in range(6))
    + f"\t{row // 3 * 8}-{row // 3 * 8 + 7}\t{row // 3}\n"
    for row in range(6)
)


def test_text_of_a_query() -> None:
    found = smi.from_output(QUERY, "q.txt")
    assert [(device.uuid, device.type, device.index) for device in found.devices] == [
        ("GPU-aa", "a100-sxm-80gb", 0),
        ("MIG-1g.20gb-0", "mig:1g.20gb", 1),
    ]
    assert [device.memory_bytes for device in found.devices] == [(81920 - 614) * MIB, 19968 * MIB]
    assert found.devices[0].pci == "00000000:01:00.0"


def test_a_name_that_the_table_cuts_short_is_not_guessed() -> None:
    found = smi.from_output(OLD_TABLE, "t.txt")
    assert [device.type for device in found.devices] == ["", "t4"]
    assert [device.memory_bytes for device in found.devices] == [
        (16160 - DRIVER_MIB) * MIB,
        (15360 - DRIVER_MIB) * MIB,
    ]
    assert any(note.startswith("Tesla V100-SXM2...: type not known") for note in found.notes)


@pytest.mark.parametrize("text", [OLD_TABLE + LISTING + MATRIX, MATRIX + LISTING + OLD_TABLE])
def test_what_one_output_lacks_is_taken_from_another(text: str) -> None:
    found = smi.from_output(text, "paste.txt")
    assert [(device.uuid, device.type) for device in found.devices] == [
        ("GPU-v", "v100-16gb"),
        ("GPU-t", "t4"),
    ]
    assert found.devices[0].memory_bytes == (16160 - DRIVER_MIB) * MIB
    assert found.devices[0].links == (("GPU-t", "NODE"),)
    assert [device.numa for device in found.devices] == [None, 1]  # a range of nodes is none in particular
    assert found.cpu_m == 12000


def test_a_query_as_csv() -> None:
    found = smi.from_output(CSV, "q.csv")
    assert [(device.uuid, device.memory_bytes) for device in found.devices] == [
        ("GPU-l", (46068 - 609) * MIB)
    ]
    assert any(note.startswith("GPU 1 is in MIG mode") for note in found.notes)
    bare = smi.from_output("name, memory.total [MiB]\nNVIDIA L4, 23034\n", "q.csv")
    assert bare.devices[0].type == "l4"
    assert bare.devices[0].memory_bytes == (23034 - DRIVER_MIB) * MIB


def test_xml_with_a_matrix_behind_it() -> None:
    xml = "<nvidia_smi_log>" + "".join(
        f"<gpu id='{at}'><product_name>NVIDIA A40</product_name><uuid>GPU-{at}</uuid></gpu>"
        for at in range(6)
    )
    found = smi.from_output(xml + "</nvidia_smi_log>\n" + SIX, "x.xml")
    assert [device.numa for device in found.devices] == [0, 0, 0, 1, 1, 1]
    assert sorted(link for _, link in found.devices[5].links) == ["PXB", "PXB", "SYS", "SYS", "SYS"]
    assert found.cpu_m == 16000
    with pytest.raises(InventoryProblem, match="lists 5 GPUs but its matrix has 6"):
        smi.from_output(
            xml.replace("<gpu id='5'>", "<other>").replace("GPU-5</uuid></gpu>", "x</uuid></other>")
            + "</nvidia_smi_log>\n"
            + SIX,
            "x.xml",
        )


def test_a_lost_gpu_is_told() -> None:
    lost = "Unable to determine the device handle for GPU 0000:C1:00.0: GPU is lost.  Reboot the system\n"
    found = smi.from_output(LISTING + lost, "L.txt")
    assert len(found.devices) == 2
    assert "one is lost" in found.notes[0]


def test_a_quoted_matrix_is_read() -> None:
    quoted = "".join(f"> {line}\n" for line in MATRIX.splitlines())
    assert smi.from_output(quoted, "mail.txt").devices == smi.from_output(MATRIX, "mail.txt").devices


@pytest.mark.parametrize(
    ("affinity", "cpu_m"),
    [("0", None), ("0-3", None), ("0-7", 8000), ("0-23", 24000), ("5,7", None)],
)
def test_an_implausible_affinity_is_unknown_and_said(affinity: str, cpu_m: int | None) -> None:
    """Four GPUs have more processors near to them than these."""
    text = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n" + "".join(
        f"GPU{at}\t{chr(9).join('X' if at == other else 'SYS' for other in range(4))}\t{affinity}\t0-3\n"
        for at in range(4)
    )
    found = smi.from_output(text, "topo.txt")
    assert found.cpu_m == (AMPLE_CPU_M if cpu_m is None else cpu_m)
    assert any("is implausible: processors not known" in note for note in found.notes) == (cpu_m is None)
    assert all(device.numa is None for device in found.devices)


def test_types_of_a_matrix_are_unknown_in_words() -> None:
    found = smi.from_output(SIX, "topo.txt")
    assert len(found.devices) == 6
    demand = Demand(1000, 0, 2, 0, ("a100-sxm-80gb",), 0, 0)
    why = feasible(demand, found)
    assert why is not None
    assert "0 of 6 fit: 6 x GPU is of an unknown type" in why.text
    assert feasible(demand._replace(gpu_types=()), found) is None


@pytest.mark.parametrize(
    ("type_", "mib", "cores", "all_cores", "profile"),
    [
        ("a100-sxm-80gb", 19968, 14, 14, "1g.20gb"),
        ("a100-sxm-40gb", 4864, 14, 14, "1g.5gb"),
        ("h100-sxm-80gb", 40448, 60, 60, "3g.40gb"),
        ("h200-sxm-141gb", 71424, 16, 48, "1c.3g.71gb"),
        ("h200-sxm-141gb", 16384, 16, 16, "1g.18gb"),
        ("h100-sxm-80gb", 60000, 60, 60, ""),  # no number of eighths
        ("l40s", 10000, 14, 14, ""),  # a family without MIG
        ("a100-sxm-80gb", 19968, 3, 3, ""),
    ],
)
def test_profiles_of_sizes(type_: str, mib: int, cores: int, all_cores: int, profile: str) -> None:
    assert instances.profile_of(cards.card(type_), mib * MIB, cores, all_cores) == profile


def test_sizes_of_profiles() -> None:
    assert instances.size_bytes("1c.3g.71gb", "h200") == 71424 * MIB
    assert instances.size_bytes("1g.5gb", "a100") == 4_500_000_000
    assert instances.size_bytes("odd", "a100") is None
    assert instances.part("mig:2c.3g.71gb", 300) == 200
    assert instances.part("mig:3g.40gb", 300) == 300
    assert instances.part("mig:9c.3g.71gb", 300) == 300
    assert instances.part("mig:1c.3g.71gb", None) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("81559 MiB", 81559), ("15360MiB", 15360), ("[N/A]", None), ("", None), (None, None), ("8 GiB", None)],
)
def test_sizes_as_printed(text: str | None, size: int | None) -> None:
    assert smitext.mib(text) == (None if size is None else size * MIB)


@pytest.mark.battery
@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=60),
    st.sampled_from([QUERY, OLD_TABLE, LISTING, MATRIX, CSV, SIX, OLD_TABLE + LISTING + MATRIX]),
    st.integers(0, 1500),
    st.integers(0, 40),
)
def test_damaged_output_is_read_or_refused(noise: str, text: str, at: int, length: int) -> None:
    damaged = text[:at] + noise + text[at + length :]
    smi.is_output(damaged)
    with contextlib.suppress(InventoryProblem):
        found = smi.from_output(damaged, "x")
        assert len({device.uuid for device in found.devices}) == len(found.devices)


@pytest.mark.parametrize(
    ("columns", "numa", "cpu_m"),
    [
        ("0\t1", 1, None),  # "0" stands in GPU0, too
        ("N/A\t1", 1, None),  # as a container without cpusets prints it
        ("0-31\t1", 1, 32000),
        ("0-31\tN/A", None, 32000),
        ("N/A\tN/A", None, None),
    ],
)
def test_the_columns_after_the_links_are_read_one_by_one(
    columns: str, numa: int | None, cpu_m: int | None
) -> None:
    text = (
        f"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV12\t{columns}\nGPU1\tNV12\t X \t{columns}\n"
    )
    found = smi.from_output(text, "topo.txt")
    assert {device.numa for device in found.devices} == {numa}
    assert found.cpu_m == (AMPLE_CPU_M if cpu_m is None else cpu_m)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NVIDIA GeForce RTX 6090, 49152\n", [("rtx-6090", 49152)]),
        ("NVIDIA L4, 23034 MiB\nNVIDIA L4, 23034 MiB\n", [("l4", 23034)] * 2),
        ("0, NVIDIA L4, 100 MiB, 23034 MiB, 22934 MiB, 45\n", [("l4", 23034)]),
        ("NVIDIA GB10, [N/A]\n", [("gb10", None)]),
        ("NVIDIA L4, 23034 MiB\nsomething else\n", None),
        ("L4, 3\n", None),
    ],
)
def test_rows_without_their_header_are_read(text: str, found: list[tuple[str, int | None]] | None) -> None:
    assert smi.is_output(text) == (found is not None)
    seen = smitext.headless(text)
    assert [(one.total and one.total >> 20) for one in seen] == [size for _, size in found or ()]
    if found is not None:
        types = [device.type for device in smi.from_output(text, "a.csv").devices]
        assert types == [kind for kind, _ in found]


def test_a_matrix_of_peers_beside_a_list_of_gpus_says_nothing_more() -> None:
    peers = " \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX\n"
    assert smi.from_output(LISTING + peers, "a.txt") == smi.from_output(LISTING, "a.txt")


def test_a_header_without_rows_lists_no_gpu() -> None:
    assert smi.is_output("name, memory.total [MiB]\n")
    with pytest.raises(InventoryProblem, match="lists no GPU"):
        smi.from_output("name, memory.total [MiB]\n", "a.csv")
