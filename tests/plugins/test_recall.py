"""What really happens against what the scan says: every system call that strace sees must be predicted."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dsec_cli.plugins.decoding import open_door
from dsec_cli.plugins.hosting import Host, gather
from dsec_cli.plugins.libraries import Finder
from tests.plugins.building import MAPS, scanned

HARNESS = Path(__file__).parent / "harness.c"
PROGRAMS = {
    "true": ("/bin/true",),
    "cat": ("/bin/cat", "/etc/passwd"),
    "ls": ("/bin/ls", "-la", "/etc"),
    "sort": ("/usr/bin/sort", "/etc/passwd"),
    "gzip": ("/bin/gzip", "-c", "/etc/passwd"),
    "grep": ("/bin/grep", "-r", "root", "/etc/passwd"),
    "tar": ("/bin/tar", "cf", "archive.tar", "/etc/passwd"),
    "find": ("/usr/bin/find", "/etc", "-name", "*.conf", "-user", "root"),
    "date": ("/bin/date",),
    "id": ("/usr/bin/id",),
    "sed": ("/bin/sed", "-n", "1p", "/etc/passwd"),
    "readelf": ("/usr/bin/readelf", "-a", "/bin/true"),
}
LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed)(.*)")
BLOCK = re.compile(r"DO\((\w+), (.*)\);$", re.MULTILINE)
pytestmark = [
    pytest.mark.battery,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]


def traced(command: tuple[str, ...], into: Path) -> list[tuple[str, str, str]]:
    """(process, system call, rest of the line) of everything that a command and its children do."""
    log = into / "trace"
    words = ["strace", "-f", "-qq", "-o", log, *command]
    subprocess.run(words, cwd=into, capture_output=True, check=False, timeout=120)
    found = (LINE.match(line) for line in log.read_text(errors="replace").splitlines())
    return [(match[1], match[2], match[3]) for match in found if match]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_call_of_a_program_is_missed(name: str, tmp_path: Path) -> None:
    command = PROGRAMS[name]
    seen = {call for _, call, _ in traced(command, tmp_path)}
    found = scanned(Path(command[0]).resolve())
    assert found.calls is not None
    assert seen, "strace saw nothing"
    assert seen - {call.name for call in found.calls} - set(found.loader) == set()


def test_no_call_of_libc_is_missed(tmp_path: Path) -> None:
    program = tmp_path / "harness"
    subprocess.run(["gcc", "-O1", "-w", "-o", program, HARNESS], check=True)
    host = _host()
    used = _functions(host)
    missed, count = {}, 0
    for block, calls in _blocks(traced((str(program),), tmp_path)).items():
        numbers = host.reach(used[block])[0]
        count += len(calls)
        # The kernel makes a handler return by itself; who installs one has it among its calls.
        rest = calls - {_name(number) for number in numbers} - {"rt_sigreturn"}
        if rest:
            missed[block] = sorted(rest)
    assert count > 250, "too few calls were seen to say anything"
    assert missed == {}


def _name(number: int) -> str:
    from dsec_cli.plugins.syscalls import name_of

    return name_of(number)


def _host() -> Host:
    door = open_door()
    assert door is not None
    return gather(["libc.so.6", "libm.so.6"], Finder(62, "/", {}), door, cache=str(MAPS), sysroot="/")


def _functions(host: Host) -> dict[str, set[str]]:
    """The functions of libc that each block of the harness calls."""
    found: dict[str, set[str]] = {}
    for name, body in BLOCK.findall(HARNESS.read_text()):
        words = {word for word in re.findall(r"\b(\w+) ?\(", body) if host.has_function(word)}
        found.setdefault(name, set()).update(words | ({name} if host.has_function(name) else set()))
    return found


def _blocks(lines: list[tuple[str, str, str]]) -> dict[str, set[str]]:
    """The system calls of the harness's first process between its marks."""
    first = lines[0][0]
    found: dict[str, set[str]] = {}
    name = ""
    for process, call, rest in lines:
        mark = re.match(r'-1, "([^"]*)"', rest) if call == "write" else None
        if process != first:
            continue
        if mark is not None:
            name = "" if mark[1] == "-" else mark[1]
        elif name:
            found.setdefault(name, set()).add(call)
    return found
