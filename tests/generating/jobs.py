"""Whole documents: the jobs of several domains of reinforcement learning and LLM training."""

from __future__ import annotations

from random import Random
from typing import Any

from generating import parts
from generating.parts import Machine

Values = dict[str, Any]
Document = tuple[str, Values]
"""File name and content."""
SCENES = ("merge", "crossing", "parking")
AGENTS = ("retrieval-augmented", "web-research", "risk-control")
LEARNER = """set -eu
python -m sim.learner \\
  --episodes "$DSEC_RUN_DIR/episodes" --actors {actors} | tee learner.log
"""


def _dimensions(rng: Random, topic: str, machine: Machine) -> Values:
    return {
        "version": f"{rng.randrange(3)}.{rng.randrange(20)}.0",
        "name": f"{topic}-{rng.randrange(1000)}",
        "baseline": machine.baseline(),
        "elasticity": machine.elasticity(),
        "fault_tolerance": parts.tolerance(rng),
        "dependencies": parts.dependencies(rng, topic),
        **machine.nvlink(),
    }


def grpo(rng: Random) -> Document:
    """RLHF with verifiable rewards: the seven Steps, iterated, calls into warm workers."""
    machine = Machine(rng)
    job = _dimensions(rng, rng.choice(("math-grpo", "code-grpo", "dialogue-grpo")), machine)
    rounds = rng.choice((20, 100, 500))
    job["data_source"] = f"ds://datasets/prompts-v{rng.randrange(9)}"
    job["iterations"] = {
        "count": rounds,
        "max_staleness": 1,
        "in_flight": 3,
        "carried": [{"from": "update", "to": "sample"}],
    }
    job["steps"] = [
        {
            "id": "prompts",
            "name": "DataLoader",
            "run": ["python", "-m", "trainer.prompts", "--batch", str(rng.choice((256, 512)))],
            "level": "discardable",
            "resources": {"cpu": 4, "memory": "16Gi", "disk": "20GB"},
            "outputs": ["{run}/prompts-{iteration}.jsonl"],
            "timeout": "5m",
            "expected_duration": "20s",
            "retries": 2,
        },
        {
            "id": "sample",
            "name": "PolicyForward",
            "call": "trainer.rollout:sample",
            "worker": "sampler",
            "args": {"group": 8, "temperature": 0.9, "max_tokens": rng.choice((512, 2048)), "stop": ["</s>"]},
            "needs": ["prompts"],
            "level": rng.choice(("pauseable", "critical")),
            "resources": machine.on_gpu(1, cpu=2),
            "inputs": ["{run}/prompts-{iteration}.jsonl"],
            "outputs": ["{run}/rollouts-{iteration}.npz"],
            "timeout": "30m",
            "expected_duration": "4m",
        },
        {
            "id": "score",
            "name": "RewardCalc",
            "call": "trainer.reward:score",
            "worker": "reward",
            "level": "elastic",
            "resources": {"cpu": 4, "memory": "8Gi"},
            "inputs": ["{run}/rollouts-{iteration}.npz"],
            "outputs": ["{run}/rewards-{iteration}.npz"],
            "timeout": "10m",
            "retries": {"max": 3, "backoff": "5s", "factor": 2},
        },
        {
            "id": "update",
            "name": "GradientUpdate",
            "run": f"torchrun --standalone --nproc-per-node {machine.count} -m trainer.update",
            "checkpoint_cmd": "python -m trainer.save",
            "needs": ["score"],
            "level": "critical",
            "checkpoint_grace_period": rng.choice(("30s", "90s")),
            "resources": machine.on_gpu(cpu=8, pcie="12GB/s"),
            "inputs": ["{run}/rewards-{iteration}.npz", "{run}/policy-{previous}.npz"],
            "outputs": ["{run}/policy-{iteration}.npz"],
            "env": {"OMP_NUM_THREADS": 4, "NCCL_P2P_LEVEL": "NVL", "USE_FLASH": True},
            "timeout": "1h",
            "expected_duration": "8m",
        },
        {
            "id": "report",
            "name": "MetricsReport",
            "run": "python -m trainer.report",
            "needs": ["update"],
            "level": "discardable",
            "resources": {"cpu": 0.5},
            "timeout": "2m",
            "expected_duration": "3s",
        },
    ]
    if rng.random() < 0.4:
        job["steps"][1].update(parts.layers(rng))
    if rng.random() < 0.5:
        job.update(parts.health(rng), policies=parts.policies(rng))
    if rng.random() < 0.4:
        job["max_gpu_hours"] = machine.count * rounds
        job["min_gpu_hours"] = machine.count
    return "dsandbox.yaml", job


def driving(rng: Random) -> Document:
    """Many simulated vehicles: actors, a learner, and a circle that is broken at a checkpoint."""
    machine = Machine(rng)
    job = _dimensions(rng, "autodrive", machine)
    job["max_steps_per_episode"] = rng.choice((500, 1000, 2000))
    job["checkpoint_interval_steps"] = rng.choice((100, 250))
    actors = rng.randrange(2, 12)
    steps: list[Values] = [
        {
            "id": f"actor-{at}",
            "run": f"python -m sim.actor --scenario {rng.choice(SCENES)} --seed {at}",
            "cwd": "simulation",
            "needs": ["learner"],
            "break_cycle": True,
            "break_point": "learner",
            "resources": {"cpu": 2, "memory": "6Gi", "network": "500Mbps"},
            "outputs": [f"{{run}}/episodes/{at}-{{iteration}}.bin"],
            "timeout": "20m",
            "expected_duration": "3m",
            "retries": 1,
        }
        for at in range(actors)
    ]
    steps.append(
        {
            "id": "learner",
            "run": LEARNER.format(actors=actors),
            "needs": [f"actor-{at}" for at in range(actors)],
            "level": "critical",
            "resources": machine.on_gpu(cpu=4),
            "timeout": "40m",
        }
    )
    job["steps"] = steps
    job["iterations"] = {"count": rng.choice((10, 50))}
    job["runtime_context"] = parts.context(rng)
    return "dsandbox.yaml", job


def environment(rng: Random) -> Document:
    """A sandbox for a tool-using agent."""
    packages = [*rng.sample(parts.PACKAGES, 2), *([parts.KERNELS] if rng.random() < 0.3 else [])]
    return "agent-train-sandbox.yaml", {
        "version": f"1.{rng.randrange(30)}.0",
        "name": f"{rng.choice(AGENTS)}-agent-v{rng.randrange(9)}",
        "base": parts.base(rng),
        "dependencies": packages,
        "runtime_context": parts.context(rng),
        "security_policy": parts.policy(rng),
        "include-code": parts.code(rng),
        **({"telemetry": False} if rng.random() < 0.3 else {}),
    }


def heterogeneous(rng: Random) -> Document:
    """Tasks on different cards that talk to each other."""
    units: dict[str, Values] = {
        "embedding-gen": {"gpu_type": "a100", "min_memory": "64GB", "nvlink_affinity": "link-group-0"},
        "llm-inference": {"gpu_type": "h100", "fp16_throughput": "900 TFLOPS"},
        "vector-search": {"gpu_type": "mi300x", "memory_bandwidth": "3.2 TB/s"},
        "rerank": {"gpu_type": "a100", "min_memory": "40GB-class"},
    }
    tasks: list[Values] = []
    for name, unit in units.items():
        script = f"python {name.replace('-', '_')}.py --shard {rng.randrange(16)}"
        inside = rng.random() < 0.3
        task: Values = {"name": name, "compute_unit": {**unit, "script": script} if inside else unit}
        tasks.append(
            {**task, **({} if inside else {"script": script}), "timeout": rng.choice(("1h", "2h", "90m"))}
        )
    far = rng.choice(("rdma-over-converged-ethernet", "tcp", "quic"))
    near = rng.choice(("nvlink-p2p", "pcie", "shared-memory"))
    flows: list[Values] = [
        {"from": "embedding-gen", "to": "llm-inference", "protocol": far},
        {"from": "llm-inference", "to": "vector-search"},
        {"from": "embedding-gen", "to": "rerank", "protocol": near},
    ]
    mode = {"nvlink_mode": "off"} if near != "nvlink-p2p" and rng.random() < 0.5 else {}
    return "rag-training-task.yaml", {
        "name": f"rag-{rng.randrange(100)}",
        "tasks": tasks,
        "communication": flows,
        **mode,
    }


def steps_only(rng: Random) -> Document:
    """The Step part beside a contract: supervised tuning and evaluation."""
    names = rng.sample(("tokenize", "pack", "train", "merge", "evaluate"), 5)
    profile = ({"cpu": 8}, {"cpu": 2, "memory": "32Gi"}, {"gpu": {"count": 1, "memory": "20Gi"}, "cpu": 4})
    steps: list[Values] = []
    for at, name in enumerate(names):
        step: Values = {"id": name, "run": f"python -m sft.{name} --config conf/{name}.yaml"}
        if at:
            needed: Any = names[at - 1]
            step["needs"] = [needed if rng.random() < 0.7 else {"step": needed}]
        step |= {
            "resources": profile[at % 3],
            "timeout": rng.choice(("1h", "4h", "1d")),
            "expected_duration": "25m",
        }
        steps.append(step)
    if rng.random() < 0.5:
        steps[0].setdefault("needs", []).append({"step": names[-1], "carried": True})
    return "ds_config.yaml", {
        "steps": steps,
        "data_source": "ds://datasets/sft-mix",
        "iterations": {"count": 3},
    }


def thresholds(rng: Random) -> Document:
    """Training health: caps, snapshots, policies and plugins."""
    return "thresholds.yaml", {
        **parts.health(rng),
        "policies": parts.policies(rng),
        "plugins": parts.plugins(rng),
    }


def deployment(rng: Random) -> Document:
    """Serving what was trained."""
    machine = Machine(rng)
    gpu = (
        machine.type
        if rng.random() < 0.5
        else {"count": 1, "memory": f"{machine.least}Gi", "type": machine.type}
    )
    return "hermes-deploy.yaml", {
        "name": "agent-nav",
        "version": f"2.{rng.randrange(9)}.1",
        "model": f"ds://models/agent-nav/2026q{rng.randrange(1, 5)}",
        "runtime": f"hermes-v2.{rng.randrange(4)}",
        "resources": {
            "gpu": gpu,
            "cpu": 8,
            "memory": "64Gi",
            "instances": rng.randrange(1, 9),
            "concurrency": 32,
        },
        **({"concurrency": 16} if rng.random() < 0.3 else {}),
        "lifecycle": {"warmup_steps": rng.choice((100, 1000)), "auto_scale": rng.random() < 0.5},
    }


def plugin(rng: Random) -> Document:
    """A plugin's manifest, with what it adds to the contract that loads it."""
    manifest: Values = {
        "name": rng.choice(("sim-env-connector", "skill-manager", "redis-memory")),
        "version": f"1.{rng.randrange(9)}.{rng.randrange(9)}",
        "description": "Steps that talk to the simulation.",
        "entrypoint": "entrypoint.so",
        "schema": "schema.json",
        "permissions": rng.sample(("read:redis", "write:s3", "read:simulation", "call:skill-registry"), 2),
        "signature": "plugin.sig",
        "allow_unknown": [{"reason": "exec-child", "where": "run_git", "why": "runs /usr/bin/git only"}],
    }
    if rng.random() < 0.5:
        machine = Machine(rng)
        manifest |= {
            "baseline": {"cpu": 2, "memory": "4Gi"},
            "elasticity": {"network": {"bandwidth_min": "100Mbps", "bandwidth_max": "1Gbps"}},
            "fault_tolerance": parts.tolerance(rng),
            "dependencies": parts.dependencies(rng, machine.type),
            "runtime_context": parts.context(rng),
            "security_policy": parts.policy(rng),
        }
    return "plugin.yaml", manifest


def fleet(rng: Random) -> Document:
    """Customer service agents: a long job with everything that production adds."""
    machine = Machine(rng)
    job = _dimensions(rng, "service-agents", machine)
    job |= {
        "base": parts.base(rng),
        "runtime_context": parts.context(rng),
        "security_policy": parts.policy(rng),
        "include-code": parts.code(rng),
        "plugins": parts.plugins(rng),
        "policies": parts.policies(rng),
        **parts.health(rng),
        "telemetry": False,
    }
    workers = rng.randrange(3, 20)
    job["steps"] = [
        {
            "id": f"worker-{at:03d}",
            "run": f"python -m fleet.worker --agent {at} --shards {workers}",
            "resources": {
                "gpu": {"count": 1, "memory": "1Gi"},
                "cpu": 1,
                "memory": "2Gi",
                "network": "100Mbps",
            },
            "timeout": "6h",
            "level": rng.choice(parts.LEVELS),
        }
        for at in range(workers)
    ]
    return "dsandbox.yaml", job


def placed(rng: Random) -> Document:
    """Steps that say which devices they want, how they are joined and shared, and what else they take."""
    machine = Machine(rng)
    job = _dimensions(rng, "placed", machine)
    joined = {
        "within": rng.choice(("nvlink", "switch", "numa")),
        "topology": rng.choice(("strict", "prefer")),
    }
    group = {"nvlink_affinity": "trainers"} if rng.random() < 0.5 else {"numa_affinity": "loaders"}
    shared = (
        {"share": "fraction", "memory": "8Gi"}
        if rng.random() < 0.5
        else {"share": rng.choice(("exclusive", "mig"))}
    )
    job["shell"] = "bash -eu"
    job["tokens"] = {"licence": rng.randrange(1, 4), "simulator": 8}
    job["steps"] = [
        {
            "id": "embed",
            "run": "set -o pipefail\npython -m placed.embed | tee embed.log\n",
            "shell": "bash",
            "resources": {"gpu": {"count": 1, **shared}, "tokens": {"licence": 1}},
            "timeout": "1h",
        },
        {
            "id": "train",
            "run": "python -m placed.train",
            "needs": ["embed"],
            "resources": {"gpu": {"count": machine.count, **(joined if machine.count > 1 else {}), **group}},
            "timeout": "8h",
        },
        {
            "id": "search",
            "run": "python -m placed.search",
            "needs": ["embed"],
            "level": "elastic",
            "resources": {
                "gpu": {"count": 1, "min_count": 1, "max_count": 1},
                "tokens": {"simulator": 2},
            },
            "timeout": "2h",
        },
    ]
    return "dsandbox.yaml", job


JOBS = (grpo, driving, environment, heterogeneous, steps_only, thresholds, deployment, plugin, fleet, placed)


def documents(count: int) -> list[Document]:
    """The first `count` documents, the same every time, of all kinds in turn."""
    return [JOBS[at % len(JOBS)](Random(at)) for at in range(count)]
