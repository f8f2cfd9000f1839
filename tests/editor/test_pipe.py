"""`dsec lsp` over every kind of standard input: a pipe, a file, one socket for both ways."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

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


def test_a_pipe_and_a_file_give_the_same_answers(tmp_path: Path) -> None:
    (tmp_path / "session").write_bytes(SESSION + END)
    piped = subprocess.run(DSEC, input=SESSION + END, capture_output=True, timeout=60)
    with (tmp_path / "session").open("rb") as file:
        filed = subprocess.run(DSEC, stdin=file, capture_output=True, timeout=60)
    assert b'"DS106"' in piped.stdout
    assert (piped.returncode, filed.returncode) == (0, 0)
    assert filed.stdout == piped.stdout


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


@pytest.mark.parametrize("end", [len(SESSION) - 10, len(SESSION) - 400, len(SESSION)])
def test_an_editor_that_dies_ends_the_server_quietly(end: int) -> None:
    done = subprocess.run(DSEC, input=SESSION[:end], capture_output=True, timeout=60)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0
