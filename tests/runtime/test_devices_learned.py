"""What runs teach about devices: where memory ran out, and how quick each device is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.experience import NOTHING, Experience, Pace, learned_speeds, together
from dsec.core.lessons import experienced
from dsec.devicebook import learn_devices, read_devices, says_out_of_memory
from dsec.errors import StoredFormError
from dsec.events import Exit, Spawn
from dsec.inventory import Device

TYPES = {"GPU-0": "rtx-4090", "GPU-1": "a100-sxm-80gb", "GPU-2": "a100-sxm-80gb"}


def attempt(step, device, cause="ok", *, ms=100, detail=""):
    spawn = Spawn(0, step, 0, 1, 9, 0, 0, (device,), f"logs/{step}.log", "")
    end = Exit(1, step, 0, 1, cause, None, None, detail, ms * 1000, None, None, None, None, None)
    return [spawn, end]


def lessons(*attempts):
    return experienced(
        [one for pair in attempts for one in pair], TYPES, lambda _, end: "out of memory" in end.detail
    )


def test_where_memory_ran_out_is_kept_until_the_step_succeeds_there():
    lacked = attempt("A", "GPU-0", "exit", detail="CUDA out of memory")
    first = together(NOTHING, lessons(lacked, lacked, attempt("A", "GPU-1")))
    assert first.ran_out == {"A": {"rtx-4090": 2}}
    assert together(first, lessons(lacked)).ran_out == {"A": {"rtx-4090": 3}}
    assert together(first, lessons(attempt("A", "GPU-0"))).ran_out == {}


@pytest.mark.parametrize("cause", ["interrupted", "timeout"])
def test_what_was_stopped_teaches_nothing(cause):
    assert lessons(attempt("A", "GPU-0", cause, detail="out of memory")).ran_out == {"A": {}}


def test_other_failures_teach_nothing():
    assert together(NOTHING, lessons(attempt("A", "GPU-0", "exit"))) == NOTHING


def test_times_are_kept_by_device():
    found = lessons(*(attempt("A", "GPU-1", ms=ms) for ms in (10, 30, 20)))
    assert found.paces == {"A": {"GPU-1": Pace("a100-sxm-80gb", 20, 3)}}


def device(at, type_, speed):
    return Device(f"GPU-{at}", at, type_, type_, 1, None, None, None, (), speed, "ok")


BOX = (device(0, "rtx-4090", 73), device(1, "a100-sxm-80gb", 139), device(2, "a100-sxm-80gb", 139))


def paced(**devices):
    return {f"GPU-{name[1:]}": Pace(TYPES[f"GPU-{name[1:]}"], ms, n) for name, (ms, n) in devices.items()}


def test_a_slow_device_of_a_type_is_found_out():
    known = Experience({}, {"A": paced(g1=(100, 5), g2=(200, 5)), "B": paced(g1=(50, 3), g2=(99, 3))})
    assert learned_speeds(known, BOX) == {"GPU-2": 69}


def test_a_type_is_as_quick_as_steps_took_on_it():
    known = Experience({}, {"A": paced(g0=(100, 5), g1=(100, 5))})
    assert learned_speeds(known, BOX) == {"GPU-0": 140}


@pytest.mark.parametrize("paces", [paced(g1=(100, 2), g2=(200, 5)), paced(g1=(100, 5), g2=(105, 5)), {}])
def test_little_evidence_and_little_difference_change_nothing(paces):
    assert learned_speeds(Experience({}, {"A": paces}), BOX) == {}


PACES = st.dictionaries(
    st.sampled_from(sorted(TYPES)),
    st.builds(Pace, st.sampled_from(sorted(set(TYPES.values()))), st.integers(0, 9), st.integers(0, 9)),
)
KNOWN = st.builds(
    Experience,
    st.dictionaries(
        st.sampled_from("AB"), st.dictionaries(st.sampled_from("xy"), st.integers(1, 9), min_size=1)
    ),
    st.dictionaries(st.sampled_from("AB"), PACES),
)


@given(KNOWN, KNOWN)
def test_any_experience_gives_speeds_above_zero_and_is_kept(known, more):
    assert all(speed > 0 for speed in learned_speeds(together(known, more), BOX).values())
    assert together(known, NOTHING).ran_out == known.ran_out


def test_the_file_keeps_what_was_learned(tmp_path):
    known = Experience({"A": {"rtx-4090": 2}}, {"A": paced(g1=(100, 5))})
    assert read_devices(str(tmp_path), "x.yaml: x") == NOTHING
    learn_devices(str(tmp_path), "x.yaml: x", known)
    assert read_devices(str(tmp_path), "x.yaml: x") == Experience(
        known.ran_out, {"x.yaml: x: A": paced(g1=(100, 5))}
    )
    assert [path.name for path in tmp_path.iterdir()] == ["devices.json"]


def test_what_one_contract_lacked_says_nothing_of_anothers_step_of_that_name(tmp_path):
    state = str(tmp_path)
    learn_devices(state, "one.yaml: one", Experience({"A": {"rtx-4090": 1}}, {"A": paced(g1=(100, 5))}))
    learn_devices(state, "two.yaml: two", Experience({"A": {"h100": 3}}, {"A": paced(g1=(900, 5))}))
    one, two = read_devices(state, "one.yaml: one"), read_devices(state, "two.yaml: two")
    assert (one.ran_out, two.ran_out) == ({"A": {"rtx-4090": 1}}, {"A": {"h100": 3}})
    assert one.paces == two.paces, "a device is as quick for the one as for the other"
    assert sorted(one.paces) == ["one.yaml: one: A", "two.yaml: two: A"]
    assert read_devices(state, "three.yaml: three").ran_out == {}
    learn_devices(state, "one.yaml: one", Experience({"A": {"rtx-4090": 0}}, {}))  # it succeeded there
    assert read_devices(state, "one.yaml: one").ran_out == {}
    assert read_devices(state, "two.yaml: two").ran_out == two.ran_out


def test_a_file_from_before_contracts_were_told_apart_counts_until_one_writes_its_own(tmp_path):
    pace = '{"ms": 100, "n": 5, "type": "rtx-4090"}'
    (tmp_path / "devices.json").write_text(
        f'{{"version": 1, "ran_out": {{"A": {{"rtx-4090": 2}}}}, "paces": {{"A": {{"GPU-1": {pace}}}}}}}'
    )
    state = str(tmp_path)
    assert read_devices(state, "one.yaml: one").ran_out == {"A": {"rtx-4090": 2}}
    assert list(read_devices(state, "one.yaml: one").paces.values()) == [{"GPU-1": Pace("rtx-4090", 100, 5)}]
    learn_devices(state, "one.yaml: one", Experience({"B": {"rtx-4090": 1}}, {}))
    kept = json.loads((tmp_path / "devices.json").read_text())
    assert (kept["version"], list(kept["contracts"])) == (2, ["one.yaml: one"])
    assert kept["contracts"]["one.yaml: one"]["ran_out"] == {"A": {"rtx-4090": 2}, "B": {"rtx-4090": 1}}
    assert read_devices(state, "two.yaml: two").ran_out == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"version": 3, "contracts": {}}',
        '{"version": [], "contracts": {}}',
        '{"version": 2}',
        '{"version": 2, "contracts": []}',
        '{"version": 2, "contracts": {"x": {"ran_out": {}}}}',
        '{"version": 1}',
        '{"version": 1, "ran_out": [], "paces": {}}',
        '{"version": 1, "ran_out": {"A": {"x": -1}}, "paces": {}}',
        '{"version": 1, "ran_out": {}, "paces": {"A": {"GPU-0": {"ms": 1, "n": 1}}}}',
        '{"version": 1, "ran_out": {}, "paces": {"A": {"GPU-0": {"type": "x", "ms": 1.5, "n": 1}}}}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_is_named(tmp_path, text):
    (tmp_path / "devices.json").write_text(text)
    with pytest.raises(StoredFormError, match=r"devices\.json"):
        read_devices(str(tmp_path), "x.yaml: x")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n", True),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating\n", True),
        ("RuntimeError: CUDA error: device-side assert triggered\n", False),
        ("", False),
    ],
)
def test_what_programs_write_when_memory_ran_out(tmp_path, text, answer):
    log = tmp_path / "log"
    log.write_text("x" * 100_000 + text)
    assert says_out_of_memory(str(log), "") is answer
    assert says_out_of_memory(str(tmp_path / "none"), text) is answer


@pytest.mark.battery
def test_a_run_learns_and_the_next_plan_keeps_off(job, simulated_box):
    job.env |= simulated_box("2xa100-sxm-80gb")
    with open(job.env["SIM_GPU_SCENARIO"], "a") as rules:
        rules.write("gpu 0 name NVIDIA GeForce RTX 4090\ngpu 0 total 24564\n")
    (job.folder / "ds_config.yaml").write_text(
        "steps:\n  - {id: A, run: [sh, -c, 'echo CUDA out of memory; exit 1'], timeout: 9s,"
        " resources: {gpu: {count: 1, memory: 10Gi}}}\n"
    )
    plan = job.dsec("plan", "ds_config.yaml")
    assert "gpu of any type x1: a100-sxm-80gb 1" in plan
    job.dsec("run", "ds_config.yaml", "--job-id", "one", expect=1)
    learned = json.loads((job.folder / ".dsec" / "devices.json").read_text())
    (own,) = learned["contracts"].values()
    assert own["ran_out"] == {"A": {"a100-sxm-80gb": 1}}
    text = (job.folder / "ds_config.yaml").read_text()
    # In a folder of its own: beside ds_config.yaml its Steps would be stated twice.
    (job.folder / "other").mkdir()
    (job.folder / "other" / "other.yaml").write_text(
        "baseline: {cpu: 1}\nelasticity: {}\nfault_tolerance: {level: pauseable}\ndependencies: []\n" + text
    )
    assert "ran out of memory" not in job.dsec("plan", "other/other.yaml")
    after = job.dsec("plan", "ds_config.yaml")
    assert "rtx-4090 0, not a100-sxm-80gb, where it ran out of memory" in " ".join(after.split())
    job.dsec("run", "ds_config.yaml", "--job-id", "two", expect=1)
    last = job.dsec("plan", "ds_config.yaml")
    assert "note: Step A ran out of memory on a100-sxm-80gb, rtx-4090 before" in " ".join(last.split())
