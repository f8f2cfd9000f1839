"""What hosts say of their interfaces and cards, from file systems made for the purpose."""

from __future__ import annotations

import os
from pathlib import Path

from dsec_cli.netcheck import host
from dsec_cli.netcheck.facts import look
from dsec_cli.netcheck.looks import buffers, pause, rdma


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


CARD = {
    "sys/class/net/eth0/mtu": "9000\n",
    "sys/class/net/eth0/speed": "100000\n",
    "sys/class/net/eth0/duplex": "full\n",
    "sys/class/net/eth0/device/numa_node": "1\n",
    "sys/class/net/eth0/statistics/rx_errors": "3\n",
    "sys/class/net/eth0/statistics/rx_bytes": "x\n",
}


def test_an_interface(tmp_path: Path) -> None:
    write(tmp_path, CARD)
    os.symlink("../../bus/pci/drivers/mlx5_core", tmp_path / "sys/class/net/eth0/device/driver")
    found = host.interface("eth0", root=str(tmp_path))
    assert (found.mtu_bytes, found.speed_bps, found.duplex) == (9000, 100_000_000_000, "full")
    assert (found.driver, found.numa, found.counters) == ("mlx5_core", 1, (("rx_errors", 3),))
    write(tmp_path, {"sys/class/net/eth0/speed": "-1\n", "sys/class/net/eth0/device/numa_node": "-1\n"})
    found = host.interface("eth0", root=str(tmp_path))
    assert (found.speed_bps, found.numa) == (None, None)
    assert host.interface("none", root=str(tmp_path)).mtu_bytes is None


def test_the_loopback_is_known_by_its_address() -> None:
    assert host.interface_of("127.0.0.1").name == "lo"
    assert host.interface_of("203.0.113.7") == host.NONE
    found = look("127.0.0.1")
    assert {one.name for one in found.seen} == {"buffers", "nvlink", "pause", "rdma"}
    assert all(one.values or one.text or one.missing for one in found.seen)


def test_rdma_devices_of_the_interface(tmp_path: Path) -> None:
    at = "mlx5_0/ports/1"
    write(
        tmp_path,
        {
            "mlx5_0/device/net/eth0/x": "",
            f"{at}/state": "4: ACTIVE\n",
            f"{at}/rate": "100 Gb/sec (4X EDR)\n",
            f"{at}/hw_counters/out_of_sequence": "7\n",
            f"{at}/counters/port_rcv_errors": "0\n",
            "mlx5_1/device/net/eth1/x": "",
        },
    )
    found = rdma.see("eth0", folder=str(tmp_path))
    assert found.values == (("mlx5_0/1/out_of_sequence", 7), ("mlx5_0/1/port_rcv_errors", 0))
    assert "ACTIVE" in found.text
    assert "mlx5_0, mlx5_1" in rdma.see("eth9", folder=str(tmp_path)).missing
    assert "no RDMA device" in rdma.see("eth0", folder=str(tmp_path / "none")).missing


def test_pause_frames_where_there_are_none() -> None:
    assert pause.see("").missing
    assert pause.see("lo").missing
    assert pause.see("no-such-device").missing


def test_what_a_tcp_connection_may_hold(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert "cannot be read" in buffers.see("eth0", folder=folder).missing
    write(tmp_path, {"tcp_wmem": "4096\t16384\t4194304\n", "tcp_rmem": "4096\t131072\t6291456\n"})
    found = buffers.see("eth0", folder=folder)
    assert found.values == (("tcp_wmem", 4194304), ("tcp_rmem", 6291456))
    assert found.text == "a TCP connection holds at most 4 MiB to send and 6 MiB received"
    for text in ("", "4096 x\n", "1 2 three\n", "\xff"):
        (tmp_path / "tcp_rmem").write_text(text, encoding="latin-1")
        assert buffers.see("eth0", folder=folder).missing
