"""`ds-netcheck` as a user starts it, on the loopback: files, exit codes, tokens, peers that go."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dsec_cli.netcheck import lab, serving
from dsec_cli.netcheck.document import from_json, to_json
from dsec_cli.netcheck.line import Limits, connect
from dsec_cli.netcheck.wire import LineLost, Refused
from tests.cli.conftest import Ran, command, ds

__all__ = ["ds"]


class Serving(NamedTuple):
    """A server of a test."""

    process: subprocess.Popen[str]
    port: int
    token: Path


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    begun: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> Serving:
        token = tmp_path / "token"
        line = command(
            "dsec", "netcheck", "serve", "--listen", "127.0.0.1:0", "--token-file", str(token), *words
        )
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        begun.append(process)
        assert process.stdout is not None
        said = process.stdout.readline()
        assert "listening on " in said, process.stderr.read() if process.stderr else ""
        return Serving(process, int(said.split(";")[0].rpartition(":")[2]), token)

    yield begin
    for process in begun:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=10)


FLOW = "here:b:16KiB@50/s"
FAST = ("--duration", "100ms", "--rate", "5Mbps", "-q")


def test_a_flow_to_a_peer(serve: Callable[..., Serving], ds: Callable[..., Ran], tmp_path: Path) -> None:
    server = serve()
    assert stat.S_IMODE(server.token.stat().st_mode) == 0o600
    peer = f"b=127.0.0.1:{server.port}"
    words = ("netcheck", "run", "--peers", peer, "--token-file", "token", "--flow", FLOW, *FAST)
    ran = ds(
        "dsec",
        *words,
        "--format",
        "json",
        "-o",
        "one.json",
        "--latency-cap",
        "10s",
        "--bandwidth-min",
        "1Mbps",
    )
    assert ran.returncode == 0, (tmp_path / "one.json").read_text()
    text = (tmp_path / "one.json").read_text()
    report = from_json(text, where="one.json")
    assert to_json(report) == text
    document = json.loads(text)
    (told,) = document["verdicts"]
    assert told["flow"] == "here -> b"
    assert {one["aspect"] for one in told["statements"]} >= {
        "latency",
        "mtu",
        "ecn",
        "loss",
        "tcp",
        "flow",
        "contract",
    }
    # Once more from the far end to this one: the peer sends, as this host asked it to.
    back = (*words[:6], "--flow", "b:here:16KiB@50/s", *FAST, "--probes", "echo,messages")
    ran = ds("dsec", *back)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert b"b -> here" in ran.stdout
    listed = ds("dsec", "netcheck", "history")
    assert listed.stdout.count(b"->") == 2
    compared = ds("dsec", "netcheck", "compare", "one.json", "one.json", "--json")
    assert compared.returncode == 0
    assert {row["turn"] for row in json.loads(compared.stdout)["changes"]} == {"same"}
    page = ds("dsec", *words, "--format", "html", "--probes", "echo", "--no-history").stdout.decode()
    assert page.startswith("<!doctype html>")
    assert "here -&gt; b" in page
    assert "http" not in page


@pytest.mark.battery
def test_a_flow_between_two_other_hosts(serve: Callable[..., Serving], ds: Callable[..., Ran]) -> None:
    one, two = serve(), serve()
    peers = f"a=127.0.0.1:{one.port},b=127.0.0.1:{two.port}"
    words = ("--peers", peers, "--token-file", "token", "--flow", "a:b:16KiB@50/s", *FAST)
    ran = ds("dsec", "netcheck", "run", *words, "--probes", "echo,sizes,messages", "--format", "json")
    assert ran.returncode == 0, ran.stdout
    found = json.loads(ran.stdout)["legs"][0]["found"]
    assert found["echo"]["back"] > 0
    assert found["messages"]["done"] == found["messages"]["asked"]
    # Only one probe, and more than the servers allow: measured, and no verdict that the path would have.
    ran = ds(
        "dsec",
        "netcheck",
        "run",
        *words,
        "--probes",
        "bulk",
        "--bandwidth-min",
        "400Gbps",
        "--format",
        "json",
    )
    document = json.loads(ran.stdout)
    assert document["legs"][0]["found"]["bulk"]["forward_bps"] > 0
    assert (ran.returncode, document["state"]) in ((1, "problem"), (3, "unknown"))
    two.process.kill()
    two.process.wait()
    ran = ds("dsec", "netcheck", "run", *words, "--probes", "echo")
    assert ran.returncode == 3
    assert b"cannot be reached" in ran.stdout
    ran = ds("dsec", "netcheck", "run", *words[:4], "--flow", "a:nobody:1KiB", *FAST)
    assert ran.returncode == 3
    assert b"nobody knows where" in ran.stderr


@pytest.mark.battery
def test_another_token_is_told(serve: Callable[..., Serving], ds: Callable[..., Ran], tmp_path: Path) -> None:
    server = serve()
    other = tmp_path / "other"
    other.write_text("f" * 64)
    other.chmod(0o644)
    ran = ds(
        "dsec", "netcheck", "run", "--peers", f"b=127.0.0.1:{server.port}", "--token-file", "other", *FAST
    )
    assert ran.returncode == 3
    assert b"the token differs" in ran.stdout
    assert b"chmod 600" in ran.stderr
    ran = ds("dsec", "netcheck", "run", "--peers", "b=127.0.0.1", "--token-file", "none", *FAST)
    assert ran.returncode == 3
    assert b"ds-netcheck serve" in ran.stderr
    other.write_text("short")
    ran = ds("dsec", "netcheck", "run", "--peers", "b=127.0.0.1", "--token-file", "other", *FAST)
    assert (ran.returncode, b"holds no token" in ran.stderr) == (3, True)


@pytest.mark.battery
def test_a_peer_that_is_not_there(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("f" * 64)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    ran = ds("dsec", "netcheck", "run", "--peers", f"b=127.0.0.1:{port}", "--token-file", "token", *FAST)
    assert ran.returncode == 3
    assert b"cannot be reached" in ran.stdout
    assert b"start `ds-netcheck serve` there" in ran.stdout


@pytest.mark.battery
def test_a_port_where_something_else_listens(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("f" * 64)
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            sock, _ = other.accept()
            with sock:
                sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                sock.recv(4096)

        greeting = threading.Thread(target=greet)
        greeting.start()
        place = f"127.0.0.1:{other.getsockname()[1]}"
        ran = ds("dsec", "netcheck", "run", "--peers", f"b={place}", "--token-file", "token", *FAST)
        greeting.join()
    assert ran.returncode == 3
    assert f"{place}: the other end does not speak" in " ".join(ran.stdout.decode().split())
    assert b"is it `ds-netcheck serve` that listens there?" in ran.stdout


def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(LineLost, match="host-b:7471 cannot be reached: Name or service") as caught:
        connect(("host-b", 7471), b"x" * 32)
    assert "serve" not in caught.value.hint


@pytest.mark.battery
def test_interrupted_with_several_processes_it_says_nothing_and_leaves_none(tmp_path: Path) -> None:
    words = ("netcheck", "run", "--probes", "bulk", "--streams", "2", "--duration", "20s", "--no-history")
    running = subprocess.Popen(
        command("dsec", *words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
    )
    until = time.monotonic() + 20
    while len(workers := working(running.pid)) < 2 and time.monotonic() < until:
        os.sched_yield()
    assert len(workers) == 2
    os.killpg(running.pid, signal.SIGINT)
    out, said = running.communicate(timeout=10)
    assert (running.returncode, out, said.count(b"\n")) == (130, b"", 2), said  # the floor, and the probe
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < until:
        os.sched_yield()
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


def working(pid: int) -> list[int]:
    """Processes that measure beside others."""
    rows = [(child, Path(f"/proc/{child}/cmdline")) for child in children(pid)]
    return [child for child, path in rows if path.exists() and b"netcheck.worker" in path.read_bytes()]


@pytest.mark.battery
def test_a_server_keeps_within_its_limits(serve: Callable[..., Serving], ds: Callable[..., Ran]) -> None:
    server = serve("--max-rate", "2Mbps", "--max-time", "1s", "--once")
    words = ("--token-file", "token", "--flow", "here:b:16KiB", "--duration", "5s", "--rate", "50Mbps", "-q")
    begun = time.monotonic()
    ran = ds("dsec", "netcheck", "run", "--peers", f"b=127.0.0.1:{server.port}", *words,
             "--probes", "stream", "--format", "json")  # fmt: skip
    assert time.monotonic() - begun < 12
    found = json.loads(ran.stdout)["legs"][0]["found"]["stream"]
    assert found["asked_bps"] <= 2_000_000
    assert found["sent_ns"] < 1_500_000_000
    server.process.wait(timeout=10)  # --once
    assert server.process.returncode == 0


@pytest.mark.battery
def test_a_server_keeps_one_limit_for_all_sessions(
    serve: Callable[..., Serving], ds: Callable[..., Ran]
) -> None:
    server = serve("--max-rate", "40Mbps")
    words = (
        "--token-file",
        "token",
        "--flow",
        "here:b:16KiB",
        "--duration",
        "600ms",
        "--rate",
        "90Mbps",
        "-q",
    )
    ran = ds("dsec", "netcheck", "run", "--peers", f"b=127.0.0.1:{server.port}", *words, "--streams", "6",
             "--probes", "stream,bulk", "--format", "json", "--bandwidth-min", "1Gbps")  # fmt: skip
    document = json.loads(ran.stdout)
    found = document["legs"][0]["found"]
    assert found["bulk"]["streams"] == 6
    assert found["bulk"]["forward_bps"] < 44_000_000
    assert found["stream"]["asked_bps"] <= 40_000_000
    # What the server allows was measured, not what the path could carry.
    assert ran.returncode == 3, document["verdicts"]


@pytest.mark.battery
def test_a_message_that_is_too_large_for_the_time_is_no_dead_peer(
    serve: Callable[..., Serving], ds: Callable[..., Ran]
) -> None:
    server = serve("--max-rate", "20Mbps")
    ran = ds("dsec", "netcheck", "run", "--peers", f"b=127.0.0.1:{server.port}", "--token-file", "token",
             "--flow", "here:b:1TiB", *FAST, "--probes", "messages")  # fmt: skip
    assert ran.returncode == 1, ran.stdout
    assert b"does not carry the flow: 0 of 1 message delivered" in ran.stdout
    assert b"went away" not in ran.stdout


BAD = (
    {}, {"do": None}, {"do": "nope"}, {"do": "relay"}, {"do": "relay", "host": "x", "port": 1, "ask": {}},
    {"do": "stream", "span_ms": "x"}, {"do": "bulk", "span_ms": [1]}, {"do": "messages", "connections": "z"},
    {"do": "messages", "connections": float("inf")},
)  # fmt: skip
"""What a peer that knows the token, and nothing else, may ask."""


def test_a_session_survives_what_it_does_not_understand(serve: Callable[..., Serving]) -> None:
    server = serve()
    line = connect(("127.0.0.1", server.port), server.token.read_bytes().strip())
    for request in BAD:
        line.channel.send(request)
        assert "failed" in line.channel.receive(within_s=10)
    assert line.call("clock")["at_ns"] > 0
    line.close()


@pytest.mark.battery
def test_no_more_sessions_than_there_may_be(serve: Callable[..., Serving]) -> None:
    server = serve()
    token = server.token.read_bytes().strip()
    strangers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    try:
        # Who has not proved that it knows the token takes no place, and costs no process.
        line = connect(("127.0.0.1", server.port), token)
        assert line.call("clock")["at_ns"] > 0
        assert len(children(server.process.pid)) == 1
        line.close()
    finally:
        for sock in strangers:
            sock.close()


def test_the_place_after_the_last_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_MOST", 1)
    server = serving.Server(("127.0.0.1", 0), b"t" * 32, limits=Limits(), quiet=True)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        line = connect(server.address, b"t" * 32)
        with pytest.raises(Refused, match="1 sessions"):
            connect(server.address, b"t" * 32)
        line.close()
    finally:
        server.close()
        thread.join()


def test_a_crowd_of_strangers_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of the address with most of them has to leave."""
    monkeypatch.setattr(serving, "_GREETING", 3)
    greetings = serving._Greetings(b"t" * 32, lambda _: None)
    pairs = [socket.socketpair(socket.AF_UNIX) for _ in range(4)]
    for (mine, _), host in zip(pairs, ("b", "a", "a", "a"), strict=True):
        monkeypatch.setattr("dsec_cli.netcheck.wire.settle", lambda _: None)
        greetings.welcome(mine, host)
    assert pairs[1][1].recv(1) == b""  # the first of "a"
    assert sorted(greetings._waiting.values()) == ["a", "a", "b"]
    greetings.close()
    for _, other in pairs:
        assert other.recv(1) == b""
        other.close()


@pytest.mark.battery
def test_an_address_that_is_not_allowed(serve: Callable[..., Serving], ds: Callable[..., Ran]) -> None:
    server = serve("--allow", "10.1.2.3")
    ran = ds(
        "dsec", "netcheck", "run", "--peers", f"b=127.0.0.1:{server.port}", "--token-file", "token", *FAST
    )
    assert ran.returncode == 3
    assert b"not among the peers" in ran.stdout


@pytest.mark.battery
def test_an_allowed_address_however_it_is_written(
    serve: Callable[..., Serving], ds: Callable[..., Ran]
) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as problem:
        pytest.skip(f"no IPv6 here: {problem}")
    server = serve("--listen", "[::]:0", "--allow", "127.0.0.1", "--allow", "0:0:0:0:0:0:0:1")
    for host in ("127.0.0.1", "[::1]"):
        ran = ds("dsec", "netcheck", "run", "--peers", f"b={host}:{server.port}", "--token-file", "token",
                 *FAST, "--probes", "echo")  # fmt: skip
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.battery
def test_a_report_is_kept_though_it_cannot_be_written(ds: Callable[..., Ran], tmp_path: Path) -> None:
    ran = ds("dsec", "netcheck", "run", *FAST, "--probes", "echo", "-o", "nowhere/one.html")
    assert (ran.returncode, ran.stderr.count(b"\n")) == (3, 1)
    assert ds("dsec", "netcheck", "history").stdout.count(b"->") == 1


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


@pytest.mark.battery
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_leaves_no_session(serve: Callable[..., Serving], number: int) -> None:
    server = serve()
    with contextlib.closing(connect(("127.0.0.1", server.port), server.token.read_bytes().strip())):
        until = time.monotonic() + 10
        while not (sessions := children(server.process.pid)) and time.monotonic() < until:
            os.sched_yield()
        assert sessions
        server.process.send_signal(number)
        server.process.wait(timeout=10)
        assert server.process.returncode == (143 if number == signal.SIGTERM else -9)
        while any(Path(f"/proc/{pid}").exists() for pid in sessions) and time.monotonic() < until:
            os.sched_yield()
        assert not [pid for pid in sessions if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--peers", "x"), b"is no peer"),
        (("run", "--flow", "a:b"), b"is no flow"),
        (("run", "--probes", "echo,nope"), b"there is no probe"),
        (("run", "--duration", "1y"), b"--duration 1y"),
        (("run", "--streams", "99"), b"--streams 99"),
        (("run", "--rate", "1bps"), b"at least 64kbps"),
        (("run", "--peers", "b=10.0.0.1,b=10.0.0.2"), b"'b' twice"),
        (("run", "--peers", "b=[::1"), b"is no address"),
        (("run", "--peers", "b=[::1]7471"), b"is no address"),
        (("run", "--peers", "b=10.0..1"), b"'10.0..1' is no address"),
        (("run", "--peers", f"b={'x' * 64}.example"), b"is no address"),
        (("serve", "--allow", "host-b"), b"--allow host-b: no address"),
        (("lab", "--fault", "nope"), b"there is no fault"),
        (("lab", "--fault", "loss"), b"loss=PERCENT"),
        (("lab", "--fault", "loss=200"), b"whole number"),
        (("lab", "--fault", "here-rate=0bps"), b"less than 64kbps"),
        (("lab", "--fault", "peer-dies=nope"), b"no such probe is made"),
        (("lab", "--fault", "peer-dies=bulk", "--probes", "echo"), b"no such probe is made"),
        (("lab", "--flow", "a:c:1KiB"), b"only here and b"),
        (("compare", "a"), b"two reports"),
        (("serve", "--listen", "1.2.3.4:x"), b"is no address"),
    ],
)
def test_mistakes_of_the_command_line(ds: Callable[..., Ran], words: tuple[str, ...], said: bytes) -> None:
    ran = ds("dsec", "netcheck", *words)
    assert ran.returncode == 2, ran.stderr
    assert said in ran.stderr
    assert ran.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "dsec.netcheck/9"}', '{"format": "dsec.netcheck/1"}', "\xff"]
)
def test_damaged_reports(ds: Callable[..., Ran], tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_bytes(text.encode("latin-1"))
    ran = ds("dsec", "netcheck", "compare", "a.json", "a.json")
    assert ran.returncode == 3
    assert ran.stderr.count(b"\n") == 1


@pytest.mark.battery
def test_help_and_docs_name_every_fault_of_the_lab(ds: Callable[..., Ran]) -> None:
    helped = " ".join(ds("dsec", "netcheck", "lab", "--help").stdout.decode().split())
    told = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "netcheck.md").read_text()
    for fault in lab.FAULTS:
        assert f"{fault.name}={fault.takes}" in helped if fault.takes else fault.name in helped
        assert f"| `{fault.name}" in told


def test_the_program_has_its_own_name() -> None:
    source = (
        "import sys; from dsec_cli.fast import netcheck; sys.argv = ['ds-netcheck', 'history']; netcheck()"
    )
    ran = subprocess.run([sys.executable, "-c", source], capture_output=True, check=False)
    assert ran.returncode == 0
    assert b"no report is kept" in ran.stdout
