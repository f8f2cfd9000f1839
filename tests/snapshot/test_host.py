"""Whether another machine will do, which variables are put back, and which automatic snapshots stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.devices.facts import Facts
from dsec.inventory import steady
from dsec_cli.snapshot.hostcheck import BLOCKED, COMPATIBLE, DEGRADED, SAME, check, worst
from dsec_cli.snapshot.keeping import LIGHTS, passing
from dsec_cli.snapshot.manifest import FINISH, LIGHT, MANUAL, START, Manifest
from dsec_cli.snapshot.replay import replay
from dsec_cli.snapshot.section import Pair, Side
from dsec_cli.snapshot.sections.hardware import _document, compare

from .kit import described


def machine(kind: str = "a100-sxm-80gb", count: int = 2, **more):
    document = _document(Facts(steady(described(kind, count)), None, None, None, ()), None)
    document["processor"] = {"model": "x", "isa": ["avx2", "avx512f"]}
    document |= {"driver": "535.1", "cuda": "12.2", "libc": "glibc 2.36"}
    for gpu in document["gpus"]:
        gpu["capability"] = more.pop("capability", gpu["capability"])
    return document | more


def verdicts(before, after) -> dict[str, str]:
    return {one.name: one.verdict for one in check(before, after, caches="/c")}


def test_the_same_machine() -> None:
    axes = check(machine(), machine(), caches="/c")
    assert worst(axes) == SAME
    assert not any(one.variables for one in axes)


@pytest.mark.parametrize(
    ("after", "axis", "verdict"),
    [
        ({"kind": "a100-pcie-80gb"}, "GPU type", COMPATIBLE),
        ({"kind": "h100-sxm-80gb"}, "GPU type", DEGRADED),
        ({"kind": "a100-sxm-40gb"}, "GPU memory", DEGRADED),
        ({"count": 1}, "number of GPUs", DEGRADED),
        ({"count": 0}, "GPUs", BLOCKED),
        ({"driver": "525.9"}, "driver", DEGRADED),
        ({"driver": "550.1"}, "driver", COMPATIBLE),
        ({"cuda": "11.8"}, "CUDA", DEGRADED),
        ({"libc": "glibc 2.31"}, "C library", DEGRADED),
        ({"processor": {"model": "y", "isa": ["avx2"]}}, "processor", DEGRADED),
        ({"processor": {"model": "y", "isa": ["avx2", "avx512f"]}}, "processor", COMPATIBLE),
        ({"cpu_m": 1000}, "cores", DEGRADED),
        ({"memory_bytes": 1 << 40}, "memory", COMPATIBLE),
    ],
)
def test_one_axis(after: dict, axis: str, verdict: str) -> None:
    now = machine(**after) if after.get("count") != 0 else {**machine(), "gpus": []}
    assert verdicts(machine(), now)[axis] == verdict


def test_number_formats_are_named_and_not_adapted() -> None:
    found = {
        one.name: one
        for one in check(machine(capability="9.0", count=1), machine(capability="7.0", count=1), caches="/c")
    }
    assert "BF16" not in found  # of the same type, which is not asked again
    new, old = machine("h100-sxm-80gb", 1, capability="9.0"), machine("v100-sxm2-16gb", 1, capability="7.0")
    found = {one.name: one for one in check(new, old, caches="/c")}
    assert {"BF16", "FP8"} <= set(found)
    assert found["FP8"].variables == ()
    assert dict(found["GPU type"].variables)["TRITON_CACHE_DIR"] == "/c/v100-16gb/triton_cache_dir"


def test_without_nvlink_nccl_is_told() -> None:
    before, after = machine("a100-sxm-80gb"), machine("a100-sxm-80gb")
    for gpu in before["gpus"]:
        gpu["links"] = [[1 - gpu["index"], "NV12"]]
    for gpu in after["gpus"]:
        gpu["links"] = [[1 - gpu["index"], "PHB"]]
    (links,) = [one for one in check(before, after, caches="/c") if one.name == "links"]
    assert (links.verdict, links.variables) == (DEGRADED, (("NCCL_P2P_DISABLE", "1"),))


def test_what_is_not_known_is_not_judged() -> None:
    bare = {**machine(), "driver": None, "cuda": None, "processor": None, "libc": None}
    assert set(verdicts(bare, machine())) == {"GPUs", "cores", "memory"}


KINDS = st.sampled_from(["a100-sxm-80gb", "h100-sxm-80gb", "rtx-4090", "v100-sxm2-16gb"])


@given(KINDS, st.integers(1, 4), KINDS, st.integers(1, 4))
def test_any_two_machines_have_a_verdict(one: str, n: int, two: str, m: int) -> None:
    before, after = machine(one, n), machine(two, m)
    assert worst(check(before, after, caches="/c")) in (SAME, COMPATIBLE, DEGRADED, BLOCKED)
    side = [Side("present", "", data, {}, {}, None, "") for data in (before, after)]  # type: ignore[arg-type]
    found = list(compare(Pair(*side)))
    assert bool(found) == (one != two or n != m)
    assert worst(check(before, before, caches="/c")) == SAME


def test_variables() -> None:
    recorded = {
        "values": {"OMP_NUM_THREADS": "1", "PATH": "/then", "CUDA_HOME": "/a", "HF_HOME": "<redacted:1>"},
        "hidden": {"SECRET": "d1", "HERE": "d2"},
    }
    now = {"OMP_NUM_THREADS": "8", "PATH": "/now", "NCCL_DEBUG": "INFO", "HERE": "x", "CUDA_HOME": "/a"}
    values = {name: value for name, value in now.items() if name != "HERE"}
    found = replay(recorded, now, {"values": values, "hidden": {}})
    assert found.put == (("OMP_NUM_THREADS", "1"),)
    assert found.taken == ("NCCL_DEBUG",)
    assert found.kept == ("HF_HOME", "PATH")
    assert found.hidden == ("SECRET",)


def snapshot(name: str, kind: str, job: str, at: int) -> Manifest:
    return Manifest("", name, name, at, kind, job, "", "", ())


def test_which_go() -> None:
    known = [snapshot("hand", MANUAL, "old", 0)]
    for at, job in enumerate(("old", "new")):
        known.append(snapshot(f"{job}-start", START, job, at * 1000 + 1))
        known += [snapshot(f"{job}-{n}", LIGHT, job, at * 1000 + 2 + n) for n in range(LIGHTS + 3)]
        known.append(snapshot(f"{job}-finish", FINISH, job, at * 1000 + 500))
    assert set(passing(known)) == {f"{job}-{n}" for job in ("old", "new") for n in range(3)}
    gone = set(passing(known, runs=1))
    assert {"old-start", "old-finish", "old-14"} <= gone
    assert "hand" not in gone
    assert not any(name.startswith("new-") and name not in ("new-0", "new-1", "new-2") for name in gone)
    assert set(passing(known, runs=0)) == {one.name for one in known} - {"hand"}
