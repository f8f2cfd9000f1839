"""Metrics that are no numbers and a policy that has collapsed are told; a solved task is no alarm."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dsec.core.learning import Learning

NAN, INFINITE = float("nan"), float("inf")


def told(*reports: dict[str, float]) -> list[str]:
    learning = Learning()
    return [verdict.kind for report in reports for verdict in learning.take(report)]


def report(reward: float, entropy: float = 0.01, same: float = 0.97, **more: float) -> dict[str, float]:
    return {"reward_mean": reward, "entropy": entropy, "zero_std_share": same, **more}


def test_what_is_no_number_is_named_once_until_it_is_one_again() -> None:
    learning = Learning()
    (first,) = learning.take({"loss": NAN, "kl": INFINITE, "step": 3})
    assert first == ("not-a-number", "it reports no finite number for loss, kl")
    assert learning.take({"loss": NAN}) == []
    assert learning.take({}) == []
    assert learning.take({"loss": 0.5}) == []
    assert [one.kind for one in learning.take({"loss": -INFINITE})] == ["not-a-number"]
    (many,) = Learning().take({f"m{at}": NAN for at in range(9)})
    assert many.detail.endswith("for m0, m1, m2, m3, m4, m5 and 3 more")


def test_a_policy_that_stays_below_its_target_without_entropy_has_collapsed() -> None:
    learning = Learning()
    found = [learning.take(report(0.62, reward_target=0.9)), learning.take(report(0.62))]
    found += [learning.take(report(0.61)), learning.take(report(0.62))]
    assert [[one.kind for one in verdicts] for verdicts in found] == [[], [], ["collapsed"], []]
    assert (
        "entropy 0.01, 97% of the groups learn nothing, and the reward stays at 0.61 of 0.9"
        in found[2][0].detail
    )


def test_names_of_other_frameworks_are_known() -> None:
    trl = {
        "train/reward": 0.2,
        "train/entropy": 0.001,
        "train/frac_reward_zero_std": 0.99,
        "reward_target": 1.0,
    }
    verl = {"critic/rewards/mean": 0.2, "actor/entropy": 0.001, "zero_std_share": 0.99, "reward_target": 1.0}
    assert told(*[trl] * 4) == told(*[verl] * 4) == ["collapsed"]


def test_a_reward_that_still_rises_is_no_collapse() -> None:
    assert told(*(report(0.1 + 0.05 * at, reward_target=0.9) for at in range(15))) == []


def test_without_a_target_nobody_knows_what_is_stuck() -> None:
    assert told(*[report(0.2)] * 20) == []


@given(
    rewards=st.lists(st.floats(0.9, 1.0), min_size=1, max_size=40),
    entropy=st.floats(0, 5),
    same=st.floats(0, 1),
)
def test_a_solved_task_is_never_an_alarm(rewards: list[float], entropy: float, same: float) -> None:
    assert told(*(report(one, entropy, same, reward_target=0.9) for one in rewards)) == []


@given(
    st.lists(st.dictionaries(st.sampled_from([*report(0), "reward_target", "x"]), st.floats()), max_size=30)
)
def test_any_reports_are_taken(reports: list[dict[str, float]]) -> None:
    assert set(told(*reports)) <= {"not-a-number", "collapsed"}


STEP = """
import os, time
from dsec.sdk import context, metric
ctx = context()
metric(loss=0.5)
while not os.path.exists(os.path.join(os.environ["DSEC_CONTRACT_DIR"], "go")):
    metric(loss=0.5 if ctx.step == "well" else float("nan"))
    time.sleep(0.2)
"""


def test_a_running_training_that_turns_nan_is_told(job: Any, kit: SimpleNamespace) -> None:
    job.env["DSEC_AUDIT_S"] = "0.1"
    (job.folder / "train.py").write_text(STEP)
    argv = (sys.executable, "train.py")
    job.save(kit.plan(kit.step("ill", argv=argv), kit.step("well", argv=argv)))
    running = job.start("run", "plan.json", "--job-id", "j")
    notice, *more = kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("notice"))
    (job.folder / "go").touch()
    out = running.communicate(timeout=60)[0].decode()
    assert running.returncode == 0, out
    assert (notice["kind"], notice["step"], more) == ("not-a-number", "ill", [])
    assert "it reports no finite number for loss" in " ".join(out.split())
