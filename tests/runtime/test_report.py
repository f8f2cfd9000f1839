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


def test_what_was_dropped_is_told_with_its_reason_and_its_log(job, kit):
    fails = kit.step("extra", shell="echo no luck; exit 4", level="discardable")
    needs = kit.step("after", "extra", level="discardable")
    job.run(kit.plan(kit.step("A"), fails, needs))
    document_ = json.loads(job.dsec("report", "j", "--json"))
    assert [(one["step"], one["text"], one["log"]) for one in document_["dropped"]] == [
        ("extra", "was dropped: it failed 1 time and is discardable", "logs/extra@0.1.log"),
        ("after", "was dropped: it needs extra@0, which was dropped", ""),
    ]
    told = job.dsec("report", "j")
    assert "- extra was dropped: it failed" in told
    assert "      | no luck\n" in told
    assert "- after was dropped: it needs extra@0, which was dropped (log: none)" in told
