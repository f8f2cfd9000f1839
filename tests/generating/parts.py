"""The parts that contracts have in common, with values that fit together."""

from __future__ import annotations

from random import Random
from typing import Any

Values = dict[str, Any]

CARDS = (
    # type, GiB that may be asked for, class, behind switches
    ("a100-pcie-40gb", (16, 24, 32, 40), "40GB-class", False),
    ("a100-sxm-80gb", (24, 40, 64, 80), "80GB-class", True),
    ("h100-sxm-80gb", (24, 40, 64, 79), "80GB-class", True),
    ("h200-sxm-141gb", (64, 96, 128, 140), "141GB-class", True),
    ("rtx-4090", (8, 12, 20, 23), "24GB-class", False),
    ("l40s", (16, 24, 40, 44), "48GB-class", False),
)
HOSTS = (
    "api.websearch.com",
    "search.internal.example",
    "arxiv.org",
    "kv-store.prod.example",
    "api.openai.com",
)
LEVELS = ("critical", "pauseable", "elastic", "discardable")
VARIABLES = (
    ("TOKENIZERS_PARALLELISM", False),
    ("NCCL_DEBUG", "WARN"),
    ("OMP_NUM_THREADS", 4),
    ("HF_HUB_OFFLINE", 1),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
    ("LOG_LEVEL", "INFO"),
)


def layers(rng: Random) -> Values:
    """Layers of a model, alike or not, and how the outputs of its parts become one."""
    alike: Any = {"memory": "250Mi", "count": rng.choice((16, 24))}
    stated = rng.choice((alike, [{"name": "embedding", "memory": "1Gi"}, {"name": "block", **alike}]))
    return {"layers": stated, "all_reduce": rng.choice(("sum", "mean", "trainer.rollout:join"))}


class Machine:
    """A GPU type and how much of it a job takes; all its demands fit it."""

    def __init__(self, rng: Random) -> None:
        self.type, sizes, self.nominal, self.switched = rng.choice(CARDS)
        self.count = rng.choice((1, 2, 4, 8))
        self.least, self.most = sorted(rng.sample(sizes, 2))
        self.cpu = rng.choice((8, 16, 32, 64))
        self.memory = rng.choice((64, 128, 256, 512))
        self._rng = rng

    def baseline(self) -> Values:
        """What is held all the time."""
        memory = self.nominal if self._rng.random() < 0.2 else f"{self.least}Gi"
        if memory == self.nominal:
            self.least = self.most
        gpu = {"count": self.count, "memory": memory, "type": self.type}
        return {"gpu": gpu, "cpu": self.cpu, "memory": f"{self.memory}Gi"}

    def elasticity(self) -> Values:
        """Bounds around the baseline, at most twice as many GPUs."""
        gpu: Values = {"min_count": self.count, "max_count": self.count * self._rng.choice((1, 2))}
        nominal = self.least == self.most
        gpu["memory_min"] = self.nominal if nominal else f"{self.least}Gi"
        gpu["memory_max"] = self.nominal if nominal else f"{self.most}Gi"
        network = {"bandwidth_min": "1Gbps", "bandwidth_max": self._rng.choice(("5Gbps", "10Gbps", "25Gbps"))}
        return {"gpu": gpu, "network": network} if self._rng.random() < 0.7 else {"gpu": gpu}

    def nvlink(self) -> Values:
        """How many GPUs behind switches talk."""
        return {"nvlink_mode": self._rng.choice(("switched", "p2p"))} if self.switched else {}

    def on_gpu(self, count: int | None = None, **more: Any) -> Values:
        """Demand of a Step on GPUs; the type is named now and then."""
        gpu: Values = {"count": min(count or self.count, self.count), "memory": f"{self.least}Gi"}
        if self._rng.random() < 0.3:
            gpu["type"] = self.type
        return {"gpu": gpu, **more}


def tolerance(rng: Random) -> Values:
    """Fault tolerance of a job."""
    level = rng.choice(LEVELS[:3])
    stated: Values = {"level": level, "checkpoint_grace_period": rng.choice(("20s", "30s", "1m", "2m"))}
    return {**stated, "resume_strategy": "step_resume"} if rng.random() < 0.6 else stated


def _digest(rng: Random) -> str:
    return f"{rng.choice(('sha256', 'blake3'))}:{rng.getrandbits(256):064x}"


def _version(rng: Random) -> str:
    return f"{rng.randrange(5)}.{rng.randrange(1, 20)}.{rng.randrange(10)}"


def _named(rng: Random, kind: str, topic: str) -> Values:
    name = f"{topic}-{kind}" if kind != "model" else f"{topic}-{rng.choice(('reward', 'policy', 'critic'))}"
    version = _version(rng)
    entry: Values = {"name": name, "version": version, "type": kind}
    sources: tuple[Values, ...] = (
        {"source": f"ds://{kind}s/{topic}/2026q{rng.randrange(1, 5)}"},
        {"source": f"git+ssh://git@git.internal.example/{name}@v{version}#subdirectory=core"},
        {"source": f"git+https://git.internal.example/{name}.git@{rng.getrandbits(160):040x}"},
        {"source": f"https://artifacts.internal.example/{name}.tar", "hash": _digest(rng)},
        {"source": f"s3://artifacts/{name}/{version}.safetensors", "hash": _digest(rng)},
        {"source": f"assets/{name}", "hash": _digest(rng)},
        {},
    )
    return {**entry, **rng.choice(sources)}


PACKAGES: tuple[Values, ...] = (
    {"package": "numpy", "version": ">=1.26,<3"},
    {"package": "gymnasium", "version": "~=1.0"},
    {"package": "pydantic", "version": ">=2.7,<3"},
    {"package": "httpx", "version": ">=0.27,<1"},
    {"package": "tqdm"},
)
KERNELS: Values = {
    "package": "flash-attn",
    "version": "2.6.3",
    "build_options": ["--no-build-isolation", "--max-jobs 8"],
}


def dependencies(rng: Random, topic: str) -> list[Values]:
    """Models, data and packages, each fixed."""
    kinds = rng.sample(("model", "environment", "dataset", "tool", "plugin"), rng.randrange(1, 4))
    packages = rng.sample(PACKAGES, rng.randrange(0, 3))
    return [*(_named(rng, kind, topic) for kind in kinds), *packages]


def context(rng: Random) -> Values:
    """Variables, secrets by reference, and mounts."""
    variables: list[Values] = [
        {"name": name, "value": value} for name, value in rng.sample(VARIABLES, rng.randrange(1, 4))
    ]
    variables.append(
        rng.choice(
            (
                {"name": "TOOL_API_KEY", "source": "vault://prod/agent-tools/websearch-key", "ttl": "2h"},
                {"name": "HF_TOKEN", "source": "env://HF_TOKEN"},
                {"name": "REDIS_URL", "source": "file:///run/secrets/redis-url"},
            )
        )
    )
    mounts: list[Values] = [
        {
            "path": "/workspace/data",
            "source": f"s3://data/rows/v{rng.randrange(9)}/",
            "mode": "ro-encrypted",
            "cache_ttl": "300s",
        },
        {"path": "/workspace/config", "source": "configmap://agent-configs/retrieval-v3", "mode": "ro"},
        {"path": "/workspace/output", "source": "/mnt/nvme/output", "mode": "rw"},
    ]
    return {"env_vars": variables, "mounts": rng.sample(mounts, rng.randrange(1, 4))}


def policy(rng: Random) -> Values:
    """Network, file and memory rules that let the mounts and the resolver through."""
    egress: list[Values] = [
        {"domain": host, "ports": [443]} for host in rng.sample(HOSTS, rng.randrange(1, 3))
    ]
    egress[0]["rate_limit"] = rng.choice(("100req/min", "5req/s", "20000req/day"))
    if rng.random() < 0.5:
        egress.append({"domain": "redis.prod.example", "ports": [6379, 6380], "allow_internal_only": True})
    read = ["/workspace/data", "/workspace/config"]
    stated: Values = {"network": {"egress": egress}}
    if rng.random() < 0.5:
        stated["dns_passthrough"] = True
    else:
        read.append("/etc/resolv.conf")
    stated["filesystem"] = {"read_allowed": read, "write_allowed": ["/workspace/output", "/tmp"]}
    memory = rng.choice(({"allow_sbrk": True}, {"heap_protection": True, "allow_sbrk": True}, None))
    return {**stated, "memory": memory} if memory else stated


def code(rng: Random) -> Values:
    """What a snapshot leaves out."""
    patterns = [".git/**", "__pycache__/**", "*.log", "wandb/**", "checkpoints/**"]
    return {"exclude_patterns": patterns[: rng.randrange(1, 6)]}


def base(rng: Random) -> str:
    """An image of a stated version."""
    return rng.choice(
        (
            f"deepseek/dsec-python311-cu121:1.{rng.randrange(9)}.0",
            "nvcr.io/nvidia/pytorch:24.05-py3",
            f"registry.internal.example:5000/rl/trainer@sha256:{rng.getrandbits(256):064x}",
        )
    )


def health(rng: Random) -> Values:
    """Thresholds as teams tune them."""
    return {
        "bandwidth_cap": rng.choice(("100MB/s", "110MB/s", "80MB/s")),
        "latency_cap": rng.choice(("65ms", "75ms", "85ms", "120ms")),
        "snapshot_interval": rng.choice(("90s", "3m", "5m")) if rng.random() < 0.5 else "120s",
    }


POLICIES: tuple[Values, ...] = (
    {
        "name": "fewer-meltdowns",
        "when": "dsec_melt_down_count > 3/hour",
        "for": "2m",
        "action": "dsec_policy_update",
        "args": {"latency_cap": "+10ms"},
        "cooldown": "10m",
    },
    {
        "name": "give-idle-gpus-back",
        "when": "dsec_sandbox_utilization_rate < 40%",
        "for": "2h",
        "action": "shrink_quota",
        "dry_run": True,
    },
    {
        "name": "accumulate-when-sync-fails",
        "when": "dsec_gradient_sync_success_rate < 99.95%",
        "action": "gradient_accumulation",
        "args": {"steps": 4, "target_gpu": "gpu-003a"},
    },
    {
        "name": "compress-snapshots",
        "when": "dsec_snapshot_recovery_time > 8s",
        "action": "raise_snapshot_compression",
        "cooldown": "1h",
    },
    {"name": "reward-fell", "when": "reward_mean < 0.1", "for": "30m", "action": "notify"},
)


def policies(rng: Random) -> list[Values]:
    """Some of the policies, in their order."""
    return [one for one in POLICIES if rng.random() < 0.6] or [POLICIES[0]]


def plugins(rng: Random) -> list[Values]:
    """Plugins that a job loads."""
    monitor: Values = {
        "name": "dsec_monitor",
        "config": {"endpoint": "http://dsec-control-plane:8080", "heartbeat_interval": rng.choice((5, 10))},
    }
    skills: Values = {
        "name": "skill-manager",
        "version": _version(rng),
        "permissions": ["read:redis", "write:s3"],
    }
    return rng.choice(([monitor], [skills], [monitor, skills]))
