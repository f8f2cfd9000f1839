"""The whole job in one process, without DSec: what every other way of running it must equal.

    python run_in_process.py [--seed 0] [--iterations 20]

Prints the reward curve and the hash of the final policy.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import grpo
import numpy as np
import show


def train(
    seed: int, *, iterations: int = 20, prompts: int = 512, settings: grpo.Settings | None = None
) -> Iterator[tuple[grpo.Floats, dict[str, Any]]]:
    """Yield the weights and the metrics after each iteration."""
    weights, state = grpo.new_policy(grpo.generator(seed, 0, 0)), grpo.new_optimizer()
    for i in range(iterations):
        weights, state, line = iterate(weights, state, i, seed=seed, prompts=prompts, settings=settings)
        yield weights, line


def iterate(
    weights: grpo.Floats,
    state: grpo.Optimizer,
    i: int,
    *,
    seed: int,
    prompts: int = 512,
    settings: grpo.Settings | None = None,
) -> tuple[grpo.Floats, grpo.Optimizer, dict[str, Any]]:
    """Make one iteration: the weights and the optimizer after it, and its metrics."""
    settings = settings or grpo.Settings()
    pairs = np.repeat(grpo.draw_prompts(grpo.generator(seed, i, 1), prompts), settings.group, axis=0)
    rollouts = grpo.sample(weights, pairs, grpo.generator(seed, i, 2))
    scores = grpo.rewards(pairs, rollouts.tokens)
    gains, zero_std_share = grpo.advantages(scores, settings.group)
    batch = grpo.Batch(*rollouts, gains)
    weights, state, stats = grpo.update(
        weights, state, batch, settings=settings, rng=grpo.generator(seed, i, 5)
    )
    line = {
        "iteration": i,
        "policy_iteration": i - 1,
        **grpo.reward_stats(rollouts.tokens, scores),
        "zero_std_share": zero_std_share,
        **stats,
        "exact_match": grpo.exact_match(weights),
    }
    return weights, state, line


def main() -> int:
    """Train, then print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=20)
    options = parser.parse_args()
    results = list(train(options.seed, iterations=options.iterations))
    if not results:
        parser.error("--iterations must be at least 1")
    print(show.summary([line for _, line in results]))
    print(f"policy {grpo.policy_hash(results[-1][0])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
