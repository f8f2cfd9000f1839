"""What a receiver of bytes counts: all of them, also those that a fast stream does not wake it for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from dsec_cli.netcheck import tcp
from dsec_cli.netcheck.wire import LineLost, Stalled

Pair = tuple[socket.socket, socket.socket]
FAST = (1 << 24) + 1
"""Bytes from which a stream counts as fast, if they come quickly enough."""


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Both ends of a TCP connection; the second waits 0.8 s at most."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sending = socket.create_connection(listening.getsockname())
        receiving, _ = listening.accept()
    receiving.settimeout(0.8)
    with sending, receiving:
        yield sending, receiving


def least(sock: socket.socket) -> int:
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)


def sent_by(sock: socket.socket, count: int, *, end: bool) -> threading.Thread:
    def work() -> None:
        sock.sendall(bytes(count))
        if end:
            sock.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_the_last_bytes_of_a_fast_stream_count(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "_FAST_NS", 1 << 62)  # however busy this machine is
    monkeypatch.setattr(tcp, "_GAP_S", 0.8)
    sending = sent_by(pair[0], 2 * FAST + 1, end=True)
    passed = tcp.drain(pair[1])
    sending.join()
    assert passed.count == 2 * FAST + 1
    assert passed.span_ns > 0
    assert least(pair[1]) == 1 << 19


def test_a_slow_stream_is_timed_as_it_comes(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "_FAST_NS", 0)
    sending = sent_by(pair[0], 2 * FAST, end=True)
    assert tcp.drain(pair[1]).count == 2 * FAST
    sending.join()
    assert least(pair[1]) == 1


def test_a_fast_stream_that_becomes_slow_has_not_stalled(pair: Pair) -> None:
    """What came since is less than its receiver is woken for."""
    pair[1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 << 19)
    pair[0].sendall(bytes(1000))
    room = bytearray(tcp.CHUNK)
    assert tcp.next_bytes(pair[1], room, 0.8) == 1000  # its patience has ended
    assert least(pair[1]) == 1
    pair[0].sendall(bytes(1000))
    pair[0].shutdown(socket.SHUT_WR)
    assert tcp.drain(pair[1]).count == 1000


def test_what_is_less_than_is_waited_for_is_taken_soon(pair: Pair) -> None:
    """Not when the receiver's patience ends."""
    pair[1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 << 19)
    pair[1].settimeout(0.01)
    pair[0].sendall(bytes(1000))
    assert tcp.next_bytes(pair[1], bytearray(tcp.CHUNK), 60) == 1000
    assert (least(pair[1]), pair[1].gettimeout()) == (1, 60)


@pytest.mark.parametrize("before", [0, 100, 2 * FAST])
def test_nothing_for_long_is_a_stall(pair: Pair, monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    monkeypatch.setattr(tcp, "_FAST_NS", 1 << 62)
    sending = sent_by(pair[0], before, end=False)
    with pytest.raises(Stalled, match="nothing gets through"):
        tcp.drain(pair[1])
    sending.join()


def test_a_connection_that_breaks(pair: Pair) -> None:
    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    pair[0].close()
    with pytest.raises(LineLost, match="the data connection broke: Connection reset"):
        tcp.drain(pair[1])
