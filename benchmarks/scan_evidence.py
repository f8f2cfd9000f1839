"""Compares scans with what strace sees: wheels that lie in a folder, and programs of this machine.

    python benchmarks/scan_evidence.py WHEELS [--programs 12]

For each extension module of a wheel: the scan, then `import` of it under strace in an interpreter that sees
all wheels. For each program: the scan, then a harmless run. It prints what was seen and not predicted
(missed), errors, and errors about loading that the trace does not show (false). Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "runtime")]
LINE = re.compile(r"^(?:\d+ +)?(?:<\.\.\. )?(\w+)(?:\(| resumed)")
PROGRAMS = {
    "true": (), "cat": ("/etc/passwd",), "ls": ("-la", "/etc"), "sort": ("/etc/passwd",), "date": (),
    "id": (), "gzip": ("--version",), "grep": ("root", "/etc/passwd"), "tar": ("--version",),
    "find": ("/etc", "-maxdepth", "1"), "sed": ("-n", "1p", "/etc/passwd"), "readelf": ("-h", "/bin/true"),
    "sha256sum": ("/etc/passwd",), "diff": ("/etc/passwd", "/etc/passwd"), "gawk": ("BEGIN{}",),
    "perl": ("-e", "1"), "openssl": ("version",),
}  # fmt: skip
CALLS = {
    "read:fs": (
        "open",
        "openat",
        "stat",
        "newfstatat",
        "statx",
        "access",
        "readlink",
        "readlinkat",
        "getdents64",
    ),
    "write:fs": ("openat", "mkdir", "unlink", "rename"),
    "net:egress": ("socket", "connect"),
    "net:local": ("socket", "socketpair"),
    "net:listen": ("bind", "listen"),
    "process": ("clone", "clone3", "fork", "vfork", "kill", "tgkill", "wait4"),
    "exec": ("execve",),
    "code-gen": ("mmap", "mprotect"),
    "sched": ("sched_setaffinity", "setrlimit", "prlimit64"),
}
"""System calls of which one is to be seen where a permission is said to be used at load."""


def traced(words: list[str], environ: dict[str, str]) -> set[str]:
    """The names of the system calls that a command makes."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        subprocess.run(
            ["strace", "-f", "-qq", "-o", log, *words],
            cwd=folder,
            env=environ,
            capture_output=True,
            check=False,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        lines = log.read_text(errors="replace").splitlines()
    return {match[1] for match in map(LINE.match, lines) if match}


def scanned(path: Path):  # type: ignore[no-untyped-def]
    """The scan, or why there is none."""
    from dsec.errors import FileProblem
    from dsec_cli.plugins import mapcache
    from dsec_cli.plugins.confined import scan_confined
    from dsec_cli.plugins.scandoc import parsed
    from dsec_cli.plugins.scanning import Options

    try:
        return parsed(scan_confined(str(path), Options("/", "", mapcache.folder(os.environ), "", 64 << 20)))
    except FileProblem as problem:
        return str(problem)


def compared(name: str, path: Path, seen: set[str], *, base: set[str]) -> Counter[str]:
    """One row, and what it adds to the sums."""
    found = scanned(path)
    if isinstance(found, str):
        print(f"{name:44} not scanned: {found[:80]}")
        return Counter(unscanned=1)
    predicted = {one.name for one in found.calls or ()} | set(found.loader) | base
    missed = sorted(seen - predicted) if found.calls is not None else []
    errors = Counter(one.code for one in found.violations())
    at_load = [one for one in found.violations() if one.code == "load-time"]
    false = [
        one for one in at_load if not seen & set(CALLS.get(one.message.split(": ")[1].split(" by ")[0], ()))
    ]
    print(
        f"{name:44} {found.verdict():11} missed {missed} errors {dict(errors)} false {len(false)}", flush=True
    )
    return Counter(
        files=1, missed=len(missed), errors=errors.total(), false=len(false), **{found.verdict(): 1}
    )


def main() -> None:
    """Print the rows and the sums."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--programs", type=int, default=len(PROGRAMS))
    args = parser.parse_args()
    sums: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for wheel in sorted(args.wheels.glob("*.whl")):
            zipfile.ZipFile(wheel).extractall(folder)
        environ = {**os.environ, "PYTHONPATH": folder}
        base = traced([sys.executable, "-c", "pass"], environ)
        for path in sorted(Path(folder).rglob("*.so")):
            module = path.relative_to(folder).as_posix().split(".")[0].replace("/", ".")
            seen = (
                traced([sys.executable, "-c", f"import {module}"], environ)
                if ".libs" not in str(path)
                else base
            )
            parent = module.rpartition(".")[0]
            around = traced([sys.executable, "-c", f"import {parent}"], environ) if parent else base
            sums += compared(module, path, seen, base=base | around)
    for name in list(PROGRAMS)[: args.programs]:
        path = next((Path(f"/usr/bin/{name}") for _ in (0,) if Path(f"/usr/bin/{name}").exists()), None)
        if path is not None:
            seen = traced([str(path), *PROGRAMS[name]], dict(os.environ))
            sums += compared(name, path.resolve(), seen, base=set())
    print(dict(sums))


if __name__ == "__main__":
    main()
