"""What `dsec plan` prints: within 80 columns, and true of Steps that may have more GPUs than they state."""

import pytest

from dsec_cli.cells import cells
from dsec_cli.fast import run

HEAD = """name: job
baseline: {gpu: {count: 1, type: a100-sxm-80gb}, cpu: 1}
elasticity: {gpu: {min_count: 1, max_count: 4}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s}
dependencies: []
steps:
"""


@pytest.fixture
def planned(tmp_path, monkeypatch, capfd):
    def shown(steps, *options):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "dsandbox.yaml").write_text(HEAD + steps)
        assert run("dsec", ["plan", "--inventory", "builtin:8xa100-sxm-80gb", *options]) == 0
        return capfd.readouterr().out

    return shown


@pytest.mark.parametrize("language", ["en", "zh"])
def test_many_needs_are_wrapped(planned, language):
    ids = [f"simulate-episode-{at}" for at in range(30)]
    steps = "".join(f"  - {{id: {one}, run: a {one}, timeout: 1m}}\n" for one in ids)
    text = planned(
        f"{steps}  - {{id: last, run: z, timeout: 1m, needs: [{', '.join(ids)}]}}\n", "--lang", language
    )
    assert max(map(cells, text.splitlines()[:-1])) <= 80
    assert all(one in text for one in ids)


def test_a_bound_is_one_for_the_numbers_of_gpus_that_are_stated(planned):
    step = "  - {id: A, run: a, timeout: 1m, expected_duration: 10s, resources: {gpu: {count: 1%s}}}\n"
    assert "nothing can be faster there, each" in planned(step % ", max_count: 2")
    assert "nothing can be faster there\n" in planned(step % "")


def test_a_step_may_start_on_no_more_than_the_pool_lends(planned):
    """Of 8 GPUs the pool has 2."""
    step = "  - {id: A, run: a, timeout: 1m, resources: {gpu: {count: 1, max_count: %d}}}\n"
    assert "      starts on 1 to 3 GPUs\n" in planned(step % 3)
    assert "      starts on 1 to 4 GPUs, here on 3 at most: the pool lends 2\n" in planned(step % 4)


def test_a_bound_with_many_types_is_wrapped(planned, capfd):
    steps = "".join(
        f"  - {{id: s{at}, run: a, timeout: 1m, resources: {{gpu: {{count: 3, type: a100}}}}}}\n"
        for at in range(4)
    )
    planned(steps)
    assert run("ds-dag-analyze", ["--inventory", "builtin:8xa100-sxm-80gb"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert any(line.startswith("lower bound") for line in lines)
    assert max(map(cells, lines)) <= 80


def test_a_step_that_is_not_cut_is_in_one_piece(planned):
    step = "  - {id: A, run: a, timeout: 1m, layers: {memory: 8Gi, count: 4}, resources: {gpu: {count: 1}}}\n"
    text = planned(step, "--what-if", "step=A,split=1")
    assert " 1  A in one piece\n" in text


def test_processors_that_nobody_counted_are_no_number(planned, tmp_path, capfd):
    """What `nvidia-smi -L` prints has none: no share of them can be told."""
    (tmp_path / "pasted.txt").write_text("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-11111111-aaaa)\n")
    pasted = ["--inventory", "pasted.txt"]
    step = "  - {id: A, run: a, timeout: 1m, resources: {gpu: {count: 1}}}\n"
    planned(step)
    assert run("dsec", ["plan", *pasted]) == 0
    assert "any number of cores, memory unknown, 1 x" in capfd.readouterr().out
    assert run("dsec", ["plan", *pasted, "--what-if", "step=A,cpu=4"]) == 0
    assert "busy processors" not in capfd.readouterr().out
    assert run("dsec", ["simulate", *pasted]) == 0
    assert "CPU time held        unknown\n" in capfd.readouterr().out


def test_many_steps_of_a_kind_share_a_line(planned):
    """2,000 Steps of two kinds are a page, not thousands of lines; few are shown one by one."""

    def steps(many):
        return "".join(
            f"  - {{id: rollout-{at}, run: a, timeout: 1m, expected_duration: {1 + at % 5}s}}\n"
            f"  - {{id: reward-{at}, run: b, timeout: 1m, needs: [rollout-{at}]}}\n"
            for at in range(many)
        )

    text = planned(steps(150))
    assert len(text.splitlines()) < 30
    assert "150 x rollout-#" in text
    assert "1s-5s" in text
    assert "needs rollout-#" in text
    assert max(map(cells, text.splitlines()[:-1])) <= 80
    assert "reward-49" in planned(steps(50))


def test_many_steps_of_as_many_kinds_are_counted(planned, capfd):
    """Ids of letters alone: none is of a kind with another."""
    ids = ["".join(chr(97 + at // 15**digit % 15) for digit in range(3)) + "-job" for at in range(300)]
    steps = "".join(f"  - {{id: {one}, run: a, timeout: 1m}}\n" for one in ids)
    text = planned(steps)
    assert len(text.splitlines()) < 220
    assert "\n100 more Steps: --json shows them all\n" in text
    assert run("ds-dag-analyze", ["dsandbox.yaml"]) == 0
    drawn = capfd.readouterr().out
    assert "   260 more Steps: --output json shows them all\n" in drawn
    assert len(drawn.splitlines()) < 60
