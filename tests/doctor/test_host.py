"""Checks of the host against file systems made for the purpose, and the frame around all checks."""

from __future__ import annotations

import errno
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsec_cli.doctor.check import Answer, Check, find_checks
from dsec_cli.doctor.checks import clock, iommu, landlock, namespaces, seccomp
from dsec_cli.doctor.examining import examine
from dsec_cli.doctor.folder import existing, mounted
from dsec_cli.doctor.gpufacts import Gpu, Gpus
from dsec_cli.doctor.host import Host
from tests.cli.conftest import Ran, command, ds

__all__ = ["ds"]

CHECKS = {check.name: check for check in find_checks()}
NO_GPUS = Gpus(12, "", "", None, "", ())


def host(root: Path, files: Mapping[str, str | bytes] | None = None, **environ: str) -> Host:
    """A machine that has these files and no others."""
    for name, content in (files or {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Host(environ, str(root / "state"), root=str(root), gpus=NO_GPUS)


@pytest.mark.parametrize(
    ("name", "files", "status"),
    [
        ("hugepages", {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"}, "ok"),
        ("hugepages", {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n"}, "note"),
        ("hugepages", {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
                       "sys/kernel/mm/transparent_hugepage/defrag": "[always] defer\n"}, "note"),
        ("hugepages", {}, "unknown"),
        ("numa", {}, "unknown"),
        ("numa", {"sys/devices/system/node/online": "0\n"}, "absent"),
        ("numa", {"sys/devices/system/node/online": "0-1\n", "sys/devices/system/cpu/online": "0-7\n",
                  "sys/devices/system/node/node0/cpulist": "0-3\n",
                  "sys/devices/system/node/node1/cpulist": "4-7\n"}, "ok"),
        ("numa", {"sys/devices/system/node/online": "0-1\n", "sys/devices/system/cpu/online": "0-7\n",
                  "sys/devices/system/node/node0/cpulist": "0-7\n",
                  "sys/devices/system/node/node1/cpulist": "\n"}, "note"),
        ("cgroups", {}, "absent"),
        ("cgroups", {"sys/fs/cgroup/memory/x": ""}, "absent"),
        ("cgroups", {"sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
                     "proc/self/cgroup": "0::/me\n",
                     "sys/fs/cgroup/me/cgroup.controllers": "cpu memory pids\n"}, "ok"),
        ("cgroups", {"sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
                     "proc/self/cgroup": "0::/me\n",
                     "sys/fs/cgroup/me/cgroup.controllers": "pids\n"}, "note"),
        ("seccomp", {}, "unknown"),
        ("seccomp", {"proc/self/status": "Name:\tx\nSeccomp:\t0\n",
                     "proc/sys/kernel/seccomp/actions_avail": "kill_process trap errno user_notif\n"}, "ok"),
        ("seccomp", {"proc/self/status": "Name:\tx\nSeccomp:\t2\n",
                     "proc/sys/kernel/seccomp/actions_avail": "kill_process errno\n"}, "problem"),
        ("seccomp", {"proc/self/status": "Name:\tx\n"}, "problem"),
        ("seccomp", {"proc/self/status": "Name:\tx\nSeccomp:\n"}, "problem"),
        ("iommu", {}, "absent"),
        ("xid", {}, "unknown"),
        ("shm", {}, "absent"),
    ],
)  # fmt: skip
def test_files_of_the_kernel(tmp_path: Path, name: str, files: dict[str, str], status: str) -> None:
    answer = CHECKS[name].look(host(tmp_path, files))
    assert answer.status == status
    assert answer.lines[0]


def test_every_check_answers_on_a_machine_without_any_file(tmp_path: Path) -> None:
    """As in a container that shows neither /proc nor /sys."""
    found = examine(find_checks(), host(tmp_path))
    assert [one.check.name for one in found] == sorted(CHECKS)
    assert not [one for one in found if "the check failed" in one.answer.lines[0]]


class Hostile(Host):
    """A machine whose small files hold anything at all."""

    def __init__(self, data: st.DataObject, folder: str) -> None:
        two = Gpu(0, "GPU-0", "x", "0000:01:00.0", "ok")
        super().__init__({}, folder, gpus=Gpus(0, "", "x", 1, "", (two, two._replace(index=1))))
        self._data = data

    def text(self, path: str) -> str | None:
        return self._data.draw(LIES, label=path)

    def names(self, path: str) -> list[str]:
        return self._data.draw(st.lists(st.text(max_size=9), max_size=3), label=path)

    def there(self, path: str) -> bool:
        return self._data.draw(st.booleans(), label=path)


STRANGE = (
    "max\n",
    "-1\n",
    "0-\n",
    "1-0,\n",
    "0::\n",
    "1 0 0:5 / /\n",
    "Seccomp:\n",
    "[always]\n",
    "0-9999999999\n",
)
LIES = st.none() | st.text(max_size=40) | st.integers().map(str) | st.sampled_from(STRANGE)
LOOKING_ONLY = (
    "cgroups",
    "clock",
    "fabric",
    "hugepages",
    "iommu",
    "limits",
    "modules",
    "namespaces",
    "nccl",
    "numa",
    "rendezvous",
    "seccomp",
    "shm",
    "subnets",
    "xid",
)


@pytest.mark.parametrize("name", LOOKING_ONLY)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_check_fails_whatever_the_kernels_files_hold(
    name: str, tmp_path: Path, data: st.DataObject
) -> None:
    answer = CHECKS[name].look(Hostile(data, str(tmp_path)))
    assert answer.status in ("ok", "note", "problem", "unknown", "absent")
    assert answer.lines[0]


def config(*capabilities: tuple[int, int]) -> bytes:
    """A PCIe configuration space with these extended capabilities (identifier, control)."""
    space = bytearray(4096)
    for at, (number, control) in enumerate(capabilities):
        place = 0x100 + at * 0x20
        after = place + 0x20 if at + 1 < len(capabilities) else 0
        struct.pack_into("<I", space, place, number | (1 << 16) | (after << 20))
        struct.pack_into("<H", space, place + 6, control)
    return bytes(space)


@pytest.mark.parametrize(
    ("space", "state"),
    [
        (config((1, 0), (0xD, 0x1D)), True),
        (config((0xD, 0)), False),
        (config((1, 0)), False),
        (b"\0" * 64, None),
    ],
)
def test_access_control_of_bridges(space: bytes, state: bool | None) -> None:
    assert iommu.acs(space) is state


def test_bridges_between_gpus(tmp_path: Path) -> None:
    gpu = Gpu(0, "GPU-0", "x", "0000:01:00.0", "ok")
    files: dict[str, str | bytes] = {"sys/bus/pci/devices/0000:00:01.0/class": "0x060400\n"}
    for space, status in (
        (config((0xD, 0x1D)), "problem"),
        (config((0xD, 0)), "ok"),
        (b"\0" * 64, "unknown"),
    ):
        host(tmp_path, files | {"sys/bus/pci/devices/0000:00:01.0/config": space})
        two = Gpus(0, "", "550.1", 12040, "", (gpu, gpu._replace(index=1)))
        answer = iommu.look(Host({}, "/x", root=str(tmp_path), gpus=two))
        assert answer.status == status
    assert "0000:00:01.0" in iommu.look(
        Host({}, "/x", root=str(tmp_path), gpus=two)
    ).lines[0] or answer.mend  # fmt: skip


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, "AppArmor"),
        ({"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, "ordinary users"),
        ({"proc/sys/user/max_user_namespaces": "0\n"}, "none at all"),
        ({}, "container"),
    ],
)
def test_what_forbids_namespaces(tmp_path: Path, files: dict[str, str], said: str) -> None:
    why, mend = namespaces._cause(host(tmp_path, files))
    assert said in why
    assert mend


@pytest.mark.parametrize(
    ("number", "wrong", "status"),
    [
        (7, 0, "ok"),
        (1, 0, "ok"),
        (0, errno.ENOSYS, "problem"),
        (0, errno.EOPNOTSUPP, "problem"),
        (0, errno.EPERM, "problem"),
    ],
)
def test_versions_of_landlock(number: int, wrong: int, status: str) -> None:
    answer = landlock.told(number, wrong)
    assert answer.status == status
    assert bool(answer.mend) == (status == "problem")


def test_clocks() -> None:
    assert clock.told(synchronised=True, error_us=900, source="tsc").status == "ok"
    assert clock.told(synchronised=False, error_us=900, source="tsc").status == "note"
    assert clock.told(synchronised=True, error_us=900, source="hpet").status == "note"
    assert seccomp.CHECK.words == ("sandbox",)


def test_folders_and_their_file_systems(tmp_path: Path) -> None:
    assert existing(str(tmp_path / "a" / "b")) == str(tmp_path)
    table = "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:5 / /mnt/my\\040disk rw,x shared:1 - nfs4 h:/x rw\nbad\n"
    assert mounted(table, "/mnt/my disk/state") == "nfs4"
    assert mounted(table, "/mnt/my diskette") == "ext4"
    assert mounted("", "/") == ""


def test_a_remote_disk_is_told(tmp_path: Path) -> None:
    files = {"proc/self/mountinfo": f"1 0 0:5 / {os.path.realpath(tmp_path)} rw - nfs h:/x rw\n"}
    answer = CHECKS["disk"].look(host(tmp_path, files))
    assert (answer.status, "DSEC_HOME" in answer.mend) == ("problem", True)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".dsec-doctor")]


def test_leftovers_are_found_and_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    state = tmp_path / "state" / "runs" / "r"
    state.mkdir(parents=True)
    for name in (f"plan.json.{ended.pid}.tmp", f"plan.json.{os.getpid()}.tmp", "plan.json"):
        (state / name).write_text("x")
    machine = host(tmp_path)
    assert CHECKS["leftovers"].look(machine).status == "note"
    fix = CHECKS["leftovers"].fix
    assert fix is not None
    assert "1 temporary" in fix(machine)
    assert sorted(path.name for path in state.iterdir()) == ["plan.json", f"plan.json.{os.getpid()}.tmp"]
    assert CHECKS["leftovers"].look(machine).status == "ok"


def test_a_check_that_hangs_or_fails_takes_no_other_along(tmp_path: Path) -> None:
    never = threading.Event()

    def hangs(_: Host) -> Answer:
        never.wait(30)
        return Answer("ok", ("nobody waits so long",))

    def fails(_: Host) -> Answer:
        raise KeyError("proc")

    good = Check("good", lambda _: Answer("ok", ("fine",)))
    begun = time.monotonic()
    found = examine([Check("bad", fails), good, Check("slow", hangs, budget_s=0.3)], host(tmp_path))
    assert time.monotonic() - begun < 25, "the check that hangs was waited for"
    assert [one.answer.status for one in found] == ["unknown", "ok", "unknown"]
    assert "KeyError" in found[0].answer.lines[0]
    assert "0.3 s" in found[2].answer.lines[0]
    never.set()


@pytest.mark.battery
def test_the_command(ds: Callable[..., Ran], tmp_path: Path) -> None:
    ran = ds("dsec", "doctor", "--json", PYTHONDONTWRITEBYTECODE="1")
    document = json.loads(ran.stdout)
    assert (ran.returncode == 1) == any(one["status"] == "problem" for one in document["checks"])
    assert document["format"] == "dsec.doctor/2"
    by_name = {one["name"]: one for one in document["checks"]}
    assert set(by_name) == set(CHECKS)
    assert by_name["bytecode"]["status"] == "note"
    assert all(one["took_ms"] < 15_000 and one["lines"] for one in document["checks"])
    assert not (tmp_path / ".dsec").exists()  # looking leaves nothing
    assert ds("dsec", "doctor", "--only", "bytecode", PYTHONDONTWRITEBYTECODE="1").returncode == 0
    quiet = {"PYTHONDONTWRITEBYTECODE": ""}
    assert ds("dsec", "doctor", "--only", "bytecode,extras", **quiet).returncode == 0
    ran = ds("dsec", "doctor", "--only", "bytecode", "--require", "gpu", **quiet)
    assert (ran.returncode, b"(required)" in ran.stdout) == (1, True)
    ran = ds("dsec", "doctor", "--require", "landlok")
    assert (ran.returncode, b"landlock" in ran.stderr) == (2, True)
    assert ds("dsec", "doctor", "--fix", "--smi", "x").returncode == 2
    for words in (("--reap", "--json"), ("--reap", "--fix"), ("--require", ""), ("--only", " ,")):
        ran = ds("dsec", "doctor", *words)
        assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)
    assert ds("dsec", "doctor", "--smi", "none").returncode == 3
    assert ds("dsec", "doctor", "--smi", "-", stdin=b"no such thing").returncode == 3
    ran = ds(
        "dsec", "doctor", "--smi", "-", stdin=b"Failed to initialize NVML: Driver/library version mismatch"
    )
    assert (ran.returncode, ran.stdout.startswith(b"PROBLEM  driver")) == (1, True)
    ran = ds("dsec", "doctor", "--fix", "--only", "leftovers", **quiet)
    assert ran.returncode == 0


def _child(words: list[str], **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(words, capture_output=True, timeout=60, env={**os.environ, **environ}, check=False)


def test_without_sys_in_a_namespace(tmp_path: Path) -> None:
    """As in a small container: no /sys, one's own /proc."""
    script = 'mount -t tmpfs none /sys && exec "$@"'
    words = ["unshare", "-Urmpf", "--mount-proc", "--kill-child", "sh", "-c", script, "sh"]
    if shutil.which("unshare") is None or _child([*words, "true"]).returncode:
        pytest.skip("no namespaces here")
    ran = _child(
        [*words, *command("dsec", "doctor", "--json")], HOME=str(tmp_path), DSEC_HOME=str(tmp_path / "s")
    )
    assert ran.returncode in (0, 1), ran.stderr
    states = {one["name"]: one["status"] for one in json.loads(ran.stdout)["checks"]}
    assert set(states) == set(CHECKS)
    assert states["hugepages"] == states["numa"] == "unknown"
    assert states["cgroups"] == "absent"
    assert not [one for one in json.loads(ran.stdout)["checks"] if "the check failed" in one["lines"][0]]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_as_an_ordinary_user() -> None:
    """Root runs the other tests; this one has the rights of nobody."""
    words = command("dsec", "doctor", "--json")
    code = (
        f"import os; os.setgroups([]); os.setgid(65534); os.setuid(65534); os.execv({words[0]!r}, {words!r})"
    )
    readable = _child(
        [sys.executable, "-c", code.replace(repr(words), repr([words[0], "-c", "import dsec_cli.fast"]))]
    )
    if readable.returncode:
        pytest.skip("this checkout is not readable by others")
    ran = _child([sys.executable, "-c", code], HOME="/nonexistent", DSEC_HOME="/nonexistent/state")
    assert ran.returncode in (0, 1), ran.stderr
    document = json.loads(ran.stdout)
    assert not [one for one in document["checks"] if "the check failed" in one["lines"][0]]
    assert {one["name"] for one in document["checks"]} == set(CHECKS)


def test_where_no_thread_can_begin_beside_another_checks_go_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    running = threading.Semaphore(2)

    class Scarce(threading.Thread):
        def start(self) -> None:
            if not running.acquire(blocking=False):
                raise RuntimeError("can't start new thread")
            super().start()

        def run(self) -> None:
            super().run()
            running.release()

    monkeypatch.setattr(threading, "Thread", Scarce)
    checks = tuple(Check(f"c{at}", lambda _: Answer("ok", ("fine",))) for at in range(20))
    found = examine(checks, Host({}, "/x", root=str(tmp_path)))
    assert [one.answer.status for one in found] == ["ok"] * 20
