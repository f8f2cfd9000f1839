"""The seven Steps of the job: each reads files of the run's work folder, computes, writes one or two.

A resident worker calls the functions (`call: steps:load` in dsandbox.yaml). As a process the same
Step is `python3 steps.py S1 seed=0` (process.yaml); arguments are `name=value` with JSON values.
Files carry the iteration in their names and appear whole or not at all, so that a Step can be
run again after a crash at any moment, and gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import faults
import grpo
import numpy as np

from dsec.sdk import StepContext, context, metrics, publish

PROMPTS, SAMPLES, UPDATE = 1, 2, 5
"""Numbers of the random streams: those of the Steps that draw."""

PER_ITERATION = re.compile(
    r"(?:prompts|rollouts|rewards|batch|groups|policy|optimizer|update|checkpoint)-(\d+)\."
)


def path(ctx: StepContext, name: str, iteration: int | None = None) -> str:
    """Return the place of an iteration's file; `name` is like `policy.npy`."""
    stem, dot, suffix = name.partition(".")
    number = ctx.iteration if iteration is None else iteration
    return os.path.join(ctx.run_dir, f"{stem}-{number}{dot}{suffix}")


def read(file: str) -> bytes:
    """Return a file's bytes."""
    with open(file, "rb") as handle:
        return handle.read()


def encode(record: dict[str, Any]) -> bytes:
    """Encode one JSON line; JSON has no NaN, so a number that is none becomes a string."""
    plain = {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
    }
    return json.dumps(plain, sort_keys=True).encode() + b"\n"


def policy_of(ctx: StepContext, iteration: int, seed: int) -> grpo.Floats:
    """Return the weights that an iteration ended with; before the first: fresh ones."""
    if iteration < 0:
        return grpo.new_policy(grpo.generator(seed, 0, 0))
    (weights,) = grpo.unpack(read(path(ctx, "policy.npy", iteration)))
    return weights


def load(ctx: StepContext, *, seed: int, prompts: int = 512) -> None:
    """S1 DataLoader: draw the prompts."""
    drawn = grpo.draw_prompts(grpo.generator(seed, ctx.iteration, PROMPTS), prompts)
    publish(path(ctx, "prompts.npy"), grpo.pack(drawn))


def forward(ctx: StepContext, *, seed: int, group: int = 8, hang_at: int | None = None) -> None:
    """S2 PolicyForward: sample a group of completions for each prompt."""
    faults.hang(ctx, at=hang_at)
    version = ctx.carried.get("S5", ctx.iteration - 1)
    (prompts,) = grpo.unpack(read(path(ctx, "prompts.npy")))
    rng = grpo.generator(seed, ctx.iteration, SAMPLES)
    drawn = grpo.sample(policy_of(ctx, version, seed), np.repeat(prompts, group, axis=0), rng)
    publish(path(ctx, "rollouts.npy"), grpo.pack(*drawn, np.array([version])))


def reward(ctx: StepContext, *, sleep_s: float = 0.0, sleep_at: int | None = None) -> None:
    """S3 RewardCalc: score the completions."""
    faults.straggle(ctx, seconds=sleep_s, at=sleep_at)
    prompts, tokens, _, _ = grpo.unpack(read(path(ctx, "rollouts.npy")))
    publish(path(ctx, "rewards.npy"), grpo.pack(grpo.rewards(prompts, tokens)))


def sampling(ctx: StepContext, *, group: int = 8) -> None:
    """S4 GRPOSampling: weigh each completion against its group and make the training batch."""
    *drawn, version = grpo.unpack(read(path(ctx, "rollouts.npy")))
    (scores,) = grpo.unpack(read(path(ctx, "rewards.npy")))
    gains, zero_std_share = grpo.advantages(scores, group)
    stats = grpo.reward_stats(drawn[1], scores)
    stats |= {"policy_iteration": int(version[0]), "zero_std_share": zero_std_share}
    publish(path(ctx, "groups.json"), encode(stats))
    publish(path(ctx, "batch.npy"), grpo.pack(*drawn, gains))


def update(
    ctx: StepContext,
    *,
    seed: int,
    nan_at: int | None = None,
    memory_error_at: int | None = None,
    **settings: Any,
) -> None:
    """S5 GradientUpdate: learn from the batch; `settings` are fields of `grpo.Settings`."""
    faults.exhaust_memory(ctx, at=memory_error_at)
    weights, state = policy_of(ctx, ctx.iteration - 1, seed), grpo.new_optimizer()
    if ctx.iteration > 0:
        state = grpo.Optimizer(*grpo.unpack(read(path(ctx, "optimizer.npy", ctx.iteration - 1))))
    batch = grpo.Batch(*grpo.unpack(read(path(ctx, "batch.npy"))))
    batch = faults.poison(ctx, batch, at=nan_at)
    rng = grpo.generator(seed, ctx.iteration, UPDATE)
    weights, state, stats = grpo.update(weights, state, batch, settings=grpo.Settings(**settings), rng=rng)
    publish(path(ctx, "optimizer.npy"), grpo.pack(*state))
    publish(path(ctx, "update.json"), encode(json.loads(read(path(ctx, "groups.json"))) | stats))
    publish(path(ctx, "policy.npy"), grpo.pack(weights))


def checkpoint(ctx: StepContext, *, keep: int = 8, kill_at: int | None = None) -> None:
    """S6 CheckpointSave: put weights and optimizer into one file, name its hash, drop old files.

    `keep` iterations stay. It must not be below the contract's `in_flight`: an iteration that
    far back is complete, so no Step reads its files any more, in a resumed run neither.
    """
    weights = read(path(ctx, "policy.npy"))
    data = weights + read(path(ctx, "optimizer.npy"))
    faults.die_while_writing(ctx, path(ctx, "checkpoint.npy"), data, at=kill_at)
    publish(path(ctx, "checkpoint.npy"), data)
    line = f"{hashlib.sha256(weights).hexdigest()}  policy-{ctx.iteration}.npy\n"
    publish(os.path.join(ctx.run_dir, "policy.sha256"), line.encode())
    for name in os.listdir(ctx.run_dir):
        found = PER_ITERATION.search(name)
        if found and int(found[1]) <= ctx.iteration - keep:
            os.unlink(os.path.join(ctx.run_dir, name))


def report(ctx: StepContext) -> None:
    """S7 MetricsReport: add one line to metrics.jsonl, or replace it when the Step is run again."""
    weights = grpo.unpack(read(path(ctx, "checkpoint.npy")))[0]
    line = json.loads(read(path(ctx, "update.json")))
    line |= {"iteration": ctx.iteration, "exact_match": grpo.exact_match(weights)}
    file = os.path.join(ctx.run_dir, "metrics.jsonl")
    before = read(file).splitlines(keepends=True) if os.path.exists(file) else []
    kept = [old for old in before if json.loads(old)["iteration"] < ctx.iteration]
    publish(file, b"".join(kept) + encode(line))
    metrics({name: float(value) for name, value in line.items()})


STEPS: dict[str, Callable[..., None]] = {
    "S1": load,
    "S2": forward,
    "S3": reward,
    "S4": sampling,
    "S5": update,
    "S6": checkpoint,
    "S7": report,
}


def main(argv: list[str]) -> int:
    """Run one Step as a process."""
    if not argv or argv[0] not in STEPS:
        print(f"usage: steps.py {'|'.join(STEPS)} [name=value ...]", file=sys.stderr)
        return 2
    step, *words = argv
    args = {name: json.loads(value) for name, _, value in (word.partition("=") for word in words)}
    STEPS[step](context(), **args)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
