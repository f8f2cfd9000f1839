"""One slip in a contract that is right gives exactly the finding of that slip, and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from generating.jobs import documents
from generating.writing import written

Values = dict[str, Any]
DOCUMENTS = documents(60)
REMARKS = {"DS116", "DS310", "DS506"}
OCTAL = "OCTAL"
"""Stands for `010`, which the writer of contracts would never write."""
MOST = 3
"""Contracts in which each slip is tried."""


def _steps(job: Values, key: str = "id") -> Iterator[Values]:
    return (step for step in job.get("steps", ()) if key in step)


def _first(items: Iterator[Values]) -> Values:
    """The first item; an empty mapping, in which no slip can be made, where there is none."""
    return next(items, {})


def _mount(job: Values) -> Values:
    mounts = job.get("runtime_context", {}).get("mounts", ())
    return _first(one for one in mounts if "cache_ttl" in one)


def _secret(job: Values) -> Values:
    variables = job.get("runtime_context", {}).get("env_vars", ())
    return _first(one for one in variables if str(one.get("source", "")).startswith("vault://"))


def _named(job: Values, scheme: str) -> Values:
    some = job.get("dependencies", ()) if "permissions" not in job else ()
    return _first(one for one in some if str(one.get("source", "")).startswith(scheme) and "name" in one)


def _egress(job: Values) -> Values:
    return _first(iter(job.get("security_policy", {}).get("network", {}).get("egress", ())))


def _files(job: Values) -> Values:
    return job.get("security_policy", {}).get("filesystem", {})


def _resolving(job: Values) -> Values:
    files = _files(job)
    return files if "/etc/resolv.conf" in files.get("read_allowed", ()) else {}


def _policy(job: Values) -> Values:
    some = (one for one in job.get("policies", ()) if str(one["when"]).startswith("dsec_melt"))
    return _first(some)


def _gpu_step(job: Values) -> Values:
    if "elasticity" not in job or "max_gpu_hours" in job:  # more GPUs would pass these hours, too
        return {}
    return _first(step for step in _steps(job) if "gpu" in step.get("resources", {}))


def _with(key: str, value: Any) -> Callable[[Values], None]:
    return lambda place: place.__setitem__(key, value)


def _without(key: str) -> Callable[[Values], None]:
    return lambda place: place.__delitem__(key)


def _has(*keys: str) -> Callable[[Values], Values]:
    """The document itself, where it has all of the keys."""
    return lambda job: job if set(keys) <= set(job) else {}


def _too_many_gpus(step: Values) -> None:
    step["resources"]["gpu"]["count"] = 999
    for key in ("layers", "all_reduce"):  # those of a Step on one GPU
        step.pop(key, None)


SLIPS: tuple[tuple[str, Callable[[Values], Values], Callable[[Values], None]], ...] = (
    ("DS208", _gpu_step, _too_many_gpus),
    ("DS305", _has("snapshot_interval"), _with("snapshot_interval", "200ms")),
    ("DS306", _has("latency_cap"), _with("latency_cap", "50ms")),
    ("DS401", lambda job: _named(job, "ds://"), _with("source", "dss://models/a")),
    ("DS402", lambda job: _named(job, "https://"), _without("hash")),
    ("DS402", lambda job: _named(job, "git+ssh://"), _with("source", "git+ssh://git@host.example/a@main")),
    ("DS403", _has("base"), _with("base", "deepseek/dsec-python311-cu121:latest")),
    ("DS404", lambda job: job.get("include-code", {}), _with("exclude_patterns", ["*.log"])),
    ("DS405", _mount, _without("cache_ttl")),
    ("DS505", lambda job: _first(_steps(job, "timeout")), _without("timeout")),
    ("DS515", lambda job: _first(_steps(job, "env")), lambda step: step["env"].update(MASTER_PORT=29500)),
    ("DS516", lambda job: _first(_steps(job, "expected_duration")), _with("timeout", "2s")),
    (
        "DS518",
        lambda job: _first(_steps(job, "env")),
        lambda step: step["env"].update(CUDA_VISIBLE_DEVICES=0),
    ),
    ("DS602", _egress, _without("ports")),
    ("DS603", _resolving, _with("read_allowed", ["/workspace/data", "/workspace/config"])),
    ("DS604", _files, lambda files: files["write_allowed"].append("/root")),
    ("DS605", _has("permissions"), _with("permissions", ["read:redis", "root"])),
    ("DS606", _has("signature"), _without("signature")),
    ("DS608", _secret, _without("ttl")),
    ("DS701", _policy, _with("when", "dsec_meltdown_count > 3/hour")),
    ("DS006", lambda job: _first(_steps(job, "retries")), _with("retries", OCTAL)),
)
"""Code, where the slip can be made (an empty mapping: nowhere), and the slip."""


@pytest.mark.parametrize(("code", "where", "slip"), SLIPS, ids=[code for code, _, _ in SLIPS])
def test_a_slip_gives_its_finding_alone(
    code: str, where: Callable[[Values], Values], slip: Callable[[Values], None], cases
) -> None:
    tried = 0
    for name, values in DOCUMENTS:
        job = deepcopy(values)
        place = where(job)
        if not place or tried == MOST:
            continue
        slip(place)
        tried += 1
        text = written(job).replace(OCTAL, "010")
        found = cases.run(text, name=name)
        codes = {one.code for one in found} - REMARKS
        assert codes == {code}, f"{text}\n{cases.show(found)}"
    assert tried, f"no contract in which {code} could be provoked"
