"""Who names a run that is not there is told of those that are: the newest, and the one that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec.errors import RunProblem
from dsec.rundir import find


def hint(folder: Path, begun_ms: dict[str, int], asked: str) -> str:
    for job, wall_ms in begun_ms.items():
        run = folder / ".dsec" / "runs" / job
        run.mkdir(parents=True)
        (run / "journal").write_text(f'{{"wall_ms":{wall_ms}}}\n')
    with pytest.raises(RunProblem) as told:
        find(str(folder), {}, asked)
    return told.value.hint


def test_the_newest_are_named_and_the_others_counted(tmp_path: Path) -> None:
    begun_ms = {f"{letter}{letter}": 100 - at for at, letter in enumerate("abcdefg")}
    assert hint(tmp_path, begun_ms, "9999") == "runs here: aa, bb, cc, dd, ee, and 2 more"


def test_a_near_name_is_proposed_however_old_it_is(tmp_path: Path) -> None:
    begun_ms = {"fail": 1, **{f"x{at}x": at + 2 for at in range(5)}}
    assert (
        hint(tmp_path, begun_ms, "fial")
        == "did you mean 'fail'? runs here: x4x, x3x, x2x, x1x, x0x, and 1 more"
    )


def test_no_run_at_all(tmp_path: Path) -> None:
    assert hint(tmp_path, {}, "j") == "there are none yet"
