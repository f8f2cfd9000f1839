"""What a scan says of honest code of any tool chain: what it does, and no more."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from dsec_cli.plugins.declared import compare, read_declared
from tests.plugins.building import scanned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.result import Scan

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="only code for x86-64 is followed"),
]
HEAD = "#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
DIRECT = HEAD + 'int ds_step_run(void) { return open("/data/in.txt", O_RDONLY); }\n'
WRAPPED = HEAD + (
    "static __attribute__((noinline)) int ours(const char *path, int flags) {"
    " volatile int x = 0; (void)x; return open(path, flags); }\n"
    'int ds_step_run(void) { return ours("/data/a", O_RDONLY) + ours("/data/b", O_RDONLY | O_CLOEXEC); }\n'
)
LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}


def made(folder: Path, source: str, *flags: str, program: bool = False) -> Scan:
    (folder / "t.c").write_text(source)
    kind = [] if program else ["-shared", "-fPIC"]
    target = folder / "t.so"
    words = ["gcc", "-w", "-O2", "-Wl,--build-id", *kind, *flags, "-o", target, folder / "t.c"]
    subprocess.run(words, check=True, timeout=60)
    return scanned(target)


def needs(found: Scan) -> dict[str, tuple[str, ...]]:
    return {need.permission: need.targets for need in found.needs if need.tier != "linked"}


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("bound", ["-Wl,-z,now", "-Wl,-z,lazy", "-fno-plt"])
def test_every_linker_gives_the_same(linker: str, bound: str, tmp_path: Path) -> None:
    if shutil.which(LINKERS[linker]) is None:
        pytest.skip(f"{linker} is not installed")
    found = made(tmp_path, DIRECT, f"-fuse-ld={linker}", bound)
    assert (found.verdict(), needs(found)) == ("ok", {"read:fs": ("/data/in.txt",)})
    found = made(tmp_path, WRAPPED, f"-fuse-ld={linker}", bound)
    assert (found.verdict(), needs(found)) == ("ok", {"read:fs": ("/data/a", "/data/b")})


@pytest.mark.parametrize("linker", LINKERS)
def test_a_program_opens_when_it_is_called(linker: str, tmp_path: Path) -> None:
    if shutil.which(LINKERS[linker]) is None:
        pytest.skip(f"{linker} is not installed")
    source = HEAD + 'int main(void) { return open("/etc/hostname", O_RDONLY) < 0; }\n'
    found = made(tmp_path, source, f"-fuse-ld={linker}", program=True)
    assert [need.tier for need in found.needs] == ["reachable"]
    assert found.verdict() == "ok"


RUST = """
use std::io::Read;
#[no_mangle]
pub extern "C" fn ds_step_run() -> i32 {
    let mut text = String::new();
    match std::fs::File::open("/data/in.txt") {
        Ok(mut file) => { let _ = file.read_to_string(&mut text); text.len() as i32 }
        Err(_) => -1,
    }
}
"""


@pytest.mark.battery
@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")
def test_a_file_that_rust_opens_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.rs").write_text(RUST)
    words = ["rustc", "--crate-type", "cdylib", "-C", "opt-level=2", "-o", "t.so", "t.rs"]
    environ = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    ran = subprocess.run(
        words, cwd=tmp_path, check=False, timeout=120, env=environ, capture_output=True, text=True
    )
    if "rustup" in ran.stderr:
        pytest.skip("rustc is a proxy of rustup without a toolchain")
    assert ran.returncode == 0, ran.stderr
    found = scanned(tmp_path / "t.so")
    sure = {need.permission for need in found.needs if need.tier in ("load", "reachable")}
    assert "read:fs" in sure
    assert not sure & {"write:fs", "env"}
    declared = read_declared(
        b"permissions: ['read:fs=/data']\nallow_unknown: [{reason: loader-walk, why: panics}]", ""
    )
    assert compare(found, declared, data=b"").verdict() == "ok"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("return socket(AF_INET, SOCK_STREAM, 0);", {"net:egress"}),
        ("int s = socket(AF_INET, SOCK_STREAM, 0); bind(s, 0, 0); return listen(s, 1);", {"net:listen"}),
        ("return socket(AF_UNIX, SOCK_STREAM, 0);", {"net:local"}),
        ("return socket(AF_INET, SOCK_STREAM, 262);", {"net:egress", "root"}),
        ("return socket(AF_VSOCK, SOCK_STREAM, 0);", {"root"}),
        ('return ioctl(2, 0x5412, "x");', {"terminal"}),
        ('return ioctl(2, 0x5401, "x");', set()),
        ("return prctl(0x59616d61, -1);", {"ptrace"}),
        ("return fcntl(1, 8, getppid());", {"process"}),
        ("struct termios t; return tcsetattr(0, 0, &t);", {"terminal"}),
        ("return isatty(0);", set()),
        ("return keyctl_();", {"keyring"}),
    ],
)
def test_constants_say_what_is_asked(body: str, wanted: set[str], tmp_path: Path) -> None:
    source = (
        "#define _GNU_SOURCE\n#include <sys/socket.h>\n#include <sys/ioctl.h>\n#include <sys/prctl.h>\n"
        "#include <sys/syscall.h>\n#include <fcntl.h>\n#include <termios.h>\n#include <unistd.h>\n"
        "#define keyctl_() syscall(SYS_keyctl, 0, -3, 0)\n"
        f"int ds_step_run(void) {{ {body} }}\n"
    )
    assert set(needs(made(tmp_path, source))) == wanted


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ('open("/data/in.txt", O_RDONLY);', "error"),
        ('if (getenv("DEBUG")) open("/data/in.txt", O_RDONLY);', "warning"),
        ("atexit(at_end);", "warning"),
    ],
)
def test_an_act_at_load_is_an_error_where_it_is_sure(body: str, severity: str, tmp_path: Path) -> None:
    source = HEAD + (
        'static void at_end(void) { open("/data/end", O_RDONLY); }\n'
        f"__attribute__((constructor)) static void early(void) {{ {body} }}\n"
        "int ds_step_run(void) { return 0; }\nvoid *kept = at_end;\n"
    )
    found = made(tmp_path, source)
    assert {one.severity for one in found.findings if one.code == "load-time"} == {severity}


def test_a_narrow_target_is_taken_where_the_file_does_not_tell(tmp_path: Path) -> None:
    found = made(tmp_path, HEAD + "int ds_step_run(const char *in) { return open(in, O_RDONLY); }\n")

    def verdict(permissions: str) -> tuple[str, set[str]]:
        told = compare(found, read_declared(f"permissions: [{permissions}]".encode(), ""), data=b"")
        return told.verdict(), {one.code for one in told.findings} & {"target-unknown", "undeclared"}

    assert verdict("'read:fs=/data'") == ("ok", {"target-unknown"})
    assert verdict("") == ("violations", {"undeclared"})
