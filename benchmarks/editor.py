"""How long an editor waits for the language server: a contract of 1,000 lines, over pipes.

    python benchmarks/editor.py [--lines 1000] [--keys 30]

Each key changes the Step in the middle; measured are the milliseconds from sending the change until
the findings have come and are read as JSON, and from asking for completion and hover to their answers.
Medians and the 95th percentile, and the processor time of the server for one change.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

HEAD = """\
version: "1.2.0"
baseline:
  gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
elasticity:
  gpu: {min_count: 2, max_count: 4}
fault_tolerance: {level: critical, checkpoint_grace_period: 30s}
dependencies: []
nvlink_mode: switched
steps:
"""
STEP = """\
  - id: S{at}
    run: python step.py --number {at}
    timeout: 60s
    level: {level}
    needs: [{before}]
    resources:
      cpu: 2
      memory: 4Gi
      gpu: {{count: 1, memory: 12Gi}}
    outputs: ["{{run}}/{at}.npz"]
"""


def contract(lines: int, level: str) -> str:
    """A chain of Steps of ten lines each; `pauseable` ones get one finding more each."""
    count = max(1, (lines - HEAD.count("\n")) // STEP.count("\n"))
    return HEAD + "".join(
        STEP.format(at=at, level=level, before=f"S{at - 1}" if at else "") for at in range(count)
    )


class Editor:
    """The protocol and nothing else: what an editor does with findings is its own time."""

    def __init__(self, server: asyncio.subprocess.Process) -> None:
        self.server = server
        self._asked = 0

    def tell(self, method: str, params: object, **more: object) -> None:
        """Send a notification."""
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def ask(self, method: str, params: object) -> object:
        """Send a request and wait for its answer."""
        self._asked += 1
        self.tell(method, params, id=self._asked)
        while (message := await self.heard()).get("id") != self._asked:
            pass
        return message["result"]

    async def findings(self, version: int) -> list[object]:
        """Wait for the findings of a version."""
        while True:
            params = (await self.heard()).get("params") or {}
            if params.get("version") == version:
                return params["diagnostics"]

    async def heard(self) -> dict[str, object]:
        """The next message."""
        head = await self.server.stdout.readuntil(b"\r\n\r\n")
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
        return json.loads(await self.server.stdout.readexactly(int(length.split(b":")[1])))

    def busy_ms(self) -> float:
        """Processor time that the server has taken so far (Linux)."""
        threads = Path(f"/proc/{self.server.pid}/task").iterdir()
        return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1e6


async def measure(lines: int, keys: int, level: str) -> tuple[int, dict[str, list[float]]]:
    """Number of findings, and milliseconds per question."""
    server = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("dsec")),
        "lsp",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    editor = Editor(server)
    await editor.ask("initialize", {"capabilities": {}, "processId": None, "rootUri": None})
    editor.tell("initialized", {})
    text, uri = contract(lines, level), Path("dsandbox.yaml").absolute().as_uri()
    document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
    editor.tell("textDocument/didOpen", {"textDocument": document})
    found = await editor.findings(1)
    place = {"textDocument": {"uri": uri}, "position": {"line": 12, "character": 6}}
    took: dict[str, list[float]] = {"findings": [], "completion": [], "hover": [], "server's CPU": []}

    async def timed(name: str, answer: Awaitable[object]) -> None:
        begun = time.perf_counter()
        await answer
        took[name].append((time.perf_counter() - begun) * 1000)

    for version in range(2, keys + 2):
        middle = text.index("\n", len(text) // 2 + text[len(text) // 2 :].index("--number"))
        text = text[:middle] + "1" + text[middle:]
        busy, begun = editor.busy_ms(), time.perf_counter()
        change = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
        editor.tell("textDocument/didChange", change)
        await editor.findings(version)
        took["findings"].append((time.perf_counter() - begun) * 1000)
        took["server's CPU"].append(editor.busy_ms() - busy)
        await timed("completion", editor.ask("textDocument/completion", place))
        await timed("hover", editor.ask("textDocument/hover", place))
    await editor.ask("shutdown", None)
    editor.tell("exit", None)
    await server.wait()
    return len(found), took


def main() -> None:
    """Print one line per question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=30)
    asked = parser.parse_args()
    for level in ("critical", "pauseable"):
        found, took = asyncio.run(measure(asked.lines, asked.keys, level))
        print(f"{asked.lines} lines, {found} findings")
        for name, values in took.items():
            worst = statistics.quantiles(values, n=20)[-1]
            print(f"  {name:<12} median {statistics.median(values):6.1f} ms   p95 {worst:6.1f} ms")


if __name__ == "__main__":
    main()
