"""The HTML page: its data, what a contract cannot do to it, and how it comes up in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.events import Exit, RunStart, Spawn
from dsec_cli.commands.overlay import bars_of
from dsec_cli.dag.picture import on_devices_of
from dsec_cli.dag.view import Bar, Run
from dsec_cli.dag.views import html, trace
from tests.dag.test_views import GOLDEN, page_data, picture

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

HOSTILE = """\
name: "</script><script>document.title='owned'</script>@JS@"
steps:
  - {id: a, name: "<img src=x onerror=alert(1)>", run: "true", timeout: 5s}
  - {id: b, name: "\\u2028&amp; 训练🚀", run: "true", timeout: 5s, needs: [a]}
"""


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    path = tmp_path / "ds_config.yaml"
    path.write_text(HOSTILE)
    return html.render(picture(path))


def test_a_contract_cannot_write_markup(hostile: str) -> None:
    assert hostile.count("<script") == 2
    assert "<img" not in hostile
    assert page_data(hostile)["title"].startswith("</script>")
    assert "default-src 'none'" in hostile


def test_many_steps_of_one_kind_are_folded_by_stretches_of_levels(tmp_path: Path) -> None:
    path = tmp_path / "ds_config.yaml"
    lines = [
        f"  - {{id: S{at}, run: 'true', timeout: 5s, needs: [{f'S{at - 8}' if at > 7 else ''}]}}"
        for at in range(240)
    ]
    path.write_text("name: many\nsteps:\n" + "\n".join(lines) + "\n")
    groups = [step["group"] for step in page_data(html.render(picture(path)))["steps"]]
    assert groups[:24] == ["levels 0-2"] * 24
    assert len(set(groups)) == 10
    assert groups[-1] == "levels 27-29"
    path.write_text(path.read_text().replace("id: S1,", "id: other,").replace("S1]", "other]"))
    groups = [step["group"] for step in page_data(html.render(picture(path)))["steps"]]
    assert set(groups) == {"S#", "other"}, "where ids tell kinds apart, these are the classes"


def test_the_page_loads_nothing(hostile: str) -> None:
    assert not re.search(
        r"(src|href)\s*=|@import|url\((?!#|`#)|fetch\(|XMLHttp", hostile.partition("<script id=")[0]
    )


def test_times_of_a_resumed_run_are_in_one_line() -> None:
    told = [
        RunStart(0, 1, 10, 1, "boot", 1_000_000, False),
        Spawn(10_000, "a", 0, 1, 11, 1, 1, ("GPU-1",), "a.log", ""),
        Exit(60_000, "a", 0, 1, "ok", 0, None, "", 50_000, 1, 1, None, None, None),
        Spawn(70_000, "b", 0, 1, 12, 1, 1, (), "b.log", ""),
        RunStart(0, 2, 20, 1, "boot", 1_005_000, False),
        Spawn(20_000, "b", 0, 2, 13, 1, 1, (), "b.log", ""),
    ]
    bars, span = bars_of(told)
    assert bars == (
        Bar("a", 0, 1, 10, 60, ("GPU-1",), "ok"),
        Bar("b", 0, 1, 70, 70, (), "lost"),
        Bar("b", 0, 2, 5020, None, (), "running"),
    )
    assert span == 5020


def test_a_clock_that_was_set_back_turns_no_time_around() -> None:
    told = [
        RunStart(0, 1, 10, 1, "boot", 2_000_000, False),
        Spawn(500_000, "a", 0, 1, 11, 1, 1, (), "a.log", ""),
        RunStart(0, 2, 20, 1, "boot", 1_000_000, False),
        Spawn(1_000, "a", 0, 2, 13, 1, 1, (), "a.log", ""),
    ]
    bars, span = bars_of(told)
    assert [bar.from_ms for bar in bars] == [500, 501]
    assert span == 501


def test_the_trace_has_a_lane_per_device_and_no_overlap_in_one() -> None:
    bars = (
        Bar("S1", 0, 1, 0, 40, ("GPU-1",), "ok"),
        Bar("S2", 0, 1, 10, 30, (), "ok"),
        Bar("S3", 0, 1, 20, None, (), "running"),
        Bar("S4", 0, 1, 30, 50, (), "failed"),
    )
    found = trace.lanes(bars, {"GPU-1": "GPU 0", "GPU-2": "GPU 1"})
    assert [(lane.name, [bar.step for bar in lane.bars]) for lane in found] == [
        ("GPU 0", ["S1"]),
        ("GPU 1", []),
        ("no GPU 1", ["S2", "S4"]),
        ("no GPU 2", ["S3"]),
    ]
    shared = (Bar("S5", 0, 1, 0, 10, ("GPU-1",), "ok"), Bar("S6", 0, 1, 5, 20, ("GPU-1", "GPU-2"), "ok"))
    found = trace.lanes(shared, {"GPU-1": "GPU 0", "GPU-2": "GPU 1"})
    assert [(lane.name, [bar.step for bar in lane.bars]) for lane in found] == [
        ("GPU 0", ["S5"]),
        ("GPU 0 (2)", ["S6"]),
        ("GPU 1", ["S6"]),
    ]
    run = Run("abc", "failed", {}, bars, 50, (("GPU-1", "GPU 0"),))
    events = json.loads(trace.render(picture(GOLDEN / "rlhf.yaml", run)))["traceEvents"]
    assert {event["pid"] for event in events} == {1, 2}
    assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")


def dom(page: str, folder: Path, query: str = "") -> str:
    """The page as a browser has built it; a script error shows as an empty picture."""
    path = folder / "page.html"
    path.write_text(page)
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000"),
            *("--dump-dom", f"--user-data-dir={folder / 'profile'}", f"file://{path}{query}"),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@needs_browser
def test_a_browser_draws_every_step(hostile: str, tmp_path: Path) -> None:
    built = dom(hostile, tmp_path)
    assert built.count('role="button"') == 2
    assert "owned" not in re.search("<title>.*?</title>", built)[0].replace("document.title='owned'", "")
    assert built.count('class="edge') == 1


@needs_browser
@pytest.mark.parametrize("case", ["rlhf", "cyclic"])
def test_a_browser_draws_the_goldens(case: str, tmp_path: Path) -> None:
    shown = picture(GOLDEN / f"{case}.yaml")
    built = dom(html.render(shown), tmp_path, "?theme=dark")
    assert built.count('class="node ') == len(shown.graph.steps)
    assert 'class="dark"' in built
    if case == "cyclic":
        assert "edge loop" in built
        assert "break_cycle: true" in built


def pressed(page: str, *runs: tuple[str, ...]) -> str:
    """The page with a script behind it that presses keys, run after run, and notes what that leads to."""
    script = (
        "const press = (key) => window.dispatchEvent(new KeyboardEvent('keydown', {key, cancelable: true}));"
        "const note = () => [by('about').querySelector('h2').textContent,"
        " document.querySelectorAll('.node.dim').length, document.documentElement.className];"
        f"const found = {json.dumps(runs)}.map((keys) => {{ keys.forEach(press); return note(); }});"
        "document.body.dataset.found = JSON.stringify(found);"
    )
    return page.replace("</body>", f"<script>{script}</script></body>")


def noted(built: str) -> list[list[object]]:
    """What the script of `pressed` noted after each run."""
    text = re.search('data-found="([^"]*)"', built)
    assert text is not None
    found: list[list[object]] = json.loads(text[1].replace("&quot;", '"'))
    return found


@needs_browser
def test_keys_go_along_the_graph(tmp_path: Path) -> None:
    right, left, down = "ArrowRight", "ArrowLeft", "ArrowDown"
    runs = ((right,), (right,), (right, down), (left, left), ("Escape",), ("c",), ("c", "t"))
    built = dom(pressed(html.render(picture(GOLDEN / "rlhf.yaml")), *runs), tmp_path, "?theme=light")
    idle = "Why GPUs are idle"
    assert noted(built) == [
        *(["S1", 0, ""], ["S2", 0, ""], ["S4", 0, ""], ["S1", 0, ""]),
        *([idle, 0, ""], [idle, 1, ""], [idle, 0, "dark"]),
    ]


@needs_browser
def test_a_step_can_be_asked_for_in_the_address(tmp_path: Path) -> None:
    lines = [f"  - {{id: r{at}, run: x, timeout: 5s}}" for at in range(300)]
    (tmp_path / "ds_config.yaml").write_text("steps:\n" + "\n".join(lines) + "\n")
    page = pressed(html.render(picture(tmp_path / "ds_config.yaml")), ())
    assert noted(dom(page, tmp_path, "?step=r77&theme=light")) == [["r77", 0, ""]]


@needs_browser
def test_a_cycle_is_shown_among_folded_steps(tmp_path: Path) -> None:
    lines = [f"  - {{id: r{at}, run: x, timeout: 5s}}" for at in range(300)]
    lines += [f"  - {{id: c{at}, run: x, timeout: 5s, needs: [c{(at - 1) % 3}]}}" for at in range(3)]
    (tmp_path / "ds_config.yaml").write_text("steps:\n" + "\n".join(lines) + "\n")
    built = dom(html.render(picture(tmp_path / "ds_config.yaml")), tmp_path)
    assert built.count('class="node ') == 4
    assert built.count("edge loop") == 3


@needs_browser
def test_many_steps_come_folded_by_class(tmp_path: Path) -> None:
    lines = [f"  - {{id: r{at}, run: x, timeout: 5s}}" for at in range(300)]
    (tmp_path / "ds_config.yaml").write_text("steps:\n" + "\n".join(lines) + "\n")
    built = dom(html.render(picture(tmp_path / "ds_config.yaml")), tmp_path)
    assert built.count('class="node ') == 1
    assert ">r#<" in built
    assert ">× 300<" in built


BARS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 9), st.sets(st.sampled_from("abc"), max_size=3)), max_size=30
)


@given(drawn=BARS)
def test_no_two_bars_of_a_lane_overlap_and_none_is_lost(drawn) -> None:
    bars = [
        Bar(f"S{at}", 0, 1, begin, None if length == 9 else begin + length, tuple(sorted(devices)), "ok")
        for at, (begin, length, devices) in enumerate(drawn)
    ]
    found = trace.lanes(bars, {})
    for lane in found:
        for one, other in pairwise(lane.bars):
            assert one.to_ms is not None
            assert one.to_ms <= other.from_ms
    shown = sorted(bar.step for lane in found for bar in lane.bars)
    assert shown == sorted(bar.step for bar in bars for _ in range(max(1, len(bar.devices))))
    for uuid in "abc":
        own = [bar for bar in bars if uuid in bar.devices]
        moments = [
            sum(one.from_ms <= bar.from_ms and (one.to_ms is None or bar.from_ms < one.to_ms) for one in own)
            for bar in own
        ]
        rows = sum(lane.name.startswith(uuid) for lane in found)
        assert rows <= max([1, *moments]), "no more lanes than Steps at a time"


def test_a_run_is_laid_over_its_own_devices_not_over_assumed_ones() -> None:
    drawn = picture(GOLDEN / "rlhf.yaml")
    devices = tuple((f"GPU-real-{at}", f"GPU {at} h100") for at in range(8))
    shown = on_devices_of(Run("abc", "done", {}, (), 50, devices), drawn)
    assert drawn.devices
    assert set(shown.devices) <= set(devices)
    assert {uuid for part in shown.analysis.slices for uuid in part.devices} <= {uuid for uuid, _ in devices}
