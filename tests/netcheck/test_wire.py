"""The control channel: who knows the token is heard, nobody else, and nothing is changed unseen."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.errors import DSecError
from dsec_cli.netcheck import wire
from dsec_cli.netcheck.wire import Channel, LineLost, Refused

TOKEN = b"a token of some length"


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    listening = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listening.getsockname())
    two, _ = listening.accept()
    listening.close()
    yield one, two
    one.close()
    two.close()


def both(one: Callable[[], Any], two: Callable[[], Any]) -> list[Any]:
    """What both functions give, or raise, run at a time."""
    found: list[Any] = [None, None]

    def run(at: int, function: Callable[[], Any]) -> None:
        try:
            found[at] = function()
        except DSecError as problem:
            found[at] = problem

    threads = [threading.Thread(target=run, args=row) for row in enumerate((one, two))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(15)
    return found


def channels(pair: tuple[socket.socket, socket.socket]) -> tuple[Channel, Channel]:
    one, two = both(lambda: wire.offer(pair[0], TOKEN), lambda: wire.accept(pair[1], TOKEN))
    return one, two


def test_both_ends_agree_on_a_session(pair: tuple[socket.socket, socket.socket]) -> None:
    one, two = channels(pair)
    assert one.session == two.session
    for number in range(3):
        one.send({"number": number})
        assert two.receive(within_s=5) == {"number": number}
        two.send({"back": number})
        assert one.receive(within_s=5) == {"back": number}
    assert not one.ready()
    one.close()
    with pytest.raises(LineLost, match="closed the connection"):
        two.receive(within_s=5)


def test_another_token_is_refused_by_both(pair: tuple[socket.socket, socket.socket]) -> None:
    one, two = both(lambda: wire.offer(pair[0], TOKEN), lambda: wire.accept(pair[1], b"x" * 32))
    assert isinstance(one, Refused)
    assert "token differs" in one.what
    assert isinstance(two, Refused)


def test_a_server_without_the_token_learns_nothing_and_is_not_believed(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    def impostor() -> None:
        wire._greeting(pair[1])
        wire._plain(pair[1], {"nonce": "00" * 16})
        wire._greeting(pair[1])
        wire._plain(pair[1], {"proof": "00" * 32})

    one, _ = both(lambda: wire.offer(pair[0], TOKEN), impostor)
    assert isinstance(one, Refused)
    assert "does not know the token" in one.what


STRANGE = ("\u00e9" * 64, "\ud800", 5, None, ["x"])


@pytest.mark.parametrize("proof", STRANGE)
def test_a_strange_proof_is_no_proof(pair: tuple[socket.socket, socket.socket], proof: Any) -> None:
    def stranger() -> None:
        wire._plain(pair[0], {"format": wire.FORMAT, "nonce": "00" * 16})
        wire._greeting(pair[0])
        wire._plain(pair[0], {"proof": proof})

    _, two = both(stranger, lambda: wire.accept(pair[1], TOKEN))
    assert isinstance(two, Refused)


@pytest.mark.parametrize("proof", STRANGE)
def test_a_strange_proof_of_a_server_is_none(pair: tuple[socket.socket, socket.socket], proof: Any) -> None:
    def impostor() -> None:
        wire._greeting(pair[1])
        wire._plain(pair[1], {"nonce": "00" * 16})
        wire._greeting(pair[1])
        wire._plain(pair[1], {"proof": proof})

    one, _ = both(lambda: wire.offer(pair[0], TOKEN), impostor)
    assert isinstance(one, Refused)


def test_a_refusal_does_not_reach_the_terminal_as_it_came(pair: tuple[socket.socket, socket.socket]) -> None:
    wire.refuse(pair[1], "\x1b]0;mine\x07 no")
    with pytest.raises(Refused) as raised:
        wire.offer(pair[0], TOKEN)
    assert raised.value.what.isprintable()


def test_bytes_that_come_one_by_one_prolong_nothing(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "HANDSHAKE_S", 0.3)
    ended = threading.Event()

    def drip() -> None:
        while not ended.wait(0.05):
            pair[0].send(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    begun = time.monotonic()
    try:
        with pytest.raises(LineLost, match="within"):
            wire.accept(pair[1], TOKEN)
        with pytest.raises(LineLost, match="within"):
            wire._exactly(pair[1], 1000, within_s=0.3)
    finally:
        ended.set()
        thread.join()
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("at", [0, 5, 21])
def test_a_changed_frame_is_not_believed(pair: tuple[socket.socket, socket.socket], at: int) -> None:
    one, two = channels(pair)
    payload = b'{"do":"stream"}'
    seal = wire._mac(one._mine, 0, payload)
    frame = bytearray(len(payload).to_bytes(4, "big") + seal + payload)
    frame[at] ^= 0x40
    pair[0].sendall(frame)
    with pytest.raises(LineLost, match=r"changed on its way|too large"):
        two.receive(within_s=0.5)


def test_a_frame_is_not_taken_twice(pair: tuple[socket.socket, socket.socket]) -> None:
    one, two = channels(pair)
    payload = b'{"a":1}'
    frame = len(payload).to_bytes(4, "big") + wire._mac(one._mine, 0, payload) + payload
    pair[0].sendall(frame + frame)
    assert two.receive(within_s=5) == {"a": 1}
    with pytest.raises(LineLost, match="changed on its way"):
        two.receive(within_s=5)


@settings(max_examples=20)
@given(st.binary(min_size=1, max_size=300))
def test_anything_at_all_is_refused(data: bytes) -> None:
    one, two = socket.socketpair()
    tcp = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(tcp.getsockname())
    server, _ = tcp.accept()
    for sock in (one, two, tcp):
        sock.close()
    client.sendall(data + b"\n")
    client.shutdown(socket.SHUT_WR)
    with server, client, pytest.raises(DSecError):
        wire.accept(server, TOKEN)
