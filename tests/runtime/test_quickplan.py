"""The fast reader of plans gives what the strict one gives, and never instead of its complaint."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.codec import canonical
from dsec.errors import DSecError
from dsec.hashing import digest
from dsec.inventory import Device, Node
from dsec.plan import FORMAT, Command, Dependency, Edge, Link, Placement, Retries, Schedule, Source, Terms
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


@pytest.mark.parametrize("origin", ["described:bench.yaml", "described:a: b", "here", ""])
def test_a_described_inventory_is_read_fast_whatever_its_file_is_called(kit, origin):
    plan = kit.plan(kit.step("A"))
    plan = seal(plan._replace(inventory=plan.inventory._replace(origin=origin), hash=""))
    raw = plan_bytes(plan)
    assert _quick(raw) == plan == parse_strictly(raw, where="p")
    renamed = raw.replace(b'"origin":"described:', b'"origin":"described:other-')
    assert _quick(renamed) == parse_strictly(renamed, where="p")
    assert _quick(raw.replace(f'"origin":"{origin}'.encode(), b'"origin":"x' + origin.encode())) is None


def test_both_readers_agree_on_how_the_order_was_chosen(kit):
    plan = kit.plan(kit.step("A"))
    old = plan_bytes(plan)
    assert b'"schedule"' not in old, "what was stored before keeps its bytes and its hash"
    schedule = Schedule("search", "fit", (("fifo", 9), ("search", 7)), 20, (("cpu", 6),), 166_666)
    plan = seal(plan._replace(analysis=plan.analysis._replace(schedule=schedule), hash=""))
    assert b'"schedule":{"bounds_ms":[["cpu",6]]' in plan_bytes(plan)
    assert _quick(plan_bytes(plan)) == plan == parse_strictly(plan_bytes(plan), where="p")


def test_both_readers_agree_on_terms_links_machines_and_tokens(kit):
    terms = Terms("exclusive", "nvlink", True, 2, (("licence", 1),), 1)
    step = kit.step("A")
    plan = kit.plan(step._replace(demand=step.demand._replace(terms=terms)), kit.step("B"))
    inventory = plan.inventory._replace(nodes=(Node("left", None, True),), tokens=(("licence", 3),))
    links = (Link("A", "B", "tcp", "network", "network", False, "left to right"),)
    plan = seal(plan._replace(inventory=inventory, links=links, nvlink_mode="off", hash=""))
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


MARKS = ('","cwd":"', '},{"command":', '\\","id":"', '}],"tool":"', '"steps":[{"command":', "]", "}", "\\")
TEXTS = st.text(max_size=8) | st.sampled_from(MARKS)
LISTS = st.lists(TEXTS, max_size=2).map(tuple)
NUMBERS = st.integers(-5, 2**63)
SOURCES = st.builds(Source, TEXTS, NUMBERS, NUMBERS)
EDGES = st.builds(Edge, st.just("A"), TEXTS, NUMBERS, SOURCES)


@st.composite
def odd_plans(draw, plain):
    """The plan with whatever a contract could put into the places of its Steps."""
    steps = tuple(
        step._replace(
            name=draw(TEXTS),
            command=draw(st.builds(Command, LISTS, TEXTS, TEXTS, TEXTS, TEXTS)),
            env=draw(st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple)),
            needs=draw(st.lists(EDGES, max_size=3).map(tuple)),
            demand=step.demand._replace(cpu_m=draw(NUMBERS), gpu_types=draw(LISTS)),
            timeout_ms=draw(NUMBERS),
            retries=Retries(draw(NUMBERS), 0, 1),
            inputs=draw(LISTS),
            placement=Placement(draw(LISTS), draw(TEXTS)),
            reasons=draw(LISTS),
            key=draw(TEXTS),
            src=draw(SOURCES),
        )
        for step in plain.steps
    )
    return seal(plain._replace(tool=draw(TEXTS), steps=steps, hash=""))


@pytest.mark.battery
@given(data=st.data())
def test_both_readers_agree_whatever_a_plan_says(kit, data):
    plan = data.draw(odd_plans(kit.plan(kit.step("A"), kit.step("B"))))
    read = _quick(plan_bytes(plan))
    assert read == plan
    assert plan_bytes(plan) == canonical(plan) + b"\n", "written piece by piece, the same bytes"
    assert [[type(edge) for edge in step.needs] for step in read.steps] == [
        [Edge] * len(step.needs) for step in plan.steps
    ]


def resealed(text):
    """The text as a plan whose hash is right, whatever it says."""
    blank = re.sub('"hash":"[0-9a-f]{64}"', '"hash":""', text)
    return blank.replace('"hash":""', f'"hash":"{digest(FORMAT, blank.encode())}"').encode() + b"\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"timeout_ms":', '"more":1,"timeout_ms":'),
        ('"cwd":', '"pwd":'),
        ('"level":"pauseable"', '"level":7'),
        ('"rank_ms":0', '"rank_ms":0.5'),
        ('"inputs":[]', '"inputs":7'),
        ('"needs":[]', '"needs":[{}]'),
    ],
)
def test_a_plan_of_another_shape_is_left_to_the_strict_reader(kit, old, new):
    text = plan_bytes(kit.plan(kit.step("A"))).decode().rstrip()
    assert _quick(resealed(text)) is not None
    assert old in text
    assert _quick(resealed(text.replace(old, new))) is None
