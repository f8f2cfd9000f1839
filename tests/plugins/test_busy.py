"""Plugins that do much, in C and Rust, and the examples: all that they really do is in their scan.

Under a filter of what the scan found, which kills, the whole of their work runs; and strace sees no call
that the scan does not have, in a plain program that loads them as well as in the host.
"""

from __future__ import annotations

import os
import pickle
import pwd
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from dsec.plugins.grants import Endpoint, Grants
from dsec.plugins.process import PluginError, PluginProcess, Terms
from dsec.sandbox import hostcalls, landlock
from dsec_cli.plugins.syscalls import NUMBERS, name_of
from tests.plugins.building import build, scanned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.result import Scan

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "plugins"
BUSY = Path(__file__).parent / "busy"
TEXT = '{"text": "so much depends"}'
SOURCES = {
    "busy.c": BUSY / "busy.c",
    "busy.rs": BUSY / "busy.rs",
    "word_count.c": EXAMPLES / "word-count-c" / "word_count.c",
    "word_count.rs": EXAMPLES / "word-count-rust" / "word_count.rs",
}
LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed)(.*)")
pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64"),
]
confined = pytest.mark.skipif(landlock.interface() == 0, reason="this kernel has no Landlock")
traced = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def made(name: str, folder: Path) -> Path:
    """One of the plugins, built."""
    source = SOURCES[name]
    if source.suffix == ".c":
        return build(
            source,
            folder,
            f"-I{EXAMPLES}",
            "-D_GNU_SOURCE",
            "-fvisibility=hidden",
            "-fstack-protector-strong",
            "-lpthread",
        )
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")
    target = folder / f"{source.stem}.so"
    words = ["rustc", "--crate-type", "cdylib", "--edition", "2021", "-C", "panic=abort", "-C", "opt-level=2",
             "-C", "link-arg=-Wl,-z,relro,-z,now", "-C", "link-arg=-lc", "-o", target, source]  # fmt: skip
    home = pwd.getpwuid(os.getuid()).pw_dir
    environ = {"RUSTUP_HOME": f"{home}/.rustup", "CARGO_HOME": f"{home}/.cargo"} | os.environ | {"HOME": home}
    run = subprocess.run(words, check=False, capture_output=True, text=True, env=environ)
    if run.returncode and "rustup" in run.stderr:
        pytest.skip("rustc is a proxy of rustup without a toolchain")
    assert run.returncode == 0, run.stderr
    return target


def work(name: str, folder: Path) -> tuple[str, str]:
    """What a plugin is given, and what it answers."""
    return (str(folder), "0 0 0 0") if name.startswith("busy") else (TEXT, '{"words": 3}')


def terms(path: Path, found: Scan, folder: Path) -> Terms:
    assert found.calls is not None
    numbers = tuple(one.number for one in found.calls)
    loading = tuple(NUMBERS[one] for one in found.loader if one in NUMBERS)
    grants = Grants(("/",), (str(folder),), egress=(Endpoint(),), listen=(Endpoint(),), local=("",))
    return Terms((path.read_bytes(),), (*numbers, *loading), grants._replace(kinds=("process", "ipc")))


@pytest.mark.battery
@confined
@pytest.mark.parametrize("name", SOURCES)
def test_all_its_work_is_in_its_scan(name: str, tmp_path: Path) -> None:
    path = made(name, tmp_path)
    given, answer = work(name, tmp_path)
    with PluginProcess(terms(path, scanned(path), tmp_path)) as plugin:
        assert [plugin.call(given.encode()).decode() for _ in range(2)] == [answer] * 2


@confined
@pytest.mark.parametrize(
    "missing", ["socket", "connect", "rename", "getdents64", "unlink", "clock_nanosleep"]
)
def test_what_is_taken_from_its_scan_kills_it(missing: str, tmp_path: Path) -> None:
    path = built_once()
    held = terms(path, scanned(path), tmp_path)
    less = held._replace(calls=tuple(one for one in held.calls if one != NUMBERS[missing]))
    with (
        PluginProcess(less) as plugin,
        pytest.raises(PluginError, match="a system call that its scan does not"),
    ):
        plugin.call(str(tmp_path).encode())


@cache
def built_once() -> Path:
    import tempfile

    return made("busy.c", Path(tempfile.mkdtemp(prefix="dsec-tests-busy-")))


@traced
@pytest.mark.battery
@pytest.mark.parametrize("name", SOURCES)
def test_strace_sees_no_other_call_in_a_plain_program(name: str, tmp_path: Path) -> None:
    path = made(name, tmp_path)
    loader, log = tmp_path / "loader", tmp_path / "log"
    subprocess.run(["gcc", "-w", f"-I{EXAMPLES}", "-o", loader, BUSY / "loader.c"], check=True)
    given, answer = work(name, tmp_path)
    words = ["strace", "-f", "-qq", "-o", log, loader, path, given]
    run = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout == answer
    seen: dict[str, set[str]] = {"load": set(), "run": set(), "-": set()}
    part = "-"
    for line in log.read_text().splitlines():
        match = LINE.match(line)
        if match is not None and (mark := re.match(r'-1, "(load|run|-)"', match[3])):
            part = mark[1]
        elif match is not None:
            seen[part].add(match[2])
    found = scanned(path)
    assert found.calls is not None
    calls = {one.name for one in found.calls}
    assert seen["run"] - calls == set()
    assert seen["load"] - calls - set(found.loader) == set()
    assert len(seen["run"]) >= (25 if name.startswith("busy") else 0)
    assert seen["load"], "strace saw nothing"


HOST = """
import pickle, sys
from dsec.plugins.process import PluginProcess
held = pickle.load(open(sys.argv[1], "rb"))
with PluginProcess(held) as plugin:
    sys.stdout.write(plugin.call(sys.argv[2].encode()).decode())
"""


@traced
@confined
@pytest.mark.battery
@pytest.mark.parametrize("name", SOURCES)
def test_strace_sees_no_other_call_in_the_host(name: str, tmp_path: Path) -> None:
    path = made(name, tmp_path)
    found = scanned(path)
    given, answer = work(name, tmp_path)
    held = tmp_path / "terms"
    held.write_bytes(pickle.dumps(terms(path, found, tmp_path)))
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    words = ["strace", "-f", "-qq", "-o", "log", sys.executable, "-c", HOST, held, given]
    run = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120, env=environ
    )
    assert run.stdout == answer
    filters, seen, host = 0, set(), ""
    for match in filter(None, map(LINE.match, (tmp_path / "log").read_text().splitlines())):
        if match[2] == "seccomp" and "SECCOMP_SET_MODE_FILTER" in match[3]:
            filters, host = filters + 1, match[1]
        elif filters and (match[1] == host or match[2] in ("set_robust_list", "rseq")):
            seen.add(match[2])
    assert filters == 1
    assert found.calls is not None
    assert seen - {one.name for one in found.calls} - {name_of(one) for one in hostcalls.answering()} == set()
    assert "recvfrom" in seen
