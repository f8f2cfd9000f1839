"""Plugins in their sandbox: the examples work, and those that do more than they may are killed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dsec.plugins import frames
from dsec.plugins.grants import Grants
from dsec.plugins.limits import DEFAULTS
from dsec.plugins.process import PluginError, PluginProcess, Terms
from dsec.sandbox import landlock
from dsec_cli.plugins.syscalls import NUMBERS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "plugins"
PLAIN = """\
#define _GNU_SOURCE
#include "ds_plugin.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <stdio.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/socket.h>
static char text[256];
uint32_t ds_plugin_abi(void) { return ABI; }
int32_t ds_plugin_info(ds_info *out) { out->name = "t"; out->version = "1.0.0"; return 0; }
int32_t ds_step_init(const uint8_t *c, uint64_t n, const ds_host *h) { (void)c; (void)n; (void)h; return 0; }
void ds_step_shutdown(void) {}
void ds_buf_free(ds_buf *b) { free(b->data); b->data = 0; b->len = 0; }
void ds_last_error(ds_buf *o) { o->len = strlen(text); o->data = (uint8_t *)strdup(text); }
static int32_t say(ds_buf *out, const char *t) {
    out->data = (uint8_t *)strdup(t); out->len = strlen(t); return 0;
}
CONSTRUCTOR
int32_t ds_step_run(const uint8_t *in, uint64_t len, ds_buf *out) { (void)in; (void)len; (void)say; BODY }
"""
NAMES = ("read", "write", "openat", "close", "mmap", "munmap", "brk", "futex", "newfstatat", "lseek")
CALLS = tuple(NUMBERS[name] for name in NAMES)
pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64"),
    pytest.mark.skipif(landlock.interface() == 0, reason="this kernel has no Landlock"),
]


def built(folder: Path, body: str, *, constructor: str = "", abi: str = "1") -> Terms:
    """A plugin whose ds_step_run is `body`, and what it is given."""
    source = PLAIN.replace("BODY", body).replace("CONSTRUCTOR", constructor).replace("ABI;", f"{abi};")
    (folder / "t.c").write_text(source)
    target = folder / "t.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", "-w", f"-I{EXAMPLES}", "-o", str(target), str(folder / "t.c")],
        check=True,
        timeout=60,
    )
    return Terms((target.read_bytes(),), CALLS)


def granted(terms: Terms, **grants: object) -> Terms:
    """The same with something granted."""
    return terms._replace(grants=Grants(**grants))  # type: ignore[arg-type]


def test_a_plugin_answers(tmp_path: Path) -> None:
    with PluginProcess(built(tmp_path, 'return say(out, "yes");')) as plugin:
        assert plugin.facts["name"] == "t"
        assert plugin.facts["landlock"] > 0
        assert [plugin.call(b"x") for _ in range(3)] == [b"yes"] * 3
        assert plugin.close() == 0


def test_large_answers_and_inputs_come_whole(tmp_path: Path) -> None:
    body = "out->data = malloc(len); memcpy(out->data, in, len); out->len = len; return 0;"
    data = bytes(range(256)) * 20_000
    with PluginProcess(built(tmp_path, body)) as plugin:
        assert plugin.call(data) == data
        assert plugin.call(b"") == b""


def test_a_failure_is_told_in_its_own_words(tmp_path: Path) -> None:
    with PluginProcess(built(tmp_path, 'strcpy(text, "no such skill"); return 1;')) as plugin:
        for _ in range(2):
            with pytest.raises(PluginError, match=r"^no such skill$"):
                plugin.call(b"x")


@pytest.mark.parametrize(
    "body",
    [
        "return socket(AF_INET, SOCK_STREAM, 0);",
        "syscall(SYS_getuid); return 0;",
        'execl("/bin/true", "true", (char *)0); return 0;',
        "return fork();",
        'long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); return 0;',
        'long r; __asm__ volatile("syscall" : "=a"(r) : "a"(0x40000000 + 39) : "rcx", "r11"); return 0;',
    ],
)
def test_a_call_that_is_not_its_own_kills_it(tmp_path: Path, body: str) -> None:
    plugin = PluginProcess(built(tmp_path, body))
    with pytest.raises(
        PluginError, match="killed while it answered: it made a system call that its scan does not"
    ):
        plugin.call(b"x")


def test_constructors_run_under_the_filter(tmp_path: Path) -> None:
    bad = "__attribute__((constructor)) static void begin(void) { socket(AF_UNIX, SOCK_STREAM, 0); }"
    with pytest.raises(PluginError, match="killed while it was started: it made a system call"):
        PluginProcess(built(tmp_path, "return 0;", constructor=bad))


def test_files_are_what_it_was_given(tmp_path: Path) -> None:
    for name in ("given", "other"):
        (tmp_path / name).write_text(name)
    body = """
    char path[256] = {0}; memcpy(path, in, len < 255 ? len : 255);
    int f = open(path, O_RDONLY); if (f < 0) { snprintf(text, 200, "%s", strerror(errno)); return 1; }
    char got[64] = {0}; read(f, got, 63); close(f); return say(out, got);"""
    terms = granted(built(tmp_path, body), read=(str(tmp_path / "given"),))
    with PluginProcess(terms) as plugin:
        assert plugin.call(str(tmp_path / "given").encode()) == b"given"
        for path in (str(tmp_path / "other"), "/etc/passwd", str(tmp_path / "t.so")):
            with pytest.raises(PluginError, match="Permission denied"):
                plugin.call(path.encode())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("*(volatile int *)8 = 1; return 0;", "by SIGSEGV"),
        ("__builtin_trap();", "by SIGILL"),
        ("_exit(3);", "it ended while it answered with exit code 3"),
        ("for (;;) {}", "it took too long and was ended"),
    ],
)
def test_how_it_ended_is_told(tmp_path: Path, body: str, said: str) -> None:
    plugin = PluginProcess(built(tmp_path, body))
    with pytest.raises(PluginError, match=said):
        plugin.call(b"x", timeout_s=0.5)
    with pytest.raises(PluginError):
        plugin.call(b"x")


@pytest.mark.battery
def test_it_dies_with_its_user(tmp_path: Path) -> None:
    plugin = PluginProcess(built(tmp_path, "for (;;) {}"))
    plugin._send(frames.CALL, b"x")
    assert plugin.close() == -9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"abi": "2"}, "it is made for interface 2, this dsec has 1"),
        ({"constructor": "int unused;"}, ""),
    ],
)
def test_another_interface_is_refused(tmp_path: Path, change: dict[str, str], said: str) -> None:
    terms = built(tmp_path, 'return say(out, "ok");', **change)  # type: ignore[arg-type]
    if said:
        with pytest.raises(PluginError, match=said):
            PluginProcess(terms)
    else:
        PluginProcess(terms).close()


def test_what_is_no_plugin_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.c").write_text("int f(void) { return 1; }")
    target = str(tmp_path / "t.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", target, str(tmp_path / "t.c")], check=True, timeout=60)
    with pytest.raises(PluginError, match="it has no function ds_plugin_abi"):
        PluginProcess(Terms((Path(target).read_bytes(),), CALLS))
    with pytest.raises(PluginError, match="it cannot be loaded"):
        PluginProcess(Terms((b"no library",), CALLS))


TAKES = """
    const char *what = (const char *)in;
    if (!strncmp(what, "cpu", 3)) for (;;) {}
    if (!strncmp(what, "touch", 5)) for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    if (!strncmp(what, "ask", 3)) { while (malloc(1 << 20)) {} return say(out, "asked"); }
    if (!strncmp(what, "map", 3)) return say(out, malloc(3ull << 30) ? "given" : "refused");
    if (!strncmp(what, "files", 5)) {
        int n = 0; while (dup(2) >= 0) n++;
        return say(out, n < 300 ? "few" : "many");
    }
    if (!strncmp(what, "write", 5)) {
        int f = open(FILE, O_CREAT | O_RDWR, 0600); lseek(f, 1 << 20, SEEK_SET);
        return say(out, write(f, "x", 1) == 1 ? "written" : strerror(errno));
    }
    int n = 0;
    for (; n < 500; n++) {
        int p = syscall(SYS_fork);
        if (p < 0) break;
        if (!p) syscall(SYS_exit_group, 0); /* it counts until somebody waits for it */
    }
    return say(out, n < 500 ? "few" : "many");"""
"""What a plugin takes that takes what it gets."""


def taking(folder: Path, **limits: int) -> PluginProcess:
    """One that does so, with the limits that hold without any, but for these."""
    terms = built(folder, TAKES.replace("FILE", f'"{folder}/written"'))
    more = tuple(NUMBERS[name] for name in ("fork", "dup"))
    return PluginProcess(
        granted(
            terms._replace(limits={**DEFAULTS, **limits}, calls=CALLS + more),
            write=(str(folder),),
            kinds=("process",),
        )
    )


@pytest.mark.battery
@pytest.mark.parametrize(
    ("what", "limits", "said"),
    [
        (
            "cpu",
            {"cpu_s": 1},
            r"^it was killed while it answered: its 1 s of processor time are used up \(--cpu\)$",
        ),
        (
            "touch",
            {"memory": 128 << 20},
            r"^it was killed while it answered by SIGSEGV; it may have 128 MiB of memory \(--memory\)$",
        ),
    ],
)
def test_who_takes_too_much_ends_with_a_line(
    tmp_path: Path, what: str, limits: dict[str, int], said: str
) -> None:
    with taking(tmp_path, **limits) as plugin, pytest.raises(PluginError, match=said):
        plugin.call(what.encode(), timeout_s=60)


@pytest.mark.parametrize(
    ("what", "limits", "said"),
    [
        ("ask", {}, b"asked"),
        ("map", {}, b"refused"),
        ("map", {"memory": 4 << 30}, b"given"),
        ("files", {}, b"few"),
        ("write", {}, b"written"),
        ("write", {"file_bytes": 1 << 20}, b"File too large"),
    ],
)
def test_who_asks_for_too_much_is_refused(
    tmp_path: Path, what: str, limits: dict[str, int], said: bytes
) -> None:
    with taking(tmp_path, **limits) as plugin:
        assert plugin.call(what.encode(), timeout_s=60) == said


@pytest.mark.skipif(os.geteuid() == 0, reason="the kernel counts no tasks of root")
def test_processes_are_counted(tmp_path: Path) -> None:
    with taking(tmp_path) as plugin:
        assert plugin.call(b"fork", timeout_s=60) == b"few"


def test_without_landlock_nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dsec.sandbox.kernel import SandboxError

    monkeypatch.setattr(landlock, "interface", lambda: 0)
    with pytest.raises(SandboxError, match="this kernel has no Landlock"):
        landlock.restrict()


def frame(kind: str, data: str) -> str:
    """C that writes a frame of its own on the line to the host (some descriptor after the three)."""
    return (
        f"char f[64]; uint64_t n = sizeof({data}) - 1; memcpy(f, &n, 8); f[8] = {kind}; "
        f"memcpy(f + 9, {data}, n); for (int d = 3; d < 1024; d++) write(d, f, 9 + n);"
    )


@pytest.mark.parametrize("data", ['"no"', '"[1]"', '"{}"', '"{\\"name\\": 1}"'])
def test_who_it_is_cannot_be_forged_into_a_failure_of_ours(tmp_path: Path, data: str) -> None:
    constructor = (
        f"__attribute__((constructor)) static void forge(void) {{ {frame(chr(39) + 'r' + chr(39), data)} }}"
    )
    terms = built(tmp_path, "return 0;", constructor=constructor)
    with pytest.raises(PluginError, match="it does not say who it is"):
        PluginProcess(terms)


@pytest.mark.battery
def test_a_byte_now_and_then_is_no_answer(tmp_path: Path) -> None:
    body = (
        "char h[9] = {0, 0, 1, 0, 0, 0, 0, 0, 'a'}; for (int d = 3; d < 1024; d++) write(d, h, 9);"
        "for (;;) { for (volatile long i = 0; i < 20000000; i++) {}"
        ' for (int d = 3; d < 1024; d++) write(d, " ", 1); } return 0;'
    )
    with PluginProcess(built(tmp_path, body)) as plugin, pytest.raises(PluginError, match="took too long"):
        plugin.call(b"", timeout_s=0.5)


def test_an_answer_that_is_too_long_is_a_failure_not_a_crash(tmp_path: Path) -> None:
    body = 'out->data = (uint8_t *)strdup("a"); out->len = 1ull << 62; return 0;'
    with PluginProcess(built(tmp_path, body)) as plugin, pytest.raises(PluginError, match="is more than"):
        plugin.call(b"")


def test_a_signal_without_a_name_is_told(tmp_path: Path) -> None:
    terms = built(tmp_path, "syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), 40); return 0;")
    more = tuple(NUMBERS[name] for name in ("tgkill", "getpid", "gettid"))
    with (
        PluginProcess(terms._replace(calls=CALLS + more)) as plugin,
        pytest.raises(PluginError, match="by signal 40"),
    ):
        plugin.call(b"")


def test_information_that_it_will_not_give_is_told(tmp_path: Path) -> None:
    terms = built(tmp_path, "return 0;")
    source = (tmp_path / "t.c").read_text().replace('out->name = "t";', "out->struct_size = 1;")
    (tmp_path / "t.c").write_text(source)
    target = tmp_path / "t.so"
    words = ["gcc", "-shared", "-fPIC", "-w", f"-I{EXAMPLES}", "-o", str(target), str(tmp_path / "t.c")]
    subprocess.run(words, check=True, timeout=60)
    with pytest.raises(PluginError, match="ds_plugin_info failed"):
        PluginProcess(terms._replace(images=(target.read_bytes(),)))


@pytest.mark.skipif(landlock.interface() < 6, reason="this kernel's Landlock does not guard signals")
def test_no_signal_reaches_its_user(tmp_path: Path) -> None:
    body = (
        'if (syscall(SYS_kill, syscall(SYS_getppid), 0) == 0) return say(out, "reached");'
        'int failed = errno; if (syscall(SYS_kill, syscall(SYS_getpid), 0)) return say(out, "not itself");'
        "return say(out, strerror(failed));"
    )
    more = tuple(NUMBERS[name] for name in ("kill", "getppid", "getpid"))
    with PluginProcess(built(tmp_path, body)._replace(calls=CALLS + more)) as plugin:
        assert plugin.call(b"") == b"Operation not permitted"
