"""The job as most are: one loop in one process, which saves its state after each iteration.

    python train.py FOLDER [--iterations 20] [--kill-at N]

Started again, it goes on from the last complete save under FOLDER, and says so. As the one Step of
loop.yaml it is tried again when it dies, and ends with the policy of every other way of running the job.
"""

from __future__ import annotations

import argparse
import os
import sys

import faults
import grpo
from run_in_process import iterate

from dsec.sdk import NoSaveError, heartbeat, load_sharded, save_sharded


def restored(folder: str, seed: int) -> tuple[int, grpo.Floats, grpo.Optimizer]:
    """Return the next iteration, and the weights and the optimizer to begin it with."""
    try:
        saved = load_sharded(folder)
    except NoSaveError:
        return 0, grpo.new_policy(grpo.generator(seed, 0, 0)), grpo.new_optimizer()
    print(f"going on after iteration {saved.at}")
    state = grpo.Optimizer(saved.state["mean"], saved.state["square"], saved.state["updates"])
    return saved.at + 1, saved.state["weights"], state


def main() -> int:
    """Train to the end, from wherever an earlier process got to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--kill-at", type=int, help="die while the save of this iteration is written")
    options = parser.parse_args()
    attempt = int(os.environ.get("DSEC_ATTEMPT", "1"))
    begin, weights, state = restored(options.folder, options.seed)
    for i in range(begin, options.iterations):
        weights, state, line = iterate(weights, state, i, seed=options.seed)
        faults.die_while_saving(iteration=i, at=options.kill_at, attempt=attempt)
        save_sharded(options.folder, {"weights": weights, **state._asdict()}, at=i)
        heartbeat()
        print(f"iteration {i}: reward {line['reward_mean']:.3f}")
    print(f"policy {grpo.policy_hash(weights)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
