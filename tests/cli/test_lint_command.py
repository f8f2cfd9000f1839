"""`ds-contract-lint` as a user and as CI meet it."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, Ran, command

Ds = Callable[..., Ran]
CLEAN = (ROOT / "examples" / "hello" / "dsandbox.yaml").read_bytes()
BAD = (ROOT / "examples" / "bad" / "dsandbox.yaml").read_bytes()
LEVEL = b"steps:\n  - {id: a, run: echo hi}\n"


def one_line(ran: Ran, *parts: str) -> None:
    """Exit 3 with one line that says what and what to do."""
    assert ran.returncode == 3, ran
    text = ran.stderr.decode()
    assert text.startswith("dsec: error: ")
    assert text.count("\n") == 1
    assert "(hint: " in text
    for part in parts:
        assert part in text


def test_a_clean_file(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(CLEAN)
    ran = ds("ds-contract-lint")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"1 file checked, nothing found\n", b"")


def test_a_bad_file_gives_everything_at_once(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    ran = ds("ds-contract-lint", "-q")
    assert ran.returncode == 1
    assert ran.stderr == b""
    codes = [line.split("[")[1].split("]")[0] for line in ran.stdout.decode().splitlines()]
    assert {"DS101", "DS106", "DS503", "DS505", "DS601"} <= set(codes)


def test_both_names_are_one_program(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    assert ds("ds-contract-lint").stdout == ds("dsec", "lint").stdout


@pytest.mark.parametrize("seed", ["0", "1", "77"])
def test_output_is_the_same_for_any_hash_seed(ds: Ds, tmp_path: Path, seed: str) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    assert (
        ds("ds-contract-lint", PYTHONHASHSEED=seed).stdout
        == ds("ds-contract-lint", PYTHONHASHSEED="5").stdout
    )


def test_missing_file(ds: Ds) -> None:
    one_line(ds("ds-contract-lint", "nope.yaml"), "nope.yaml", "No such file")


def test_folder_without_contracts(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    one_line(ds("ds-contract-lint", "sub"), "sub", "dsandbox.yaml")
    one_line(ds("ds-contract-lint"), "this folder")


def test_folder_with_contracts(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    for name in ("plugin.yaml", "ds_config.yaml", "dsandbox.yaml", "other.yaml"):
        (tmp_path / "job" / name).write_bytes(LEVEL)
    ran = ds("ds-contract-lint", "job", "-f", "json")
    assert json.loads(ran.stdout)["files"] == ["job/ds_config.yaml", "job/dsandbox.yaml", "job/plugin.yaml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(CLEAN)
    (tmp_path / "x.yaml").chmod(0)
    one_line(ds("ds-contract-lint", "x.yaml"), "x.yaml", "Permission denied")


def test_a_folder_that_cannot_be_looked_into_is_not_called_empty(ds: Ds, tmp_path: Path) -> None:
    folder = tmp_path / "shut"
    folder.mkdir(mode=0)
    # Root looks into every folder; the answer for others is made by the same system call.
    ran = ds("ds-contract-lint", "shut")
    assert ran.returncode == 3
    said = b"holds no contract" if os.geteuid() == 0 else b"shut could not be read: Permission denied"
    assert said in ran.stderr


def test_a_current_folder_that_is_gone_is_told(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    ran = subprocess.run(
        ["sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", *command("ds-contract-lint")],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert ran.stderr.startswith(b"dsec: error: the current folder is gone (hint: change to one")


def test_a_limit_that_is_no_number_is_asked_wrongly(ds: Ds, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_bytes(CLEAN)
    ran = ds("ds-contract-lint", "a.yaml", "b.yaml", DSEC_MAX_NODES="many")
    assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)
    assert ran.stderr.startswith(b"dsec: error: DSEC_MAX_NODES is 'many'")


def test_a_command_that_is_given_as_a_file_is_told_as_one(ds: Ds) -> None:
    one_line(ds("ds-contract-lint", "rules"), "rules could not be read", "write: dsec rules")


def test_one_bad_name_hides_no_finding(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(BAD)
    ran = ds("ds-contract-lint", "nope.yaml", "bad.yaml", "gone.yaml", "-q")
    assert ran.returncode == 3
    assert b"bad.yaml:4:" in ran.stdout
    assert [line.split()[2] for line in ran.stderr.decode().splitlines()] == ["gone.yaml", "nope.yaml"]


def test_a_file_named_twice_is_checked_once(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(CLEAN)
    assert ds("ds-contract-lint", ".", "dsandbox.yaml", "./dsandbox.yaml").stdout.startswith(
        b"1 file checked"
    )


@pytest.mark.battery
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\xff\xfe\x00",
        b"\x00" * 100,
        bytes(range(256)),
        b"\x7fELF" + os.urandom(999),
        b"- " * 9999,
    ],
    ids=["empty", "newline", "bom", "nul", "bytes", "binary", "deep"],
)
def test_any_bytes_give_findings_or_none(ds: Ds, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.yaml").write_bytes(data)
    for shape in ("text", "json", "sarif"):
        ran = ds("ds-contract-lint", "x.yaml", "--format", shape)
        assert ran.returncode in (0, 1), ran.stderr
        assert ran.stderr == b""
        if shape != "text":
            json.loads(ran.stdout)


def test_file_names_that_are_no_text(ds: Ds, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \x1b[31m.yaml")
    (tmp_path / name).write_bytes(BAD)
    for shape in ("text", "json", "sarif"):
        ran = ds("ds-contract-lint", name, "--format", shape)
        assert ran.returncode == 1, ran.stderr
        assert b"\x1b" not in ran.stdout


def test_standard_input(ds: Ds) -> None:
    ran = ds("ds-contract-lint", "-", "--stdin-name", "staged/ds_config.yaml", "-q", stdin=LEVEL)
    assert ran.returncode == 1
    assert ran.stdout.startswith(b"staged/ds_config.yaml:2:")


@pytest.mark.parametrize("locale", ["C", "en_US.ISO-8859-1", "C.UTF-8"])
def test_locale_changes_no_finding(ds: Ds, tmp_path: Path, locale: str) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes("名字: 智能体 😀\nversion: 1\n".encode())
    ran = ds("ds-contract-lint", LC_ALL=locale, PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")
    assert ran.returncode == 1
    assert ran.stderr == b""
    assert b"dsandbox.yaml:1:1: error[DS101]" in ran.stdout


def test_select_and_ignore(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)

    def codes(*words: str) -> list[str]:
        found = json.loads(ds("ds-contract-lint", "-f", "json", *words).stdout)["diagnostics"]
        return [one["code"] for one in found]

    assert codes("--select", "DS5") == ["DS503", "DS505"]
    assert codes("--select", "ds503,DS601") == ["DS601", "DS503"]
    assert codes("--select", "DS5", "--ignore", "DS505") == ["DS503"]
    assert "DS503" not in codes("--ignore", "DS503")


def test_a_broken_text_is_never_passed_in_silence(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(b"a: [1\n")
    assert ds("ds-contract-lint", "--select", "DS505").returncode == 1
    assert ds("ds-contract-lint", "--ignore", "DS002").returncode == 1


def test_a_code_that_is_none(ds: Ds) -> None:
    ran = ds("ds-contract-lint", "--select", "DS5O3")
    assert ran.returncode == 2
    assert b"did you mean" in ran.stderr


def test_remarks_alone_are_no_failure(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    ran = ds("ds-contract-lint", "--select", "DS310")
    assert b"info[DS310]" in ran.stdout
    assert ran.returncode == 0


def test_exit_zero(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    assert ds("ds-contract-lint", "--exit-zero").returncode == 0
    assert ds("ds-contract-lint", "--exit-zero", "nope.yaml").returncode == 3


def test_output_to_a_file(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    ran = ds("ds-contract-lint", "-f", "sarif", "-o", "lint.sarif")
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert json.loads((tmp_path / "lint.sarif").read_text())["version"] == "2.1.0"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dsandbox.yaml", "lint.sarif"]


def test_output_to_where_it_cannot_go(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    one_line(ds("ds-contract-lint", "-o", "no/such/folder/x"), "no/such/folder/x")
    one_line(ds("ds-contract-lint", "-o", "."), "could not be written")


@pytest.mark.battery
def test_colours(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)

    def colored(*words: str, **environment: str) -> bool:
        return b"\x1b[" in ds("ds-contract-lint", *words, **environment).stdout

    assert not colored()
    assert colored("--color", "always")
    assert colored(FORCE_COLOR="1")
    assert not colored(FORCE_COLOR="1", NO_COLOR="1")
    assert colored("--color=always", NO_COLOR="1")
    assert not colored("--color=never", FORCE_COLOR="1")


def test_colour_setting(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    assert ds("dsctl", "config", "set", "color", "always").returncode == 0
    assert b"\x1b[" in ds("ds-contract-lint").stdout
    assert b"\x1b[" not in ds("ds-contract-lint", NO_COLOR="1").stdout
    assert b"\x1b[" not in ds("ds-contract-lint", "--color", "never").stdout


@pytest.mark.parametrize("columns", ["40", "60", "80", "100"])
def test_prose_fits_the_columns(ds: Ds, tmp_path: Path, columns: str) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD + b"description: " + b"word " * 50 + b"\n")
    lines = ds("ds-contract-lint", COLUMNS=columns).stdout.decode().splitlines()
    for line in lines:
        head = ": error[" in line or ": info[" in line or ": warning[" in line
        assert head or len(line) <= int(columns), line


def on_terminal(words: list[str], cwd: Path, **environment: str) -> tuple[int, str]:
    """Run with a terminal as output; exit code and what it received."""
    master, slave = pty.openpty()
    running = subprocess.Popen(
        command("ds-contract-lint", *words), stdout=slave, stdin=slave, cwd=cwd, env=os.environ | environment
    )
    os.close(slave)
    received = b""
    try:
        while data := os.read(master, 65536):
            received += data
    except OSError:
        pass  # how Linux says that the other end is closed
    os.close(master)
    return running.wait(timeout=60), received.decode()


def test_a_terminal_gets_colours(tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    code, text = on_terminal([], tmp_path, TERM="xterm")
    assert code == 1
    assert "\x1b[1;31merror[DS503]\x1b[0m" in text
    assert "\x1b[" not in on_terminal([], tmp_path, TERM="dumb")[1]
    assert "\x1b[" not in on_terminal([], tmp_path, TERM="xterm", NO_COLOR="1")[1]


@pytest.mark.battery
def test_a_reader_that_has_enough(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "bad" / "dsandbox.yaml", tmp_path)
    (tmp_path / "many.yaml").write_bytes(b"".join(b"key%d: 1\n" % at for at in range(3000)))
    lint = subprocess.Popen(
        command("ds-contract-lint", "many.yaml"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert lint.stdout is not None
    assert lint.stderr is not None
    assert b"many.yaml:1:1" in lint.stdout.readline()
    lint.stdout.close()
    assert lint.wait(timeout=60) == 141
    assert lint.stderr.read() == b""
    lint.stderr.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(tmp_path: Path, number: signal.Signals, code: int) -> None:
    pipe = tmp_path / "never.yaml"
    os.mkfifo(pipe)
    lint = subprocess.Popen(
        command("ds-contract-lint", "never.yaml"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    writer = None
    deadline = time.monotonic() + 30
    while writer is None and time.monotonic() < deadline:
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)  # fails until the linter reads
        except OSError:
            time.sleep(0.01)
    assert writer is not None, f"the linter has not opened its file; it left with {lint.poll()}"
    lint.send_signal(number)
    out, err = lint.communicate(timeout=60)
    os.close(writer)
    assert lint.returncode in (code, -number), (out, err)
    assert (out, err) == (b"", b"")


@pytest.mark.parametrize("stream", ["1", "2", "0"])
def test_closed_streams(tmp_path: Path, stream: str) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    argv = command("ds-contract-lint")
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {stream}>&-', "sh", *argv],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == {"0": 1, "1": 3, "2": 1}[stream]
    assert b"Traceback" not in done.stderr + done.stdout


def test_the_contract_is_held_against_the_agents_code(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    call = "import requests\n\ndef look():\n    requests.get('https://api.example.org/x')\n"
    (tmp_path / "agent" / "tool.py").write_text(call)
    (tmp_path / "dsandbox.yaml").write_bytes(CLEAN + b"security_policy:\n  network:\n    egress: []\n")
    assert b"DS80" not in ds("ds-contract-lint").stdout
    held = ds("ds-contract-lint", "--code", "agent", "--format", "json")
    assert held.returncode == 1
    [one] = [one for one in json.loads(held.stdout)["diagnostics"] if one["code"] == "DS801"]
    assert "api.example.org" in one["message"]
    assert one["related"][0]["place"]["file"].endswith("tool.py")
    one_line(ds("ds-contract-lint", "--code", "none"), "none does not exist")


def test_a_pattern_that_nothing_matches_is_not_called_a_file(ds: Ds, tmp_path: Path) -> None:
    ran = ds("ds-contract-lint", "jobs/*.yaml")
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert b"no file matches jobs/*.yaml (hint: check the pattern and the folder)" in ran.stderr
    (tmp_path / "jobs").mkdir()
    ran = ds("ds-contract-lint", "jo*/")
    assert b"no file matches jo*/ (hint: it matches folders only; name files: jo*/*.yaml)" in ran.stderr


def test_rules_are_chosen_by_name_too(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text("version: 1.10\nnmae: x\n")
    by_name = ds("ds-contract-lint", "-q", "--select", "unknown-key, Version-Reads-As-Number")
    by_code = ds("ds-contract-lint", "-q", "--select", "DS101,ds103")
    assert (by_name.returncode, by_name.stdout) == (1, by_code.stdout)
    assert b"DS101" not in ds("ds-contract-lint", "-q", "--ignore", "unknown-key").stdout
    ran = ds("ds-contract-lint", "--ignore", "unknwon-key")
    assert ran.returncode == 2
    assert b"no rule's code begins with 'unknwon-key' (hint: did you mean 'unknown-key'?)" in ran.stderr
    entry = 'files = ["*"]\ncodes = ["unknown-key"]\nreason = "x"\n'
    (tmp_path / ".dsec.toml").write_text(f"[[lint.per-file-ignores]]\n{entry}")
    assert b"(hint: did you mean 'DS101'?)" in ds("ds-contract-lint").stderr


def test_a_suppression_by_name_holds_and_a_misspelt_one_is_told(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text("nmae: x  # dsec: ignore[unknown-key] as it is\n")
    assert b"DS101" not in ds("ds-contract-lint", "--select", "DS101,DS902").stdout
    (tmp_path / "dsandbox.yaml").write_text("nmae: x  # dsec: ignore[DS1O1] as it is\n")
    assert b"help: did you mean 'DS101'?" in ds("ds-contract-lint", "--select", "DS902").stdout


def test_steps_beside_a_contract_that_has_its_own_are_an_error_as_for_a_plan(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes((ROOT / "examples" / "hello" / "dsandbox.yaml").read_bytes())
    assert ds("ds-contract-lint", "dsandbox.yaml").returncode == 0
    (tmp_path / "ds_config.yaml").write_text("steps:\n  - {id: a, run: 'true', timeout: 1m}\n")
    found = ds("ds-contract-lint", "dsandbox.yaml")
    assert found.returncode == 1, "an answer of before the file was there is not given again"
    assert b"error[DS117]" in found.stdout
