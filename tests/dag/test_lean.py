"""The list schedule of Steps that take processors and memory alone is the one that the machine makes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.lean import lean_run
from dsec.core.machine import Machine
from dsec.core.order import topological, upward_ranks
from dsec.core.schedule import Work
from dsec.core.trial import NEVER, Manner, graph_of
from dsec.inventory import Inventory
from dsec.plan import Demand

GIB = 2**30
DEMANDS = st.builds(
    lambda cpu, memory: Demand(cpu, memory * GIB, 0, 0, (), 0, 0),
    st.sampled_from([0, 500, 1000, 2000, 3000, 9000]),
    st.sampled_from([0, 0, 1, 3, 6, 8]),
)


@st.composite
def tasks(draw, most=24):
    """A machine, a graph, an order, and how it is tried."""
    n = draw(st.integers(1, most))
    later = [
        st.sets(st.integers(at + 1, n - 1), max_size=2) if at + 1 < n else st.just(()) for at in range(n)
    ]
    successors = [sorted(draw(some)) for some in later]
    memory = draw(st.sampled_from([None, 8 * GIB]))
    inventory = Inventory("described:test", 4000, memory, None, None, (), ())
    works = [Work(draw(DEMANDS), draw(st.integers(0, 9)), 0, "") for _ in range(n)]
    durations = [work.duration for work in works]
    tails = upward_ranks(topological(successors), successors, durations)
    order = draw(st.permutations(range(n)))
    manner = Manner(draw(st.sampled_from([NEVER, 30, 60])), False, draw(st.booleans()))
    return works, inventory, graph_of(successors, tails), order, manner


@pytest.mark.battery
@given(task=tasks())
def test_it_decides_as_the_machine_does(task):
    works, inventory, graph, order, manner = task
    machine = Machine(works, inventory)
    assert machine.lean
    machine.lean = False
    assert lean_run(machine, graph, order, manner) == machine.run(graph, order, manner)


def test_what_has_devices_or_a_worker_is_not_lean():
    inventory = Inventory("described:test", 4000, None, None, None, (), ())
    plain = Demand(1000, 0, 0, 0, (), 0, 0)
    assert Machine([Work(plain, 1, 0, "")], inventory).lean
    assert not Machine([Work(plain, 1, 0, ""), Work(plain, 1, 0, "w")], inventory).lean
    assert not Machine([Work(plain._replace(gpu_count=1), 1, 0, "")], inventory).lean


@given(task=tasks(), scale=st.sampled_from([2, 7, 1_000_003]), spare=st.integers(0, 1))
def test_amounts_in_another_unit_are_decided_alike(task, scale, spare):
    works, inventory, graph, order, manner = task
    machine = Machine(works, inventory)
    memory = inventory.memory_bytes
    larger = [
        work._replace(
            demand=work.demand._replace(
                cpu_m=work.demand.cpu_m * scale, memory_bytes=work.demand.memory_bytes * scale
            )
        )
        for work in works
    ]
    room = inventory._replace(
        cpu_m=inventory.cpu_m * scale, memory_bytes=None if memory is None else memory * scale + spare
    )
    assert Machine(larger, room).run(graph, order, manner) == machine.run(graph, order, manner)


def test_equal_demands_share_a_bucket_whether_or_not_they_are_one_object():
    inventory = Inventory("described:test", 4000, None, None, None, (), ())
    demand = Demand(1000, GIB, 0, 0, (), 0, 0)
    twin = Demand(1000, GIB, 0, 0, (), 0, 0)
    works = [Work(demand, 1, 0, ""), Work(twin, 1, 0, ""), Work(demand, 1, 0, "w"), Work(twin, 1, 0, "w")]
    assert Machine(works, inventory).bucket_of == [0, 0, 1, 1]
