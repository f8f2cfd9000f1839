"""What a scan says of plugins that hide nothing, in every output, and of upgrades and declarations."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dsec_cli.plugins.check import find_checks
from dsec_cli.plugins.declared import Declared, compare, parse_permission, read_declared
from dsec_cli.plugins.differing import differ
from dsec_cli.plugins.emitting import contract, seccomp
from dsec_cli.plugins.reasons import REASONS
from dsec_cli.plugins.result import Finding, Scan
from dsec_cli.plugins.scandoc import document, parsed
from dsec_cli.plugins.scanning import Options, scan
from dsec_cli.plugins.view import Signature
from dsec_cli.plugins.views import json as as_json
from dsec_cli.plugins.views import sarif, text
from tests.plugins.building import HOSTILE, MAPS, WELL_MEANT, build, scanned

UNSIGNED = Signature("unsigned", "")


def used(found: Scan) -> dict[str, str]:
    """Permissions by tier."""
    return {need.permission: need.tier for need in found.needs}


def numbers(found: Scan) -> set[str]:
    """Names of system calls that the plugin's own code makes."""
    return {call.name for call in found.calls or () if call.direct}


def test_a_plain_plugin_is_clean(tmp_path: Path) -> None:
    found = scanned(build(WELL_MEANT / "plain.c", tmp_path))
    assert found.verdict() == "ok"
    assert found.needs == ()
    assert {"brk", "mmap"} <= {call.name for call in found.calls or ()}
    assert "openat" not in {call.name for call in found.calls or () if call.tier == "load"}


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os"])
@pytest.mark.parametrize("door", ["iced-x86", "capstone"])
def test_wrappers_are_followed(level: str, door: str, tmp_path: Path) -> None:
    # Registers that a compiler knows to be untouched by a callee are lost to us at every call.
    found = scanned(build(WELL_MEANT / "wrappers.c", tmp_path, level, "-fno-ipa-ra"), door)
    wanted = {"getpid", "gettid", "getppid", "getpgrp", "getuid", "getgid"}
    if level == "-O0":  # a choice is made in memory there, which joins to the same two numbers
        assert numbers(found) <= wanted
    else:
        assert numbers(found) == wanted
        assert found.verdict() == "ok"


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_constants_decide_permissions(level: str, tmp_path: Path) -> None:
    found = scanned(build(WELL_MEANT / "reads.c", tmp_path, level))
    assert used(found)["read:fs"] == "reachable"
    need = next(need for need in found.needs if need.permission == "read:fs")
    assert need.targets == ("/etc/hostname",)
    assert need.chain[0].startswith("ds_step_run+")
    assert need.chain[-1] == "open"
    if level == "-O2":
        assert "write:fs" not in used(found)


def test_what_nothing_calls_is_linked_only(tmp_path: Path) -> None:
    found = scanned(build(WELL_MEANT / "linked.c", tmp_path))
    assert used(found) == {"net:egress": "linked"}
    assert found.verdict() == "ok"
    assert any(call.name == "connect" and call.tier == "linked" for call in found.calls or ())


@pytest.mark.battery
def test_both_disassemblers_agree(tmp_path: Path) -> None:
    for name in ("constructor", "administrator", "overlap", "lookup_constant", "borrows_a_gate"):
        path = build(HOSTILE / f"{name}.c", tmp_path)
        one, other = scanned(path, "iced-x86"), scanned(path, "capstone")
        assert used(one) == used(other), name
        assert {f.code for f in one.findings} == {f.code for f in other.findings}, name
        assert numbers(one) == numbers(other), name


def test_without_a_disassembler_the_tables_are_read(tmp_path: Path) -> None:
    found = scanned(build(HOSTILE / "constructor.c", tmp_path), "none")
    assert used(found)["net:egress"] == "linked"
    assert found.calls is None
    assert found.verdict() == "incomplete"
    assert "no-disassembler" in {one.code for one in found.findings}
    assert "pip install 'dsec[scan]'" in text.render(found, "x.so", UNSIGNED)


def test_a_program_at_a_fixed_place_is_incomplete(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-no-pie", "-o", tmp_path / "main", source], check=True)
    found = scanned(tmp_path / "main")
    assert found.verdict() == "incomplete"
    assert "arch" in {one.code for one in found.findings if one.blind}


@pytest.mark.parametrize("name", ["constructor", "administrator", "child", "number_computed", "ring_by_gate"])
def test_a_large_file_is_swept_for_the_same(name: str, tmp_path: Path) -> None:
    path = build(HOSTILE / f"{name}.c", tmp_path)
    exact = scanned(path)
    swept = scan(str(path), Options(cache=str(MAPS), exact_bytes=1))
    assert set(used(swept)) == set(used(exact))
    assert "linked" not in used(swept).values()
    assert numbers(swept) == numbers(exact)
    assert "too-large" in {one.code for one in swept.findings}
    assert swept.verdict() != "ok"


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    path = build(HOSTILE / "administrator.c", tmp_path)
    once, again = scanned(path), scanned(path)
    for view in (text, as_json, sarif):
        assert view.render(once, "a.so", UNSIGNED) == view.render(again, "a.so", UNSIGNED)
    assert parsed(json.loads(json.dumps(document(once)))) == once


def test_sarif_has_a_place_for_every_result(tmp_path: Path) -> None:
    found = scanned(build(HOSTILE / "int80.c", tmp_path))
    run = json.loads(sarif.render(found, "a.so", UNSIGNED))["runs"][0]
    codes = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert "gate-int80" in codes
    result = next(one for one in run["results"] if one["ruleId"] == "gate-int80")
    assert result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["address"]["absoluteAddress"] > 0
    for one in run["results"]:
        assert one["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
        if "ruleIndex" in one:
            assert codes[one["ruleIndex"]] == one["ruleId"]


def test_a_chain_is_what_objdump_shows(tmp_path: Path) -> None:
    path = build(WELL_MEANT / "reads.c", tmp_path)
    need = next(need for need in scanned(path).needs if need.permission == "read:fs")
    offset = int(need.chain[0].partition("+")[2], 16)
    shown = subprocess.run(
        ["objdump", "-d", "--disassemble=ds_step_run", path], capture_output=True, text=True, check=True
    ).stdout
    lines = [line.split("\t") for line in shown.splitlines() if "\t" in line]
    start = int(lines[0][0].strip().rstrip(":"), 16)
    call = next(words[2] for words in lines if int(words[0].strip().rstrip(":"), 16) == start + offset)
    assert "<open@plt>" in call


def test_the_profile_allows_what_was_found(tmp_path: Path) -> None:
    found = scanned(build(WELL_MEANT / "reads.c", tmp_path))
    profile = json.loads(seccomp(found))
    names = {name for row in profile["syscalls"] for name in row["names"]}
    assert {call.name for call in found.calls or ()} <= names
    assert "exit_group" in names
    assert profile["x-dsec"]["complete"] is True
    assert "read_allowed" in contract(found)
    assert '"read:fs=/etc/hostname"' in contract(found)


def test_one_place_that_could_not_be_seen_is_one(tmp_path: Path) -> None:
    found = scanned(build(WELL_MEANT / "reads.c", tmp_path))
    unseen = Finding("c", "warning", "w", "h", blind=True)
    assert "# 1 place could not be seen" in contract(replace(found, findings=(unseen,)))
    assert "# 2 places could not be seen" in contract(replace(found, findings=(unseen, unseen)))


def test_an_upgrade_that_can_do_more_is_told(tmp_path: Path) -> None:
    old = scanned(build(WELL_MEANT / "plain.c", tmp_path))
    new = scanned(build(HOSTILE / "child.c", tmp_path))
    found = differ(old, new)
    assert found.more()
    assert "exec=/usr/bin/id" in found.gained
    assert "execve" in found.calls_gained
    assert "exec-child (0 -> 1)" in found.blind_gained
    assert not differ(old, old).more()


MANIFEST = b"""\
name: x
version: 1.0.0
permissions: [%s]
allow_unknown:
  - {reason: exec-child, where: ds_step_run, why: id is harmless}
"""


def test_declarations_are_compared(tmp_path: Path) -> None:
    path = build(HOSTILE / "child.c", tmp_path)
    found = scanned(path)
    data = path.read_bytes()

    def codes(permissions: bytes) -> tuple[str, set[str]]:
        told = compare(found, read_declared(MANIFEST % permissions, "plugin.yaml"), data=data)
        return told.verdict(), {one.code for one in told.findings} - {"hardening"}

    assert codes(b"exec, process") == ("ok", {"exec-child"})
    assert codes(b"exec=/usr/bin/id, process")[0] == "ok"
    assert codes(b"exec=/usr/bin/other, process")[0] == "violations"
    assert "undeclared" in codes(b"process")[1]
    assert "over-asked" in codes(b"exec, process, gpu")[1]
    assert "bad-permission" in codes(b"exec, process, read:everything")[1]
    assert "root-like" in codes(b"exec, process, mount")[1]
    verdict, told = codes(b"exec, process, 'read:redis'")
    assert (verdict, "service-unproved" in told) == ("ok", True)
    assert compare(found, Declared((), ()), data=data).verdict() == "violations"


@pytest.mark.parametrize(
    "text", ["read:fs", "read:fs=/etc", "net:egress=h:1", "exec=/bin/x", "read:redis", "write:s3", "gpu"]
)
def test_permissions_are_read(text: str) -> None:
    one = parse_permission(text)
    assert text.startswith(one.name)


@pytest.mark.parametrize("text", ["", "fs", "read", "read:", "write:everything", "net", "=x", "root:all"])
def test_other_words_are_no_permission(text: str) -> None:
    with pytest.raises(ValueError, match="is no permission"):
        parse_permission(text)


def test_targets_cover_what_lies_below() -> None:
    one = parse_permission("read:fs=/etc")
    assert one.covers("read:fs", "/etc")
    assert one.covers("read:fs", "/etc/hosts")
    assert not one.covers("read:fs", "/etcetera")
    assert not one.covers("read:fs", "")
    assert not one.covers("write:fs", "/etc")
    assert parse_permission("read:fs").covers("read:fs", "")


def test_every_code_of_a_check_is_in_the_catalogue() -> None:
    checks = find_checks()
    assert len({check.name for check in checks}) == len(checks) >= 12
    told = {code for check in checks for code in check.codes}
    assert told <= set(REASONS)
    for code, reason in REASONS.items():
        assert reason.severity in ("error", "warning", "info"), code
        assert reason.action.endswith((".", "'dsec[scan]'")), code


RUST = {
    "add": '#[no_mangle]\npub extern "C" fn ds_add(a: i64, b: i64) -> i64 { a.wrapping_add(b) }\n',
    "alone": "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n"
    '#[no_mangle]\npub extern "C" fn ds_add(a: i64, b: i64) -> i64 { a.wrapping_add(b) }\n',
}


@pytest.mark.battery
@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed")
@pytest.mark.parametrize("name", RUST)
def test_rust_that_adds_asks_for_nothing(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / f"{name}.rs", tmp_path / f"{name}.so"
    source.write_text(RUST[name])
    more = ["-C", "link-arg=-nostartfiles"] if name == "alone" else []
    words = ["rustc", "--crate-type", "cdylib", "-C", "panic=abort", "-O", *more, "-o", target, source]
    home = pwd.getpwuid(os.getuid()).pw_dir
    environ = {"RUSTUP_HOME": f"{home}/.rustup", "CARGO_HOME": f"{home}/.cargo"} | os.environ | {"HOME": home}
    made = subprocess.run(words, check=False, capture_output=True, text=True, env=environ)
    if made.returncode and "rustup" in made.stderr:
        pytest.skip("rustc is a proxy of rustup without a toolchain")
    assert made.returncode == 0, made.stderr
    found = scanned(target)
    assert {permission for permission, tier in used(found).items() if tier != "linked"} == set()
    assert found.verdict() == "ok"
    assert sum(call.tier != "linked" for call in found.calls or ()) <= 5


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from dsec_cli.fast import plugin_scan; sys.exit(plugin_scan())"
    environ = os.environ | {
        "XDG_CACHE_HOME": str(MAPS),
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        "DSEC_LANG": "en",
    }
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=environ,
    )


@pytest.mark.battery
def test_the_command_answers_with_its_exit_code(tmp_path: Path) -> None:
    build(WELL_MEANT / "plain.c", tmp_path)
    build(HOSTILE / "child.c", tmp_path)
    build(HOSTILE / "lookup_computed.c", tmp_path)
    good = command("plain.so", cwd=tmp_path)
    assert (good.returncode, good.stderr) == (0, "")
    assert "What I could not see\n  nothing that we know of" in good.stdout
    assert max(map(len, good.stdout.splitlines())) <= 80
    assert command("lookup_computed.so", cwd=tmp_path).returncode == 3
    made = command("plain.so", "--format", "json", "-o", "old.json", cwd=tmp_path)
    assert made.returncode == 0
    assert json.loads((tmp_path / "old.json").read_text())["verdict"] == "ok"
    worse = command("child.so", "--diff", "old.json", cwd=tmp_path)
    assert worse.returncode == 1
    assert "exec=/usr/bin/id" in worse.stdout
    (tmp_path / "plugin.yaml").write_text("name: x\nversion: 1.0.0\npermissions: []\n")
    undeclared = command("child.so", cwd=tmp_path)
    assert undeclared.returncode == 1
    assert "error undeclared" in undeclared.stdout


@pytest.mark.battery
def test_wrong_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "bad.json").write_text('{"format": "other"}')
    build(WELL_MEANT / "plain.c", tmp_path)
    for words, code in (
        (("none.so",), 3),
        (("notes.txt",), 3),
        ((".",), 3),
        (("plain.so", "--diff", "bad.json"), 3),
        (("plain.so", "--sysroot", "nowhere"), 2),
        (("plain.so", "--libc", "nothing"), 2),
        (("plain.so", "--format", "sarif", "--diff", "plain.so"), 2),
        (("plain.so", "--exact-mb", "0"), 2),
        (("plain.so", "--decoder", "none", "--emit", "seccomp-json"), 3),
    ):
        ran = command(*words, cwd=tmp_path)
        assert ran.returncode == code, (words, ran.stderr)
        assert ran.stdout == ""
        assert ran.stderr.count("\n") == 1
        assert "Traceback" not in ran.stderr


@pytest.mark.battery
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_scan_leaves_nothing(number: int, code: int, tmp_path: Path) -> None:
    path = build(WELL_MEANT / "plain.c", tmp_path)
    body = "import sys; from dsec_cli.fast import plugin_scan; sys.exit(plugin_scan())"
    # Without a cache the libraries are mapped, which takes long enough to be interrupted.
    words = [sys.executable, "-c", body, path, "--no-cache"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        child = _child_of(process)
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
    assert not Path(f"/proc/{child}/stat").exists()


def _child_of(process: subprocess.Popen[bytes]) -> int:
    """The process that scans, as soon as it is there."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        found = listed.read_text().split()
        if found:
            return int(found[0])
    raise AssertionError("the scan ended before it could be interrupted")


def test_without_a_c_library_system_calls_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "libc.musl-x86_64.c").write_text("int getpid(void) { return 1; }\n")
    (tmp_path / "p.c").write_text("int getpid(void);\nint f(void) { return getpid(); }\n")
    libc, target = tmp_path / "musl" / "libc.so", tmp_path / "p.so"
    libc.parent.mkdir()
    soname = "-Wl,-soname,libc.musl-x86_64.so.1"
    words = ["gcc", "-shared", "-fPIC", "-nostdlib"]
    subprocess.run([*words, soname, "-o", libc, tmp_path / "libc.musl-x86_64.c"], check=True)
    subprocess.run([*words, "-o", target, tmp_path / "p.c", libc], check=True)
    found = scanned(target)
    assert found.calls is None
    assert found.loader == ()
    assert found.verdict() == "incomplete"
    assert "libc.musl-x86_64.so.1" in " ".join(one.message for one in found.findings if one.blind)


def test_of_another_machine_system_calls_are_not_known(tmp_path: Path) -> None:
    path = build(WELL_MEANT / "plain.c", tmp_path)
    data = bytearray(path.read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    path.write_bytes(data)
    found = scanned(path)
    assert found.calls is None
    assert found.verdict() != "ok"
    assert "arch" in {one.code for one in found.findings if one.blind}
    ran = command(str(path), "--emit", "seccomp-json", cwd=tmp_path)
    assert ran.returncode == 3
    assert "which are not determined here" in ran.stderr


def test_inner_functions_have_their_names(tmp_path: Path) -> None:
    """The file's own symbol table names what is not exported; without it there are addresses."""
    source = tmp_path / "inner.c"
    source.write_text(
        "#include <unistd.h>\n"
        'static __attribute__((noinline)) int clear_all(void) { return unlink("/tmp/x"); }\n'
        "int ds_step_run(void) { return clear_all() + 1; }\n"
    )
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "a.so", source], check=True)
    way = next(one.chain for one in scanned(tmp_path / "a.so").needs if one.permission == "write:fs")
    assert [word.split("+")[0] for word in way] == ["ds_step_run", "clear_all", "unlink"]
    subprocess.run(["strip", tmp_path / "a.so"], check=True)
    way = next(one.chain for one in scanned(tmp_path / "a.so").needs if one.permission == "write:fs")
    assert way[1].startswith("0x")


def test_a_long_report_is_folded(tmp_path: Path) -> None:
    """Long ways lose their middle, and of one code the first are shown; --full prints all."""
    found = scanned(build(HOSTILE / "administrator.c", tmp_path))
    first = found.findings[0]
    way = tuple(f"function{at}" for at in range(20))
    many = tuple(replace(first, message=f"message {at}", chain=way) for at in range(9))
    long = replace(found, findings=many)
    whole, cut = text.render(long, "a.so", UNSIGNED), text.folded(long, "a.so", UNSIGNED)
    assert all(f"message {at}" in whole for at in range(9))
    assert "function10 " in whole
    assert "... 14 more ..." in " ".join(cut.split())
    assert f"  {first.severity} {first.code}  and 6 more\n" in cut
    assert "message 3" not in cut
    assert cut.endswith("\n--full prints what is left out here.\n")
    short = replace(found, findings=(), needs=())
    assert text.folded(short, "a.so", UNSIGNED) == text.render(short, "a.so", UNSIGNED)


def test_a_prompt_for_a_password_is_no_error(tmp_path: Path) -> None:
    """It sets an open terminal, of which a plugin has none; what types on one stays an error."""
    source = tmp_path / "prompt.c"
    source.write_text(
        "#include <termios.h>\n"
        "int ds_step_run(void) { struct termios t = {0}; return tcsetattr(0, 0, &t); }\n"
    )
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "a.so", source], check=True)
    told = [one for one in scanned(tmp_path / "a.so").findings if one.code == "root-like"]
    assert [one.severity for one in told] == ["warning"]
