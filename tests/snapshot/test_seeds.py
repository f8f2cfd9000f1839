"""Seeds and positions that Steps tell, from the SDK into a snapshot and its differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec.sdk import seeds

from .shell import CONTRACT, Shell


@pytest.mark.battery
def test_a_step_tells_its_seeds(shell: Shell) -> None:
    (shell.project / "train.py").write_text(
        "from dsec.sdk import seeds\nimport sys\nseeds(torch=sys.argv[1], cursor=64)\n"
    )
    for job, seed in (("one", "3"), ("two", "4")):
        (shell.project / "dsandbox.yaml").write_text(
            CONTRACT.replace('"sh train.sh"', f'"{shell.python} train.py {seed}"').replace(
                'outputs: ["{run}/policy"]', ""
            )
        )
        shell.ok(f"run -q --job-id {job}", PYTHONPATH=shell.runtime)
        shell.ok(f"snapshot create --name {job}", PYTHONPATH=shell.runtime)
    text = shell.ok("snapshot diff one two --only seeds", 1)
    assert "seeds train torch  3 -> 4" in text
    assert "cursor" not in text
    assert "random numbers begin elsewhere" in text


def test_outside_a_run_nothing_happens(tmp_path: Path) -> None:
    seeds({}, torch=3)
    seeds({"DSEC_RUN_DIR": str(tmp_path / "work"), "DSEC_STEP": "../x"}, torch=3)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "seeds").write_text("in the way")
    seeds({"DSEC_RUN_DIR": str(tmp_path / "work"), "DSEC_STEP": "a"}, torch=3)
    assert (tmp_path / "seeds").read_text() == "in the way"
