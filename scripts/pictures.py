"""Draw the pictures of the README anew: `make pictures`. Needs Chromium and numpy; the example really runs.

The large graph is made up: 124 shards of prompts are sampled and scored on eight GPUs, then one update.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 150_000
COLOURS = 256
SHARDS, SCORES = 124, 12


def large() -> Iterator[str]:
    """The lines of a contract of 2,000 Steps."""
    yield "name: grpo-2000"
    yield "baseline: {cpu: 64, memory: 512GiB, gpu: {count: 8, memory: 80GiB}}"
    yield "steps:"
    yield _step("load", 20, "cpu: 8, memory: 16GiB")
    yield _step("publish", 15, "cpu: 2", "load")
    for at in range(SHARDS):
        yield _step(f"tokenise-{at}", 2 + at % 3, "cpu: 2, memory: 2GiB", "load")
        sample = f"tokenise-{at}", "publish"
        yield _step(f"rollout-{at}", 30 + at * 7 % 23, "cpu: 4, memory: 16GiB, gpu: 60GiB", *sample)
        scores = [f"score-{at}-{number}" for number in range(SCORES)]
        for number, name in enumerate(scores):
            yield _step(name, 3 + at * number % 9, "cpu: 1, memory: 1GiB", f"rollout-{at}")
        yield _step(f"judge-{at}", 8 + at % 7, "cpu: 1, memory: 4GiB, gpu: 20GiB", f"rollout-{at}")
        yield _step(f"pack-{at}", 2, "cpu: 1, memory: 1GiB", f"judge-{at}", *scores)
    yield _step("merge", 10, "cpu: 8, memory: 64GiB", *(f"pack-{at}" for at in range(SHARDS)))
    for at in range(8):
        yield _step(f"gradient-{at}", 90, "cpu: 4, memory: 32GiB, gpu: 70GiB", "merge")
    update = (f"gradient-{at}" for at in range(8))
    yield _step("update", 45, "cpu: 16, memory: 64GiB, gpu: {count: 8, memory: 40GiB}", *update)
    yield _step("save", 20, "cpu: 2", "update")
    yield _step("evaluate", 60, "cpu: 8, gpu: {count: 4, memory: 40GiB}", "update")
    yield _step("plot", 5, "cpu: 1", "evaluate")
    yield _step("report", 5, "cpu: 1", "save", "plot")


LEVELS = {
    "rollout": "elastic",
    "judge": "elastic",
    "score": "discardable",
    "gradient": "critical",
    "update": "critical",
    "evaluate": "discardable",
    "plot": "discardable",
    "report": "discardable",
}


def _step(name: str, seconds: int, takes: str, *needs: str) -> str:
    takes = takes.replace("gpu: 60GiB", "gpu: {count: 1, memory: 60GiB}")
    takes = takes.replace("gpu: 20GiB", "gpu: {count: 1, memory: 20GiB}")
    takes = takes.replace("gpu: 70GiB", "gpu: {count: 1, memory: 70GiB}")
    kind = name.partition("-")[0]
    return (
        f"  - {{id: {name}, run: python {kind}.py, level: {LEVELS.get(kind, 'pauseable')}, timeout: 20m, "
        f"expected_duration: {seconds}s, needs: [{', '.join(needs)}], resources: {{{takes}}}}}"
    )


def main() -> None:
    """Both pages, light and dark."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"pictures need a browser: none of {', '.join(BROWSERS)} is installed")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, page in (("example", _example(folder)), ("large", _large(folder))):
            for theme in ("light", "dark"):
                drawn = squeezed(_shot(browser, page, theme, folder))
                (PICTURES / f"{name}-{theme}.png").write_bytes(drawn)
                sys.stdout.write(f"docs/pictures/{name}-{theme}.png: {len(drawn)} bytes\n")
                if len(drawn) > MOST_BYTES:
                    sys.exit(f"that is more than {MOST_BYTES}")


def _example(folder: str) -> Path:
    """The page of the shipped example, planned and as it ran."""
    job = Path(folder, "grpo-addition")
    shutil.copytree(ROOT / "examples" / job.name, job, ignore=shutil.ignore_patterns(".*"))
    _dsec(job, "plan", "dsandbox.yaml", "-o", "plan.json")
    _dsec(job, "run", "plan.json", "--job-id", "tour")
    _dsec(job, "dag", "--job-id", "tour", "--output", "html", "-o", "page.html")
    return job / "page.html"


def _large(folder: str) -> Path:
    job = Path(folder, "large")
    job.mkdir()
    (job / "dsandbox.yaml").write_text("\n".join(large()) + "\n", encoding="utf-8")
    _dsec(job, "dag", "dsandbox.yaml", "--output", "html", "-o", "page.html")
    return job / "page.html"


def _dsec(folder: Path, *words: str) -> None:
    path = os.pathsep.join((str(ROOT), str(ROOT / "runtime")))
    code = "import sys\nfrom dsec_cli.fast import dsec\nsys.exit(dsec())"
    env = {**os.environ, "PYTHONPATH": path}
    subprocess.run(
        [sys.executable, "-c", code, *words], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL
    )


def _shot(browser: str, page: Path, theme: str, folder: str) -> bytes:
    place = Path(folder, "shot.png")
    line = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    line += ["--virtual-time-budget=5000", f"--user-data-dir={folder}/profile"]
    line += [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={place}", f"file://{page}?theme={theme}"]
    subprocess.run(line, check=True, capture_output=True, timeout=120)
    return place.read_bytes()


def squeezed(png: bytes) -> bytes:
    """The picture with its most frequent colours alone, each other pixel in the nearest of them."""
    pixels = _pixels(png)
    height, width, _ = pixels.shape
    flat = pixels.reshape(-1, pixels.shape[2])[:, :3].astype(np.int64)
    keys, which, counts = np.unique(
        flat[:, 0] << 16 | flat[:, 1] << 8 | flat[:, 2], return_inverse=True, return_counts=True
    )
    palette = np.sort(keys[np.argsort(-counts, kind="stable")[:COLOURS]])
    far = sum(((keys[:, None] >> at & 255) - (palette[None, :] >> at & 255)) ** 2 for at in (0, 8, 16))
    rows = np.argmin(far, axis=1)[which].astype(np.uint8).reshape(height, width)
    lines = np.insert(rows, 0, 0, axis=1).tobytes()
    table = b"".join(int(one).to_bytes(3, "big") for one in palette)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", table), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in parts)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _pixels(png: bytes) -> np.ndarray:
    """Rows of pixels of an 8-bit RGB or RGBA picture."""
    at, data, size = 8, b"", (0, 0, 0)
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            size = height, width, {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    height, width, depth = size
    raw = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * depth)
    out = np.zeros((height + 1, width + 1, depth), np.int64)
    for row in range(height):
        _unfilter(int(raw[row, 0]), raw[row, 1:].reshape(width, depth), out[row], out[row + 1])
    return out[1:, 1:].astype(np.uint8)


def _unfilter(how: int, line: np.ndarray, above: np.ndarray, into: np.ndarray) -> None:
    """One row (PNG specification, 9.2); `above` and `into` begin with a pixel of zeros."""
    if how in (0, 2):
        into[1:] = (line + (above[1:] if how == 2 else 0)) & 255
        return
    if how == 1:
        into[1:] = np.cumsum(line, axis=0) & 255
        return
    for at in range(1, len(into)):
        left, up = into[at - 1], above[at]
        if how == 3:
            guess = left + up >> 1
        else:
            corner = above[at - 1]
            a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
        into[at] = (line[at - 1] + guess) & 255


if __name__ == "__main__":
    main()
