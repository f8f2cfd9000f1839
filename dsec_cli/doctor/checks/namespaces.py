"""User namespaces: sandboxes without root stand on them."""

from __future__ import annotations

import subprocess
import sys

from dsec.interpreter import APART
from dsec_cli.doctor.check import Answer, Check, as_root, fine, problem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_TRY = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
uid = os.getuid()
flags = 0x10000000 | 0x00020000 | 0x40000000
if libc.unshare(flags):
    sys.exit(f"unshare: {os.strerror(ctypes.get_errno())}")
try:
    with open("/proc/self/uid_map", "w") as file:
        file.write(f"0 {uid} 1")
except OSError as problem:
    sys.exit(f"uid_map: {problem.strerror}")
if libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None):
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
"""
"""New user, mount and network namespaces, and a mount in them, as a sandbox begins."""


def look(host: Host) -> Answer:
    """By making some in a process of its own; where that fails, what forbids it."""
    done = subprocess.run(
        [sys.executable, *APART, _TRY], capture_output=True, text=True, timeout=8, check=False
    )
    if done.returncode == 0:
        return fine(say("user, mount and network namespaces can be made"))
    why, mend = _cause(host)
    said = say(
        "namespaces cannot be made: {why}", why=done.stderr.strip().splitlines()[-1] if done.stderr else "?"
    )
    return problem(said, why, mend=mend)


def _kept(setting: str) -> str:
    """Now, and after the next start."""
    return f"echo {setting} | {as_root('tee /etc/sysctl.d/90-dsec.conf')} && {as_root('sysctl --system')}"


def _cause(host: Host) -> tuple[str, str]:
    """What forbids it, as far as the kernel's settings say, and what would allow it."""
    if host.number("proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1:
        return (
            say("AppArmor restricts them to programs with a profile (Ubuntu 23.10 and later)"),
            _kept("kernel.apparmor_restrict_unprivileged_userns=0"),
        )
    if host.number("proc/sys/kernel/unprivileged_userns_clone") == 0:
        return say("the kernel forbids them to ordinary users"), _kept("kernel.unprivileged_userns_clone=1")
    if host.number("proc/sys/user/max_user_namespaces") == 0:
        return say("the kernel allows none at all"), _kept("user.max_user_namespaces=15000")
    return (
        say("most likely the seccomp profile of a container"),
        say("docker run --security-opt seccomp=unconfined, or run sandboxes on the host"),
    )


CHECK = Check("namespaces", look, words=("userns", "sandbox"), budget_s=10.0)
