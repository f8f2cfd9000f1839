"""A small virtual machine with a kernel of its own, in which this checkout runs as root.

What a container of a build machine does not have (a whole cgroup v2 tree with all its controllers) is
there. It needs qemu, a static busybox and a kernel image: `DSEC_TEST_KERNEL` names one, else the newest
in /boot is taken. Its file system is an archive in memory, made anew for each start.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QEMU = "qemu-system-x86_64"
_LEFT_OUT = (
    "test",
    "idlelib",
    "tkinter",
    "ensurepip",
    "lib2to3",
    "site-packages",
    "__pycache__",
    "turtledemo",
)
_PACKAGES = ("pydantic", "pydantic_core", "annotated_types", "typing_inspection", "ruamel", "blake3")
_INIT = """#!/bin/sh
export PATH=/bin HOME=/root LC_ALL=C.UTF-8
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /dev/shm /root
cd /root
sh -e /guest.sh > /tmp/out 2>&1
echo $? > /tmp/code
echo; echo GUEST-BEGIN; cat /tmp/out; echo GUEST-END $(cat /tmp/code)
reboot -f
"""


def kernel() -> str:
    """The kernel image to start; "": there is none."""
    named = os.environ.get("DSEC_TEST_KERNEL", "")
    return named or max(glob.glob("/boot/vmlinuz-*"), default="")


def lacks() -> str:
    """What is missing for a machine of our own; "": nothing is."""
    for program in (QEMU, "busybox"):
        if shutil.which(program) is None:
            return f"no {program}"
    return "" if kernel() else "no kernel image: DSEC_TEST_KERNEL names one"


def run(script: str, files: Mapping[str, str], *, folder: Path, seconds: float) -> str:
    """Start the machine in `folder`, run the shell script in it as root; what it wrote.

    `files`: further files by their path in the machine. `python` is this interpreter, and knows `dsec`.
    """
    root = folder / "root"
    _fill(root)
    for name, text in {"init": _INIT, "guest.sh": script, **files}.items():
        place = root / name.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (root / "init").chmod(0o755)
    archive = folder / "root.cpio"
    names = "\n".join(str(one.relative_to(root)) for one in sorted(root.rglob("*")))
    with archive.open("wb") as out:
        words = ["busybox", "cpio", "-o", "-H", "newc"]
        subprocess.run(
            words, cwd=root, input=names.encode(), stdout=out, stderr=subprocess.DEVNULL, check=True
        )
    shutil.rmtree(root)
    told = _started(archive, seconds)
    found = re.search(r"GUEST-BEGIN\r?\n(.*)GUEST-END (\d+)", told, re.DOTALL)
    assert found, f"the machine did not come to its end:\n{told[-3000:]}"
    assert found[2] == "0", f"the script ended with {found[2]}:\n{found[1]}"
    return found[1].replace("\r\n", "\n")


def _started(archive: Path, seconds: float) -> str:
    words = [QEMU, "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", "1536"]
    words += ["-nographic", "-no-reboot", "-nic", "none", "-kernel", kernel(), "-initrd", str(archive)]
    words += ["-append", "console=ttyS0 quiet panic=-1"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _fill(root: Path) -> None:
    """Shell, interpreter, its library and this checkout."""
    for name in ("bin", "proc", "sys", "dev", "tmp", "etc", "root"):
        (root / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", root / "bin/busybox")
    applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            (root / "bin" / applet).symlink_to("busybox")
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")
    library = sysconfig.get_path("stdlib")
    interpreter = os.path.realpath(sys.executable)
    _copy(Path(library), root, leaving=_LEFT_OUT)
    _copy_file(interpreter, root)
    extensions = glob.glob(f"{library}/lib-dynload/*.so")
    packages = Path(sysconfig.get_path("purelib"))
    for name in _PACKAGES:
        if (packages / name).is_dir():
            _copy(packages / name, root, to=Path("/site") / name, leaving=("__pycache__",))
    for file in packages.glob("typing_extensions.py"):
        _copy_file(str(file), root, to="/site/typing_extensions.py")
    for file in packages.glob("_ruamel_yaml*.so"):
        _copy_file(str(file), root, to=f"/site/{file.name}")
    for one in ("dsec_cli", "runtime/dsec"):
        _copy(ROOT / one, root, to=Path("/site") / Path(one).name, leaving=("__pycache__",))
    for shared in _libraries([interpreter, *extensions, *map(str, (root / "site").rglob("*.so"))]):
        _copy_file(shared, root)
    (root / "bin/python").write_text(f'#!/bin/sh\nPYTHONPATH=/site exec {interpreter} "$@"\n')
    (root / "bin/python").chmod(0o755)


def _libraries(programs: list[str]) -> set[str]:
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return {path for path in re.findall(r"(/\S+\.so\S*) \(0x", told) if os.path.isfile(path)}


def _copy(folder: Path, root: Path, *, to: Path | None = None, leaving: tuple[str, ...]) -> None:
    place = root / str(to or folder).lstrip("/")
    shutil.copytree(folder, place, ignore=shutil.ignore_patterns(*leaving), dirs_exist_ok=True)


def _copy_file(path: str, root: Path, *, to: str = "") -> None:
    place = root / (to or path).lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, place)
