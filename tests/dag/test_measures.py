"""Two ways through a graph, node by node and by whole levels, and one result."""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core import measures, wide, wide_circles
from dsec.core.measures import loads, measure, peaks
from dsec.core.order import (
    components,
    critical_path,
    earliest_starts,
    generations,
    levels,
    topological,
    upward_ranks,
)
from dsec.core.packed import packed


@st.composite
def graphs(draw, largest=14):
    """Any graph: nodes in any order, circles and self-loops among them."""
    n = draw(st.integers(0, largest))
    nodes = st.integers(0, max(n - 1, 0))
    return [tuple(draw(st.lists(nodes, max_size=3, unique=True))) for _ in range(n)]


@st.composite
def dags(draw, largest=14):
    """A graph without circles, its nodes in any order."""
    n = draw(st.integers(0, largest))
    place = draw(st.permutations(range(n)))
    found: list[list[int]] = [[] for _ in range(n)]
    for later in range(n):
        for earlier in draw(st.sets(st.integers(0, max(later - 1, 0)), max_size=3)) if later else ():
            found[place[earlier]].append(place[later])
    return found


def by_levels(graph, weights):
    """`measure` the wide way, whatever the graph's size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "numpy_for", lambda _: wide)
        return measure(graph, weights)


def one_by_one(graph, weights):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "numpy_for", lambda _: None)
        return measure(graph, weights)


@given(graph=st.one_of(dags(), graphs()), data=st.data())
def test_both_ways_measure_the_same(graph, data):
    weights = [data.draw(st.integers(0, 9)) for _ in graph]
    found = one_by_one(graph, weights)
    assert by_levels(graph, weights) == found
    order = topological(graph)
    assert (found is None) == (len(order) < len(graph))
    if found is not None:
        depth = levels(order, graph)
        assert found.nodes.levels == [
            [node for node, at in enumerate(depth) if at == level] for level in sorted(set(depth))
        ]
        assert found.nodes.ranks == upward_ranks(order, graph, weights)
        assert found.nodes.starts == earliest_starts(order, graph, weights)
        assert found.critical_path == critical_path(graph, found.nodes.ranks)
        assert min(found.nodes.slacks, default=0) == 0
        assert all(found.nodes.slacks[at] == 0 for at in found.critical_path)
        assert sum(weights[at] for at in found.critical_path) == found.length


@given(graph=st.one_of(dags(), graphs()))
def test_the_order_takes_the_lowest_ready_node(graph):
    """Oracle: look for it anew each time."""
    before = [{u for u in range(len(graph)) if v in graph[u]} for v in range(len(graph))]
    done: list[int] = []
    while ready := [v for v in range(len(graph)) if v not in done and before[v] <= set(done)]:
        done.append(ready[0])
    assert topological(graph) == done
    assert sorted(node for level in generations(graph) for node in level) == sorted(done)


@given(graph=graphs(40))
def test_circles_are_the_same_each_way(graph):
    expected = components(range(len(graph)), graph)
    assert measures.circles(graph) == expected
    assert wide_circles.circles(graph, few=0) == expected


@given(seed=st.integers(0, 10_000), data=st.data())
def test_circles_of_clusters_are_the_same_each_way(seed, data):
    """Many components, one in a row after the other: what colours are for."""
    chance = random.Random(seed)
    size, many = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 12))
    n = size * many
    place = chance.sample(range(n), n)
    graph: list[set[int]] = [set() for _ in range(n)]
    for node in range(n):
        for _ in range(2):
            graph[place[node]].add(place[node - node % size + chance.randrange(size)])
        if chance.random() < 0.3:
            graph[place[node]].add(place[chance.randrange(node - node % size, n)])
    successors = [sorted(some) for some in graph]
    assert wide_circles.circles(successors, few=0) == components(range(n), successors)


@given(
    seed=st.integers(0, 10_000),
    size=st.integers(2, 9),
    edges=st.integers(2, 9),
    limits=st.fixed_dictionaries(
        {
            "SAMPLED": st.integers(1, 3),
            "DENSE": st.sampled_from([1, 4, 1_000]),
            "BLOCK": st.sampled_from([1, 7, 100]),
            "SWEEPS": st.sampled_from([1, 12]),
            "SMALL": st.sampled_from([1, 32]),
        }
    ),
)
def test_circles_are_the_same_whichever_edges_are_looked_at_first(seed, size, edges, limits):
    """Edges in any order, dealt out at random, in circles that follow each other; some nodes have none."""
    chance = random.Random(seed)
    n = size * 5
    place = chance.sample(range(n), n) if seed % 2 else list(range(n))
    graph: list[set[int]] = [set() for _ in range(n)]
    for node in range(n):
        for _ in range(edges if chance.random() < 0.9 else 0):
            ahead = chance.random() < 0.2
            other = chance.randrange(node, n) if ahead else node - node % size + chance.randrange(size)
            graph[place[node]].add(place[other])
    successors = [chance.sample(sorted(some), len(some)) for some in graph]
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in limits.items():
            patch.setattr(wide_circles, name, limit)
        assert wide_circles.circles(successors, few=0) == components(range(n), successors)


def test_circles_that_follow_each_other_are_told_apart_by_their_colours(monkeypatch):
    """The colours tell all of them at once: nothing is left for a second round but what is in no circle."""
    chance = random.Random(7)
    n, size = 4_000, 40
    graph = [
        sorted({node - node % size + chance.randrange(size) for _ in range(8)} | {chance.randrange(node, n)})
        for node in range(n)
    ]
    monkeypatch.setattr(wide_circles, "_largest", None)
    searched, search = [], wide_circles.one_by_one
    monkeypatch.setattr(wide_circles, "one_by_one", lambda near: searched.append(len(near)) or search(near))
    found = wide_circles.circles(graph)
    assert found == components(range(n), graph)
    assert len(found) >= n // size
    assert sum(searched) < n // 100


def large(shape: str, n: int) -> list[list[int]]:
    chance = random.Random(5)
    if shape == "wide":
        return [sorted({chance.randrange(u + 1, n) for _ in range(6)}) if u + 1 < n else [] for u in range(n)]
    if shape == "cyclic":
        return [sorted({chance.randrange(n) for _ in range(6)}) for _ in range(n)]
    if shape == "ring":
        return [[(u + 1) % n] for u in range(n)]
    if shape == "narrow":  # many edges, so it is not asked before it is begun
        return [list(range(u + 1, min(u + 9, n))) for u in range(n)]
    return [[u + 1] if u + 1 < n else [] for u in range(n)]


@pytest.mark.parametrize("shape", ["wide", "cyclic", "ring", "narrow", "chain"])
def test_both_ways_agree_on_large_graphs(shape, monkeypatch):
    graph = large(shape, 5_000)
    weights = [at % 7 for at in range(len(graph))]
    assert (measures.numpy_for(graph) is None) == (shape == "chain")
    found, circles = measure(graph, weights), measures.circles(graph)
    monkeypatch.setattr(measures, "numpy_for", lambda _: None)
    assert measure(graph, weights) == found
    assert measures.circles(graph) == circles == components(range(len(graph)), graph)


def test_a_narrow_graph_is_given_up_by_the_wide_way():
    assert wide.walked(large("narrow", 5_000), [1] * 5_000) is None
    assert wide.walked(large("wide", 5_000), [1] * 5_000) is not None


def test_without_numpy_the_same_is_found(monkeypatch):
    graph = large("wide", 5_000)
    weights = [1] * len(graph)
    found = measure(graph, weights)
    monkeypatch.delattr("dsec.core.wide")
    monkeypatch.setitem(sys.modules, "dsec.core.wide", None)
    assert measures.numpy_for(graph) is None
    assert measure(graph, weights) == found


def test_weights_beyond_64_bits_are_measured_one_by_one():
    graph = large("wide", 5_000)
    found = measure(graph, [2**70] * len(graph))
    assert found is not None
    assert found.length == 2**70 * len(found.nodes.levels)


@pytest.mark.battery
def test_numpy_is_not_imported_for_a_graph_that_does_not_need_it():
    script = (
        "import sys\nfrom dsec.core.measures import circles, measure\n"
        "measure([[1], []], [1, 1])\n"
        "chain = [[at + 1] for at in range(120_000)] + [[]]\n"
        "assert measure(chain, [1] * len(chain)).length == len(chain)\n"
        "circles([[0]])\nsys.exit('numpy' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0


@pytest.mark.battery
def test_a_chain_costs_what_it_costs_one_by_one(monkeypatch):
    graph = large("chain", 30_000)
    weights = [1] * len(graph)

    def least():
        times = []
        for _ in range(3):
            begun = time.process_time()
            measure(graph, weights)
            times.append(time.process_time() - begun)
        return min(times)

    mixed = least()
    monkeypatch.setattr(measures, "numpy_for", lambda _: None)
    assert mixed < 2 * least()


@pytest.mark.battery
@given(graph=dags(), data=st.data())
def test_peaks_are_those_of_every_instant(graph, data):
    weights = [data.draw(st.integers(0, 4)) for _ in graph]
    amounts = [[data.draw(st.integers(0, 5)) for _ in graph] for _ in range(2)]
    found = measure(graph, weights)
    assert found is not None
    for one, peak in zip(amounts, peaks(found.nodes.starts, weights, amounts), strict=True):
        held = [
            sum(
                one[at]
                for at in range(len(graph))
                if found.nodes.starts[at] <= now < found.nodes.starts[at] + weights[at]
            )
            for now in range(found.length + 1)
        ]
        assert peak == max(held)
    assert loads(found.nodes.levels, amounts[0]) == [
        sum(amounts[0][node] for node in some) for some in found.nodes.levels
    ]


def test_packed_lists_are_the_lists():
    graph = large("cyclic", 3_000)
    tight = packed(graph, 18_000)
    assert tight == tuple(map(tuple, graph))
    assert list(tight.lengths) == list(map(len, graph))
    assert list(tight.flat) == [target for some in graph for target in some]
    assert packed(graph[:2], 12) == tuple(map(tuple, graph[:2]))
    assert not hasattr(packed(graph[:2], 12), "flat")
    assert wide_circles.circles(tight) == wide_circles.circles(graph)
    assert wide.compact(tight) is wide.compact(tight)
    assert (
        wide_circles.circles(tight, few=0) == wide_circles.circles(graph) == components(range(3_000), graph)
    )


def test_a_contract_of_twenty_steps_is_analysed_without_numpy(tmp_path):
    lines = [
        f"  - {{id: s{at}, run: x, timeout: 9s, needs: [{f's{at - 1}' if at else ''}]}}" for at in range(20)
    ]
    (tmp_path / "dsandbox.yaml").write_text("steps:\n" + "\n".join(lines) + "\n")
    script = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('numpy' in sys.modules, file=sys.stderr))\n"
        "sys.argv = ['ds-dag-analyze', 'dsandbox.yaml', '--output', 'json']\n"
        "from dsec_cli.fast import run\n"
        "run('ds-dag-analyze', sys.argv[1:])\n"
    )
    line = [sys.executable, "-c", script]
    done = subprocess.run(line, check=True, timeout=60, cwd=tmp_path, capture_output=True, text=True)
    assert json.loads(done.stdout)["analysis"]["use"]["steps"]["widest"] == 1
    assert done.stderr.splitlines()[-1] == "False"


@pytest.mark.parametrize("collects", [True, False])
def test_the_search_for_garbage_is_left_as_it_was(collects, monkeypatch):
    seen = []

    def failing(*_):
        seen.append(gc.isenabled())
        raise ZeroDivisionError

    monkeypatch.setattr(measures, "numpy_for", lambda _: SimpleNamespace(walked=failing))
    if not collects:
        gc.disable()
    try:
        with pytest.raises(ZeroDivisionError):
            measures.measure([[1], []], [1, 1])
        assert (seen, gc.isenabled()) == ([False], collects)
    finally:
        gc.enable()
