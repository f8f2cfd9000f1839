"""The AllReduce Step on real files: arrays that go together are combined, others are refused in words."""

import os
import sys

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.allreduce import all_reduce
from dsec.parts import layers_of, part_path, told
from dsec.sdk import StepContext, context, publishing

FLOATS = st.floats(-1e6, 1e6, width=32)


def here(folder):
    return StepContext("job", "S.all-reduce", 3, 1, str(folder), str(folder))


def written(folder, parts, name="{run}/g-{iteration}.npz"):
    for at, part in enumerate(parts):
        path = part_path(name, at).replace("{run}", str(folder)).replace("{iteration}", "3")
        numpy.savez(path, **part) if name.endswith(".npz") else numpy.save(path, part)
    return name


def reduced(folder, how, parts):
    name = written(folder, parts)
    result = all_reduce(here(folder), how=how, parts=len(parts), outputs=[name])
    with numpy.load(folder / "g-3.npz") as found:
        return {key: found[key] for key in found.files}, result


@pytest.mark.battery
@given(rows=st.lists(st.lists(FLOATS, min_size=3, max_size=3), min_size=1, max_size=5))
def test_reductions_are_those_of_numpy(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("reduce")
    parts = [{"w": numpy.array(row, dtype="float32")} for row in rows]
    stacked = numpy.stack([part["w"] for part in parts]).astype("float64")
    for how in ("sum", "mean", "max", "min"):
        found, result = reduced(folder, how, parts)
        assert found["w"].dtype == numpy.float32
        assert numpy.array_equal(found["w"], getattr(stacked, how)(axis=0).astype("float32"))
        assert result == {"parts": len(rows), "outputs": 1, "arrays": 1}


def test_what_only_one_part_has_is_kept(tmp_path):
    parts = [
        {"layer0": numpy.ones(2), "norm": numpy.array(1.5)},
        {"layer1": numpy.zeros(3), "norm": numpy.array(2)},
    ]
    parts[1]["norm"] = parts[1]["norm"].astype("float64")
    found, result = reduced(tmp_path, "mean", parts)
    assert {name: array.tolist() for name, array in found.items()} == {
        "layer0": [1, 1],
        "layer1": [0, 0, 0],
        "norm": 1.75,
    }
    assert result["arrays"] == 3


def test_whole_numbers_are_summed_exactly(tmp_path):
    parts = [{"n": numpy.array([2**62, -5, 7])}, {"n": numpy.array([2**61, -6, 8])}]
    assert reduced(tmp_path, "sum", parts)[0]["n"].tolist() == [2**62 + 2**61, -11, 15]


def test_a_single_array_needs_no_archive(tmp_path):
    written(tmp_path, [numpy.array([1, 5]), numpy.array([4, 2])], "g-{iteration}.npy".replace("g", "{run}/g"))
    all_reduce(here(tmp_path), how="max", parts=2, outputs=["{run}/g-{iteration}.npy"])
    assert numpy.load(tmp_path / "g-3.npy").tolist() == [4, 5]


@pytest.mark.parametrize(
    ("how", "parts", "words"),
    [
        ("sum", [numpy.ones(2), numpy.ones(3)], "(3,), that of an earlier part float64 (2,)"),
        ("sum", [numpy.ones(2), numpy.ones(2, dtype="float32")], "is float32 (2,), that of an earlier part"),
        ("sum", [numpy.array([2**63 - 1]), numpy.array([1])], "the sum does not fit int64"),
        ("sum", [numpy.array([250], dtype="u1"), numpy.array([6], dtype="u1")], "does not fit uint8"),
        ("mean", [numpy.array([1])], "its mean would not be int64 again"),
        ("sum", [numpy.array([True])], "is bool: its sum would not be bool again"),
        ("max", [numpy.array([1j])], "max compares numbers that have an order"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(tmp_path, how, parts, words):
    name = written(tmp_path, [{"w": part} for part in parts])
    with pytest.raises(ValueError, match="w") as problem:
        all_reduce(here(tmp_path), how=how, parts=len(parts), outputs=[name])
    assert words in str(problem.value)
    assert "g-3.part" in str(problem.value)
    assert not (tmp_path / "g-3.npz").exists()
    assert not [file for file in os.listdir(tmp_path) if file.endswith(".tmp")]


def test_a_function_of_the_contract_is_handed_the_paths(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def join(context, *, parts, outputs):\n"
        "    texts = []\n"
        "    for part in parts:\n"
        "        with open(part[0]) as file:\n"
        "            texts.append(file.read())\n"
        "    with open(outputs[0], 'w') as file:\n"
        "        file.write(f\"{'+'.join(texts)}@{context.iteration}\")\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for at, text in enumerate("ab"):
        (tmp_path / f"out.part{at}.txt").write_text(text)
    found = all_reduce(here(tmp_path), how="mine:join", parts=2, outputs=["{run}/out.txt"])
    assert (tmp_path / "out.txt").read_text() == "a+b@3"
    assert found == {"parts": 2, "outputs": 1}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("{run}/g-{iteration}.npz", "{run}/g-{iteration}.part1.npz"),
        ("g", "g.part1"),
        ("a.b/.hidden", "a.b/.hidden.part1"),
        ("out/", "out.part1/"),
        ("/x/model.tar.gz", "/x/model.tar.part1.gz"),
    ],
)
def test_each_part_has_a_file_of_its_own(path, found):
    assert part_path(path, 1) == found


def test_a_process_learns_which_part_it_is():
    env = {"DSEC_RUN": "j", "DSEC_STEP": "S.1", "DSEC_RUN_DIR": "/r"}
    whole = context(env)
    assert (whole.split_index, whole.split_count, whole.split_layers) == (0, 1, None)
    assert whole.part("g.npz") == "g.npz"
    part = context({**env, **told(1, 3, (6, 10))})
    assert (part.split_index, part.split_count, part.split_layers) == (1, 3, (6, 10))
    assert part.part("g.npz") == "g.part1.npz"
    assert layers_of("7-7") == (7, 7)


def test_a_file_that_is_given_up_leaves_nothing(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(TypeError), publishing(str(target)) as file:
        file.write("half")
    assert os.listdir(tmp_path) == ["out"]
    assert target.read_text() == "old"


def test_without_numpy_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(RuntimeError, match="numpy is not installed here"):
        all_reduce(here(tmp_path), how="sum", parts=2, outputs=["{run}/g.npy"])
