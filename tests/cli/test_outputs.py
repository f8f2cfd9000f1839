"""Where findings go, and which of them make the exit code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dsec_cli.commands import outputs
from dsec_cli.commands.configuring import NOTHING
from dsec_cli.commands.outputs import Copy, Output, wanted
from dsec_cli.exit import UsageError
from dsec_cli.report.output import stream

from .conftest import ROOT, Ran, command

Ds = Callable[..., Ran]
BAD = (ROOT / "examples" / "bad" / "dsandbox.yaml").read_bytes()
GOOD = (ROOT / "examples" / "hello" / "dsandbox.yaml").read_bytes()
GIVEN = {"output": (), "format": None, "output_file": None}


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, [("text", "")]),
        ({"format": "json"}, [("json", "")]),
        ({"output_file": "x"}, [("text", "x")]),
        ({"format": "json", "output_file": "x"}, [("json", "x")]),
        ({"output_file": "-"}, [("text", "")]),
        ({"output": ("sarif:a", "text")}, [("sarif", "a"), ("text", "")]),
        ({"output": ("json:a:b",)}, [("json", "a:b")]),
        ({"output": ("json:-",)}, [("json", "")]),
        ({"output": ("sarif:a",), "format": "text"}, [("text", ""), ("sarif", "a")]),
    ],
)
def test_what_the_command_line_asks_for(given: dict[str, object], asked: list[tuple[str, str]]) -> None:
    args = SimpleNamespace(**(GIVEN | given))
    assert wanted(args, NOTHING) == tuple(Output(*one) for one in asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"output": ("lint.sarif",)}, "no format 'lint.sarif'"),
        ({"output": ("jsn:x",)}, "no format 'jsn'"),
        ({"output": ("json:",)}, "no file behind 'json:'"),
        ({"output": ("text", "json")}, "two outputs go to standard output"),
        ({"output": ("text",), "format": "json"}, "two outputs go to standard output"),
        ({"output": ("text:x", "json:x")}, "two outputs go to x"),
    ],
)
def test_what_it_cannot_ask_for(given: dict[str, object], what: str) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        wanted(SimpleNamespace(**(GIVEN | given)), NOTHING)  # type: ignore[arg-type]
    assert caught.value.hint


def test_several_outputs_of_one_run(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    ran = ds(
        "ds-contract-lint", "--output", "text", "--output", "sarif:a.sarif", "--output=junit:j.xml", "-q"
    )
    assert ran.returncode == 1
    assert ran.stdout.startswith(b"dsandbox.yaml:4:")
    assert len(json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]) == 6
    assert (tmp_path / "j.xml").read_text().startswith("<?xml")


def test_only_files_leave_the_terminal_alone(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    ran = ds("ds-contract-lint", "--output", "json:a.json", FORCE_COLOR="1")
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, b"", b"")
    assert "\x1b" not in (tmp_path / "a.json").read_text()


def test_github_does_not_choose_the_format(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    plain = ds("ds-contract-lint").stdout
    assert ds("ds-contract-lint", GITHUB_ACTIONS="true", GITLAB_CI="true").stdout == plain


def test_an_output_that_cannot_be_written(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    plain = ds("ds-contract-lint", "--output", "text", "no.yaml", "dsandbox.yaml")
    files = ("json:no/such/x", "jsonl:good", "sarif:no/such/y")
    more = [word for file in files for word in ("--output", file)]
    ran = ds("ds-contract-lint", "--output", "text", *more, "no.yaml", "dsandbox.yaml")
    assert ran.returncode == 3
    told = ran.stderr.decode().splitlines()
    assert [line.partition(" could not be ")[0] for line in told] == [
        f"dsec: error: {name}" for name in ("no.yaml", "no/such/x", "no/such/y")
    ]
    assert ran.stdout == plain.stdout != b""
    assert (tmp_path / "good").read_bytes().startswith(b"{")


def test_an_output_never_replaces_what_is_checked(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD)
    (tmp_path / "link").symlink_to("dsandbox.yaml")
    for words in (("-o", "dsandbox.yaml"), ("--output", "json:./link", "dsandbox.yaml")):
        ran = ds("ds-contract-lint", *words)
        assert ran.returncode == 2
        assert b"is checked itself" in ran.stderr
        assert (tmp_path / "dsandbox.yaml").read_bytes() == BAD


@pytest.mark.parametrize(
    ("select", "fail_on", "code"),
    [
        ("DS503", "error", 1),
        ("DS503", "warning", 1),
        ("DS503", "info", 1),
        ("DS503", "never", 0),
        ("DS310", "error", 0),
        ("DS310", "warning", 0),
        ("DS310", "info", 1),
        ("DS903", "error", 0),
        ("DS903", "warning", 1),
    ],
)
def test_fail_on(ds: Ds, tmp_path: Path, select: str, fail_on: str, code: int) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(BAD + b"# dsec: ignore[DS203]\n")
    ran = ds("ds-contract-lint", "--select", select, "--fail-on", fail_on, "-q")
    assert ran.stdout.count(b"\n") == 1
    assert ran.returncode == code


def test_what_a_comment_silences_does_not_count_but_stays(ds: Ds, tmp_path: Path) -> None:
    text = BAD.replace(b"timeout: 5m}", b"timeout: 5m}\n  # dsec: ignore[DS505] it ends by itself")
    (tmp_path / "dsandbox.yaml").write_bytes(text)
    ran = ds("ds-contract-lint", "--select", "DS505")
    assert (ran.returncode, ran.stdout) == (0, b"1 file checked, nothing found, 1 silenced\n")
    document = json.loads(ds("ds-contract-lint", "--select", "DS505", "-f", "json").stdout)
    assert document["summary"] == {"error": 0, "warning": 0, "info": 0, "silenced": 1}
    (one,) = document["diagnostics"]
    assert one["silenced"] == {"by": "comment", "reason": "it ends by itself"}


def test_a_long_report_is_written_in_pieces(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    rest = iter(["x" * 70_000, "中\ud800", "y" * 10])
    stream(rest, str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == b"x" * 70_000 + "中\\ud800".encode() + b"y" * 10
    stream(["a", "b" * 70_000, "c"])
    assert capfdbinary.readouterr().out == b"a" + b"b" * 70_000 + b"c"


def test_a_report_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "x" * 70_000
        raise ZeroDivisionError

    file = tmp_path / "out"
    file.write_text("before")
    with pytest.raises(ZeroDivisionError):
        stream(pieces(), str(file))
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("out", "before")]


def test_a_copy_is_kept_of_what_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = Copy()
    assert list(copy.of(["a", "b"])) == ["a", "b"]
    assert copy.text == "ab"
    monkeypatch.setattr(outputs, "MOST_KEPT", 1)
    copy = Copy()
    assert list(copy.of(["a", "b"])) == ["a", "b"]
    assert copy.text is None


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_what_is_open_already_is_written_to_where_it_stands(ds: Ds, tmp_path: Path, name: str) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(GOOD)
    words = ("--output", f"json:{name}", "--output", "text", "dsandbox.yaml")
    piped = ds("ds-contract-lint", *words)
    for _ in range(2):  # nothing is answered from the cache, which knows standard output only
        piped = ds("ds-contract-lint", *words)
        assert b'"format": "dsec.lint/1"' in piped.stdout
        assert b"1 file checked" in piped.stdout
    with (tmp_path / "both").open("wb") as both:
        both.write(b"before\n")
        both.flush()
        line = command("ds-contract-lint", *words)
        assert subprocess.run(line, stdout=both, cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "both").read_bytes() == b"before\n" + piped.stdout


def test_a_plan_goes_to_a_pipe(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(GOOD)
    done = ds("dsec", "plan", "-o", "/dev/stdout")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b'{"')
    closed = ds("dsec", "plan", "-o", "/dev/fd/77")
    assert (closed.returncode, closed.stderr.count(b"\n")) == (3, 1)
