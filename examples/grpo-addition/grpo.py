"""GRPO on the sums of two digits, in numpy: the policy, its hand-written gradient, the update.

A prompt is a pair of digits; a completion is three tokens: tens, units, end (`7 + 8` is `1 5 #`).
The policy is a multi-layer perceptron with one hidden layer that sees both digits, the position
and the token before, one-hot, and is sampled token by token. Everything here is a pure function
of its arguments; `steps.py` does the reading and writing.
"""

from __future__ import annotations

import os

# One BLAS thread: with more, the order of additions, and so the last bit of the weights, depends
# on the number of cores. The libraries read these once, at import.
os.environ.update({f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS")})

import hashlib
import io
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]

DIGITS, END, VOCABULARY, LENGTH, HIDDEN = 10, 10, 11, 3, 128
INPUTS = DIGITS + DIGITS + LENGTH + VOCABULARY
SHAPES = ((INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, VOCABULARY), (VOCABULARY,))
SIZE = sum(int(np.prod(shape)) for shape in SHAPES)
ALL_SUMS = np.array([(a, b) for a in range(DIGITS) for b in range(DIGITS)], dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Settings:
    """What one update is made with."""

    group: int = 8
    """Completions of each prompt; their mean reward is the baseline."""
    epochs: int = 4
    minibatches: int = 16
    learning_rate: float = 5e-3
    clip: float = 0.2
    entropy_bonus: float = 0.1


class Rollouts(NamedTuple):
    """Completions of prompts, `group` of each, with the log-probability each token was drawn at."""

    prompts: Ints
    tokens: Ints
    log_probs: Floats


class Batch(NamedTuple):
    """What the update learns from: completions and how much better than their group they were."""

    prompts: Ints
    tokens: Ints
    log_probs: Floats
    advantages: Floats


class Optimizer(NamedTuple):
    """Adam's state."""

    mean: Floats
    square: Floats
    updates: Ints
    """A single number: how many updates went before."""


class Loss(NamedTuple):
    """The loss of one minibatch, its gradient, and what is worth watching."""

    value: float
    gradient: Floats
    kl: float
    clipped: float
    entropy: float


def generator(seed: int, iteration: int, step: int) -> np.random.Generator:
    """Return the random stream of one Step in one iteration: a re-run draws the same numbers."""
    return np.random.default_rng([seed, iteration, step])


def pack(*arrays: NDArray[Any]) -> bytes:
    """Encode arrays one after another in .npy form; unlike .npz it holds no times."""
    out = io.BytesIO()
    for array in arrays:
        np.save(out, np.ascontiguousarray(array), allow_pickle=False)
    return out.getvalue()


def unpack(data: bytes) -> list[NDArray[Any]]:
    """Decode what `pack` encoded."""
    source = io.BytesIO(data)
    arrays = []
    while source.tell() < len(data):
        arrays.append(np.load(source, allow_pickle=False))
    return arrays


def policy_hash(weights: Floats) -> str:
    """Return the SHA-256 of the policy as it lies on disk."""
    return hashlib.sha256(pack(weights)).hexdigest()


def draw_prompts(rng: np.random.Generator, count: int) -> Ints:
    """Return `count` pairs of digits."""
    return rng.integers(0, DIGITS, (count, 2)).astype(np.uint8)


def new_policy(rng: np.random.Generator) -> Floats:
    """Return random weights as one flat vector; the output layer starts near zero."""
    scales = (0.3, 0.0, 0.01, 0.0)
    parts = [rng.normal(0.0, 1.0, shape) * scale for shape, scale in zip(SHAPES, scales, strict=True)]
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def new_optimizer() -> Optimizer:
    """Return Adam's state before the first update."""
    zeros = np.zeros(SIZE, dtype=np.float32)
    return Optimizer(zeros, zeros.copy(), np.zeros(1, dtype=np.int64))


def layers(weights: Floats) -> list[Floats]:
    """Return the views of the flat vector: hidden weights, hidden bias, output weights, output bias."""
    views, start = [], 0
    for shape in SHAPES:
        size = int(np.prod(shape))
        views.append(weights[start : start + size].reshape(shape))
        start += size
    return views


def features(prompts: Ints, before: Ints | None, position: int) -> Floats:
    """Return the one-hot inputs for the token at `position`; `before` is the token ahead of it."""
    rows = np.arange(len(prompts))
    x = np.zeros((len(prompts), INPUTS), dtype=np.float32)
    x[rows, prompts[:, 0]] = 1
    x[rows, DIGITS + prompts[:, 1]] = 1
    x[:, 2 * DIGITS + position] = 1
    if before is not None:
        x[rows, 2 * DIGITS + LENGTH + before] = 1
    return x


def forward(weights: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Return the hidden layer and the log-probabilities of the next token."""
    w1, b1, w2, b2 = layers(weights)
    hidden = np.maximum(x @ w1 + b1, 0)
    logits = hidden @ w2 + b2
    logits -= logits.max(axis=1, keepdims=True)
    return hidden, logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def sample(weights: Floats, prompts: Ints, rng: np.random.Generator) -> Rollouts:
    """Draw one completion of each prompt."""
    count = len(prompts)
    tokens = np.zeros((count, LENGTH), dtype=np.uint8)
    log_probs = np.zeros((count, LENGTH), dtype=np.float32)
    before = None
    for position in range(LENGTH):
        _, all_log_probs = forward(weights, features(prompts, before, position))
        reached = np.exp(all_log_probs).cumsum(axis=1) > rng.random((count, 1))
        # The sum may end a rounding error below the drawn number: then the last token is meant.
        reached[:, -1] = True
        before = reached.argmax(axis=1)
        tokens[:, position] = before
        log_probs[:, position] = all_log_probs[np.arange(count), before]
    return Rollouts(prompts, tokens, log_probs)


def well_formed(tokens: Ints) -> NDArray[np.bool_]:
    """Say which completions have the form `digit digit end`."""
    form: NDArray[np.bool_] = (tokens[:, :2] < DIGITS).all(axis=1) & (tokens[:, 2] == END)
    return form


def rewards(prompts: Ints, tokens: Ints) -> Floats:
    """Score completions: 0.2 for the form `digit digit end`, 0.4 for each right digit."""
    sums = prompts.sum(axis=1, dtype=np.int64)
    tens, units = tokens[:, 0] == sums // 10, tokens[:, 1] == sums % 10
    scores: Floats = 0.2 * well_formed(tokens) + 0.4 * tens + 0.4 * units
    return scores.astype(np.float32)


def advantages(scores: Floats, group: int) -> tuple[Floats, float]:
    """Normalise rewards within each group; also return the share of groups that teach nothing.

    A group whose completions all scored the same has no deviation, hence no gradient.
    """
    groups = scores.reshape(-1, group)
    deviation = groups.std(axis=1, keepdims=True)
    normal = (groups - groups.mean(axis=1, keepdims=True)) / (deviation + 1e-4)
    return normal.ravel().astype(np.float32), float((deviation < 1e-6).mean())


def reward_stats(tokens: Ints, scores: Floats) -> dict[str, float]:
    """Return what the rewards of one iteration look like."""
    return {
        "samples": len(scores),
        "reward_mean": float(scores.mean(dtype=np.float64)),
        "reward_std": float(scores.std(dtype=np.float64)),
        "format_share": float(well_formed(tokens).mean()),
    }


def loss(
    weights: Floats, x: Floats, tokens: Ints, *, behaviour: Floats, gain: Floats, settings: Settings
) -> Loss:
    """Return the clipped loss over single tokens, with its gradient worked out by hand.

    `behaviour` is the log-probability each token was drawn at and `gain` its advantage.
    """
    hidden, log_probs = forward(weights, x)
    probs = np.exp(log_probs)
    count = len(tokens)
    rows = np.arange(count)
    log_ratio = log_probs[rows, tokens] - behaviour
    ratio = np.exp(log_ratio)
    bounded = np.clip(ratio, 1 - settings.clip, 1 + settings.clip)
    entropy = -(probs * log_probs).sum(axis=1)
    value = -np.minimum(ratio * gain, bounded * gain).mean() - settings.entropy_bonus * entropy.mean()

    # Where the clipped branch is the smaller one the token no longer pulls. Asked this way round a
    # NaN spreads into the gradient, as it does into the loss, and is not taken for "clipped".
    pull = np.where(bounded * gain < ratio * gain, 0, -ratio * gain)
    slope = -probs * pull[:, None]
    slope[rows, tokens] += pull
    slope += settings.entropy_bonus * probs * (log_probs + entropy[:, None])
    return Loss(
        value=float(value),
        gradient=backward(weights, x, hidden, slope / count),
        kl=float((ratio - 1 - log_ratio).mean()),
        clipped=float((np.abs(ratio - 1) > settings.clip).mean()),
        entropy=float(entropy.mean()),
    )


def backward(weights: Floats, x: Floats, hidden: Floats, slope: Floats) -> Floats:
    """Carry the slope of the loss over the logits back to every weight."""
    _, _, w2, _ = layers(weights)
    inner = (slope @ w2.T) * (hidden > 0)
    parts = (x.T @ inner, inner.sum(axis=0), hidden.T @ slope, slope.sum(axis=0))
    return np.concatenate([part.ravel() for part in parts])


def adam(
    weights: Floats, gradient: Floats, state: Optimizer, *, learning_rate: float
) -> tuple[Floats, Optimizer]:
    """Take one step of Adam."""
    updates = state.updates + 1
    mean = state.mean + np.float32(0.1) * (gradient - state.mean)
    square = state.square + np.float32(0.001) * (gradient * gradient - state.square)
    count = int(updates[0])
    size = learning_rate / (1 - 0.9**count)
    scale = np.sqrt(square / np.float32(1 - 0.999**count)) + np.float32(1e-8)
    return weights - np.float32(size) * mean / scale, Optimizer(mean, square, updates)


def update(
    weights: Floats, state: Optimizer, batch: Batch, *, settings: Settings, rng: np.random.Generator
) -> tuple[Floats, Optimizer, dict[str, float]]:
    """Learn from one batch: `epochs` passes over it in shuffled minibatches."""
    x = np.stack(
        [features(batch.prompts, batch.tokens[:, p - 1] if p else None, p) for p in range(LENGTH)], axis=1
    )
    seen: list[tuple[float, float, float, float]] = []
    for _ in range(settings.epochs):
        for part in np.array_split(rng.permutation(len(batch.tokens)), settings.minibatches):
            found = loss(
                weights,
                x[part].reshape(-1, INPUTS),
                batch.tokens[part].ravel(),
                behaviour=batch.log_probs[part].ravel(),
                gain=np.repeat(batch.advantages[part], LENGTH),
                settings=settings,
            )
            weights, state = adam(weights, found.gradient, state, learning_rate=settings.learning_rate)
            norm = float(np.sqrt(np.square(found.gradient, dtype=np.float64).sum()))
            seen.append((found.kl, found.clipped, found.entropy, norm))
    names = ("kl", "clip_fraction", "entropy", "grad_norm")
    return weights, state, dict(zip(names, np.mean(seen, axis=0).tolist(), strict=True))


def exact_match(weights: Floats) -> float:
    """Return the share of the 100 sums that the most probable completion gets right."""
    before, right = None, np.ones(len(ALL_SUMS), dtype=bool)
    sums = ALL_SUMS.sum(axis=1, dtype=np.int64)
    answer = (sums // 10, sums % 10, np.full(len(sums), END))
    for position in range(LENGTH):
        _, log_probs = forward(weights, features(ALL_SUMS, before, position))
        before = log_probs.argmax(axis=1)
        right &= before == answer[position]
    return float(right.mean())
