"""Every cycle is found, shown as a shortest loop, and its cuts do what they promise."""

import itertools
import os
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.dag.cycles import Cycles, Order, order_steps
from dsec_cli.dag.findings import cycle_findings
from dsec_cli.dag.graph import step_graph

GRAPHS = st.integers(1, 9).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=2, unique=True), min_size=n, max_size=n)
)


def reach(needs):
    """Oracle: Floyd-Warshall over `u runs before v` in one or more edges."""
    n = len(needs)
    before = [[u in needs[v] for v in range(n)] for u in range(n)]
    for k, u, v in itertools.product(range(n), repeat=3):
        before[u][v] |= before[u][k] and before[k][v]
    return before


@given(needs=GRAPHS)
def test_components_are_those_of_the_oracle(make, needs):
    result = order_steps(step_graph(make.numbered(needs)))
    before = reach(needs)
    n = len(needs)
    expected = {
        tuple(f"S{v}" for v in range(n) if v == u or (before[u][v] and before[v][u]))
        for u in range(n)
        if before[u][u]
    }
    if isinstance(result, Order):
        assert not expected
        place = {node: at for at, node in enumerate(result.sequence)}
        assert sorted(place) == list(range(n))
        assert all(place[need] < place[node] for node in range(n) for need in needs[node])
    else:
        assert [cycle.members for cycle in result.found] == sorted(expected, key=lambda m: int(m[0][1:]))


@given(needs=GRAPHS)
def test_each_loop_is_a_shortest_one_through_the_first_member(make, needs):
    result = order_steps(step_graph(make.numbered(needs)))
    for cycle in result.found if isinstance(result, Cycles) else ():
        ends = [(edge.source, edge.target) for edge in cycle.loop]
        assert all(one[1] == two[0] for one, two in itertools.pairwise([*ends, ends[0]]))
        assert ends[0][0] == cycle.members[0]
        start = int(cycle.members[0][1:])
        assert len(ends) == shortest(needs, start)


def shortest(needs, start):
    """Oracle: length of the shortest loop through `start`, by trying all lengths."""
    frontier = {start}
    for length in range(1, len(needs) + 1):
        frontier = {v for v in range(len(needs)) for u in frontier if u in needs[v]}
        if start in frontier:
            return length
    raise AssertionError("no loop")


def apply(needs, cuts):
    gone = {(int(cut.source[1:]), int(cut.target[1:])) for cut in cuts}
    return [[u for u in some if (u, v) not in gone] for v, some in enumerate(needs)]


@given(needs=GRAPHS)
def test_remedies_leave_an_order_and_breaks_all_means_it(make, needs):
    result = order_steps(step_graph(make.numbered(needs)))
    if isinstance(result, Order):
        return
    everything = [cut for cycle in result.found for cut in cycle.remedy]
    assert isinstance(order_steps(step_graph(make.numbered(apply(needs, everything)))), Order)
    for cycle in result.found:
        assert cycle.remedy[0] == cycle.proposals[0]
        assert {(c.source, c.target) for c in cycle.proposals} == {(e.source, e.target) for e in cycle.loop}
        for cut in cycle.proposals:
            left = order_steps(step_graph(make.numbered(apply(needs, [cut]))))
            gone = isinstance(left, Order) or not any(set(c.members) & set(cycle.members) for c in left.found)
            assert cut.breaks_all == gone


def test_a_remedy_written_into_the_contract_is_accepted(make):
    def text(cut):
        first = f"  - {{id: A, run: a, needs: [C]{cut}}}\n"
        return f"steps:\n{first}  - {{id: B, run: b, needs: [A]}}\n  - {{id: C, run: c, needs: [B]}}\n"

    result = order_steps(step_graph(make.read(text(""))))
    assert isinstance(result, Cycles)
    [cut] = result.found[0].remedy
    assert (cut.source, cut.target) == ("C", "A")
    assert isinstance(order_steps(step_graph(make.read(text(", break_cycle: true, break_point: C")))), Order)


def test_the_edge_back_to_the_start_is_cheaper_than_a_file_forward(make):
    steps = [
        make.step("load", inputs=["state"], outputs=["batch"]),
        make.step("train", inputs=["batch"], outputs=["state"], at=1),
    ]
    result = order_steps(step_graph(make.contract(steps)))
    best = result.found[0].proposals[0]
    assert (best.source, best.target, best.breaks_all) == ("train", "load", True)
    assert "leads back" in best.reason
    [finding] = cycle_findings(result)
    assert finding.where == ("steps", 0, "inputs", 0)
    assert finding.message == "cycle: load -> train -> load"
    assert [one.label for one in finding.related] == [
        "train reads batch, which load writes",
        "load reads state, which train writes",
    ]


def test_a_step_that_needs_itself(make):
    result = order_steps(step_graph(make.contract([make.step("A", ["A"])])))
    assert result.found[0].members == ("A",)
    assert cycle_findings(result)[0].message == "cycle: A -> A"


def test_a_long_loop_is_shortened_in_words_but_not_in_related_places(make):
    result = order_steps(step_graph(make.numbered([[49], *[[i] for i in range(49)]])))
    [finding] = cycle_findings(result)
    assert "(38 more)" in finding.message
    assert len(finding.related) == 50


@pytest.mark.parametrize("shape", ["chain", "ring", "pairs", "fan"])
def test_very_many_steps_need_no_recursion(make, shape):
    n = 100_000 if shape in ("chain", "ring") else 20_000
    shapes = {
        "chain": lambda: [[i - 1] if i else [] for i in range(n)],
        "ring": lambda: [[(i - 1) % n] for i in range(n)],
        "pairs": lambda: [[i ^ 1] for i in range(n)],
        "fan": lambda: [[0] if i else [] for i in range(n)],
    }
    contract = make.numbered(shapes[shape]())
    begun = time.process_time()
    result = order_steps(step_graph(contract))
    spent = time.process_time() - begun
    assert len(result.found if isinstance(result, Cycles) else ()) == {"ring": 1, "pairs": n // 2}.get(
        shape, 0
    )
    # Quadratic work would take hours, linear work takes 1 to 5 s on a slow shared core.
    assert spent < 60, f"{shape} took {spent:.1f} CPU s"


SCRIPT = """
import random
from dsec_cli.contract.build import build_all
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.cycles import order_steps
chance = random.Random(7)
needs = [[f"s{chance.randrange(60)}" for _ in range(2)] for _ in range(60)]
lines = [f"  - {{id: s{i}, run: x, needs: [{', '.join(some)}]}}" for i, some in enumerate(needs)]
text = "steps:\\n" + "\\n".join(lines) + "\\n"
tree = parse(SourceText.from_bytes("ds_config.yaml", text.encode()))
print(order_steps(step_graph(build_all(tree, "ds_config.yaml")[0].contract)).found)
"""


def test_the_same_report_under_every_hash_seed():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1, 4242)
    }
    assert len(outputs) == 1
    assert "Cycle" in outputs.pop()
