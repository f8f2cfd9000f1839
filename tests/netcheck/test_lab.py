"""Faults on real packets: each is found and attributed, and none is reported where there is none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dsec_cli.netcheck.judge import PROBES
from dsec_cli.netcheck.lab import TUN
from tests.cli.conftest import command
from tests.netcheck import labs
from tests.netcheck.labs import Outcome

Measure = Callable[..., Outcome]


@pytest.fixture
def measure() -> Measure:
    if why := labs.missing("nft"):
        pytest.skip(why)
    return labs.measure


def text_of(outcome: Outcome, aspect: str) -> str:
    return " ".join(one.text for one in outcome.statements if one.aspect == aspect)


def mend_of(outcome: Outcome, aspect: str) -> str:
    return " ".join(one.mend for one in outcome.statements if one.aspect == aspect)


def test_nothing_is_wrong_where_nothing_is(measure: Measure) -> None:
    outcome = measure(probes=PROBES, span_ms=300)
    assert outcome.wrong() == set()
    found = outcome.leg.found
    assert found.lost == ""
    assert found.stream is not None
    assert found.stream.received == found.stream.sent > 50
    assert found.sizes is not None
    assert (found.sizes.forward_bytes, found.sizes.back_bytes) == (1500, 1500)
    assert outcome.leg.addresses == ("10.77.1.1", "10.77.2.1")
    assert {one.aspect for one in outcome.statements} >= {
        "latency",
        "mtu",
        "ecn",
        "loss",
        "tcp",
        "flow",
        "nic",
    }


@pytest.mark.battery
def test_shaping_on_the_sender_is_the_senders(measure: Measure) -> None:
    outcome = measure("here-rate=5Mbps", probes=("stream",), span_ms=900)
    assert ("rate", "problem", "here") in outcome.wrong()
    assert not any(aspect == "loss" for aspect, _, _ in outcome.wrong())
    found = outcome.leg.found.stream
    assert found is not None
    assert found.received == found.sent  # nothing was lost on the path
    assert "tc -s qdisc show dev eth0" in mend_of(outcome, "rate")


@pytest.mark.battery
def test_shaping_on_a_hop_is_the_paths_and_is_counted_as_the_hop_counts_it(measure: Measure) -> None:
    outcome = measure("router-rate=12Mbps", probes=("stream",), rate=24_000_000, span_ms=900)
    assert ("loss", "problem", "path") in outcome.wrong()
    assert "a hop carries only" in text_of(outcome, "loss")
    found = outcome.leg.found.stream
    assert found is not None
    lost = found.sent - found.received + found.slower_sent - found.slower_received
    assert lost == outcome.router["queue_drops"] > 20


@pytest.mark.battery
def test_random_loss_does_not_depend_on_the_rate(measure: Measure) -> None:
    outcome = measure("loss=10", probes=("stream",))
    assert outcome.wrong() >= {("loss", "problem", "path")}
    assert "does not depend on the rate" in text_of(outcome, "loss")
    found = outcome.leg.found.stream
    assert found is not None
    lost = found.sent - found.received + found.slower_sent - found.slower_received
    # The rule also met frames of the control channel, which TCP sent again.
    assert 0 <= outcome.router["rule_packets"] - lost < 12


@pytest.mark.battery
def test_a_peer_that_is_set_shorter(measure: Measure) -> None:
    outcome = measure("peer-mtu=1400", probes=("sizes",))
    assert outcome.wrong() == {("mtu", "problem", "peer")}
    assert "ip link set dev eth0 mtu 1500` on b" in mend_of(outcome, "mtu")
    sizes = outcome.leg.found.sizes
    assert sizes is not None
    assert (sizes.here_bytes, sizes.peer_bytes, sizes.forward_by) == (1500, 1400, "silent")


@pytest.mark.battery
def test_this_host_is_set_shorter(measure: Measure) -> None:
    outcome = measure("here-mtu=1400", probes=("sizes",))
    assert outcome.wrong() == {("mtu", "problem", "here")}
    sizes = outcome.leg.found.sizes
    assert sizes is not None
    assert (sizes.here_bytes, sizes.peer_bytes, sizes.forward_bytes) == (1400, 1500, 1400)


@pytest.mark.battery
def test_a_hop_that_is_shorter_and_says_so(measure: Measure) -> None:
    outcome = measure("router-mtu=1400", probes=("sizes",))
    assert outcome.wrong() == {("mtu", "note", "10.77.1.2")}
    sizes = outcome.leg.found.sizes
    assert sizes is not None
    assert (sizes.forward_bytes, sizes.back_bytes, sizes.believed_bytes) == (1400, 1400, 1400)


@pytest.mark.battery
def test_a_hop_that_is_shorter_and_says_nothing(measure: Measure) -> None:
    outcome = measure("router-mtu-silent=1400", probes=("sizes",))
    assert outcome.wrong() == {("mtu", "problem", "path")}
    sizes = outcome.leg.found.sizes
    assert sizes is not None
    assert (sizes.forward_bytes, sizes.forward_by, sizes.believed_bytes) == (1400, "silent", 1500)


@pytest.mark.battery
def test_fragments_that_a_hop_drops(measure: Measure) -> None:
    outcome = measure("no-fragments", probes=("sizes",))
    assert outcome.wrong() == {("mtu", "note", "path")}
    assert outcome.leg.found.sizes is not None
    assert outcome.leg.found.sizes.fragments is False
    assert outcome.router["rule_packets"] >= 3


@pytest.mark.battery
def test_marks_of_congestion(measure: Measure) -> None:
    outcome = measure("ecn-mark=20", probes=("echo", "stream"))
    assert outcome.wrong() == {("ecn", "problem", "path")}
    found = outcome.leg.found
    assert found.stream is not None
    assert found.echo is not None
    assert found.stream.marked + found.echo.marked_there <= outcome.router["rule_packets"]
    assert 0.1 < found.stream.marked / found.stream.received < 0.3


@pytest.mark.battery
def test_a_hop_that_removes_marks(measure: Measure) -> None:
    outcome = measure("ecn-bleach", probes=("echo", "stream"))
    assert outcome.wrong() == {("ecn", "note", "path")}
    assert outcome.leg.found.echo is not None
    assert outcome.leg.found.echo.kept_there == 0
    assert outcome.leg.found.echo.kept_back == outcome.leg.found.echo.back


@pytest.mark.battery
def test_ways_of_different_rates(measure: Measure) -> None:
    """As lines are sold: it is said, and nothing is wrong with it."""
    outcome = measure("line=60Mbps/25Mbps", probes=("stream", "bulk"), flow="here:b:64KiB")
    assert outcome.wrong() <= {("tcp", "note", "path"), ("queue", "note", "path")}
    assert "the way back is the slower one" in text_of(outcome, "tcp")


@pytest.mark.battery
def test_a_filter_of_udp(measure: Measure) -> None:
    """A flow over TCP does without UDP; what cannot be measured then is said."""
    outcome = measure("udp-blocked", probes=("echo", "stream", "bulk"), span_ms=200)
    assert outcome.wrong() == {("latency", "note", "path"), ("loss", "note", "path")}
    found = outcome.leg.found
    assert found.bulk is not None
    assert found.echo is not None
    assert (found.echo.arrived, found.echo.delays) == (0, None)
    assert found.echo.by_tcp is not None


@pytest.mark.battery
def test_a_filter_of_the_way_back(measure: Measure) -> None:
    outcome = measure("udp-blocked-back", probes=("echo", "back"), span_ms=200)
    assert {one.state for one in outcome.statements if one.aspect == "latency"} == {"unknown"}
    assert "none comes back" in text_of(outcome, "latency")


@pytest.mark.battery
def test_a_filter_of_this_host_is_this_hosts(measure: Measure) -> None:
    outcome = measure("udp-blocked-here", probes=("echo", "stream", "bulk"), span_ms=200)
    assert outcome.wrong() == {("latency", "note", "here"), ("rate", "note", "here")}
    assert "went away" not in text_of(outcome, "reach")


@pytest.mark.battery
def test_ports_for_data_that_are_refused_are_no_dead_peer(measure: Measure) -> None:
    outcome = measure("data-ports-blocked", probes=("echo", "bulk"), span_ms=200)
    assert outcome.wrong() == {("reach", "unknown", "path")}
    assert "lets only that one through" in text_of(outcome, "reach")
    assert outcome.leg.found.echo is not None


@pytest.mark.parametrize("streams", [3, pytest.param(8, marks=pytest.mark.battery)])
def test_a_link_is_counted_once_however_many_send(measure: Measure, streams: int) -> None:
    """What tbf lets through are frames; TCP's data is 1448 of each 1514 bytes."""
    outcome = measure("router-rate=50Mbps", probes=("bulk",), streams=streams, span_ms=700)
    found = outcome.leg.found.bulk
    assert found is not None
    assert found.streams == streams
    assert found.forward_bps is not None
    assert found.forward_bps <= 50_000_000 * 1448 / 1514 * 1.05
    assert found.lasting_bps is not None
    assert found.lasting_bps <= 50_000_000 * 1448 / 1514 * 1.05


@pytest.mark.battery
def test_frames_that_nobody_knows_are_no_loss_of_ours(measure: Measure) -> None:
    outcome = measure("frames", probes=("stream", "back"), span_ms=300)
    assert outcome.wrong() == set()
    before, after = outcome.leg.before[1], outcome.leg.after[1]
    assert before is not None
    assert after is not None
    rose = dict(after.interface.counters)["rx_dropped"] - dict(before.interface.counters)["rx_dropped"]
    assert rose > 0
    assert f"rx_dropped of eth0 rose by {rose}" in text_of(outcome, "nic")


@pytest.mark.battery
def test_loss_of_the_way_back(measure: Measure) -> None:
    outcome = measure("back-loss=5", probes=("echo", "stream", "back"), span_ms=800)
    assert ("loss", "problem", "path") in outcome.wrong()
    assert "the way back: " in text_of(outcome, "loss")
    found = outcome.leg.found
    assert found.stream is not None
    assert found.back is not None
    assert found.stream.received == found.stream.sent
    lost = found.back.sent - found.back.received + found.back.slower_sent - found.back.slower_received
    assert 0 < lost <= outcome.router["rule_packets"]


def relayed(measure: Measure) -> Measure:
    if not os.access(TUN, os.R_OK | os.W_OK):
        pytest.skip(f"{TUN} cannot be opened here")
    return measure


@pytest.mark.battery
def test_packets_that_a_hop_damages(measure: Measure) -> None:
    """The receiving kernel's count of wrong checksums is what is told, and nobody's failure to fetch them."""
    outcome = relayed(measure)("damage=5", probes=("stream",), rate=8_000_000, flow="here:b:16KiB@60/s")
    assert outcome.wrong() == {("loss", "problem", "path")}
    assert "wrong checksums" in text_of(outcome, "loss")
    found = outcome.leg.found.stream
    assert found is not None
    assert found.damaged == found.sent - found.received > 0
    assert found.peer_drops == 0


@pytest.mark.battery
def test_a_long_path_is_no_fault(measure: Measure) -> None:
    outcome = relayed(measure)("delay=260", probes=("echo", "sizes", "messages"), flow="here:b:16KiB@20/s")
    assert outcome.wrong() == set()
    echo = outcome.leg.found.echo
    assert echo is not None
    assert echo.delays is not None
    assert echo.delays.least_ns > 259_000_000


@pytest.mark.battery
def test_packets_out_of_order(measure: Measure) -> None:
    outcome = relayed(measure)("reorder=10", probes=("stream",))
    assert outcome.wrong() == {("order", "note", "path")}


@pytest.mark.battery
def test_a_hop_that_others_use_is_not_called_narrow(measure: Measure) -> None:
    outcome = measure("router-rate=12Mbps", "traffic=11Mbps", probes=("stream",), rate=6_000_000,
                      flow="here:b:16KiB@50/s", span_ms=800)  # fmt: skip
    assert ("loss", "problem", "path") in outcome.wrong()
    assert "others took" in text_of(outcome, "loss")


@pytest.mark.battery
def test_a_peer_that_dies(measure: Measure) -> None:
    outcome = measure("peer-dies=stream", probes=("echo", "stream", "bulk"))
    assert outcome.wrong() == {("reach", "unknown", "")}
    assert "b went away during stream" in text_of(outcome, "reach")
    assert "echo had been measured" in text_of(outcome, "reach")
    assert outcome.leg.found.echo is not None
    assert outcome.leg.found.bulk is None


def test_a_peer_with_another_token(measure: Measure) -> None:
    outcome = measure("wrong-token", probes=("echo",))
    assert outcome.wrong() == {("reach", "unknown", "")}
    assert "the token differs" in text_of(outcome, "reach")
    assert outcome.leg.refused


@pytest.mark.battery
def test_the_command_in_the_lab_and_its_end(measure: Measure) -> None:
    """The lab's exit code is the command's; what does not start is told in one line."""
    for words, code, said in (
        (("sh", "-c", "exit 77"), 77, b""),
        (("sh", "-c", "kill -9 $$"), 137, b""),
        (("/nonexistent",), 3, b"dsec: error: /nonexistent: No such file or directory\n"),
    ):
        done = subprocess.run(
            command("dsec", "netcheck", "lab", "--", *words), capture_output=True, timeout=30, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (code, b"", said)


@pytest.mark.battery
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_lab_that_is_interrupted_says_nothing_and_leaves_nothing(measure: Measure, number: int) -> None:
    words = command("dsec", "netcheck", "lab", "--probes", "stream", "--duration", "20s")
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
    until = time.monotonic() + 10
    while not (inside := below(running.pid)) and time.monotonic() < until:
        os.sched_yield()
    os.killpg(running.pid, number) if number == signal.SIGINT else running.send_signal(number)
    out, said = running.communicate(timeout=10)
    assert (running.returncode, out, said) == (128 + number, b"", b"")
    while any(Path(f"/proc/{pid}").exists() for pid in inside) and time.monotonic() < until:
        os.sched_yield()
    assert not [pid for pid in inside if Path(f"/proc/{pid}").exists()]


def below(pid: int) -> list[int]:
    """The lab's process, and the first one in its namespaces; [] before they are there."""
    found = [pid]
    for _ in range(2):
        path = Path(f"/proc/{found[-1]}/task/{found[-1]}/children")
        children = path.read_text().split() if path.exists() else []
        if not children:
            return []
        found.append(int(children[0]))
    return found[1:]


@pytest.mark.battery
@pytest.mark.parametrize(
    ("faults", "probes", "wrong"),
    [
        (
            ("router-mtu-silent=1400",),
            ("sizes", "bulk"),
            {("mtu", "problem", "path"), ("tcp", "problem", "path")},
        ),
        (("loss=2",), ("echo", "sizes", "stream"), {("loss", "problem", "path")}),
        (("peer-window=4096",), ("stream", "bulk"), {("tcp", "problem", "peer")}),
        (("here-buffer=4096", "delay=5"), ("bulk",), {("tcp", "problem", "here")}),
        # A way back of 1 Mbit/s holds the acknowledgements, and with them all: more buffer changes little.
        (("here-buffer=4096", "back-rate=1Mbps"), ("bulk",), {("tcp", "note", "path")}),
    ],
)
def test_longer_ones(
    measure: Measure, faults: tuple[str, ...], probes: tuple[str, ...], wrong: set[object]
) -> None:
    outcome = partial(measure, *faults)(probes=probes, span_ms=3000)
    assert outcome.wrong() == wrong


@pytest.mark.battery
def test_nothing_is_wrong_however_busy_the_machine_is(measure: Measure) -> None:
    """Forty times, with twice as many programs as processors that do nothing but compute."""
    count = 2 * (os.cpu_count() or 1)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        for _ in range(40):
            outcome = measure(probes=PROBES, span_ms=300)
            assert outcome.wrong() == set(), outcome.statements
    finally:
        for one in busy:
            one.kill()
            one.wait()


@pytest.mark.battery
def test_several_processes_and_the_other_engine(measure: Measure) -> None:
    if why := labs.missing("iperf3"):
        pytest.skip(why)
    outcome = measure(probes=("stream", "bulk", "messages"), engine="iperf3", streams=2, span_ms=1000)
    assert outcome.leg.found.lost == ""
    assert outcome.leg.found.bulk is not None
    assert outcome.leg.found.bulk.streams == 2
    assert outcome.leg.iperf_bps is not None
    assert outcome.wrong() == set()
