"""A package index on this machine's loopback, good and bad."""

from __future__ import annotations

import hashlib
import io
import json
import os
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MEDIA = "application/vnd.pypi.simple.v1+json"

Projects = dict[str, dict[str, dict[str, object]]]


def metadata(name: str, version: str, wants: list[str], python: str = "") -> bytes:
    """METADATA of one release."""
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {one}" for one in wants),
    ]
    return "\n".join([*lines, f"Requires-Python: {python}" if python else "", ""]).encode()


class Handler(BaseHTTPRequestHandler):
    """Answers from the server's `projects`; paths under /bad/ answer in bad ways."""

    def do_GET(self) -> None:
        server = self.server
        server.asked.append((self.path, self.headers.get("Authorization", "")))  # type: ignore[attr-defined]
        kind, _, rest = self.path.lstrip("/").partition("/")
        if kind == "simple":
            self._page(rest.strip("/"))
        elif kind == "files":
            self._metadata(rest)
        else:
            self._bad(kind)

    def _page(self, name: str) -> None:
        projects: Projects = self.server.projects  # type: ignore[attr-defined]
        if name not in projects:
            self.send_error(404)
            return
        files = [self._file(name, version, said) for version, said in projects[name].items()]
        document = {"meta": {"api-version": "1.1"}, "name": name, "files": files}
        self._send(json.dumps(document).encode(), MEDIA)

    def _file(self, name: str, version: str, said: dict[str, object]) -> dict[str, object]:
        wheel = f"{name.replace('-', '_')}-{version}-{said.get('tags', 'py3-none-any')}.whl"
        if said.get("sdist"):
            return {
                "filename": f"{name}-{version}.tar.gz",
                "url": f"/files/{name}-{version}.tar.gz",
                "hashes": {},
            }
        body = self._body_of(name, version)
        digest = (
            {"sha256": hashlib.sha256(body).hexdigest()}
            if not said.get("wrong-hash")
            else {"sha256": "0" * 64}
        )
        return {
            "filename": wheel,
            "url": f"{said.get('host', '')}/files/{name}/{version}/{wheel}",
            "hashes": {},
            "requires-python": said.get("python"),
            "yanked": said.get("yanked", False),
            "core-metadata": said.get("metadata", digest),
        }

    def _body_of(self, name: str, version: str) -> bytes:
        said = self.server.projects[name][version]  # type: ignore[attr-defined]
        return metadata(name, version, said.get("wants", []), said.get("python", ""))  # type: ignore[arg-type]

    def _metadata(self, rest: str) -> None:
        name, version, file = rest.split("/")
        beside = self.server.projects[name][version].get("beside", True)  # type: ignore[attr-defined]
        if file.endswith(".metadata"):
            if not beside:
                self.send_error(404)
                return
            self._send(self._body_of(name, version), "application/octet-stream")
            return
        assert not beside, "a wheel is read only where nothing lies beside it"
        self._wheel(name, version)

    def _wheel(self, name: str, version: str) -> None:
        """The wheel in the parts that are asked for, or as a whole where the server gives no parts."""
        said = self.server.projects[name][version]  # type: ignore[attr-defined]
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr(f"{name}/data", os.urandom(300_000))
            for folder in said.get("folders", [f"{name}-{version}"]):  # type: ignore[attr-defined]
                wheel.writestr(f"{folder}.dist-info/METADATA", self._body_of(name, version))
        body = held.getvalue() if not said.get("torn") else b"PK" * 5000
        unit, _, asked = self.headers.get("Range", "").partition("=")
        if said.get("whole") or unit != "bytes":
            self._send(body, "application/octet-stream")
            return
        first, _, last = asked.partition("-")
        start = int(first) if first else max(0, len(body) - int(last))
        end = int(last) + 1 if first else len(body)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body[start:end])))
        self.end_headers()
        self.wfile.write(body[start:end])

    def _bad(self, kind: str) -> None:
        if kind == "moved-to-file":
            self._moved("file:///etc/passwd")
        elif kind == "moved-round":
            self._moved(self.path)
        elif kind == "html":
            self._send(b"<html></html>", "text/html")
        elif kind == "no-json":
            self._send(b"{", MEDIA)
        elif kind == "odd-json":
            self._send(b'{"files": 7}', MEDIA)
        elif kind == "deep":
            self._send(b"[" * 200_000, MEDIA)
        elif kind == "huge":
            self._huge()
        elif kind == "slow":
            self.server.silence.wait(20)  # type: ignore[attr-defined]
        elif kind == "drops":
            self.connection.close()
        else:
            self.send_error(500 if kind == "fails" else 401)

    def _moved(self, to: str) -> None:
        self.send_response(302)
        self.send_header("Location", to)
        self.end_headers()

    def _huge(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", MEDIA)
        self.end_headers()
        try:
            for _ in range(1000):
                self.wfile.write(b" " * 65536)
        except OSError:
            return

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Serves `projects`, and remembers what was asked."""

    daemon_threads = True

    def __init__(self, projects: Projects) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.projects = projects
        self.asked: list[tuple[str, str]] = []
        self.silence = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error."""

    @property
    def base(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(projects: Projects) -> Iterator[Server]:
    """A running server."""
    server = Server(projects)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.silence.set()
        server.shutdown()
        thread.join()
        server.server_close()
