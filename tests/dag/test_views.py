"""Every view of every golden graph, word for word; and names that try to break out of their syntax."""

import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.overlap import Loop, Overlap
from dsec_cli.cells import cells
from dsec_cli.commands.drawing import draw
from dsec_cli.commands.opened import locator, open_contract
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.picture import picture_of
from dsec_cli.dag.view import (
    Observed,
    Run,
    View,
    elided,
    pace_text,
    prefix_of,
    state_text,
    time_text,
)
from dsec_cli.dag.views.dot import quoted
from dsec_cli.dag.views.mermaid import escaped
from dsec_cli.discovery import instances

GOLDEN = Path(__file__).parent.parent / "golden" / "dag"
VIEWS = {view.name: view for view in instances("dsec_cli.dag.views", View)}
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz's dot is not installed")


def picture(path, run=None):
    opened = open_contract(str(path))
    graph = step_graph(opened.contract)
    found = picture_of(
        opened.contract,
        graph,
        title=opened.contract.name or "job",
        learned={},
        locate=locator(opened, os.path.basename),
    )
    return found.picture._replace(run=run)


def page_data(page: str):
    """The data that a page carries."""
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])


def test_every_module_is_a_view_called_like_it():
    names = {path.stem for path in Path("dsec_cli/dag/views").glob("[!_]*.py")} or set(VIEWS)
    assert set(VIEWS) == names == {"text", "dot", "html", "json", "mermaid", "trace"}


@pytest.mark.parametrize("case", sorted(path.stem for path in GOLDEN.glob("*.yaml")))
@pytest.mark.parametrize("name", sorted(VIEWS))
def test_golden_views(case, name):
    shown = VIEWS[name].render(picture(GOLDEN / f"{case}.yaml"))
    if name == "html":
        # The page is the script's; what it is given is the view's.
        shown = json.dumps(page_data(shown), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    expected = GOLDEN / f"{case}.{name}"
    if os.environ.get("DSEC_BLESS"):
        expected.write_text(shown)
    assert shown == expected.read_text()


@pytest.mark.parametrize("case", sorted(path.stem for path in GOLDEN.glob("*.yaml")))
def test_text_fits_eighty_columns(case):
    assert (
        max(len(line) for line in VIEWS["text"].render(picture(GOLDEN / f"{case}.yaml")).splitlines()) <= 80
    )


HOSTILE = [
    'a"]; evil [label="x',
    "<b>&amp;",
    "back\\slash\\N",
    "new\nline\x1b[31m",
    "中文 ✓",
    "x" * 300,
    "]]-->|`#quot;",
]


@pytest.fixture
def hostile(tmp_path):
    needs = ["", *(f"S{at}" for at in range(len(HOSTILE) - 1))]
    steps = [
        f"  - {{id: S{at}, name: {json.dumps(name)}, run: x, timeout: 60s, needs: [{needs[at]}]}}"
        for at, name in enumerate(HOSTILE)
    ]
    path = tmp_path / "ds_config.yaml"
    path.write_text("steps:\n" + "\n".join(steps) + "\n")
    return path


def run_of(state):
    return Run('job"<>', "failed", {"S0": Observed(state, 1, 3, 1234)})


@needs_dot
@pytest.mark.parametrize("case", ["hostile", "rlhf", "cyclic", "broken"])
def test_graphviz_accepts_what_we_write(case, hostile, tmp_path):
    path = hostile if case == "hostile" else GOLDEN / f"{case}.yaml"
    shown = VIEWS["dot"].render(picture(path, run_of("failed") if case == "hostile" else None))
    done = subprocess.run(["dot", "-Tjson"], input=shown, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    drawn = json.loads(done.stdout)
    graph = picture(path).graph
    assert len(drawn["objects"]) == len(graph.steps)
    ends = {(edge.source, edge.target) for edge in graph.edges}
    carried = {(edge.source, edge.target) for edge in graph.carried}
    assert len(drawn["edges"]) == len(ends) + len(carried)


def test_hostile_names_stay_inside_mermaid_labels(hostile):
    shown = VIEWS["mermaid"].render(picture(hostile, run_of("running")))
    nodes = [line for line in shown.splitlines() if re.match(r"    n\d+\[", line)]
    assert len(nodes) == len(HOSTILE)
    for line in nodes:
        assert re.fullmatch(r'    n\d+\["(<b>|</b>|<br/>|[A-Za-z0-9 .,:/_+#;-])*"\]:::\w+', line), line


def test_hostile_names_cannot_command_a_terminal(hostile):
    shown = VIEWS["text"].render(picture(hostile, run_of("done")))
    assert all(ch.isprintable() or ch == "\n" for ch in shown)


def test_ids_and_paths_of_a_cycle_cannot_command_a_terminal(tmp_path):
    path = tmp_path / "ds_config.yaml"
    path.write_text(
        r"""steps:
  - {id: "a\e[2J", run: x, timeout: 5s, inputs: ["\e[31mred"]}
  - {id: "b\u202e", run: x, timeout: 5s, outputs: ["\e[31mred"], needs: ["a\e[2J"]}
"""
    )
    shown = VIEWS["text"].render(picture(path))
    assert "cycle 1" in shown
    assert all(ch.isprintable() or ch == "\n" for ch in shown)


@given(st.text())
def test_quoted_and_escaped_text_has_no_way_out(text):
    inner = quoted(text)[1:-1]
    assert re.fullmatch(r'(?:[^"\\]|\\.)*', inner, re.S)
    assert "\n" not in inner
    assert not set(escaped(text)) & set('"<>[]()|`{}')


def test_json_names_its_format_and_every_place():
    document = json.loads(VIEWS["json"].render(picture(GOLDEN / "cyclic.yaml")))
    assert document["format"] == "dsec.dag/1"
    assert document["acyclic"] is False
    assert document["analysis"] is None
    [cycle] = document["cycles"]
    assert cycle["members"] == ["load", "train", "save", "eval"]
    assert [edge["place"]["line"] for edge in cycle["loop"]] == [4, 5, 3]
    assert len(cycle["remedy"]) == 2
    assert cycle["remedy"][0]["add"] == ["break_cycle: true", "break_point: save"]


def test_a_run_is_laid_over_every_view():
    run = Run("abc123", "failed", {"S2": Observed("failed", 3, 7, 61_500)})
    for name, view in VIEWS.items():
        shown = view.render(picture(GOLDEN / "rlhf.yaml", run))
        assert "abc123" in shown or name == "mermaid"
        assert "failed" in shown


@pytest.mark.parametrize(
    ("seen", "iterations", "said"),
    [
        (Observed("failed", 0, 2, None), 1, "failed, 2 attempts"),
        (Observed("failed", 3, 7, 500), 20, "failed 3/20, 500ms each, 7 attempts"),
        (Observed("running", 0, 1, None), 1, "running"),
        (Observed("done", 1, 1, 500), 1, "done, 500ms"),
    ],
)
def test_attempts_are_counted_in_all(seen, iterations, said):
    assert state_text(seen, iterations) == said


@pytest.mark.parametrize(
    ("period", "loop", "text"),
    [
        (40, None, "one every 40ms once they overlap"),
        (50, Loop((0, 1), 1, 50), "one after the other, they cannot overlap"),
        # Nothing forbids it; in the order that a run follows it does not happen.
        (50, Loop((0, 1), 2, 25), "one after the other, none overlaps"),
        (50, None, "one after the other, none overlaps"),
    ],
)
def test_that_nothing_overlaps_is_called_impossible_only_where_it_is(period, loop, text):
    assert pace_text(Overlap(500, period, loop, None), 50) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1000, "1s"),
        (1260, "1.3s"),
        (59_940, "59.9s"),
        (59_999, "1m"),
        (3_600_000, "1h"),
        (3_661_000, "1h1m1s"),
        (90_000_000, "25h"),
    ],
)
def test_times_are_short(ms, text):
    assert time_text(ms) == text


def many(tmp_path, lines):
    path = tmp_path / "dsandbox.yaml"
    path.write_text("steps:\n" + "\n".join(lines) + "\n")
    return VIEWS["text"].render(picture(path))


def test_of_many_steps_those_of_a_kind_share_a_line(tmp_path):
    lines = [
        f"  - {{id: load-{at}, run: x, timeout: 9s, expected_duration: {1 + at % 3}s}}" for at in range(150)
    ]
    needs = ", ".join(f"load-{at}" for at in range(150))
    lines += [f"  - {{id: train-{at}, run: x, timeout: 9s, needs: [{needs}]}}" for at in range(60)]
    shown = many(tmp_path, [*lines, "  - {id: end, run: x, timeout: 9s, needs: [train-0, load-3]}"])
    assert re.search(r"^ \* 150 x load-# +pauseable +1 core +1s-3s$", shown, re.M)
    assert re.search(r"^ \* 60 x train-# +pauseable +1 core +1s\?\n     needs load-#$", shown, re.M)
    assert " * end " in shown
    assert "     needs train-0, load-3\n" in shown
    assert len(shown.splitlines()) < 30


def test_of_many_levels_the_first_and_last_are_shown(tmp_path):
    lines = [
        f"  - {{id: s{at}, run: x, timeout: 9s, needs: [{f's{at - 1}' if at else ''}]}}" for at in range(250)
    ]
    shown = many(tmp_path, lines)
    assert "200 more levels: --output json shows them all" in shown
    assert "level 39\n" in shown
    assert "level 240\n" in shown
    assert "level 239\n" not in shown


def test_wide_characters_and_long_ids_keep_the_columns(tmp_path):
    long = "x" * 200
    shown = many(
        tmp_path,
        [
            "  - {id: 训练, name: 策略前向传播与奖励计算, run: x, timeout: 9s}",
            f"  - {{id: {long}, run: x, timeout: 9s, needs: [训练]}}",
            f"  - {{id: end, run: x, timeout: 9s, needs: [{long}]}}",
        ],
    )
    assert all(cells(line) <= 80 for line in shown.splitlines())
    rows = [line for line in shown.splitlines() if "pauseable" in line]
    assert len({cells(row.partition("pauseable")[0]) for row in rows}) == 1


def test_no_steps_are_one_line(tmp_path):
    assert many(tmp_path, ["  []"]) == "job: 0 Steps, 0 levels, 0 edges\n"


@pytest.mark.parametrize(
    ("ids", "prefix"),
    [
        (
            ["NFCORE_RNASEQ:ALIGN:STAR_GENOME_1", "NFCORE_RNASEQ:QUANT:SALMON", "NFCORE_RNASEQ:QC"],
            "NFCORE_RNASEQ:",
        ),
        (["pipeline.stage-one.a-long-name", "pipeline.stage-two.b", "pipeline.stage-two.c"], "pipeline."),
        (["short.a", "short.b", "short.c"], ""),
        (["a-very-long-name-without-a-like-1", "another", "third"], ""),
        (["NFCORE_RNASEQ:ALIGN:STAR_GENOME_1", "NFCORE_RNASEQ:QUANT"], ""),
        (["nfcorernaseqalignstargenome1", "nfcorernaseqalignstargenome2", "nfcorernaseqx"], ""),
        (
            ["same.same.same.same.same.same", "same.same.same.same.same.same.x", "same.same.same.same"],
            "same.same.same.",
        ),
    ],
)
def test_what_all_long_ids_begin_with_is_folded(ids, prefix):
    assert prefix_of(ids) == prefix
    assert all(one.removeprefix(prefix) for one in ids)


@given(text=st.text(max_size=80), width=st.integers(8, 60))
def test_what_is_elided_fits_and_keeps_both_ends(text, width):
    short = elided(text, width)
    assert short == text or cells(short) <= width
    assert cells(text) > width or short == text
    if short != text:
        assert text.startswith(short.partition("...")[0])


def test_long_hierarchical_ids_are_told_apart_in_text_and_pictures(tmp_path):
    """Each line of 80 columns and each label shows the part in which ids differ."""
    names = [f"NFCORE_RNASEQ.FASTQ_FASTQC_UMITOOLS_TRIMGALORE.TOOL_{at:03d}" for at in range(60)]
    path = tmp_path / "ds_config.yaml"
    path.write_text("steps:\n" + "".join(f"  - {{id: {one}, run: 'true', timeout: 5s}}\n" for one in names))
    drawn = picture(path)
    text = VIEWS["text"].render(drawn)
    assert all(cells(line) <= 80 for line in text.splitlines())
    assert all(sum(f"TOOL_{at:03d} " in line for line in text.splitlines()) == 1 for at in range(60))
    wide = VIEWS["text"].render(drawn._replace(width=160))
    assert "all ids begin with NFCORE_RNASEQ.FASTQ_FASTQC_UMITOOLS_TRIMGALORE." in " ".join(wide.split())
    dot = VIEWS["dot"].render(drawn)
    assert "<B>TOOL_000</B>" in dot
    assert f'tooltip="{names[0]}"' in dot


@needs_dot
def test_a_png_has_a_bound_on_its_pixels():
    lines = "".join(f'n{at} [label="{"x" * 60}"];' for at in range(300))
    data = draw(f"digraph dag {{\n{lines}\n}}\n", "png")
    width, height = struct.unpack(">II", data[16:24])
    assert max(width, height) <= 80 * 96 + 1
