"""The fast reader of plans gives what the strict one gives, and never instead of its complaint."""

from __future__ import annotations

import json

import pytest

from dsec.errors import DSecError
from dsec.inventory import Device
from dsec.plan import Dependency, Source
from dsec.planfile import parse_plan as parse_strictly
from dsec.planfile import plan_bytes, seal
from dsec.quickplan import _quick, parse_plan


def rich_plan(kit):
    device = Device("GPU-1", 0, "A100", "a100", 1, None, None, None, (("GPU-2", "NV4"),), 1000, "ok")
    plan = kit.plan(
        kit.step("A", env=(("K", "é\n"),), outputs=("x",)),
        kit.step("B", "A", call="m:f", args={"hash": "h"}, carried=[("A", 1)]),
        count=3,
    )
    here = Source("f", 1, 2)
    return seal(
        plan._replace(
            inventory=plan.inventory._replace(devices=(device,)),
            dependencies=(Dependency("n", "model", "1.0.0", "ds://n", "", here),),
            hash="",
        )
    )


def test_both_readers_agree(kit):
    plan = rich_plan(kit)
    assert _quick(plan_bytes(plan)) == plan == parse_strictly(plan_bytes(plan), where="p")


def test_a_plan_that_is_written_otherwise_is_the_same_plan(kit):
    plan = rich_plan(kit)
    loose = json.dumps(json.loads(plan_bytes(plan)), indent=2).encode()
    assert _quick(loose) is None
    assert parse_plan(loose, name="p") == plan


@pytest.mark.parametrize("old", [b'"true"', b'"hash":"', b'"count":3', b'"A"'])
def test_a_changed_plan_is_refused(kit, old):
    raw = plan_bytes(rich_plan(kit))
    assert old in raw
    with pytest.raises(DSecError):
        parse_plan(raw.replace(old, old[:-1] + b"9" + old[-1:], 1), name="p")
