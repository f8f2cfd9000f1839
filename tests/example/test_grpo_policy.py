"""The algorithm: its gradient is the gradient, its rewards are the ones stated, and it learns."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dsec.core.learning import Learning


def small_batch(grpo: Any, rng: np.random.Generator, *, count: int = 24) -> dict[str, Any]:
    """Return inputs in double precision, so that differences show single bits of the slope."""
    prompts = grpo.draw_prompts(rng, count)
    return {
        "x": grpo.features(prompts, rng.integers(0, grpo.VOCABULARY, count), 1).astype(np.float64),
        "tokens": rng.integers(0, grpo.VOCABULARY, count),
        "gain": rng.normal(size=count),
    }


@pytest.mark.parametrize("bonus", [0.0, 0.1])
def test_gradient_equals_finite_differences(job: SimpleNamespace, bonus: float) -> None:
    grpo, rng = job.grpo, np.random.default_rng(7)
    weights = rng.normal(0, 0.3, grpo.SIZE)
    batch = small_batch(grpo, rng)
    rows = np.arange(len(batch["tokens"]))
    # Ratios from 0.6 to 1.6: some inside the clip range, some outside on either side.
    now = grpo.forward(weights, batch["x"])[1][rows, batch["tokens"]]
    batch["behaviour"] = now - np.log(np.linspace(0.6, 1.6, len(rows)))
    batch["settings"] = grpo.Settings(entropy_bonus=bonus)
    found = grpo.loss(weights, **batch)
    assert 0.2 < found.clipped < 0.8

    step = 1e-6
    for index in rng.choice(grpo.SIZE, 60, replace=False):
        moved = [weights.copy(), weights.copy()]
        moved[0][index] -= step
        moved[1][index] += step
        low, high = (grpo.loss(w, **batch).value for w in moved)
        assert found.gradient[index] == pytest.approx((high - low) / (2 * step), abs=2e-8)


def test_every_completion_is_scored_as_stated(job: SimpleNamespace) -> None:
    grpo = job.grpo
    for a, b in ((0, 0), (4, 5), (7, 8), (9, 9)):
        tokens = np.array(list(itertools.product(range(11), repeat=3)), dtype=np.uint8)
        prompts = np.tile(np.array([[a, b]], dtype=np.uint8), (len(tokens), 1))
        for (tens, units, end), score in zip(tokens, grpo.rewards(prompts, tokens), strict=True):
            form = tens < 10 and units < 10 and end == 10
            want = 0.2 * form + 0.4 * (tens == (a + b) // 10) + 0.4 * (units == (a + b) % 10)
            assert score == pytest.approx(want)


def test_a_group_of_equal_rewards_gives_no_advantage(job: SimpleNamespace) -> None:
    scores = np.array([0.4] * 4 + [0, 1, 0, 1], dtype=np.float32)
    gains, share = job.grpo.advantages(scores, 4)
    assert share == 0.5
    assert np.all(gains[:4] == 0)
    assert gains[4:] == pytest.approx([-1, 1, -1, 1], rel=1e-3)


@pytest.mark.battery
def test_samples_follow_the_policy(job: SimpleNamespace) -> None:
    grpo = job.grpo
    weights = np.random.default_rng(3).normal(0, 0.4, grpo.SIZE).astype(np.float32)
    prompts = np.tile(np.array([[3, 4]], dtype=np.uint8), (40_000, 1))
    drawn = grpo.sample(weights, prompts, np.random.default_rng(4))
    _, log_probs = grpo.forward(weights, grpo.features(prompts[:1], None, 0))
    seen = np.bincount(drawn.tokens[:, 0], minlength=grpo.VOCABULARY) / len(prompts)
    assert seen == pytest.approx(np.exp(log_probs[0]), abs=0.01)
    assert drawn.log_probs[:, 0] == pytest.approx(log_probs[0][drawn.tokens[:, 0]], abs=1e-6)


def test_pack_and_unpack_are_inverse(job: SimpleNamespace) -> None:
    grpo = job.grpo
    arrays = [np.arange(6, dtype=np.uint8).reshape(2, 3), np.array([1.5], dtype=np.float32), np.zeros((0, 3))]
    data = grpo.pack(*arrays)
    assert data == grpo.pack(*grpo.unpack(data))
    for before, after in zip(arrays, grpo.unpack(data), strict=True):
        assert before.dtype == after.dtype
        assert np.array_equal(before, after)


def alarms(lines: list[dict[str, float]]) -> list[str]:
    """What the monitor would say of a training that aims at a reward of 0.9."""
    learning = Learning()
    return [one.kind for line in lines for one in learning.take({**line, "reward_target": 0.9})]


@pytest.mark.battery
def test_reward_rises_and_every_sum_is_learnt(job: SimpleNamespace) -> None:
    lines = [line for _, line in job.run_in_process.train(0)]
    assert lines[0]["reward_mean"] < 0.1
    assert lines[-1]["reward_mean"] > 0.9
    assert lines[-1]["exact_match"] == 1.0
    assert len(lines[0]) == 12
    assert alarms(lines) == []


@pytest.mark.battery
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_other_seeds_learn_too(job: SimpleNamespace, seed: int) -> None:
    last = list(job.run_in_process.train(seed))[-1][1]
    assert last["reward_mean"] > 0.9
    assert last["exact_match"] == 1.0


@pytest.mark.battery
def test_two_processes_end_with_the_same_policy(example_folder: Path) -> None:
    """Also when the machine's own thread settings ask for more than one BLAS thread."""
    hashes = []
    for threads in ("1", "4"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        shown = subprocess.run(
            [sys.executable, "run_in_process.py", "--iterations", "2"],
            cwd=example_folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        hashes.append(re.findall(r"policy ([0-9a-f]{64})", shown))
    assert hashes[0] == hashes[1]
    assert len(hashes[0]) == 1


@pytest.mark.battery
def test_a_large_learning_rate_diverges(job: SimpleNamespace) -> None:
    settings = job.grpo.Settings(learning_rate=0.2)
    lines = [line for _, line in job.run_in_process.train(1, iterations=6, settings=settings)]
    assert lines[0]["kl"] > 0.5
    assert lines[0]["clip_fraction"] > 0.3
    assert lines[-1]["reward_mean"] < 0.25


@pytest.mark.battery
def test_without_entropy_bonus_small_batches_collapse(job: SimpleNamespace) -> None:
    settings = job.grpo.Settings(epochs=1, minibatches=1, entropy_bonus=0.0)
    lines = [line for _, line in job.run_in_process.train(1, iterations=600, prompts=32, settings=settings)]
    last = lines[-1]
    assert last["entropy"] < 0.05
    assert last["zero_std_share"] > 0.9
    assert last["reward_mean"] < 0.8
    assert alarms(lines) == ["collapsed"]


@pytest.mark.battery
@pytest.mark.parametrize("seed", [0, 1])
def test_without_entropy_bonus_large_batches_solve_it_and_alarm_nobody(
    job: SimpleNamespace, seed: int
) -> None:
    settings = job.grpo.Settings(entropy_bonus=0.0)
    lines = [line for _, line in job.run_in_process.train(seed, settings=settings)]
    assert lines[-1]["entropy"] < 0.1
    assert lines[-1]["reward_mean"] > 0.95
    assert alarms(lines) == []
