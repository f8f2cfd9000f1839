"""Graphs of more Steps than can be drawn each: those of a kind on a level are one node."""

import re
import shutil
import subprocess
from random import Random

import pytest

from dsec_cli.cells import cells
from dsec_cli.commands.opened import locator, open_contract
from dsec_cli.dag.folding import folded, pairs_in
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.picture import picture_of
from dsec_cli.dag.view import Observed, Run
from dsec_cli.dag.views import dot, mermaid, text

HEAD = """name: many
baseline: {cpu: 8, memory: 64Gi, gpu: {count: 8}}
elasticity: {gpu: {min_count: 1, max_count: 4}}
fault_tolerance: {level: pauseable}
dependencies: []
steps:
"""


def rounds(width, more=""):
    """Two rounds of a Step, many that wait for it, and one that waits for all of these."""
    lines = []
    for at in range(2):
        before = f", needs: [train-{at - 1}]" if at else ""
        lines.append(f"  - {{id: sync-{at}, run: 'true', timeout: 1m{before}}}")
        for one in range(width):
            lines.append(
                f"  - {{id: rollout-{at}-{one}, run: 'true', timeout: 1m, level: elastic, needs: [sync-{at}],"
                f" expected_duration: {1 + one % 9}s, resources: {{gpu: {{count: {1 + (one == 3)}}}}}}}"
            )
        needs = ", ".join(f"rollout-{at}-{one}" for one in range(width))
        lines.append(f"  - {{id: train-{at}, run: 'true', timeout: 1m, needs: [{needs}]}}")
    return HEAD + "\n".join(lines) + "\n" + more


@pytest.fixture
def picture(tmp_path):
    def made(contract, run=None):
        path = tmp_path / "dsandbox.yaml"
        path.write_text(contract)
        opened = open_contract(str(path))
        graph = step_graph(opened.contract)
        found = picture_of(
            opened.contract, graph, title="many", learned={}, locate=locator(opened, lambda name: "x")
        )
        return found.picture._replace(run=run)

    return made


def test_long_times_make_no_line_longer_than_80_columns(picture):
    lines = [
        f"  - {{id: S{at}, run: 'true', timeout: 30h, expected_duration: {39_000_000 + at * 61_001}ms,"
        f" resources: {{cpu: {1 + at % 2}, memory: 128Gi, gpu: {{count: 2, memory: 40Gi}}}}}}"
        for at in range(240)
    ]
    shown = text.render(picture(HEAD + "\n".join(lines) + "\n"))
    assert re.search(r"10h50m-14h\d+m\S* \+\S+$", shown, re.MULTILINE), "times are told in full"
    assert max(map(cells, shown.splitlines())) <= 80


@pytest.mark.battery
def test_steps_of_a_kind_are_one_node_on_each_level_and_no_edge_is_lost(picture):
    many = picture(rounds(120))
    drawn = folded(many)
    assert [len(members) for members in drawn.classes] == [1, 120, 1, 1, 120, 1]
    assert sorted(at for members in drawn.classes for at in members) == list(range(244))
    assert sum(map(pairs_in, drawn.bundles)) == len({edge[:2] for edge in many.graph.edges}) == 481
    shown = dot.render(many)
    assert shown.count(" -> ") == 5
    assert "120 x rollout-#-#" in shown
    assert "1s-9s" in shown
    assert "1 GPU, 1 core and others" in shown
    assert shown.count('label=" x 120 "') == 4
    shown = mermaid.render(many)
    assert "<b>120 x rollout-#35;-#35;</b>" in shown
    assert "-->|x 120|" in shown


@pytest.mark.battery
def test_few_steps_are_drawn_each(picture):
    few = picture(rounds(90))
    assert folded(few).classes == [[at] for at in range(184)]


def test_kinds_are_folded_over_levels_where_there_are_too_many_of_these(picture):
    chain = [f"  - {{id: S{at}, run: 'true', timeout: 1m, needs: [S{at - 1}]}}" for at in range(1, 300)]
    lines = ["  - {id: S0, run: 'true', timeout: 1m}", *chain]
    drawn = folded(picture(HEAD + "\n".join(lines) + "\n"))
    assert [len(members) for members in drawn.classes] == [300]
    assert drawn.bundles == [], "what the Steps of a class need of each other is not drawn"


@pytest.mark.battery
def test_a_cycle_is_shown_step_by_step(picture):
    more = (
        "  - {id: S1, run: 'true', timeout: 1m, needs: [S2]}\n"
        "  - {id: S2, run: 'true', timeout: 1m, needs: [S1]}\n"
    )
    looped = picture(rounds(120, more))
    assert [len(members) for members in folded(looped).classes] == [2, 240, 2, 1, 1]
    assert dot.render(looped).count("#c1121f") > 2


@pytest.mark.battery
def test_a_run_is_counted_by_state(picture):
    seen = {f"rollout-0-{at}": Observed("done" if at < 90 else "running", 1, 1, None) for at in range(120)}
    shown = picture(rounds(120), Run("job", "running", seen))
    assert "90 done, 30 running" in dot.render(shown)
    assert "90 done, 30 running" in mermaid.render(shown)


def test_every_view_says_on_how_many_gpus_a_step_may_start(picture):
    few = picture(rounds(4))
    for view in (dot, mermaid, text):
        assert len(re.findall("starts on 1 to 4 GPUs", view.render(few))) == 8


@pytest.mark.battery
@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz's dot is not installed")
def test_graphviz_reads_it(picture):
    shown = dot.render(picture(rounds(120))).encode()
    drawn = subprocess.run(["dot", "-Tsvg"], input=shown, capture_output=True, check=True, timeout=60)
    assert b"120 x rollout" in drawn.stdout


@pytest.mark.battery
@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz's dot is not installed")
def test_a_deep_graph_of_long_edges_is_drawn_in_seconds(picture):
    """Most edges cross many levels: left alone, Graphviz looks for the best layout for minutes."""
    draw = Random(1)
    lines = []
    for at in range(1500):
        some = draw.sample(range(max(0, at - 12), at), min(at, draw.choice([0, 1, 1, 2, 3])))
        needs = ", ".join(f"S{one}" for one in sorted(some))
        lines.append(f"  - {{id: S{at}, run: 'true', timeout: 1m, needs: [{needs}]}}")
    drawn = dot.render(picture(HEAD + "\n".join(lines) + "\n"))
    done = subprocess.run(["dot", "-Tsvg"], input=drawn.encode(), capture_output=True, check=True, timeout=60)
    assert b"<svg" in done.stdout
    assert 'splines="line"' in drawn
    assert "splines" not in dot.render(picture(rounds(120))), "where it is quick the edges go around nodes"
