"""What is granted works, what is not is refused: each permission, and attacks on what lies around."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from dsec.plugins.grants import Grants, is_terminal, paths, widened
from dsec.plugins.process import PluginError, PluginProcess, Terms
from dsec.sandbox import landlock
from dsec.sandbox.syscalls import NUMBERS
from dsec_cli.plugins.grant import NotGranted, grant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).parent / "grants" / "anything.c"
pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64"),
    pytest.mark.skipif(landlock.interface() < 4, reason="this kernel's Landlock knows no ports"),
]
ALL = tuple(NUMBERS.values())
"""As if the scan had found every system call there is: then the rules alone decide."""


@cache
def image() -> bytes:
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="dsec-tests-grants-"))
    target = folder / "anything.so"
    words = ["gcc", "-shared", "-fPIC", "-O1", "-w", f"-I{ROOT / 'examples' / 'plugins'}"]
    subprocess.run([*words, "-o", target, SOURCE, "-lpthread"], check=True, timeout=60)
    data = target.read_bytes()
    shutil.rmtree(folder)
    return data


def plugin(*permissions: str, environ: dict[str, str] | None = None, alone: bool = True) -> PluginProcess:
    grants = grant(permissions, environ or {})
    return PluginProcess(Terms((image(),), ALL, grants, namespaces=alone))


def ask(running: PluginProcess, *words: object) -> str:
    return running.call(" ".join(map(str, words)).encode(), timeout_s=60).decode()


def sys_(running: PluginProcess, name: str, *words: object) -> str:
    return ask(running, "sys", NUMBERS[name], *words)


TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCSETD, TIOCCONS, KDSKBENT = 0x5412, 0x541C, 0x540E, 0x5423, 0x541D, 0x4B47
ATTACKS = {
    "types on the terminal by standard input": ("ioctl", 0, TIOCSTI, "text=x"),
    "types on the terminal by standard error": ("ioctl", 2, TIOCSTI, "text=x"),
    "types with a request whose upper half differs": ("ioctl", 2, 0xDEAD00000000 | TIOCSTI, "text=x"),
    "pastes on a console": ("ioctl", 1, TIOCLINUX, "page"),
    "takes a terminal": ("ioctl", 1, TIOCSCTTY, 1),
    "changes how lines are read": ("ioctl", 1, TIOCSETD, "page"),
    "takes the console's output": ("ioctl", 1, TIOCCONS, 0),
    "changes the keyboard": ("ioctl", 1, KDSKBENT, "page"),
    "opens the terminal": ("openat", -100 & 0xFFFFFFFF, "text=/dev/tty", 2),
    "asks a keyring": ("keyctl", 0, -3 & 0xFFFFFFFF, 0),
    "adds a key": ("add_key", "text=user", "text=k", "text=v", 1, -5 & 0xFFFFFFFF),
    "requests a key": ("request_key", "text=user", "text=k", 0, 0),
    "lets others trace it": ("prctl", 0x59616D61, -1 & 0xFFFFFFFFFFFFFFFF),
    "lives on when its user ends": ("prctl", 1, 0),
    "can be looked into": ("prctl", 4, 1),
    "moves its own memory map": ("prctl", 35, 1, "page"),
    "dispatches system calls": ("prctl", 59, 1, 0, 0, "page"),
    "shares a core by another's cookie": ("prctl", 62, 1, "parent", 0, 0),
    "traces": ("ptrace", 16, "parent", 0, 0),
    "reads another process's memory": ("process_vm_readv", "parent", "page", 1, "page", 1, 0),
    "takes a descriptor of another": ("pidfd_getfd", 3, 0, 0),
    "compares with another process": ("kcmp", "me", "parent", 0, 0, 0),
    "makes namespaces": ("unshare", 0x10000000),
    "makes namespaces by clone": ("clone", 0x10000000 | 17, 0, 0, 0, 0),
    "begins a process": ("fork",),
    "runs a program": ("execve", "text=/bin/true", 0, 0),
    "changes how programs are mapped": ("personality", 0x0400000),
    "makes a ring": ("io_uring_setup", 8, "page"),
    "watches page faults": ("userfaultfd", 0),
    "counts events": ("perf_event_open", "page", 0, -1 & 0xFFFFFFFF, -1 & 0xFFFFFFFF, 0),
    "loads bpf": ("bpf", 0, "page", 64),
    "opens by handle": ("open_by_handle_at", -100 & 0xFFFFFFFF, "page", 0),
    "mounts": ("mount", "text=none", "text=/tmp", "text=tmpfs", 0, 0),
    "changes the root": ("chroot", "text=/"),
    "gives its descriptor's signals away": ("fcntl", 1, 8, 1),
    "makes memory executable": ("mprotect", "page", 4096, 5),
    "maps executable memory": ("mmap", 0, 4096, 7, 0x22, -1 & 0xFFFFFFFF, 0),
    "limits its parent": ("prlimit64", "parent", 0, "page", 0),
    "slows its parent": ("setpriority", 0, "parent", 19),
    "binds its parent to a core": ("sched_setaffinity", "parent", 8, "page"),
    "changes a file's mode": ("chmod", "text=/dev/null", 0o666),
    "changes a file's mode from a folder": ("fchmodat", -100 & 0xFFFFFFFF, "text=/dev/null", 0o666),
    "changes a file's mode by a newer call": ("fchmodat2", -100 & 0xFFFFFFFF, "text=/dev/null", 0o666, 0),
    "changes the mode of what is open": ("fchmod", 1, 0o666),
    "changes a file's owner": ("chown", "text=/dev/null", 0, 0),
    "changes a file's times": ("utimensat", -100 & 0xFFFFFFFF, "text=/dev/null", 0, 0),
    "adds an attribute to a file": ("setxattr", "text=/dev/null", "text=user.x", "text=y", 1, 0),
    "adds an attribute to what is open": ("fsetxattr", 1, "text=user.x", "text=y", 1, 0),
    "makes shared memory": ("shmget", 4711, 4096, 0o1600),
    "makes semaphores": ("semget", 4711, 1, 0o1600),
    "makes a queue of messages": ("msgget", 4711, 0o1600),
    "watches what others open": ("inotify_add_watch", 1, "text=/", 0xFFF),
    "slows its parent's input and output": ("ioprio_set", 1, "parent", 0),
}
SOCKETS = {
    "tcp": (2, 1, 0),
    "tcp of IPv6": (10, 1, 0),
    "udp": (2, 2, 0),
    "raw": (2, 3, 1),
    "mptcp": (2, 1, 262),
    "sctp": (2, 1, 132),
    "udp-lite": (2, 2, 136),
    "unix": (1, 1, 0),
    "unix datagrams": (1, 2, 0),
    "netlink": (16, 3, 0),
    "netlink of audit": (16, 3, 9),
    "packets": (17, 3, 0),
    "crypto": (38, 5, 0),
    "vsock": (40, 1, 0),
    "xdp": (44, 3, 0),
    "bluetooth": (31, 3, 0),
    "with a family whose upper half differs": (0xDEAD00000002, 1, 0),
}


@pytest.fixture(scope="module", params=[True, False], ids=["namespaces", "filtered"])
def bare(request: pytest.FixtureRequest) -> Iterator[PluginProcess]:
    """A plugin without permissions, in namespaces of its own or in those of its host."""
    with plugin(alone=request.param) as running:
        yield running


@pytest.mark.parametrize("attack", ATTACKS)
def test_without_permission_it_is_refused(attack: str, bare: PluginProcess) -> None:
    name, *words = ATTACKS[attack]
    assert sys_(bare, str(name), *words) in ("EPERM", "EACCES", "ESRCH")


@pytest.mark.parametrize("kind", SOCKETS)
def test_without_permission_there_is_no_socket(kind: str, bare: PluginProcess) -> None:
    assert sys_(bare, "socket", *SOCKETS[kind]) == "EPERM"
    assert sys_(bare, "socketpair", 1, 1, 0, "page") == "EPERM"


@pytest.mark.parametrize("kind", sorted(set(SOCKETS) - {"tcp", "tcp of IPv6", "udp", "netlink"}))
def test_the_net_is_tcp_and_udp(kind: str) -> None:
    if "upper half" in kind:  # the kernel reads the lower one
        return
    with plugin("net:egress") as running:
        assert sys_(running, "socket", *SOCKETS[kind]) == "EPERM"


def test_no_host_process_is_reached_by_its_number(bare: PluginProcess) -> None:
    ours = os.getpid()
    before = os.getpriority(os.PRIO_PROCESS, ours)
    for name, words in {
        "prlimit64": (ours, 0, "page", 0),
        "setpriority": (0, ours, 19),
        "sched_setaffinity": (ours, 8, "page"),
        "sched_setscheduler": (ours, 3, "page"),
        "kill": (ours, 0),
        "tgkill": (ours, ours, 0),
        "pidfd_open": (ours, 0),
        "rt_sigqueueinfo": (ours, 10, "page"),
        "ioprio_set": (1, ours, 0),
        "move_pages": (ours, 0, 0, 0, 0, 0),
    }.items():
        assert sys_(bare, name, *words) in ("EPERM", "ESRCH"), name
    sys_(bare, "setpriority", 2, 0, 19)  # all processes of the user
    assert os.getpriority(os.PRIO_PROCESS, ours) == before


def test_what_needs_no_permission_works(bare: PluginProcess) -> None:
    assert sys_(bare, "prctl", 15, "text=name") == "ok"
    assert sys_(bare, "prlimit64", 0, 7, 0, "page") == "ok"
    assert sys_(bare, "ioctl", 1, 0x5401, "page") == "ENOTTY"  # is it a terminal?
    assert sys_(bare, "mprotect", "page", 4096, 3) == "ok"
    assert ask(bare, "env", "PATH") == "/usr/bin:/bin"
    assert ask(bare, "read", "/etc/passwd") == "EACCES"


def test_a_constructor_that_filters_itself_opens_nothing(tmp_path: Path) -> None:
    """The filter holds before it runs, so that nothing of it can stand in for a later one."""
    with plugin() as running:
        assert sys_(running, "seccomp", 1, 0, "page") in ("EINVAL", "EFAULT", "EPERM")
        assert sys_(running, "socket", 2, 1, 0) == "EPERM"


def test_read_and_write(tmp_path: Path) -> None:
    for name in ("given", "kept", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    with plugin(f"read:fs={tmp_path}/given", f"write:fs={tmp_path}/kept") as running:
        assert ask(running, "read", tmp_path / "given" / "file") == "ok"
        assert ask(running, "write", tmp_path / "given" / "file") == "EACCES"
        assert ask(running, "write", tmp_path / "kept" / "new") == "ok"
        assert ask(running, "read", tmp_path / "other" / "file") == "EACCES"
    with pytest.raises(PluginError, match=r"may write .*/none, which is not there: make it first"):
        plugin(f"write:fs={tmp_path}/none")


def test_who_may_write_changes_modes_and_times(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with plugin(f"write:fs={tmp_path}") as running:
        assert sys_(running, "chmod", f"text={file}", 0o640) == "ok"
        assert sys_(running, "utimensat", -100 & 0xFFFFFFFF, f"text={file}", 0, 0) == "ok"
    assert file.stat().st_mode & 0o777 == 0o640
    with plugin(f"read:fs={tmp_path}") as running:
        assert sys_(running, "chmod", f"text={file}", 0o777) == "EPERM"
    assert file.stat().st_mode & 0o777 == 0o640


def test_all_files_are_not_others_processes_and_devices(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with plugin("read:fs", "write:fs") as running:
        assert ask(running, "write", tmp_path / "file") == "ok"
        assert ask(running, "read", "/etc/passwd") == "ok"
        assert ask(running, "read", f"/proc/{os.getpid()}/environ") in ("EACCES", "EPERM", "ENOENT")
        assert ask(running, "write", f"/proc/{os.getpid()}/oom_score_adj") in ("EACCES", "EPERM", "ENOENT")
        assert ask(running, "write", "/dev/tty") in ("EACCES", "ENXIO")
        assert ask(running, "write", "/dev/pts/0") in ("EACCES", "ENOENT")
        assert ask(running, "write", "/dev/null") == "ok"


def test_exec() -> None:
    with plugin("exec=/bin/echo") as running:
        assert ask(running, "run", "echo") == "hello\n"
        assert ask(running, "run", "cat").startswith("exit ")
    with plugin("exec") as running:
        assert ask(running, "run", "echo") == "hello\n"
        assert sys_(running, "socket", 2, 1, 0) == "EPERM"
        assert sys_(running, "ioctl", 0, TIOCSTI, "text=x") == "EPERM"


def test_exec_of_a_script_is_exec_of_what_runs_it(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho $1\n")
    script.chmod(0o755)
    with plugin(f"exec={script}") as running:
        assert ask(running, "run", script) == "hello\n"


def test_process(tmp_path: Path) -> None:
    with plugin("process", f"write:fs={tmp_path}") as running:
        assert sys_(running, "prctl", 36, 1) == "ok"
        assert ask(running, "run", "echo").startswith("exit ")


@pytest.mark.parametrize("alone", [True, False])
def test_nothing_of_it_lives_on(alone: bool, tmp_path: Path) -> None:
    file = tmp_path / "alive"
    with plugin("process", f"write:fs={tmp_path}", alone=alone) as running:
        assert ask(running, "daemon", file) == "ok"
        until = time.monotonic() + 60
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert file.exists()
    file.unlink()
    time.sleep(0.05)
    assert not file.exists()


def served(family: int = socket.AF_INET, address: object = ("127.0.0.1", 0)) -> socket.socket:
    one = socket.socket(family)
    one.bind(address)
    one.listen(64)
    return one


def test_egress() -> None:
    with served() as server, plugin("net:egress") as running:
        assert ask(running, "connect", "127.0.0.1", server.getsockname()[1]) == "ok"
        assert ask(running, "listen", "127.0.0.1", 0) in ("EPERM", "EACCES")


@pytest.mark.parametrize("alone", [True, False])
def test_egress_to_one_address(alone: bool) -> None:
    with (
        served() as server,
        served(address=("127.0.0.2", server.getsockname()[1])) as other,
        served() as third,
    ):
        port = server.getsockname()[1]
        with plugin(f"net:egress=127.0.0.1:{port}", alone=alone) as running:
            assert ask(running, "connect", "127.0.0.1", port) == "ok"
            assert ask(running, "connect", "127.0.0.2", port) == "EPERM"
            assert ask(running, "connect", "127.0.0.1", third.getsockname()[1]) == "EPERM"
            assert ask(running, "connect", "0.0.0.0", port) == "EPERM"
            assert ask(running, "race", "127.0.0.1", port, "127.0.0.2") == "ok"
            assert sys_(running, "sendto", 3, "page", 1, 0, "page", 16) == "EPERM"
        assert other


def test_egress_to_a_name_looks_it_up() -> None:
    with served() as server, plugin(f"net:egress=localhost:{server.getsockname()[1]}") as running:
        assert ask(running, "names", "localhost") == "ok"
        assert ask(running, "connect", "127.0.0.1", server.getsockname()[1]) == "ok"
        assert ask(running, "connect", "127.0.0.2", server.getsockname()[1]) == "EPERM"


def test_a_service_is_the_net_and_its_names() -> None:
    with served() as server, plugin("read:redis") as running:
        assert ask(running, "names", "localhost") == "ok"
        assert ask(running, "connect", "127.0.0.1", server.getsockname()[1]) == "ok"


def test_listen() -> None:
    with plugin("net:listen") as running:
        assert ask(running, "listen", "127.0.0.1", 0) == "ok"
    with served() as server:
        port = server.getsockname()[1]
    with plugin(f"net:listen={port}") as running:
        assert ask(running, "listen", "127.0.0.1", port) == "ok"
        assert ask(running, "listen", "127.0.0.1", 0) == "EPERM"
        assert ask(running, "connect", "127.0.0.1", port) == "EPERM"


def test_local(tmp_path: Path) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    with served(socket.AF_UNIX, str(ours)), served(socket.AF_UNIX, str(other)):
        (tmp_path / "link").symlink_to(other)
        with plugin("net:local") as running:
            assert ask(running, "local", ours) == "ok"
            assert ask(running, "connect", "127.0.0.1", 1) == "EPERM"
        with plugin(f"net:local={ours}") as running:
            assert ask(running, "local", ours) == "ok"
            assert ask(running, "local", other) == "EPERM"
            assert ask(running, "local", tmp_path / "link") == "EPERM"


def test_dynload() -> None:
    with plugin("dynload=libz.so.1") as running:
        assert ask(running, "library", "libz.so.1") == "ok"


def test_code_gen() -> None:
    with plugin("code-gen") as running:
        assert sys_(running, "mprotect", "page", 65536, 5) == "ok"


def test_env_and_secret() -> None:
    there = {"MODEL": "a", "HOME": "/h", "API_TOKEN": "s", "LD_PRELOAD": "x", "OTHER": "o"}

    def seen(*permissions: str) -> list[str]:
        return sorted(grant(permissions, there).environ)

    assert seen() == []
    assert seen("env=MODEL") == ["MODEL"]
    assert seen("env") == ["HOME", "MODEL", "OTHER"]
    assert seen("secret=API_TOKEN") == seen("secret") == ["API_TOKEN"]
    with plugin("env=MODEL", environ=there) as running:
        assert ask(running, "env", "MODEL") == "a"
        assert ask(running, "env", "API_TOKEN") == "none"


def test_ipc() -> None:
    with plugin("ipc") as running:
        assert sys_(running, "semget", 0, 1, 0o1600) == "ok"
        assert ask(running, "write", f"/dev/shm/dsec-test-{os.getpid()}") == "ok"
    os.unlink(f"/dev/shm/dsec-test-{os.getpid()}")
    with plugin() as running:
        assert ask(running, "write", "/dev/shm/dsec-test") == "EACCES"


def test_sched(bare: PluginProcess) -> None:
    with plugin("sched") as running:
        assert sys_(running, "setpriority", 0, 0, 5) == "ok"
        assert sys_(running, "setpriority", 0, os.getpid(), 5) in ("EPERM", "ESRCH")


def test_gpu() -> None:
    """A request of the driver comes as far as the file, which is no GPU; without the grant it does not."""
    request = 0xC0084600 | 0xC8
    with plugin("gpu") as running:
        assert sys_(running, "ioctl", 1, request, "page") in ("ENOTTY", "EINVAL")
        assert sys_(running, "ioctl", 1, TIOCSTI, "page") == "EPERM"
    with plugin() as running:
        assert sys_(running, "ioctl", 1, request, "page") == "EPERM"
    assert "/dev/dri" in paths(Grants(kinds=("gpu",))).write


def test_what_it_prints_is_text(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file, PluginProcess(Terms((image(),), ALL), log=file.fileno()) as running:
        ask(running, "print", "\x1b]0;title\x07 ::error::x\r\n::warning::y")
    assert log.read_bytes() == b"plugin: \\x1b]0;title\\x07 ::error::x\\r\nplugin: ::warning::y\n"


def test_it_has_no_terminal(tmp_path: Path) -> None:
    code = (
        "import os, pty, sys; from tests.plugins.test_grants import ask, plugin, sys_, PluginProcess, Terms, "
        "image, ALL\n"
        "with PluginProcess(Terms((image(),), ALL), log=2) as p:\n"
        "    print([sys_(p, 'ioctl', fd, 0x5412, 'text=x') for fd in (0, 1, 2)], "
        "[sys_(p, 'ioctl', fd, 0x5401, 'page') for fd in (0, 1, 2)], ask(p, 'read', '/dev/tty'))"
    )
    runner = f"import pty, sys; sys.exit(pty.spawn([sys.executable, '-c', {code!r}]) >> 8)"
    ran = subprocess.run(
        [sys.executable, "-c", runner], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert "['EPERM', 'EPERM', 'EPERM'] ['ENOTTY', 'ENOTTY', 'ENOTTY'] EACCES" in ran.stdout


@pytest.mark.parametrize(
    "text",
    ["root", "ptrace", "keyring", "terminal", "io-uring", "read:fs=data", "write:fs=/dev/tty",
     "write:fs=/dev/pts/0", "net:egress=h:70000", "net:egress=h:", "net:local=x", "exec=bin/x", "gpu=0",
     "process=1", "read:everything"],
)  # fmt: skip
def test_what_cannot_be_granted_is_refused(text: str) -> None:
    with pytest.raises(NotGranted):
        grant([text], {})


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("net:egress", "", 0),
        ("net:egress=*", "", 0),
        ("net:egress=h", "h", 0),
        ("net:egress=h:1", "h", 1),
        ("net:egress=:443", "", 443),
        ("net:egress=*:443", "", 443),
        ("net:egress=[::1]:8", "::1", 8),
        ("net:egress=::1", "::1", 0),
        ("write:s3=h:9000", "h", 9000),
    ],
)
def test_targets_of_the_net(text: str, host: str, port: int) -> None:
    assert grant([text], {}).egress == ((host, port),)


def test_terminals_are_known_by_their_names() -> None:
    assert all(
        map(is_terminal, ("/dev/tty", "/dev/pts", "/dev/pts/3", "/dev/console", "/dev/ptmx", "/dev/tty1"))
    )
    assert not any(map(is_terminal, ("/dev/null", "/dev/shm", "/data/tty")))
    assert not any(path.startswith(("/dev/tty", "/dev/pts")) for path in widened("/"))
