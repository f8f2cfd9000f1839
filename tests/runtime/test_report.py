"""The report's own encoder writes what `json` would, byte by byte."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dsec.core.fold import fold
from dsec.core.report import build, document, encode
from dsec.events import Exit, RunStart, Spawn

TEXTS = st.text(max_size=6) | st.sampled_from(['"steps":[]', '"', "\\", "é\n"])
ENDS = st.tuples(
    st.sampled_from("AB"),
    st.sampled_from(["ok", "exit"]),
    st.integers(0, 10**9),
    st.none() | st.integers(0, 10**9),
    st.none() | st.integers(0, 10**7),
)


def events(ends):
    """A run of one iteration in which these attempts ended."""
    told = [RunStart(0, 1, 10, 5, "boot", 1000, False)]
    for number, (step, cause, wall, cpu, rss) in enumerate(ends, 1):
        told.append(Spawn(0, step, 0, number, 100 + number, 1, 2, (), "logs/x", ""))
        told.append(
            Exit(wall, step, 0, number, cause, 0, None, "", wall, cpu, rss, None, None, None),
        )
    return told


@given(title=TEXTS, job=TEXTS, ends=st.lists(ENDS, max_size=5))
def test_a_report_is_the_same_json(kit, title, job, ends):
    plan = kit.plan(kit.step("A")._replace(name=title), kit.step("B", "A"))
    report = build(plan, fold(events(ends)), job=job, inventory=plan.inventory)
    report["dependencies"] = [{"text": title}]
    assert encode(report) == json.dumps(document(report), ensure_ascii=False, separators=(",", ":"))
