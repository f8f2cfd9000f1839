"""Whether a setting of either end, not the path, bounds what TCP carries: its window, or its send buffer.

A connection has at most its window under way, so it carries at most window / round trip. Half of what the
kernel may hold is window, the other half its bookkeeping (tcp_adv_win_scale 1, the default).
"""

from __future__ import annotations

from dsec_cli.netcheck.statement import NOTE, PROBLEM, Statement
from dsec_cli.netcheck.wording import ms, rate, size_text
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.netcheck.facts import Facts
    from dsec_cli.netcheck.replay import Leg

_ORDINARY = {"tcp_rmem": (4096, 131072, 6291456), "tcp_wmem": (4096, 16384, 4194304)}
"""What kernels come with: least, default, most."""
_WHAT = {"tcp_rmem": say("received bytes"), "tcp_wmem": say("bytes to send")}
_LARGEST = 64 << 20
_NEAR = 2
"""A rate from half of what the window allows is bounded by it."""


def windows(leg: Leg) -> list[Statement]:
    """At most one: what held the sender longest, where its setting is as small as that."""
    found = leg.found.bulk
    if found is None or found.forward_bps is None or found.limited not in ("receiver", "sender"):
        return []
    far = found.limited == "receiver"
    setting, end = ("tcp_rmem", leg.flow.target) if far else ("tcp_wmem", leg.flow.source)
    most = _setting(leg.before[1 if far else 0], setting)
    if most is None:
        return []
    cause, ordinary = "peer" if far else "here", _ORDINARY[setting][2]
    text = say(
        "{end} holds at most {most} of a connection's {what}",
        end=end,
        most=size_text(most),
        what=_WHAT[setting],
    )
    if most * 8 < ordinary:
        why = say(
            "{text}, and TCP waited for that; kernels come with {ordinary}",
            text=text,
            ordinary=size_text(ordinary),
        )
        return [Statement("tcp", PROBLEM, why, cause, _mend(setting, most, end))]
    # A busy host answers late, so only the least round trip is surely the path's.
    bound = most // 2 * 8 * 1_000_000_000 // max(1, found.least_rtt_ns)
    if found.forward_bps // max(1, found.streams) * _NEAR < bound:
        return []
    why = say(
        "{text}: over a round trip of {least_rtt} that carries no more than about {bound}",
        text=text,
        least_rtt=ms(found.least_rtt_ns),
        bound=rate(bound),
    )
    return [Statement("tcp", NOTE, why, cause, _mend(setting, most, end))]


def _mend(setting: str, most: int, end: str) -> str:
    least, usual, ordinary = _ORDINARY[setting]
    better = max(ordinary, min(_LARGEST, 4 * most))
    return say(
        "`sysctl -w net.ipv4.{setting}='{least} {usual} {better}'` on {end}",
        setting=setting,
        least=least,
        usual=usual,
        better=better,
        end=end,
    )


def _setting(facts: Facts | None, name: str) -> int | None:
    if facts is None:
        return None
    return next((value for seen in facts.seen for key, value in seen.values if key == name), None)
