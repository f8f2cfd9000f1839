"""Fetching over HTTP, from a server on this machine's loopback."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dsec.plan import Dependency, Source
from dsec.registry import Surroundings, check
from dsec.stores import LIMITS, HttpStore, Limits

BODY = b"weights" * 100_000
HASH = "sha256:" + hashlib.sha256(BODY).hexdigest()
ASKED: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """Serves BODY in several good and bad ways."""

    def do_GET(self) -> None:
        ASKED.append(self.path)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.end_headers()
            return
        if self.path == "/loop":
            self.send_response(302)
            self.send_header("Location", "/loop")
            self.end_headers()
            return
        if self.path == "/file":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
            return
        if self.path not in ("/good", "/short", "/silent", "/bucket/a%20b/c"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY) + (self.path == "/short")))
        self.end_headers()
        if self.path == "/silent":
            self.server.silence.wait(20)  # type: ignore[attr-defined]
        else:
            self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    ASKED.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.silence = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.silence.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


def around(
    tmp_path: Path, *, limits: Limits = LIMITS, fetching: bool = True, endpoint: str = ""
) -> Surroundings:
    store = HttpStore(limits) if fetching else None
    return Surroundings("/nowhere", str(tmp_path), str(tmp_path / "cache"), endpoint, store, limits)


def look(source: str, where: Surroundings, *, content_hash: str = HASH) -> tuple[str, str, str]:
    one = Dependency("m", "model", "1.0.0", source, content_hash, Source("dsandbox.yaml", 1, 1))
    (found,) = check((one,), where)
    left = os.listdir(where.cache) if os.path.isdir(where.cache) else []
    assert left == ([HASH.replace(":", "-")] if found.verdict == "verified" else []), "nothing half is kept"
    return found.verdict, found.text, found.path


@pytest.mark.parametrize("path", ["/good", "/moved"])
def test_what_has_the_stated_hash_is_kept_under_it_and_fetched_once(
    base: str, tmp_path: Path, path: str
) -> None:
    verdict, _, kept = look(base + path, around(tmp_path))
    assert verdict == "verified"
    assert Path(kept).read_bytes() == BODY
    asked = len(ASKED)
    assert look(base + path, around(tmp_path))[0] == "verified"
    assert look(base + path, around(tmp_path, fetching=False))[0] == "verified"
    assert len(ASKED) == asked


def test_another_content_is_wrong_and_not_kept(base: str, tmp_path: Path) -> None:
    other = "sha256:" + "0" * 64
    verdict, text, _ = look(f"{base}/good", around(tmp_path), content_hash=other)
    assert verdict == "wrong"
    assert HASH in text
    assert other in text


def test_kept_content_that_was_changed_is_noticed(base: str, tmp_path: Path) -> None:
    _, _, kept = look(f"{base}/good", around(tmp_path))
    Path(kept).write_bytes(b"other")
    one = Dependency("m", "model", "1.0.0", f"{base}/good", HASH, Source("dsandbox.yaml", 1, 1))
    assert check((one,), around(tmp_path))[0].verdict == "wrong"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/none", "the store answered 404"),
        ("/short", f"sent {len(BODY)} of {len(BODY) + 1} bytes"),
        ("/file", "the store answered 302"),
        ("/loop", "the store answered 302"),
    ],
)
def test_what_the_store_does_not_give_is_unknown(base: str, tmp_path: Path, path: str, words: str) -> None:
    verdict, text, _ = look(base + path, around(tmp_path))
    assert verdict == "unknown"
    assert words in text


@pytest.mark.parametrize(
    ("path", "limits", "words"),
    [
        ("/good", Limits(size_bytes=len(BODY) - 1), "larger than 699,999 bytes"),
        ("/good", Limits(whole_s=0.0), "not there after 0 s"),
        ("/silent", Limits(silence_s=0.2), "timed out"),
    ],
)
def test_size_and_time_are_bounded(base: str, tmp_path: Path, path: str, limits: Limits, words: str) -> None:
    verdict, text, _ = look(base + path, around(tmp_path, limits=limits))
    assert verdict == "unknown"
    assert words in text


def test_a_server_that_is_not_there_is_unknown(base: str, tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        verdict, text, _ = look(f"http://127.0.0.1:{taken.getsockname()[1]}/x", around(tmp_path))
    assert verdict == "unknown"
    assert "Connection refused" in text


@pytest.mark.parametrize(
    "source", ["http://", "http://[", "https://127.0.0.1:1", "https://a b/", "http://127.0.0.1:99999/"]
)
def test_urls_that_are_none_are_unknown(base: str, tmp_path: Path, source: str) -> None:
    assert look(source, around(tmp_path))[0] == "unknown"


def test_nothing_is_fetched_unasked_or_without_a_hash(base: str, tmp_path: Path) -> None:
    verdict, text, _ = look(f"{base}/good", around(tmp_path, fetching=False))
    assert (verdict, text) == ("unverified", "not verified: no access was asked for")
    verdict, text, _ = look(f"{base}/good", around(tmp_path), content_hash="")
    assert verdict == "unverified"
    assert "no hash stated" in text
    assert ASKED == []


def test_buckets_are_read_through_the_endpoint(base: str, tmp_path: Path) -> None:
    verdict, text, _ = look("s3://bucket/a b/c", around(tmp_path))
    assert verdict == "unverified"
    assert "no access" in text
    assert look("s3://bucket/a b/c", around(tmp_path, endpoint=f"{base}/"))[0] == "verified"
    assert ASKED == ["/bucket/a%20b/c"]
    verdict, text, _ = look("s3://etc/passwd", around(tmp_path / "new", endpoint="file://"))
    assert verdict == "unknown"
    assert "no http(s) URL" in text
