"""Every cycle is found, shown as a shortest loop, and its cuts do what they promise."""

import itertools
import json
import os
import random
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core import measures
from dsec_cli.dag.cycles import Cycles, Order, order_steps
from dsec_cli.dag.findings import cut_text, cycle_findings
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
    whole = isinstance(order_steps(step_graph(make.numbered(apply(needs, everything)))), Order)
    assert whole == all(cycle.complete for cycle in result.found)
    for cycle in result.found:
        targets = [cut.target for cut in cycle.remedy]
        assert len(set(targets)) == len(targets), "a Step has one break_point"
        assert cycle.remedy[0] == cycle.proposals[0]
        assert {(c.source, c.target) for c in cycle.proposals} == {(e.source, e.target) for e in cycle.loop}
        for cut in cycle.proposals:
            left = order_steps(step_graph(make.numbered(apply(needs, [cut]))))
            gone = isinstance(left, Order) or not any(set(c.members) & set(cycle.members) for c in left.found)
            assert cut.breaks_all == gone


@given(needs=GRAPHS)
def test_no_cut_of_a_remedy_is_needless_and_of_few_there_are_no_fewer(make, needs):
    result = order_steps(step_graph(make.numbered(needs)))
    for cycle in () if isinstance(result, Order) else result.found:
        inside = {int(name[1:]) for name in cycle.members}
        own = [[u for u in some if u in inside and v in inside] for v, some in enumerate(needs)]
        cuts = [cut for cut in cycle.remedy if cycle.complete]
        for cut in cuts:
            others = [one for one in cuts if one is not cut]
            left = order_steps(step_graph(make.numbered(apply(own, others))))
            assert not isinstance(left, Order), f"{cut.source} -> {cut.target} is cut for nothing"
        edges = [(u, v) for v, some in enumerate(own) for u in some]
        for many in range(min(len(cuts), 3)):
            for some in itertools.combinations(edges, many):
                if len({v for _, v in some}) < many:
                    continue
                gone = [[u for u in ns if (u, v) not in some] for v, ns in enumerate(own)]
                left = order_steps(step_graph(make.numbered(gone)))
                assert not isinstance(left, Order), f"{some} are enough, {cuts} are more"


def test_an_input_of_its_own_iteration_is_proposed_as_one_of_the_iteration_before(make):
    text = """
steps:
  - {id: roll, run: a, inputs: ["{run}/p-{iteration}"], outputs: ["{run}/r-{iteration}"]}
  - {id: train, run: b, inputs: ["{run}/r-{iteration}"], outputs: ["{run}/p-{iteration}"]}
"""
    result = order_steps(step_graph(make.read(text)))
    [cut] = result.found[0].remedy
    assert cut_text(cut) == "let Step roll read {run}/p-{previous} instead of {run}/p-{iteration}"
    mended = text.replace('p-{iteration}"], outputs: ["{run}/r', 'p-{previous}"], outputs: ["{run}/r')
    assert isinstance(order_steps(step_graph(make.read(mended))), Order)
    both = order_steps(step_graph(make.read(text.replace("run: a,", "run: a, needs: [train],"))))
    [cut] = both.found[0].remedy
    assert cut.breaks
    assert len(cut.readings) == 1
    assert cut_text(cut).startswith("add to Step roll: break_cycle: true, break_point: train; let Step roll")


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


@pytest.mark.battery
@pytest.mark.parametrize("shape", ["chain", "ring", "pairs", "fan"])
@pytest.mark.parametrize("n", [20_000, pytest.param(100_000, marks=pytest.mark.battery)])
def test_very_many_steps_need_no_recursion(make, n, shape):
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
    # Quadratic work would take minutes; 100,000 Steps take 1 to 5 s on a slow shared core.
    assert spent < n / 2000, f"{shape} took {spent:.1f} CPU s"


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


@pytest.mark.battery
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


def test_a_step_is_cut_from_one_other_step_only_and_what_that_leaves_is_said(make):
    result = order_steps(step_graph(make.numbered([[0, 1], [0, 1]])))
    [cycle] = result.found
    assert not cycle.complete
    assert len({cut.target for cut in cycle.remedy}) == len(cycle.remedy)
    [finding] = cycle_findings(result)
    assert "loops remain after these 2 cuts" in finding.help


@pytest.mark.parametrize(
    ("carried", "first"),
    [("", ("C", "B")), ("{from: B, to: A}", ("B", "A")), ("{from: A, to: C}", ("C", "B"))],
)
def test_the_cheapest_cut_leads_back_is_late_already_and_carries_fewest_files(make, carried, first):
    """Around A, C, B: two edges lead back to an earlier Step, with two files and with one."""
    text = (
        "steps:\n  - {id: A, run: a, inputs: [x, y]}\n  - {id: B, run: b, inputs: [z], outputs: [x, y]}\n"
        f"  - {{id: C, run: c, needs: [A], outputs: [z]}}\niterations: {{count: 2, carried: [{carried}]}}\n"
    )
    best, *others = order_steps(step_graph(make.read(text))).found[0].proposals
    assert (best.source, best.target) == first
    assert ("late elsewhere already" in best.reason) == (first == ("B", "A"))
    assert others[-1].source == "A"
    assert {"hands over 2 files" in cut.reason for cut in (best, *others) if cut.source == "B"} == {True}


SHAPES = {
    "one": lambda n, chance: [[chance.randrange(n) for _ in range(10)] for _ in range(n)],
    "ring": lambda n, chance: [[(at - 1) % n] for at in range(n)],
    "clusters": lambda n, chance: [
        [at // 100 * 100 + chance.randrange(100) for _ in range(10)] for at in range(n)
    ],
}


@pytest.mark.battery
@pytest.mark.parametrize("shape", SHAPES)
def test_large_cyclic_graphs_are_answered_in_seconds(make, shape):
    needs = [sorted(set(some)) for some in SHAPES[shape](4_000, random.Random(1))]
    graph = step_graph(make.numbered(needs))
    result = order_steps(graph)
    findings = cycle_findings(result)
    members = [[graph.steps[at].id for at in some] for some in measures.circles(graph.successors)]
    assert members == [list(cycle.members) for cycle in result.found]
    assert len(findings) == len(result.found) == (40 if shape == "clusters" else 1)
    assert all(len(found.related) <= 100 and len(found.message) < 200 for found in findings)
    assert all(len(found.help) < 600 for found in findings)
    assert result.found[0].complete == (shape == "ring")
    # Trying every cut would take minutes; it takes 1 to 4 s, also at ten times the size.


def pairs_contract(folder, many):
    lines = [
        f"  - {{id: S{at}, run: python a.py, timeout: 9s, needs: [S{at ^ 1}]}}\n" for at in range(2 * many)
    ]
    (folder / "ds_config.yaml").write_text("steps:\n" + "".join(lines))
    return "ds_config.yaml"


def call(folder, program, *words):
    script = f"import sys; sys.argv[0] = {program!r}; from dsec_cli import fast; sys.exit(fast.{program}())"
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def cycle_blocks(text):
    """The findings of a cycle in a text report."""
    return [block for block in text.split("\n\n") if "DS503" in block.split("\n")[0]]


@pytest.mark.battery
def test_every_command_words_a_cycle_the_same(tmp_path):
    name = pairs_contract(tmp_path, 2)
    linted = cycle_blocks(call(tmp_path, "contract_lint", "--no-cache", name).stdout)
    assert len(linted) == 2
    assert "S1 needs S0" in linted[0]
    for words in (
        ["dag_analyze", name],
        ["dsec", "plan", name],
        ["dsec", "run", name],
        ["dsec", "dag", name],
    ):
        done = call(tmp_path, *words)
        assert done.returncode == 1
        assert cycle_blocks(done.stderr) == linted


@pytest.mark.battery
def test_many_cycles_are_counted_beyond_what_anybody_reads(tmp_path):
    name = pairs_contract(tmp_path, 130)
    done = call(tmp_path, "dag_analyze", name)
    assert "cycle 20: S38 -> S39 -> S38" in done.stdout
    assert "cycle 21:" not in done.stdout
    assert "110 more cycles: --output json shows them all" in done.stdout
    assert "30 more cycles, the first through Step S200" in done.stderr
    assert len(cycle_blocks(done.stderr)) == 101
    assert len(cycle_blocks(call(tmp_path, "contract_lint", "--no-cache", name).stdout)) == 101
    told = json.loads(call(tmp_path, "dag_analyze", "--output", "json", name).stdout)
    assert len(told["cycles"]) == 130


def test_sarif_walks_the_loop(tmp_path):
    done = call(tmp_path, "contract_lint", "--no-cache", "--format", "sarif", pairs_contract(tmp_path, 1))
    [result] = [one for one in json.loads(done.stdout)["runs"][0]["results"] if one["ruleId"] == "DS503"]
    [flow] = result["codeFlows"]
    [thread] = flow["threadFlows"]
    steps = [one["location"] for one in thread["locations"]]
    assert [one["message"]["text"] for one in steps] == ["S1 needs S0", "S0 needs S1"]
    assert [one["physicalLocation"]["region"]["startLine"] for one in steps] == [3, 2]
    assert [one["message"]["text"] for one in result["relatedLocations"]] == ["S1 needs S0", "S0 needs S1"]
