"""`dsec lsp` over every kind of standard input: a pipe, a file, one socket for both ways."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DSEC = (str(Path(sys.executable).with_name("dsec")), "lsp")
TEXT = "baseline:\n  gpu: {count: 2, memory: 24G}\n"


def message(method: str, params: object, **more: object) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


SESSION = (
    message("initialize", {"capabilities": {}, "processId": None, "rootUri": None}, id=1)
    + message("initialized", {})
    + message(
        "textDocument/didOpen",
        {"textDocument": {"uri": "file:///a.yaml", "languageId": "yaml", "version": 1, "text": TEXT}},
    )
)
END = message("shutdown", None, id=2) + message("exit", None)


@pytest.mark.battery
def test_a_pipe_and_a_file_give_the_same_answers(tmp_path: Path) -> None:
    (tmp_path / "session").write_bytes(SESSION + END)
    piped = subprocess.run(DSEC, input=SESSION + END, capture_output=True, timeout=60)
    with (tmp_path / "session").open("rb") as file:
        filed = subprocess.run(DSEC, stdin=file, capture_output=True, timeout=60)
    assert b'"DS106"' in piped.stdout
    assert (piped.returncode, filed.returncode) == (0, 0)
    assert filed.stdout == piped.stdout


@pytest.mark.battery
def test_one_socket_may_be_both_ways() -> None:
    ours, theirs = socket.socketpair()
    with ours, subprocess.Popen(DSEC, stdin=theirs, stdout=theirs) as server:
        theirs.close()
        ours.sendall(SESSION + END)
        heard = b""
        while part := ours.recv(1 << 16):
            heard += part
        assert server.wait(60) == 0
    assert b'"DS106"' in heard


@pytest.mark.battery
@pytest.mark.parametrize("end", [len(SESSION) - 10, len(SESSION) - 400, len(SESSION)])
def test_an_editor_that_dies_ends_the_server_quietly(end: int) -> None:
    done = subprocess.run(DSEC, input=SESSION[:end], capture_output=True, timeout=60)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0


INVALID, NOBODY = -32602, None
HOVER = "textDocument/hover"
HERE = {"uri": "file:///a.yaml"}


def raw(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def answers(out: bytes) -> list[dict[str, Any]]:
    """All messages of the server, without their headers."""
    found = []
    while out:
        head, _, rest = out.partition(b"\r\n\r\n")
        size = int(re.findall(rb"Content-Length: (\d+)", head)[0])
        found.append(json.loads(rest[:size]))
        out = rest[size:]
    return found


WRONG: list[tuple[bytes, object, int]] = [
    (message(HOVER, {"textDocument": 5}, id=7), 7, INVALID),
    (message(HOVER, {"textDocument": HERE, "position": {"line": "a"}}, id="x"), "x", INVALID),
    (message(HOVER, {"textDocument": HERE, "position": {"line": -1, "character": 0}}, id=8), 8, INVALID),
    (message(HOVER, [1], id=9), 9, INVALID),
    (message(HOVER, None, id=10), 10, INVALID),
    (
        message(
            HOVER, {"textDocument": {"uri": "file:///b.yaml"}, "position": {"line": 0, "character": 0}}, id=11
        ),
        11,
        INVALID,
    ),
    (message("no/such", {}, id=12), 12, -32601),
    (message(HOVER, {}, id={"a": 1}), NOBODY, -32600),
    (raw(b"{no"), NOBODY, -32700),
    (raw(b"\xff\xfe"), NOBODY, -32700),
    (raw(b"[" * 100_000), NOBODY, -32700),
    (raw(b"[]"), NOBODY, -32600),
    (raw(b"5"), NOBODY, -32600),
    (raw(b'{"jsonrpc": "1.0", "id": 7, "method": "shutdown"}'), NOBODY, -32600),
]


@pytest.mark.battery
def test_what_is_wrong_with_a_request_is_answered() -> None:
    sent = b"".join(one for one, _, _ in WRONG)
    done = subprocess.run(DSEC, input=SESSION + sent + END, capture_output=True, timeout=60)
    told = [one for one in answers(done.stdout) if "error" in one]
    assert [(one["id"], one["error"]["code"]) for one in told] == [(asked, code) for _, asked, code in WRONG]
    assert b"Traceback" not in done.stderr + done.stdout
    assert done.returncode == 0


@pytest.mark.battery
def test_what_is_wrong_with_a_notification_is_logged_in_a_line() -> None:
    wrong = (
        message("textDocument/didOpen", {"textDocument": 7})
        + message("textDocument/didChange", {})
        + message("textDocument/didSave", {"textDocument": {"uri": "file:///b.yaml"}})
        + b"Content-Length: x\r\n\r\n"
    )
    done = subprocess.run(DSEC, input=SESSION + wrong + END, capture_output=True, timeout=60)
    assert [line.partition(":")[0] for line in done.stderr.decode().splitlines()] == ["dsec lsp"] * 3
    assert b"file:///b.yaml is not open" in done.stderr
    assert not [one for one in answers(done.stdout) if one.get("method") == "window/showMessage"]
    assert done.returncode == 0


@pytest.mark.battery
def test_the_editor_introduces_itself_first() -> None:
    early = message(HOVER, {"textDocument": HERE, "position": {"line": 0, "character": 0}}, id=7)
    done = subprocess.run(DSEC, input=early + SESSION + END, capture_output=True, timeout=60)
    first, *others = answers(done.stdout)
    assert (first["id"], first["error"]["code"]) == (7, -32002)
    assert others[0]["id"] == 1
