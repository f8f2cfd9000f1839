"""Checks of networks, modules and services against file systems made for the purpose."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsec.devices.door import Door
from dsec_cli.doctor import gpufacts
from dsec_cli.doctor.check import Answer, Check, find_checks
from dsec_cli.doctor.checks import hostname, limits
from dsec_cli.doctor.checks.nccl import fitting
from dsec_cli.doctor.examining import examine
from dsec_cli.doctor.gpufacts import Gpus
from dsec_cli.doctor.host import Host
from dsec_cli.doctor.smifacts import read
from dsec_cli.exit import guarded
from dsec_cli.shortage import shortage
from tests.cli.conftest import command

CHECKS = {check.name: check for check in find_checks()}
NO_GPUS = Gpus(12, "", "570.124.06", None, "", ())
GPU = {"sys/bus/pci/devices/0000:c1:00.0/vendor": "0x10de\n",
       "sys/bus/pci/devices/0000:c1:00.0/class": "0x030200\n"}  # fmt: skip
SWITCH = {"sys/bus/pci/devices/0000:05:00.0/vendor": "0x10de\n",
          "sys/bus/pci/devices/0000:05:00.0/class": "0x068000\n"}  # fmt: skip
KERNEL = {
    "proc/sys/kernel/osrelease": "6.8.0-60-generic\n",
    "etc/os-release": 'ID=ubuntu\nID_LIKE="debian"\n',
}
RHEL = {"etc/os-release": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n'}
LOADED = {"proc/modules": "nvidia 1 0 - Live\n"}
NONE = {"proc/modules": "xfs 1 0 - Live\n"}
HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
ETH0 = "eth0 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
ETH1 = "eth1 0000000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
FAR = "eth1 0001000A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
DEFAULT = "eth0 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n"
TCP = "  sl  local_address rem_address   st\n   0: 00000000:733C 00000000:0000 {} 0\n"  # 29500
NETS = {f"sys/class/net/{name}/operstate": "up\n" for name in ("eth0", "ib0")}
CAREFUL = {f"proc/sys/net/ipv4/conf/{name}/{key}": value for name in ("eth0", "eth1")
           for key, value in (("arp_ignore", "1"), ("arp_announce", "2"), ("rp_filter", "2"))}  # fmt: skip


def host(root: Path, files: Mapping[str, str], **environ: str) -> Host:
    """A machine that has these files and no others."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return Host(environ, str(root / "state"), root=str(root), gpus=NO_GPUS)


@pytest.mark.parametrize(
    ("name", "files", "environ", "status", "said"),
    [
        ("modules", {}, {}, "absent", "no NVIDIA card"),
        ("modules", GPU, {}, "unknown", "/proc/modules"),
        ("modules", {**GPU, **LOADED}, {}, "ok", "nouveau is not"),
        ("modules", {**GPU, "proc/modules": "nouveau 1 0 - Live\n"}, {}, "problem", "update-initramfs -u"),
        ("modules", {**GPU, **RHEL, "proc/modules": "nouveau 1 0 - Live\n"}, {}, "problem", "dracut --force"),
        ("modules", {**GPU, **NONE, **KERNEL, "lib/modules/6.8.0-58-generic/updates/dkms/nvidia.ko.zst": ""},
         {}, "problem", "apt install linux-headers-6.8.0-60-generic"),
        ("modules", {**GPU, **NONE, **KERNEL, **RHEL, "lib/modules/6.8.0-58-generic/extra/nvidia.ko.xz": ""},
         {}, "problem", "dnf install kernel-devel-6.8.0-60-generic"),
        ("modules", {**GPU, **LOADED, **KERNEL, "lib/modules/6.8.0-60-generic/updates/dkms/nvidia.ko": "",
                     "lib/modules/6.8.0-101-generic/x": ""}, {}, "note", "6.8.0-101-generic, which the next"),
        ("modules", {**GPU, **NONE, **KERNEL}, {}, "note", "modprobe nvidia"),
        ("fabric", {}, {}, "absent", "no NVSwitch"),
        ("fabric", {**SWITCH, "proc/1/comm": "systemd\n"}, {}, "problem", "nvidia-fabricmanager-570"),
        ("fabric", {**SWITCH, "proc/1/comm": "bash\n"}, {}, "unknown", "ask on the host"),
        ("fabric", {**SWITCH, "proc/1/comm": "systemd\n", "proc/77/comm": "nv-fabricmanage\n"},
         {}, "ok", "77"),
        ("subnets", {}, {}, "unknown", "/proc/net/route"),
        ("subnets", {"proc/net/route": HEAD}, {}, "absent", "no interface"),
        ("subnets", {"proc/net/route": HEAD + DEFAULT + ETH0 + FAR}, {}, "ok", "10.0.0.0/24"),
        ("subnets", {"proc/net/route": HEAD + DEFAULT + ETH0 + ETH1}, {}, "problem", "arp_announce=2"),
        ("subnets", {"proc/net/route": HEAD + ETH0 + ETH1, **CAREFUL},
         {}, "note", "2 interfaces are in 10.0.0.0/24"),
        ("subnets", {"proc/net/route": HEAD + "eth0 zz\nshort\n"}, {}, "absent", "no interface"),
        ("rendezvous", {}, {}, "unknown", "/proc/net/tcp"),
        ("rendezvous", {"proc/net/tcp": TCP.format("0A")}, {}, "problem", "29500 (MASTER_PORT) is taken"),
        ("rendezvous", {"proc/net/tcp6": TCP.format("0A")}, {}, "problem", "29500"),
        ("rendezvous", {"proc/net/tcp": TCP.format("01")}, {}, "ok", "29400, 29500"),
        ("rendezvous", {"proc/net/tcp": TCP.format("0A")}, {"MASTER_PORT": "1234"}, "ok", "1234"),
        ("rendezvous", {"proc/net/tcp": ""}, {"MASTER_PORT": "twelve"}, "problem", "is no port"),
        ("rendezvous", {"proc/net/tcp": "", "proc/sys/net/ipv4/ip_local_port_range": "1024 65535\n",
                        "proc/sys/net/ipv4/ip_local_reserved_ports": "8000-8010\n"},
         {}, "note", "ip_local_reserved_ports=8000-8010,29400"),
        ("rendezvous", {"proc/net/tcp": "", "proc/sys/net/ipv4/ip_local_port_range": "1024 65535\n",
                        "proc/sys/net/ipv4/ip_local_reserved_ports": "29000-30000\n"},
         {}, "ok", "29400, 29500"),
        ("nccl", {}, {}, "absent", "no interface"),
        ("nccl", NETS, {}, "ok", "eth0, ib0"),
        ("nccl", {**NETS, "sys/class/net/docker0/operstate": "up\n"}, {}, "note", "NCCL_SOCKET_IFNAME=eth0"),
        ("nccl", NETS, {"NCCL_SOCKET_IFNAME": "eth"}, "ok", "NCCL_SOCKET_IFNAME=eth: eth0"),
        ("nccl", NETS, {"NCCL_SOCKET_IFNAME": "=eth"}, "problem", "fits no device"),
        ("nccl", NETS, {"NCCL_SOCKET_IFNAME": "ens3,bond0"}, "problem", "there are: eth0, ib0"),
        ("nccl", {**NETS, "sys/class/net/eth0/operstate": "down\n"}, {"NCCL_SOCKET_IFNAME": "eth0"},
         "problem", "which is down"),
        ("nccl", NETS, {"GLOO_SOCKET_IFNAME": "eth"}, "problem", "GLOO_SOCKET_IFNAME=eth fits no"),
        ("nccl", {**NETS, "sys/class/infiniband/mlx5_0/x": ""}, {"NCCL_IB_HCA": "mlx5_0:1"}, "ok", "mlx5_0"),
        ("nccl", NETS, {"NCCL_IB_HCA": "mlx5"}, "problem", "NCCL_IB_HCA=mlx5 fits no"),
        ("shm", {"dev/shm/x": "", "proc/self/mountinfo": "1 0 0:5 / /dev/shm ro,nosuid - tmpfs shm rw\n"},
         {}, "problem", "remount,rw"),
    ],
)  # fmt: skip
def test_files_of_the_kernel(
    tmp_path: Path, name: str, files: dict[str, str], environ: dict[str, str], status: str, said: str
) -> None:
    answer = CHECKS[name].look(host(tmp_path, files, **environ))
    text = " ".join((*answer.lines, answer.mend))
    assert (answer.status, said in text) == (status, True), text
    assert (answer.status != "problem") or answer.mend


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("eth", ["eth0", "eth1"]), ("=eth1", ["eth1"]), ("^docker,lo", ["eth0", "eth1", "ib0"]),
        ("^=eth0", ["docker0", "eth1", "ib0"]), ("ib,eth1", ["eth1", "ib0"]), ("", []),
        ("^", ["docker0", "eth0", "eth1", "ib0"]),
    ],
)  # fmt: skip
def test_patterns_of_nccl(pattern: str, wanted: list[str]) -> None:
    assert fitting(pattern, ["docker0", "eth0", "eth1", "ib0", "lo"]) == wanted


@pytest.mark.parametrize(
    ("files", "environ", "said"),
    [
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "emptyDir"),
        ({".dockerenv": ""}, {}, "--shm-size=8g"),
        ({"run/.containerenv": ""}, {}, "--shm-size=8g"),
        ({}, {}, "remount,size=50%"),
    ],
)
def test_who_can_enlarge_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], environ: dict[str, str], said: str
) -> None:
    little = SimpleNamespace(f_blocks=16, f_bavail=16, f_frsize=1 << 20)
    monkeypatch.setattr(os, "statvfs", lambda _: little)
    answer = CHECKS["shm"].look(host(tmp_path, {"dev/shm/x": "", **files}, **environ))
    assert (answer.status, said in answer.mend) == ("problem", True)


def test_locked_memory_for_rdma_is_roots_to_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ulimit -l unlimited` is refused to a user whose hard limit is lower."""
    bounds = {resource.RLIMIT_NOFILE: (1 << 20, 1 << 20), resource.RLIMIT_NPROC: (-1, -1)}
    rdma = {"sys/class/infiniband/mlx5_0/x": "", "proc/self/status": "CapEff:\t0000000000000000\n"}
    for hard, said in ((8 << 20, "/etc/security/limits.d/90-dsec-memlock.conf"), (-1, "ulimit -l unlimited")):
        pair = (8 << 20, hard)
        monkeypatch.setattr(resource, "getrlimit", lambda what, pair=pair: bounds.get(what, pair))
        answer = limits.look(host(tmp_path, rdma))
        assert (answer.status, said in answer.mend) == ("problem", True), answer
    # Who may lock memory whatever the limit is needs nothing.
    able = {**rdma, "proc/self/status": "CapEff:\t000001ffffffffff\n"}
    assert limits.look(host(tmp_path, able)).status == "ok"


def test_a_name_never_gets_a_loopback_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other hosts' programs, and this host's rank 0, would talk to themselves."""
    monkeypatch.setattr(hostname, "_address", lambda: "10.0.0.7")
    monkeypatch.setattr(hostname.socket, "gethostname", lambda: "node-7")

    def unknown(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(hostname.socket, "getaddrinfo", unknown)
    answer = hostname.look(host(tmp_path, {}))
    assert "'10.0.0.7 node-7'" in answer.mend
    found = [(0, 0, 0, "", ("127.0.1.1", 0))]
    monkeypatch.setattr(hostname.socket, "getaddrinfo", lambda *_: found)
    answer = hostname.look(host(tmp_path, {"etc/hosts": "127.0.0.1 localhost\n127.0.1.1 node-7\n"}))
    assert answer.status == "note"
    assert "/etc/hosts: 127.0.1.1 node-7" in answer.lines
    assert "10.0.0.7" in answer.mend


def test_modules_go_in_the_order_in_which_they_use_each_other(tmp_path: Path) -> None:
    loaded = "nvidia_uvm 1 0 - Live\nnvidia_drm 1 0 - Live\nnvidia_modeset 1 1 nvidia_drm\nnvidia 1 2 -\n"
    machine = host(tmp_path, {"proc/modules": loaded})
    machine = Host({}, "/x", root=str(tmp_path), gpus=NO_GPUS._replace(code=18))
    mend = CHECKS["driver"].look(machine).mend
    assert "modprobe -r nvidia_drm nvidia_modeset nvidia_uvm nvidia" in mend


class _Error(Exception):
    value = 999


class _Sick:
    """A library whose driver counts a card that answers "unknown error" to everything."""

    NVMLError = NVMLLibraryMismatchError = _Error

    def __getattr__(self, name: str) -> Any:
        if name == "nvmlDeviceGetHandleByIndex":
            return lambda _: "handle"

        def refuse(*_: object, **__: object) -> None:
            raise _Error

        return refuse


def test_a_card_that_answers_unknown_error_is_found(tmp_path: Path) -> None:
    gpu = gpufacts._gpu(Door(_Sick()), 0)
    machine = Host({}, "/x", root=str(tmp_path), gpus=Gpus(0, "", "570.1", 12040, "", (gpu,)))
    answer = CHECKS["gpus"].look(machine)
    assert answer.status == "problem"
    assert "unknown error" in " ".join(answer.lines)


@pytest.mark.parametrize(
    ("values", "health"),
    [
        ("Product Name : [Unknown Error]\n    GPU UUID : [Unknown Error]\n", 'answers "unknown error"'),
        ("Product Name : NVIDIA H100\n    Temperature\n        GPU Current Temp : Unknown Error\n",
         'answers "unknown error"'),
        ("Product Name : NVIDIA H100\n    GPU UUID : [GPU is lost]\n", "lost"),
        ("Product Name : NVIDIA H100\n    Power Draw : [Unknown Error]\n", "ok"),
    ],
)  # fmt: skip
def test_sick_cards_in_saved_output(values: str, health: str) -> None:
    text = (
        f"==============NVSMI LOG==============\nDriver Version : 570.1\nGPU 00000000:C1:00.0\n    {values}"
    )
    assert read(text, where="x").devices[0].health == health


def test_a_card_whose_handle_cannot_be_had() -> None:
    line = "Unable to determine the device handle for GPU 0000:C1:00.0: Unknown Error\n"
    assert read(line, where="x").devices[0].health == 'answers "unknown error"'


def chained(outer: Exception, inner: Exception) -> Exception:
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (MemoryError(), "out of memory"),
        (OSError(errno.ENOMEM, "x"), "out of memory"),
        (OSError(errno.EMFILE, "x", "/etc/hosts"), "too many open files"),
        (OSError(errno.ENFILE, "x"), "too many open files"),
        (BlockingIOError(errno.EAGAIN, "x"), "no further thread or process"),
        (RuntimeError("can't start new thread"), "no further thread or process"),
        (ImportError("libssl.so: failed to map segment from shared object"), "out of memory"),
        (ImportError("libx.so: cannot open shared object file: Too many open files"), "too many open files"),
        (chained(ValueError("x"), MemoryError()), "out of memory"),
        (ExceptionGroup("x", [ValueError("y"), RuntimeError("can't start new thread")]), "no further thread"),
        (RuntimeError("a bug of ours"), None),
        (OSError(errno.EAGAIN, "x", "/a/file"), None),
        (OSError(errno.ENOENT, "x"), None),
        (KeyError("memory"), None),
    ],
)
def test_what_there_was_too_little_of(problem: Exception, said: str | None) -> None:
    found = shortage(problem)
    assert (found is None) == (said is None)
    assert said is None or (found is not None and found[0].startswith(said) and found[1])


def test_a_shortage_is_never_a_bug(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> int:
        raise RuntimeError("can't start new thread")

    assert guarded(fails) == 3
    assert "ulimit -u" in capsys.readouterr().err


def test_checks_that_cannot_be_started_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    def starves(_: Host) -> Answer:
        raise BlockingIOError(errno.EAGAIN, "fork")

    (found,) = examine([Check("hungry", starves)], host(tmp_path, {}))
    assert (found.answer.status, found.short is not None) == ("unknown", True)
    monkeypatch.setattr("threading.Thread.start", refuse)
    (found,) = examine([Check("good", lambda _: Answer("ok", ("x",)))], host(tmp_path, {}))
    assert found.answer.status == "unknown"
    assert "no further thread" in found.answer.lines[0]
    assert found.short is not None


@pytest.mark.battery
@pytest.mark.parametrize("limit", ["-v 200000", "-v 120000", "-n 10"])
def test_doctor_under_narrow_limits(tmp_path: Path, limit: str) -> None:
    words = ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *command("dsec", "doctor")]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (ran.returncode, ran.stderr.count("\n")) == (3, 1), ran.stderr
    assert "ulimit" in ran.stderr
