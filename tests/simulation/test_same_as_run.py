"""The executor of `dsec run` on a made-up clock: it starts what a simulation starts, when and where."""

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import GIB, box, scene, step

from dsec.attempts import Past
from dsec.core.leases import Ledger
from dsec.core.pace import Span
from dsec.core.simulated import Manners
from dsec.core.simulation import simulate
from dsec.events import Spawn
from dsec.plan import Analysis, Demand, Elastic, Iterations, Plan, Schedule
from dsec.processes import Ended
from dsec.runner import Runner


class Clock:
    """A loop whose time is that of the next thing that is due; things due together happen together."""

    def __init__(self):
        self.us = 0
        self.due = []

    def now(self):
        return self.us / 1e6

    def at(self, when, call):
        raise AssertionError("nothing here waits for a time")

    def step(self, *_args, **_named):
        self.us = min(when for when, _ in self.due)
        now = [call for when, call in self.due if when == self.us]
        self.due = [one for one in self.due if one[0] > self.us]
        for call in now:
            call()


class World:
    """Children that take what they are expected to, and a recorder that keeps what it is told."""

    def __init__(self, lengths_us):
        self.loop = Clock()
        self.events = []
        self._lengths_us = lengths_us
        self.journal = SimpleNamespace(sync_due=None, full=False, settle=lambda: None)
        self.observer = SimpleNamespace(interval_s=None)
        self.remedies = {}

    def launch(self, step, *, iteration, attempt, devices, log):
        return step.id, devices

    def start(self, launch, *, on_gone):
        length = self._lengths_us(*launch)
        child = SimpleNamespace(pid=1, ticks=0, ticks_by=0, ended=Ended(0, None, length, 0, None))
        self.loop.due.append((self.loop.us + length, lambda: on_gone(child)))
        return child

    def missing_output(self, step, iteration):
        return ""

    def at_us(self):
        return self.loop.us

    def emit(self, event, *, long=False):
        self.events.append(event)

    def tell(self):
        pass

    tell_all = tell


def executed(steps, machine, *, count=1, in_flight=1, elastic=None, quick=False, others=()):
    """(Step, iteration) -> when it started, and on what, as the executor had it."""
    schedule = Schedule("rank", "quick" if quick else "fit", (), 0, (), 0, tuple(others) or None)
    analysis = Analysis((), 0, 0, 0, (), (), schedule)
    plan = Plan(
        "dsec.plan/1", "", "", "", "", machine, "", Iterations(count, in_flight - 1, in_flight), tuple(steps),
        analysis, (), "", elastic=elastic,
    )  # fmt: skip
    expected = {}
    world = World(lambda name, devices: expected[name](devices))
    runner = Runner(
        plan,
        children=world,
        launcher=world,
        ledger=Ledger(machine),
        recorder=world,
        past=Past(),
        why_cancelled=str,
    )
    for at, one in enumerate(steps):
        expected[one.id] = lambda devices, at=at: runner._paces.length(
            at, steps[at].estimate_ms * 1000, devices
        )
    runner.work()
    assert runner.complete
    return {
        (event.step, event.iteration): (event.at_us, event.devices)
        for event in world.events
        if isinstance(event, Spawn)
    }


def simulated(steps, machine, **stated):
    """The same; its clock counts microseconds, too, so that nothing is rounded otherwise."""
    steps = [one._replace(estimate_ms=one.estimate_ms * 1000) for one in steps]
    history = simulate(scene(steps, machine, **stated))
    assert not history.never
    return {(steps[one.at].id, one.iteration): (one.from_ms, one.devices) for one in history.pieces}


MIXED = box([("fast", 1000, 80), ("fast", 1000, 80), ("slow", 600, 24), ("slow", 600, 24)])
EQUAL = box([("a", 1000, 80)] * 4, cores=6)
DEMANDS = st.builds(
    lambda cpu, memory, count, size: Demand(cpu, memory * GIB, count, size * GIB if count else 0, (), 0, 0),
    st.sampled_from([0, 1000, 3000]),
    st.sampled_from([0, 20, 40]),
    st.integers(0, 2),
    st.sampled_from([0, 10, 20]),
)


@st.composite
def plans(draw):
    """Steps on a machine, repeated; some of them planned for certain devices, some elastic."""
    machine = draw(st.sampled_from([MIXED, EQUAL]))
    n = draw(st.integers(1, 9))
    steps = []
    for at in range(n):
        needs = [f"S{one}" for one in sorted(draw(st.sets(st.integers(0, at - 1), max_size=2)))] if at else []
        demand = draw(DEMANDS)
        wished = draw(
            st.lists(st.integers(0, 3), min_size=demand.gpu_count, max_size=demand.gpu_count, unique=True)
        )
        devices = [f"GPU-{one}" for one in wished]
        rank, ms = draw(st.integers(0, 5)), draw(st.integers(1, 9))
        steps.append(step(f"S{at}", demand, ms, needs, rank=rank, devices=devices))
    spans = {
        at: Span(1, 4) for at, one in enumerate(steps) if one.demand.gpu_count == 2 and draw(st.booleans())
    }
    return steps, machine, draw(st.integers(1, 3)), draw(st.integers(1, 2)), spans


@pytest.mark.battery
@settings(max_examples=50)
@given(drawn=plans(), quick=st.booleans(), others=st.sets(st.integers(0, 9)))
def test_the_executor_starts_what_a_simulation_starts(drawn, quick, others):
    steps, machine, count, in_flight, spans = drawn
    elastic = tuple(Elastic(steps[at].id, span.least, span.most) for at, span in spans.items()) or None
    done = executed(
        steps, machine, count=count, in_flight=in_flight, elastic=elastic, quick=quick,
        others=[step.id for at, step in enumerate(steps) if at in others],
    )  # fmt: skip
    manners = Manners(quicks=[quick != (at in others) for at in range(len(steps))])
    assert done == simulated(steps, machine, count=count, in_flight=in_flight, spans=spans, manners=manners)
