"""What `state_dict()` of a model and of an optimizer gives is saved and loaded as it is."""

from __future__ import annotations

import importlib.util
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsec.sdk import state
from dsec.state import nested

NO_TORCH = importlib.util.find_spec("torch") is None


def adam(shape: tuple[int, ...]) -> dict[str, Any]:
    """As torch.optim.AdamW gives it, with arrays for tensors."""
    return {
        "state": {
            0: {"step": np.float32(3), "exp_avg": np.ones(shape), "exp_avg_sq": np.full(shape, 2.0)},
            1: {},
        },
        "param_groups": [
            {
                "lr": 1e-3,
                "betas": (0.9, 0.999),
                "foreach": None,
                "maximize": False,
                "params": [0, 1],
                "name": b"x",
            }
        ],
    }


def alike(one: Any, other: Any) -> bool:
    """The same, down to the types of keys and of sequences."""
    if hasattr(one, "shape") or hasattr(other, "shape"):
        return bool(np.array_equal(np.asarray(one), np.asarray(other)))
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        pairs = zip(one, other, strict=True)
        return type(one) is type(other) and all(alike(first, second) for first, second in pairs)
    return type(one) is type(other) and one == other


STATES: list[dict[str, Any]] = [
    {"model": OrderedDict(w=np.arange(6.0), b=np.zeros(2)), "optimizer": adam((3, 2))},
    {"a": [np.arange(3), (np.arange(2), {"b": None})], "c": {}, "d": [], "e": ()},
    {"deep": {"x": {"y": {"z": {1: {2.5: {True: {None: np.ones(1)}}}}}}}},
    {"step": 7, "done": False, "loss": float("inf"), "name": "ü", "none": None, "raw": {"b": b"\0\xff"}},
    {"a.b": np.ones(2), "a": {"b": np.zeros(3)}},
    {"ema": {"shadow": [np.full((2, 2), float(number)) for number in range(5)], "decay": np.float64(0.99)}},
    {"keys": {np.int64(3): 1, np.str_("a"): 2}, "odd": {"name": "a\udcff.bin", "\ud800": "\0"}},
    {},
]


@pytest.mark.parametrize("given", STATES)
def test_it_comes_back_as_it_was(given: dict[str, Any], tmp_path: Path) -> None:
    with state.Saver(tmp_path) as saver:
        saver.save(0, given)
        saver.save(1, given)
    found = state.load(str(tmp_path))
    assert alike(given, found.state)
    assert nested.KEY not in found.values


def test_one_memory_under_two_names(tmp_path: Path) -> None:
    shared = np.arange(9.0)
    with state.Saver(tmp_path) as saver:
        saver.save(0, {"model": {"wte": shared, "head": shared}})
    found = state.load(str(tmp_path))
    assert found.state["model"]["wte"] is found.state["model"]["head"]
    assert set(found.tensors) == {"model.wte", "model.head"}


def test_flat_ones_are_as_they_were(tmp_path: Path) -> None:
    with state.Saver(tmp_path) as saver:
        saver.save(0, {"w": np.arange(3), "raw": b"abc"}, values={"batch": 4})
    found = state.load(str(tmp_path))
    assert set(found.tensors) == {"w", "raw"}
    assert found.values["batch"] == 4
    assert found.state["w"] is found.tensors["w"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a": {"b": {1, 2}}}, "a.b: set is neither a tensor"),
        ({"a": {(1, 2): 3}}, r"a: the key \(1, 2\) is no text and no number"),
        ({"sched": {"fn": print}}, "sched.fn: builtin_function_or_method is neither"),
        ({"a": [np.array(["x", None])]}, "a.0: arrays of object"),
        ({"a": np.zeros(3, [("x", "f4"), ("y", "i8")])}, "a: an array with fields or a mask"),
        ({"a": np.ma.masked_array([1, 2], [0, 1])}, "a: an array with fields or a mask"),
    ],
)
def test_what_cannot_be_kept_is_told_by_its_path(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    with state.Saver(tmp_path) as saver, pytest.raises(state.StateError, match=said):
        saver.save(0, given)


def test_what_contains_itself_is_refused(tmp_path: Path) -> None:
    given: dict[str, Any] = {"a": {}}
    given["a"]["a"] = given
    with state.Saver(tmp_path) as saver, pytest.raises(state.StateError, match="nested more than"):
        saver.save(0, given)


@pytest.mark.parametrize(
    "form", [{}, {"form": []}, {"form": ["t", "none"]}, {"form": ["d", [1]]}, {"form": "x"}]
)
def test_a_form_that_is_damaged(form: dict[str, Any]) -> None:
    with pytest.raises(state.StateError, match="form is damaged"):
        nested.together(form, {})


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")  # torch's own
@pytest.mark.skipif(NO_TORCH, reason="torch is not installed")
def test_a_torch_users_states(tmp_path: Path) -> None:
    import torch

    def dense(tensor: Any) -> Any:
        whole = tensor if tensor.layout == torch.strided else tensor.to_dense()
        return whole.float() if whole.dtype.itemsize == 1 else whole

    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2).to(torch.bfloat16))
    optimizer = torch.optim.AdamW(model[0].parameters())
    model[0](torch.ones(1, 4)).sum().backward()
    optimizer.step()
    coo = torch.eye(3).to_sparse()
    odd = {
        "coo": coo,
        "csr": coo.to_sparse_csr(),
        "f8": torch.ones(3).to(torch.float8_e4m3fn),
        "scalar": torch.tensor(2.5),
        "conj": torch.ones(2, dtype=torch.complex64).conj() * 1j,
        "empty": torch.empty(0, 3),
        "bool": torch.tensor([True]),
        "strided": torch.arange(12).reshape(3, 4)[:, ::2],
        "param": torch.nn.Parameter(torch.ones(2)),
    }
    given = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "odd": odd,
        "array": np.ones(2),
    }
    with state.Saver(tmp_path) as saver:
        saver.save(0, given)
    found = state.load(str(tmp_path)).state
    torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2).to(torch.bfloat16)).load_state_dict(
        found["model"]
    )
    torch.optim.AdamW(model[0].parameters()).load_state_dict(found["optimizer"])
    assert found["model"]["1.weight"].dtype is torch.bfloat16
    for name, tensor in model.state_dict().items():
        assert torch.equal(found["model"][name], tensor)
    assert found["optimizer"]["param_groups"] == optimizer.state_dict()["param_groups"]
    for name, tensor in odd.items():
        assert found["odd"][name].layout == tensor.layout
        assert found["odd"][name].dtype is tensor.dtype
        assert torch.equal(dense(found["odd"][name]), dense(tensor.detach()))
    assert isinstance(found["array"], np.ndarray)
    arrays = state.load(str(tmp_path), torch=False)
    assert all(isinstance(one, np.ndarray) for one in arrays.tensors.values())
    with torch._subclasses.fake_tensor.FakeTensorMode():
        fake = torch.ones(2)
    bads = (
        (torch.empty(2, device="meta"), "has no values"),
        (torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), "cannot be kept"),
        (torch.nn.LazyLinear(2).weight, "no values yet"),
        (fake, "no memory of its own"),
    )
    for bad, said in bads:
        with state.Saver(tmp_path) as saver, pytest.raises(state.StateError, match=f"a.b: .*{said}"):
            saver.save(1, {"a": {"b": bad}})


@pytest.mark.skipif(NO_TORCH, reason="torch is not installed")
@pytest.mark.parametrize("copy", ["staging", "fork"])
def test_torch_without_numpy(copy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip installs torch without it."""
    import torch

    weight = torch.arange(12.0).reshape(3, 4)
    given = {"w": weight, "same": weight, "t": weight.t(), "b": weight.bfloat16(), "n": torch.tensor(3)}
    monkeypatch.setitem(sys.modules, "numpy", None)
    with state.Saver(tmp_path, copy=copy) as saver:
        saver.save(0, given)
        saver.save(1, given)
    monkeypatch.undo()  # the writer has it and may have used it
    found = state.load(str(tmp_path)).state
    assert all(torch.equal(found[name], given[name]) for name in given)
    assert all(found[name].dtype is given[name].dtype for name in given)
    assert found["w"] is found["same"]
