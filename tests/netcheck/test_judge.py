"""What readings mean, case by case: readings in, statements out, no packet sent."""

from __future__ import annotations

import socket
import threading

import pytest

from dsec_cli.cells import cells
from dsec_cli.commands.speaking import teller
from dsec_cli.netcheck.comparing import compare
from dsec_cli.netcheck.document import FORMAT, Report, from_json, state_of, to_json
from dsec_cli.netcheck.facts import Facts, Seen
from dsec_cli.netcheck.flows import Flow, Wants
from dsec_cli.netcheck.host import Interface
from dsec_cli.netcheck.judge import PROBES, judge
from dsec_cli.netcheck.measuring import Measured
from dsec_cli.netcheck.names import resolve
from dsec_cli.netcheck.page import render as page
from dsec_cli.netcheck.readings import Bulk, Delays, Echo, Messages, Sizes, Stream, hosts_bound
from dsec_cli.netcheck.replay import Floor, Leg
from dsec_cli.netcheck.text import render

MS = 1_000_000
LATE = Delays(20, MS, 300 * MS, 500 * MS, 600 * MS, 600 * MS, MS)
QUIET = Delays(100, 0, 10_000, 20_000, 30_000, 40_000, 5_000)
ECHO = Echo(100, 100, Delays(100, 80_000, 100_000, 200_000, 300_000, 400_000, 20_000), 100, 0, 100, 0)
SIZES = Sizes(1500, 1500, 1500, "", 1500, "", 1500)
STREAM = Stream(10_000_000, 1500, 1000, 1200 * MS, 0, 0, 1000, 0, 0, 1200 * MS, 0, QUIET, 1000, 0, 0)
BULK = Bulk(10**9, 0, 100_000, MS, MS, "network", 1, 1, 10**9, 0, 1)
MESSAGES = Messages(4 << 20, 20, 20, 671_088_640, 671_088_640, QUIET, 0, 1)
BACK = STREAM._replace(asked_bps=5_000_000, sent=500, received=500)
FULL = Measured(ECHO, SIZES, STREAM, BACK, BULK, MESSAGES)
FLOOR = Floor(Measured(echo=ECHO, stream=STREAM, bulk=BULK._replace(forward_bps=20 * 10**9)))
FLOW = Flow("actor", "learner", 4 << 20, 20_000, 1, "tcp", "command line")
CARD = Interface("eth0", 1500, 10**10, "full", "mlx5_core", 0, (("rx_errors", 5), ("rx_dropped", 1)))
END = Facts("host", "6.1", 0, CARD, (Seen("rdma", (), "", "no RDMA device here"),))
LEG = Leg(FLOW, FULL, before=(END, END), after=(END, END), addresses=("10.0.0.1", "10.0.0.2"), asked=PROBES)


def wrong(leg: Leg, wants: Wants | None = None) -> set[tuple[str, str, str]]:
    found = judge(leg, FLOOR, wants or Wants())
    return {
        (one.aspect, one.state, one.cause) for one in found.statements if one.state not in ("ok", "absent")
    }


def test_nothing_wrong_is_said_where_nothing_is() -> None:
    assert wrong(LEG) == set()
    assert judge(LEG, FLOOR, Wants()).state == "ok"


LOSSY = STREAM._replace(received=900, kept=900, slower_sent=500, slower_received=450)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ({"stream": LOSSY}, {("loss", "problem", "path")}),
        ({"stream": LOSSY._replace(slower_received=500)}, {("loss", "problem", "path")}),
        ({"stream": STREAM._replace(received=997, kept=997)}, {("loss", "problem", "path")}),
        ({"stream": STREAM._replace(received=900, kept=900, peer_drops=100)}, {("loss", "note", "peer")}),
        ({"stream": STREAM._replace(sent_ns=3000 * MS, blocked_ns=2000 * MS)}, {("rate", "problem", "here")}),
        ({"stream": STREAM._replace(sent_ns=3000 * MS, own_drops=9)}, {("rate", "problem", "here")}),
        ({"stream": STREAM._replace(sent_ns=3000 * MS)}, {("rate", "note", "here")}),
        ({"stream": STREAM._replace(sent_ns=3000 * MS), "messages": MESSAGES._replace(done=0)},
         {("rate", "unknown", "here"), ("flow", "problem", "path")}),
        ({"stream": STREAM._replace(late=4)}, {("order", "note", "path")}),
        ({"stream": STREAM._replace(waiting=QUIET._replace(median_ns=40 * MS))}, {("queue", "note", "path")}),
        ({"stream": STREAM._replace(kept=900, marked=100)}, {("ecn", "problem", "path")}),
        ({"stream": STREAM._replace(kept=0, bleached=1000),
          "echo": ECHO._replace(kept_there=0)}, {("ecn", "note", "path")}),
        ({"echo": ECHO._replace(kept_back=0)}, {("ecn", "note", "path")}),
        ({"echo": Echo(100, 0, None, 0, 0, 0, 0)}, {("latency", "note", "path")}),
        ({"sizes": SIZES._replace(forward_bytes=1400, forward_by="silent")}, {("mtu", "problem", "path")}),
        ({"sizes": SIZES._replace(peer_bytes=1400, forward_bytes=1404, forward_by="silent")},
         {("mtu", "problem", "peer")}),
        ({"sizes": SIZES._replace(forward_bytes=1400, forward_by="10.0.0.9")}, {("mtu", "note", "10.0.0.9")}),
        ({"sizes": SIZES._replace(here_bytes=1400, forward_bytes=1400, back_bytes=1404, back_by="silent")},
         {("mtu", "problem", "here")}),
        ({"sizes": SIZES._replace(here_bytes=1400, forward_bytes=1400)}, {("mtu", "note", "here")}),
        ({"sizes": SIZES._replace(forward_bytes=None, forward_by="silent")}, {("mtu", "problem", "path")}),
        ({"bulk": BULK._replace(back_bps=10**8)}, {("tcp", "note", "path")}),
        ({"bulk": BULK._replace(forward_resent=5000)}, {("tcp", "note", "path")}),
        ({"messages": MESSAGES._replace(achieved_bps=10**8, delays=LATE)}, {("flow", "problem", "path")}),
        ({"messages": MESSAGES._replace(achieved_bps=10**8)}, set()),  # a stall, not a narrow path
        ({"messages": MESSAGES._replace(achieved_bps=10**8, delays=LATE, waited_ns=550 * MS)},
         {("flow", "note", "here")}),
        ({"messages": MESSAGES._replace(achieved_bps=10**8, delays=LATE, waited_ns=400 * MS)},
         {("flow", "problem", "path")}),
        ({"messages": MESSAGES._replace(done=19)}, {("flow", "problem", "path")}),
        ({"lost": "gone", "lost_at": "bulk"}, {("reach", "unknown", "")}),
        ({"lost": "no answer"}, {("reach", "unknown", "")}),
        ({"lost": "stands still", "lost_at": "bulk", "stalled": True}, {("tcp", "problem", "path")}),
    ],
)  # fmt: skip
def test_each_reading_has_its_meaning(found: dict[str, object], wanted: set[tuple[str, str, str]]) -> None:
    assert wrong(LEG._replace(found=FULL._replace(**found))) == wanted  # type: ignore[arg-type]


def test_what_was_asked_for_and_not_measured_is_unknown() -> None:
    assert judge(LEG._replace(found=Measured()), FLOOR, Wants()).state == "unknown"
    assert judge(LEG._replace(found=Measured(), asked=()), FLOOR, Wants()).state == "unknown"
    assert wrong(LEG._replace(found=FULL._replace(bulk=None))) == {("reach", "unknown", "")}
    for bulk in (None, BULK._replace(forward_bps=None)):
        leg = LEG._replace(found=FULL._replace(bulk=bulk), asked=("echo",))
        assert ("contract", "unknown", "") in wrong(leg, Wants(bandwidth_min_bps=1))
    none = STREAM._replace(sent=0, received=0, kept=0)
    assert wrong(LEG._replace(found=FULL._replace(stream=none))) == {("rate", "unknown", "here")}


def test_a_cap_bounds_the_flow_and_never_the_path() -> None:
    """The faster the network, the more a flow without a rate would carry: that is no fault."""
    fast = LEG._replace(flow=FLOW._replace(per_1000s=0), found=FULL._replace(messages=MESSAGES._replace(
        asked_bps=0, achieved_bps=90 * 10**9)))  # fmt: skip
    assert wrong(fast, Wants(bandwidth_cap_bps=10**9)) == set()
    assert wrong(LEG, Wants(bandwidth_cap_bps=10**8)) == {("contract", "problem", "here")}


def test_bandwidth_is_judged_in_the_flows_direction_with_headers_and_without_bursts() -> None:
    def state(least: int, **fields: object) -> str:
        leg = LEG._replace(found=FULL._replace(bulk=BULK._replace(**fields)))  # type: ignore[arg-type]
        rows = judge(leg, FLOOR, Wants(bandwidth_min_bps=least)).statements
        return next(one.state for one in rows if one.aspect == "contract")

    assert state(50 * 10**6, forward_bps=95 * 10**6, back_bps=38 * 10**6) == "ok"
    assert state(10**8, forward_bps=95_600_000) == "ok"  # a whole link of 100 Mbit/s
    assert state(10**8, forward_bps=150 * 10**6, lasting_bps=90 * 10**6, first_bps=300 * 10**6) == "problem"
    # What a server allows is no measure of the path.
    assert state(10**9, forward_bps=95 * 10**6, allowed_bps=10**8) == "unknown"
    assert state(10**9, forward_bps=50 * 10**6, allowed_bps=10**8) == "problem"
    # More than the servers allow, and held by the hosts: nobody has seen what the path carries.
    assert state(400 * 10**9, forward_bps=6 * 10**9, allowed_bps=10**10) == "unknown"


def test_damage_filters_and_others_are_no_loss_of_the_path() -> None:
    damaged = STREAM._replace(received=980, kept=980, damaged=20, slower_sent=500, slower_received=490)
    text = said_of(damaged)
    assert "20 of 1000 packets arrived damaged" in text
    assert "depend on the rate" not in text
    waits = QUIET._replace(p95_ns=20 * MS)
    shared = LOSSY._replace(waiting=waits, slower_waiting=waits, others_receiver_bps=5 * 10**6)
    assert "other traffic fills a hop; others took 5 Mbit/s of learner's interface" in said_of(shared)
    nobody_asks = FLOW._replace(per_1000s=0)
    narrow = LEG._replace(flow=nobody_asks, found=FULL._replace(stream=LOSSY._replace(slower_received=500)))
    assert wrong(narrow) == {("loss", "note", "path")}
    filtered = FULL._replace(stream=STREAM._replace(received=0, kept=0))
    assert wrong(LEG._replace(found=filtered)) == {("loss", "note", "path")}
    quic = LEG._replace(found=filtered, flow=FLOW._replace(protocol="quic"))
    assert wrong(quic) == {("loss", "problem", "path")}


def said_of(stream: Stream) -> str:
    leg = LEG._replace(found=FULL._replace(stream=stream))
    return " ".join(one.text for one in judge(leg, FLOOR, Wants()).statements if one.aspect == "loss")


def test_a_counter_of_everybodys_frames_is_laid_at_what_was_lost_of_ours() -> None:
    risen = END._replace(interface=CARD._replace(counters=(("rx_dropped", 101),)))
    before = END._replace(interface=CARD._replace(counters=(("rx_dropped", 1),)))
    leg = LEG._replace(before=(END, before), after=(END, risen))
    assert wrong(leg) == set()
    lossy = leg._replace(found=FULL._replace(stream=LOSSY))
    assert ("nic", "problem", "peer") in wrong(lossy)
    few = LOSSY._replace(sent=10_000, received=5000)
    assert not [one for one in wrong(leg._replace(found=FULL._replace(stream=few))) if one[0] == "nic"]


def test_a_name_that_one_end_alone_knows() -> None:
    both = (("here", "node-b", "10.0.0.2"), ("peer", "node-a", "10.0.0.1"))
    assert wrong(LEG._replace(knows=both)) == set()
    assert wrong(LEG._replace(knows=(("here", "node-b"), ("peer", "node-a")))) == set()
    assert wrong(LEG._replace(knows=(both[0], ("peer", "node-a")))) == {("name", "note", "peer")}
    assert wrong(LEG._replace(knows=(("here", "node-b"), both[1]))) == {("name", "note", "here")}


def test_fragments_that_do_not_arrive() -> None:
    for arrive, wanted in ((True, set()), (None, set()), (False, {("mtu", "note", "path")})):
        leg = LEG._replace(found=FULL._replace(sizes=SIZES._replace(fragments=arrive)))
        assert wrong(leg) == wanted


def test_names_are_known_unknown_or_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()

    def getaddrinfo(name: str, *_: object, **__: object) -> list[object]:
        if name == "slow":
            never.wait(30)
        if name != "known":
            raise socket.gaierror(socket.EAI_NONAME if name == "unknown" else socket.EAI_AGAIN, "x")
        return [(0, 0, 0, "", ("10.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    found = resolve(("known", "unknown", "again", "slow"), within_s=0.1)
    never.set()
    assert found == {"known": ("10.0.0.1",), "unknown": ()}


def test_a_long_path_is_not_too_narrow() -> None:
    late = MESSAGES._replace(achieved_bps=10**8, delays=LATE, rtt_ns=260 * MS)
    assert wrong(LEG._replace(found=FULL._replace(messages=late))) == set()


def test_kinds_of_loss_are_told_apart() -> None:
    def said(stream: Stream) -> str:
        leg = LEG._replace(found=FULL._replace(stream=stream))
        return next(one.text for one in judge(leg, FLOOR, Wants()).statements if one.aspect == "loss")

    assert "does not depend on the rate" in said(LOSSY)
    assert "a hop carries only" in said(LOSSY._replace(slower_received=500))
    # Half the rate is still above what the hop carries: as much arrives a second as before.
    assert "a hop carries only" in said(LOSSY._replace(received=200, slower_received=195))
    assert "too few to tell why" in said(STREAM._replace(received=997))
    assert "less than" in said(STREAM)


def test_rates_that_hosts_bound_are_not_the_paths() -> None:
    found = FULL._replace(bulk=BULK._replace(forward_bps=20 * 10**9, back_bps=8 * 10**9))
    assert wrong(LEG._replace(found=found)) == set()
    # A setting holds this host alone to less than came over the path: that is no bound of its processors.
    busy = BULK._replace(forward_bps=10**9, back_bps=10**6, waited_ns=10**9, span_ns=10**10)
    assert hosts_bound(busy, 10**6, 22 * 10**6) is False
    assert hosts_bound(busy._replace(forward_bps=10**7), 10**6, 22 * 10**6) is True


def held(limited: str, *, wmem: int = 4 << 20, rmem: int = 6 << 20, least_rtt_ns: int = MS) -> set[object]:
    """What is said of a connection that both ends' settings bound."""
    seen = Seen("buffers", (("tcp_wmem", wmem), ("tcp_rmem", rmem)), "x", "")
    end = END._replace(seen=(seen,))
    found = BULK._replace(limited=limited, least_rtt_ns=least_rtt_ns)
    return set(wrong(LEG._replace(found=FULL._replace(bulk=found), before=(end, end))))


def test_a_setting_that_bounds_tcp_is_laid_at_the_end_that_has_it() -> None:
    assert held("receiver") == held("sender") == set()
    assert held("receiver", rmem=8192) == {("tcp", "problem", "peer")}
    assert held("sender", wmem=8192) == {("tcp", "problem", "here")}
    assert held("network", rmem=8192, wmem=8192) == held("sender", rmem=8192) == set()
    # 3 MiB over 25 ms carry 1 Gbit/s, which is what came: a long path, an ordinary setting.
    assert held("receiver", least_rtt_ns=25 * MS) == {("tcp", "note", "peer")}
    assert held("receiver", least_rtt_ns=10 * MS) == set()
    assert wrong(LEG._replace(found=FULL._replace(bulk=BULK._replace(limited="receiver")))) == set()


def test_a_way_that_a_setting_slows_is_not_the_paths() -> None:
    small = Seen("buffers", (("tcp_wmem", 4 << 20), ("tcp_rmem", 4096)), "x", "")
    slow = FULL._replace(bulk=BULK._replace(limited="receiver", forward_bps=10**8))
    leg = LEG._replace(found=slow, before=(END, END._replace(seen=(small,))))
    assert wrong(leg) == {("tcp", "problem", "peer")}
    assert wrong(leg._replace(before=(END, END))) == {("tcp", "note", "path")}


@pytest.mark.parametrize(
    ("wants", "state"),
    [
        (Wants(bandwidth_min_bps=10**8), "ok"),
        (Wants(bandwidth_min_bps=2 * 10**9), "problem"),
        (Wants(latency_cap_ns=MS), "ok"),
        (Wants(latency_cap_ns=200_000), "problem"),
        (Wants(bandwidth_cap_bps=10**9), "ok"),
        (Wants(bandwidth_cap_bps=10**8), "problem"),
    ],
)
def test_against_the_contract(wants: Wants, state: str) -> None:
    rows = [one for one in judge(LEG, FLOOR, wants).statements if one.aspect == "contract"]
    assert [one.state for one in rows] == [state]
    assert bool(rows[0].mend) == (state == "problem")


def test_counters_that_rose_are_told() -> None:
    risen = END._replace(interface=CARD._replace(counters=(("rx_errors", 9), ("rx_dropped", 1))))
    assert wrong(LEG._replace(after=(END, risen))) == {("nic", "problem", "peer")}
    half = END._replace(interface=CARD._replace(duplex="half"))
    assert wrong(LEG._replace(before=(half, END), after=(half, END))) == {("nic", "problem", "here")}
    before = END._replace(
        seen=(Seen("rdma", (("mlx5_0/1/out_of_sequence", 1), ("rx_prio3_pause", 7)), "up", ""),)
    )
    after = END._replace(
        seen=(Seen("rdma", (("mlx5_0/1/out_of_sequence", 3), ("rx_prio3_pause", 9)), "up", ""),)
    )
    leg = LEG._replace(before=(before, END), after=(after, END))
    assert wrong(leg) == {("rdma", "problem", "path"), ("rdma", "note", "path")}


def test_clocks_that_differ_are_told() -> None:
    assert wrong(LEG._replace(skew_ns=5 * 10**9, skew_within_ns=10**6)) == {("clock", "note", "")}
    assert wrong(LEG._replace(skew_ns=10**6, skew_within_ns=10**6)) == set()


def report(leg: Leg = LEG, wants: Wants | None = None) -> Report:
    return Report(FORMAT, "dsec", 1_700_000_000, "host", wants or Wants(bandwidth_min_bps=1), FLOOR, (leg,))


def test_every_problem_has_a_mend_and_all_outputs_show_it() -> None:
    bad = LEG._replace(
        found=FULL._replace(stream=LOSSY, sizes=SIZES._replace(forward_bytes=1400, forward_by="silent")),
        flow=FLOW._replace(target="<b>\x1b[31m"),
    )
    one = report(bad)
    statements = [row for row in judge(bad, FLOOR, one.wants).statements if row.state == "problem"]
    assert statements
    assert all(row.mend for row in statements)
    assert state_of(one) == "problem"
    assert from_json(to_json(one), where="x") == one
    text, html = render(one, width=80), page(one)
    assert max(map(len, text.splitlines())) <= 80
    assert text.index("PROBLEM") < text.index("  ok")
    assert "\x1b" not in text
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "<code>" in html
    assert "<i>[path]</i>" in html
    assert '<span class="problem">not fit for what was asked</span>' in html
    assert "2023-11-14 22:13 UTC, dsec" in html
    assert "<p>this host alone: round trip 100 us" in html


def test_a_report_is_told_in_chinese_and_stored_in_english() -> None:
    bad = LEG._replace(found=FULL._replace(stream=LOSSY, bulk=BULK._replace(back_bps=10**8)))
    one = report(bad)
    text = render(one, width=80, tell=teller("zh"))
    assert max(map(cells, text.splitlines())) <= 80
    assert "结论：不符合要求" in text
    assert "回程较慢：100 Mbit/s，而另一方向为 1 Gbit/s [path]" in " ".join(text.split())
    assert "丢失与速率无关" in text
    html = page(one, tell=teller("zh"), lang="zh")
    assert '<html lang="zh">' in html
    assert "不符合要求" in html
    assert to_json(one).isascii()


def test_noise_of_hosts_is_no_change_of_the_path() -> None:
    """Rates that processors bound differ by much; times differ by as much as they do within a run."""
    quick = LEG._replace(found=FULL._replace(bulk=BULK._replace(forward_bps=9 * 10**9, back_bps=6 * 10**9)))
    busy = LEG._replace(
        found=FULL._replace(
            bulk=BULK._replace(forward_bps=4 * 10**9, back_bps=11 * 10**9),
            echo=ECHO._replace(delays=Delays(100, 80_000, 2 * MS, 9 * MS, 9 * MS, 9 * MS, MS)),
            stream=STREAM._replace(sent=3000, received=2996),
        )
    )
    assert {row.turn for row in compare(report(quick), report(busy))} == {"same"}
    assert {row.turn for row in compare(report(busy), report(quick))} == {"same"}
    far = LEG._replace(found=FULL._replace(echo=ECHO._replace(
        delays=Delays(100, 30 * MS, 31 * MS, 32 * MS, 33 * MS, 34 * MS, MS))))  # fmt: skip
    assert {row.figure: row.turn for row in compare(report(quick), report(far))}["round trip"] == "worse"


def test_two_reports_are_compared() -> None:
    slower = LEG._replace(
        found=FULL._replace(
            bulk=BULK._replace(forward_bps=10**8),
            stream=LOSSY,
            sizes=SIZES._replace(forward_bytes=1400),
            messages=None,
        )
    )
    turns = {row.figure: row.turn for row in compare(report(), report(slower))}
    assert turns["tcp there"] == turns["loss"] == turns["mtu there"] == "worse"
    assert turns["tcp back"] == turns["round trip"] == "same"
    assert {row.figure: row.turn for row in compare(report(slower), report())}["tcp there"] == "better"
    assert {row.turn for row in compare(report(), report())} == {"same"}
    other = report(LEG._replace(flow=FLOW._replace(source="x")))
    assert [row.turn for row in compare(report(), other)] == ["new", "gone"]


def test_no_line_points_to_one_that_is_not_there() -> None:
    """Where datagrams are filtered their sizes say nothing: a hanging connection has another next step."""
    silent = SIZES._replace(forward_bytes=1400, forward_by="silent")
    hung = FULL._replace(sizes=silent, bulk=None, lost="it hangs", lost_at="bulk", stalled=True)
    deaf = hung._replace(echo=ECHO._replace(delays=None))
    for found, points in ((hung, True), (deaf, False)):
        rows = judge(LEG._replace(found=found), Floor(FULL), Wants()).statements
        told = next(one for one in rows if one.aspect == "tcp")
        assert ("see mtu" in f"{told.text} {told.mend}") is points
        assert any(one.aspect == "mtu" for one in rows) is points
