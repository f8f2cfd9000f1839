"""Permissions that depend on what a call gets: flags, protections, domains, names and paths.

Each rule answers with (permission, target) pairs; an argument that is no constant counts for all that it
could be, and where that is a blind spot the rule says so by a reason code.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dsec_cli.plugins.apis import BY_NAME, GPU_DEVICES, GPU_LIBRARIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.plugins.elf import Image
    from dsec_cli.plugins.uses import Use
    from dsec_cli.plugins.values import Value

PROT_EXEC, PROT_WRITE = 4, 2
MAP_ANONYMOUS = 0x20
_WRITES = 0o1 | 0o2 | 0o100 | 0o1000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC."""
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK = 1, 2, 10, 16, 17, 40
_NEW_SPACES = 0x7E020080
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME."""
_CLONE_THREAD = 0x10000
_SECRETS = (
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "API_KEY",
    "APIKEY",
    "CREDENTIAL",
    "PRIVATE_KEY",
    "ACCESS_KEY",
)
_PRCTL = {
    1: "process", 4: "process", 36: "process", 24: "root", 28: "root", 35: "root", 47: "root", 59: "root",
    62: "sched", 0x59616D61: "ptrace",
}  # fmt: skip
"""PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_MM,
PR_CAP_AMBIENT, PR_SET_SYSCALL_USER_DISPATCH, PR_SCHED_CORE, PR_SET_PTRACER."""
_OWNERS = {8, 10, 15}
"""F_SETOWN, F_SETSIG, F_SETOWN_EX: signals for others."""
_TTY_READS = {0x5401, 0x5405, 0x540F, 0x5411, 0x5413, 0x541B, 0x5421, 0x5429, 0x5450, 0x5451, 0x5452, 0x5460}
"""Requests of terminals' number range that only read, or concern every kind of file."""
_INTERFACE_READS = {
    0x8905,
    *range(0x8910, 0x8914),
    0x8915,
    0x8917,
    0x8919,
    0x891B,
    0x891D,
    0x8921,
    0x8927,
    0x8933,
}
_INTERFACE_WRITES = {
    0x890B,
    0x890C,
    *range(0x8914, 0x8926, 2),
    0x8923,
    0x8924,
    0x8925,
    0x8936,
    0x8937,
    0x8943,
}
_PROTOCOLS = {0, 6, 17}
"""The family's own choice, TCP, UDP."""


@dataclass(frozen=True, slots=True)
class Sockets:
    """What a plugin does with all of its sockets."""

    domains: frozenset[int] | None
    """Their families; None where one is not known, or none is made here."""
    connects: bool
    listens: bool

    def local(self) -> bool:
        """Whether none of them can leave the machine."""
        return self.domains is not None and self.domains <= {AF_UNIX, AF_NETLINK}


@dataclass(slots=True)
class Judged:
    """What one use asks for."""

    asks: list[tuple[str, str]] = field(default_factory=list)
    perhaps: list[tuple[str, str]] = field(default_factory=list)
    """What it may ask for as well: nobody can tell from the file."""
    reasons: list[tuple[str, str]] = field(default_factory=list)
    """(reason code, what is meant)"""


def judge(use: Use, image: Image, sockets: Sockets) -> Judged:
    """The permissions of one use; `sockets`: what the plugin does with sockets."""
    found = Judged()
    permission = BY_NAME.get(use.name)
    if permission is None:
        return found
    if not permission.endswith("?"):
        found.asks += [(permission, target) for target in _paths_of(use, image, permission)]
        return found
    _RULES[permission](use, image, sockets, found)
    return found


def texts(use: Use, image: Image, index: int) -> tuple[str, ...] | None:
    """The constant strings of an argument; None where they are not known."""
    value = _argument(use, index)
    if value is None:
        return None
    found = [image.text(address) for address in sorted(value)]
    return tuple(text for text in found if text is not None) if None not in found else None


def _argument(use: Use, index: int) -> frozenset[int] | None:
    if use.arguments is None or index >= len(use.arguments):
        return None
    value: Value = use.arguments[index]
    return value if isinstance(value, frozenset) else None


_AT = frozenset(
    [
        "openat",
        "openat64",
        "openat2",
        "__openat_2",
        "__openat64_2",
        "fstatat",
        "fstatat64",
        "newfstatat",
        "statx",
        "faccessat",
        "faccessat2",
        "readlinkat",
        "unlinkat",
        "mkdirat",
        "fchmodat",
        "fchmodat2",
        "fchownat",
        "mknodat",
        "mkfifoat",
        "utimensat",
        "futimesat",
        "renameat",
        "renameat2",
        "linkat",
        "scandirat",
        "execveat",
        "setxattrat",
        "getxattrat",
        "listxattrat",
        "removexattrat",
        "name_to_handle_at",
    ]
)
_VERSIONED = frozenset(["__xstat", "__xstat64", "__lxstat", "__lxstat64", "__xmknod"])


def _path_index(name: str) -> int:
    if name in ("__fxstatat", "__fxstatat64", "__xmknodat"):
        return 2
    return 1 if name in _AT or name in _VERSIONED or name == "inotify_add_watch" else 0


def _paths_of(use: Use, image: Image, permission: str) -> tuple[str, ...]:
    if permission not in ("read:fs", "write:fs"):
        return ("",)
    return _named(texts(use, image, _path_index(use.name)))


def _named(found: tuple[str, ...] | None) -> tuple[str, ...]:
    """Absolute paths as targets; anything else stands for all paths."""
    return tuple(sorted({text if text.startswith("/") else "" for text in found})) if found else ("",)


def _open(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del sockets
    index = _path_index(use.name)
    paths = texts(use, image, index)
    if use.name.startswith("f"):
        modes = texts(use, image, 1)
        writes = modes is None or any(ch in mode for mode in modes for ch in "wa+")
        reads = modes is None or any(ch in mode for mode in modes for ch in "r+")
    else:
        flags = _argument(use, index + 1)
        if flags is None or use.name == "openat2":
            flags = None
        writes = flags is None or any(flag & _WRITES for flag in flags)
        reads = flags is None or any(flag & 3 != 1 for flag in flags)
        if flags is None:
            # Whether it writes nobody can tell: most such calls read, and the sandbox holds for the others.
            writes = False
            found.perhaps += [("write:fs", path if path.startswith("/") else "") for path in paths or ("",)]
    for path in paths or ("",):
        found.asks += _opened(path, reads=reads, writes=writes)
        _special(path, found)


def _opened(path: str, *, reads: bool, writes: bool) -> list[tuple[str, str]]:
    if path.startswith(GPU_DEVICES):
        return [("gpu", "")]
    target = path if path.startswith("/") else ""
    ways = [("read:fs", target)] if reads else []
    return [*ways, ("write:fs", target)] if writes else ways


def _special(path: str, found: Judged) -> None:
    if path.startswith("/proc/") and path.endswith("/mem"):
        found.asks.append(("code-gen", ""))
        found.reasons.append(("self-mem", f"opens {path}"))
    elif path.startswith("/proc/") and path.endswith(("/maps", "/smaps")):
        found.reasons.append(("loader-walk", f"reads {path}"))
    elif path.startswith("/proc/") and path.endswith("/auxv"):
        found.reasons.append(("vdso-walk", f"reads {path}"))


def _connect(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del use, image
    found.asks.append(("net:local" if sockets.local() else "net:egress", ""))


def _listen(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del use, image
    found.asks.append(("net:local" if sockets.local() else "net:listen", ""))


def _socket(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del image
    made = _argument(use, 0)
    if made is None:
        found.asks.append(("net:egress", ""))
        return
    kinds = _argument(use, 1) or frozenset()
    protocols = _argument(use, 2) or frozenset()
    if made & {AF_UNIX, AF_NETLINK}:
        found.asks.append(("net:local", ""))
    if made & {AF_INET, AF_INET6}:
        listener = sockets.listens and not sockets.connects
        found.asks.append(("net:listen" if listener else "net:egress", ""))
        if any(kind & 0xF == 3 for kind in kinds):
            found.asks.append(("root", "raw-socket"))
        found.asks += [("root", f"protocol-{one}") for one in sorted(protocols - _PROTOCOLS)]
    if AF_PACKET in made:
        found.asks.append(("root", "packet-socket"))
    others = made - {AF_UNIX, AF_NETLINK, AF_INET, AF_INET6, AF_PACKET}
    found.asks += [("root", f"socket-family-{one}") for one in sorted(others)]


def _ioctl(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del image, sockets
    requests = _argument(use, 1)
    if requests is None:
        found.reasons.append(("ioctl-unknown", "its request is no constant"))
        return
    for request in sorted({one & 0xFFFFFFFF for one in requests}):
        kind = request >> 8
        if kind in (0x54, 0x4B, 0x56) and request not in _TTY_READS:
            found.asks.append(("terminal", f"{request:#x}"))
        elif request in _INTERFACE_WRITES:
            found.asks.append(("root", f"ioctl-{request:#x}"))
        elif (request >> 8) & 0xFF in (0x46, 0x64) and kind > 0xFF:
            found.asks.append(("gpu", ""))
        elif request not in _TTY_READS | _INTERFACE_READS:
            found.reasons.append(("ioctl-unknown", f"request {request:#x}"))


def _fcntl(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del image, sockets
    if (_argument(use, 1) or frozenset()) & _OWNERS:
        found.asks.append(("process", ""))


def _syslog(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    """The function of libc writes to a socket; the system call of that name reads the kernel's messages."""
    del image, sockets
    found.asks.append(("root" if use.gate else "net:local", ""))


def _exec(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del sockets
    index = {"posix_spawn": 1, "posix_spawnp": 1, "execveat": 1}.get(use.name, 0)
    paths = texts(use, image, index) if use.name != "fexecve" else None
    if use.name in ("system", "popen", "wordexp"):
        said = "" if paths is None else f" ({', '.join(paths)})"
        found.asks.append(("exec", "/bin/sh"))
        found.reasons.append(("exec-child", f"runs a shell{said}"))
        return
    found.asks += [("exec", path) for path in (paths or ("",))]
    found.reasons.append(
        ("exec-child", f"runs {', '.join(paths)}" if paths else "runs a program that is not named")
    )


def _clone(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del image, sockets
    flags = _argument(use, 0 if use.gate else 2)
    if flags is None:  # without the permission the sandbox lets threads begin, and no processes
        found.perhaps.append(("process", ""))
        return
    if any(flag & _NEW_SPACES for flag in flags):
        found.asks.append(("namespace", ""))
    if any(not flag & _CLONE_THREAD for flag in flags):
        found.asks.append(("process", ""))


def _prctl(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del image, sockets
    for option in sorted(_argument(use, 0) or ()):
        if option in _PRCTL:
            found.asks.append((_PRCTL[option], ""))


def _dynload(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del sockets
    index = 1 if use.name == "dlmopen" else 0
    value = _argument(use, index)
    if value == frozenset((0,)):
        return  # a handle of the program itself loads nothing
    names = texts(use, image, index)
    if names is None:
        found.asks.append(("dynload", ""))
        found.reasons.append(("dlopen-computed", f"{use.name} gets a name that is no constant"))
        return
    found.asks += [("dynload", name) for name in names]
    if any(name.rsplit("/", 1)[-1].startswith(GPU_LIBRARIES) for name in names):
        found.asks.append(("gpu", ""))


def _memory(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del image, sockets
    index = 2
    protections = _argument(use, index)
    if use.arguments is None or protections is None:
        found.reasons.append(("code-gen", f"{use.name} gets a protection that is no constant"))
        return
    if any(protection & PROT_EXEC for protection in protections):
        found.asks.append(("code-gen", ""))
        both = any(protection & PROT_EXEC and protection & PROT_WRITE for protection in protections)
        how = "writable and executable at once" if both else "executable"
        found.reasons.append(("code-gen", f"{use.name} makes memory {how}"))


def _env(use: Use, image: Image, sockets: Sockets, found: Judged) -> None:
    del sockets
    names = texts(use, image, 0)
    if names is None:  # it finds what the sandbox puts there, which is what is declared
        found.perhaps.append(("env", ""))
        return
    for name in names:
        found.asks.append(("secret" if is_secret(name) else "env", name))


def is_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret."""
    return any(word in name.upper() for word in _SECRETS)


_RULES: dict[str, Callable[[Use, Image, Sockets, Judged], None]] = {
    "open?": _open,
    "connect?": _connect,
    "listen?": _listen,
    "socket?": _socket,
    "exec?": _exec,
    "clone?": _clone,
    "prctl?": _prctl,
    "ioctl?": _ioctl,
    "fcntl?": _fcntl,
    "syslog?": _syslog,
    "dynload?": _dynload,
    "memory?": _memory,
    "env?": _env,
}
