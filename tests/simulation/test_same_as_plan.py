"""A simulated plan runs as it was planned: the same Steps at the same times on the same devices."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import GIB, box, scene, step

from dsec.core.contest import Contest
from dsec.core.order import topological
from dsec.core.schedule import Work, slices_of
from dsec.core.search import Draw, best_order
from dsec.core.simulated import Manners
from dsec.core.simulation import simulate
from dsec.plan import Demand

MIXED = box([("fast", 1000, 80), ("fast", 1000, 80), ("slow", 600, 24), ("slow", 600, 24)])
EQUAL = box([("a", 1000, 80)] * 4, cores=6)
CORES = box(cores=3)
DEMANDS = st.one_of(
    st.builds(lambda cpu: Demand(cpu, 0, 0, 0, (), 0, 0), st.sampled_from([0, 1000, 3000, 8000])),
    st.builds(
        lambda cpu, memory, count, size: Demand(cpu, memory * GIB, count, size * GIB, (), 0, 0),
        st.sampled_from([0, 1000, 3000]),
        st.sampled_from([0, 20, 40]),
        st.integers(1, 2),
        st.sampled_from([0, 10, 20, 40]),
    ),
)


@st.composite
def contests(draw, most=14):
    machine = draw(st.sampled_from([MIXED, EQUAL, CORES]))
    demands = DEMANDS if machine.devices else st.just(Demand(1000, 0, 0, 0, (), 0, 0))
    n = draw(st.integers(1, most))
    successors = [
        sorted(draw(st.sets(st.integers(u + 1, n - 1), max_size=3))) if u + 1 < n else [] for u in range(n)
    ]
    workers = st.sampled_from(["", "", "w"])
    works = [Work(draw(demands), draw(st.integers(0, 9)), 0, draw(workers)) for _ in range(n)]
    # A plan has a worker's GPUs back after each call, a run keeps them for it: see test_residents.
    works = [one._replace(worker="") if one.demand.gpu_count else one for one in works]
    return Contest(successors, topological(successors), works, machine), successors, machine


def searched(seed, most=24):
    """A graph that is not done at once, of Steps that mostly ask for devices."""
    draw = Draw([seed])
    successors = [sorted({at + 1 + draw.below(6) for _ in range(2)} & set(range(most))) for at in range(most)]
    works = [
        Work(
            Demand(1000 + 1000 * draw.below(3), 0, draw.below(3), (10 + 10 * draw.below(3)) * GIB, (), 0, 0),
            1 + draw.below(60),
            0,
        )
        for _ in range(most)
    ]
    return Contest(successors, topological(successors), works, MIXED), successors, MIXED


@pytest.mark.battery
@settings(max_examples=60)
@given(made=contests())
def test_every_step_starts_when_and_where_it_was_planned(made):
    runs_as_planned(made, best_order(made[0]).best)


@pytest.mark.battery
def test_steps_that_are_given_other_devices_than_most_run_as_planned():
    every = [(made, best_order(made[0]).best) for made in map(searched, range(6))]
    assert any(best.choices is not None and len(set(best.choices)) > 1 for _, best in every)
    for made, best in every:
        runs_as_planned(made, best)


def runs_as_planned(made, best):
    contest, successors, machine = made
    planned = slices_of(best.run)
    order = topological(successors)
    before = [[f"S{u}" for u in range(len(order)) if v in successors[u]] for v in range(len(order))]
    steps = [
        step(
            f"S{at}",
            contest.works[at].demand,
            contest.works[at].duration,
            before[at],
            rank=best.priorities[at],
            worker=contest.works[at].worker,
            devices=planned[at].devices,
        )
        for at in order
    ]
    history = simulate(scene(steps, machine, manners=Manners(quick=best.quick, quicks=best.choices)))
    assert not history.never
    assert history.end_ms == best.run.makespan
    simulated = {order[piece.at]: (piece.from_ms, piece.to_ms, piece.devices) for piece in history.pieces}
    assert simulated == {at: tuple(part) for at, part in enumerate(planned)}
