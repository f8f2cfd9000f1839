"""How long an editor waits for the language server: a contract of 1,000 lines, a real client over pipes.

    python benchmarks/editor.py [--lines 1000] [--keys 30]

Each key changes the text; measured are the milliseconds from sending the change to the published
findings, and from asking for completion and hover to their answers. Medians and the 95th percentile.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

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
    """A chain of Steps of ten lines each; `pauseable` ones get a remark each."""
    count = max(1, (lines - HEAD.count("\n")) // STEP.count("\n"))
    return HEAD + "".join(
        STEP.format(at=at, level=level, before=f"S{at - 1}" if at else "") for at in range(count)
    )


async def measure(lines: int, keys: int, level: str) -> dict[str, list[float]]:
    """Milliseconds per question."""
    editor = LanguageClient("bench", "1")
    news = asyncio.Queue()
    editor.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: news.put_nowait(params.version))
    await editor.start_io(str(Path(sys.executable).with_name("dsec")), "lsp")
    await editor.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
    editor.initialized(types.InitializedParams())
    text, uri = contract(lines, level), Path("dsandbox.yaml").absolute().as_uri()
    editor.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, text))
    )
    await news.get()
    there, place = types.TextDocumentIdentifier(uri), types.Position(12, 6)
    took: dict[str, list[float]] = {"findings": [], "completion": [], "hover": []}
    for version in range(2, keys + 2):
        text += "# key\n"
        begun = time.perf_counter()
        editor.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        await news.get()
        took["findings"].append((time.perf_counter() - begun) * 1000)
        begun = time.perf_counter()
        await editor.text_document_completion_async(types.CompletionParams(there, place))
        took["completion"].append((time.perf_counter() - begun) * 1000)
        begun = time.perf_counter()
        await editor.text_document_hover_async(types.HoverParams(there, place))
        took["hover"].append((time.perf_counter() - begun) * 1000)
    await editor.shutdown_async(None)
    editor.exit(None)
    await editor.stop()
    return took


def main() -> None:
    """Print one line per question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=30)
    asked = parser.parse_args()
    for level, what in (("critical", "no finding"), ("pauseable", "a remark on every Step")):
        print(f"{asked.lines} lines, {what}")
        for name, values in asyncio.run(measure(asked.lines, asked.keys, level)).items():
            worst = statistics.quantiles(values, n=20)[-1]
            print(f"  {name:<11} median {statistics.median(values):6.1f} ms   p95 {worst:6.1f} ms")


if __name__ == "__main__":
    main()
