"""The reward curve in the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


def line(iteration: int, reward: Any) -> dict[str, Any]:
    return {"iteration": iteration, "reward_mean": reward, "exact_match": 0.5, "entropy": 1.0, "kl": 0.01}


def test_chart_has_figures_on_both_axes(job: SimpleNamespace) -> None:
    drawn = job.show.summary([line(i, i / 4) for i in range(5)])
    assert drawn.splitlines() == [
        "mean reward",
        "1.00 ┤            ██",
        "     ┤            ██",
        "0.75 ┤         ██ ██",
        "     ┤         ██ ██",
        "0.50 ┤      ██ ██ ██",
        "     ┤      ██ ██ ██",
        "0.25 ┤   ██ ██ ██ ██",
        "     ┤   ██ ██ ██ ██",
        "0.00 ┼───────────────",
        "      0     2     4  iteration",
        "reward 0.00 -> 1.00, 50 of 100 sums right, entropy 1.00, KL 0.010",
    ]


@pytest.mark.parametrize("count", [1, 24, 25, 72, 73, 1000])
def test_any_number_of_iterations_fits_a_terminal(job: SimpleNamespace, count: int) -> None:
    drawn = job.show.summary([line(i, 0.5) for i in range(count)])
    assert max(map(len, drawn.splitlines())) <= 90


def test_a_diverged_run_is_drawn(job: SimpleNamespace) -> None:
    assert "reward 0.50 -> nan" in job.show.summary([line(0, 0.5), line(1, "nan")])


def show(folder: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "show.py", *args],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_a_run_folder_is_shown_even_on_an_ascii_terminal(example_folder: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "metrics.jsonl").write_text("".join(json.dumps(line(i, 0.5)) + "\n" for i in range(3)))
    (work / "policy.sha256").write_text("ab" * 32 + "  policy-2.npy\n")
    done = show(example_folder, str(tmp_path), PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("policy " + "ab" * 32 + "\n")


def test_a_folder_without_metrics_is_named(example_folder: Path, tmp_path: Path) -> None:
    done = show(example_folder, str(tmp_path))
    assert done.returncode == 3
    assert str(tmp_path) in done.stderr
