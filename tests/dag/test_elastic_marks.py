"""The memory marks of elastic Steps and their commands that save, as the plan keeps them."""

from dsec.quickplan import read_plan
from dsec_cli.fast import run

CONTRACT = """\
version: "1.0.0"
name: marks
baseline: {gpu: {count: 2, memory: 24Gi, type: a100-sxm-80gb}, cpu: 8, memory: 64Gi}
elasticity: {gpu: {min_count: 2, max_count: 4, memory_min: 24Gi, memory_max: 40Gi}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s, resume_strategy: step_resume}
dependencies: []
steps:
  - id: critic
    run: python critic.py
    timeout: 1m
    level: elastic
    resources: {gpu: {count: 2}}
    checkpoint_cmd: kill -USR2 $DSEC_PID
  - id: own
    run: python own.py
    timeout: 1m
    needs: [critic]
"""


def _planned(folder, text, name):
    (folder / "dsandbox.yaml").write_text(text)
    argv = ["plan", "dsandbox.yaml", "--inventory", "builtin:8xa100-sxm-80gb", "-o", name]
    assert run("dsec", argv) == 0
    return read_plan(str(folder / name))


def test_the_seeds_bounds_give_the_seeds_marks(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    plan = _planned(tmp_path, CONTRACT, "plan.json")
    (one,) = plan.elastic
    assert (one.high_bytes, one.low_bytes) == (32 << 30, 20 << 30)
    assert [tuple(one) for one in plan.checkpoints] == [("critic", "kill -USR2 $DSEC_PID")]
    changed = CONTRACT.replace("memory_max: 40Gi", "memory_max: 48Gi").replace("USR2", "USR1")
    _planned(tmp_path, changed, "new.json")
    capfd.readouterr()
    assert run("dsec", ["plan", "--diff", "plan.json", "new.json"]) == 1
    told = capfd.readouterr().out
    assert "one more above" in told
    assert "kill -USR1" in told


def test_without_bounds_of_memory_there_are_no_marks(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    text = CONTRACT.replace(", memory_min: 24Gi, memory_max: 40Gi", "").replace(
        "    checkpoint_cmd: kill -USR2 $DSEC_PID\n", ""
    )
    plan = _planned(tmp_path, text, "plan.json")
    assert plan.elastic[0].high_bytes is None
    assert plan.checkpoints is None
