"""Hostile files opened in an editor: the server answers each, and still lives."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hostile.files import FILES, GOOD

LONGEST_S = 60
"""Wall time for an answer; tests share their processors."""
SAMPLE = ("alias-bomb", "deep-flow", "recursive-step", "not-characters", "long-quoted-line", "cr")


class Editor:
    """Speaks with `dsec lsp` over standard input and output."""

    def __init__(self, folder: Path) -> None:
        self.server = subprocess.Popen(
            [str(Path(sys.executable).with_name("dsec")), "lsp"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.asked = 0

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """Send a request; its result."""
        self.asked += 1
        self._send({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
        while (said := self._next()).get("id") != self.asked:
            continue
        assert "error" not in said, said
        return said["result"]

    def findings(self, version: int) -> list[Any]:
        """What is published of a version of the file."""
        while (said := self._next()).get("method") != "textDocument/publishDiagnostics" or said["params"].get(
            "version"
        ) != version:
            assert said.get("method") != "window/showMessage", said
        found: list[Any] = said["params"]["diagnostics"]
        return found

    def _send(self, said: Any) -> None:
        assert self.server.stdin is not None
        data = json.dumps(said).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.server.stdin.flush()

    def _next(self) -> Any:
        assert self.server.stdout is not None
        size = 0
        while line := self.server.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.partition(b":")[2])
        assert size, "the server went away"
        return json.loads(self.server.stdout.read(size))


def visited(names: tuple[str, ...], folder: Path) -> None:
    """One server that is shown every file, after a good one and before it."""
    uri = (folder / "dsandbox.yaml").as_uri()
    document = {"uri": uri, "languageId": "yaml", "version": 0, "text": GOOD.decode()}
    editor = Editor(folder)
    try:
        editor.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        editor.tell("initialized", {})
        editor.tell("textDocument/didOpen", {"textDocument": document})
        assert editor.findings(0) == []
        for version, name in enumerate(names, 1):
            began, found = time.monotonic(), [None]
            text = FILES[name].decode("utf-8", "replace")
            for number, content in ((2 * version - 1, text), (2 * version, GOOD.decode())):
                change = {"textDocument": {"uri": uri, "version": number}}
                editor.tell("textDocument/didChange", change | {"contentChanges": [{"text": content}]})
                found = editor.findings(number)
                place = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 5}}
                editor.ask("textDocument/hover", place)
                editor.ask("textDocument/completion", place)
            assert [one for one in found if one["severity"] < 3] == [], name
            assert time.monotonic() - began < LONGEST_S, name
        editor.ask("shutdown", None)
        editor.tell("exit", None)
        assert editor.server.wait(30) == 0
    finally:
        editor.server.kill()
        editor.server.communicate()


@pytest.mark.battery
def test_hostile_files_are_answered_in_an_editor(tmp_path: Path) -> None:
    visited(SAMPLE, tmp_path)


@pytest.mark.battery
@pytest.mark.parametrize("part", range(8))
def test_every_hostile_file_is_answered_in_an_editor(part: int, tmp_path: Path) -> None:
    visited(tuple(sorted(FILES)[part::8]), tmp_path)
