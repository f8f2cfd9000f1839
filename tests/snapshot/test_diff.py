"""What two states differ in, in which order it is told, and why it matters."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.store import Store
from dsec_cli.snapshot.codediff import judge
from dsec_cli.snapshot.diff import compare, same
from dsec_cli.snapshot.hardcoded import _judged
from dsec_cli.snapshot.hunks import hunks
from dsec_cli.snapshot.section import Difference, Wanted
from dsec_cli.snapshot.views import diffhtml, diffjson, difftext

from .kit import described, repository, scene, site, take, write

TRAIN = '''\
"""Trains an agent."""

import os

import torch


def build(model):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/tmp/torch_compile_cache/ampere/"
    return torch.compile(model)


def train(seed=3, lr=1e-3):
    return seed * lr
'''


def only(found: tuple[Difference, ...], section: str) -> list[Difference]:
    return [one for one in found if one.section == section]


def test_the_same_state_twice(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": TRAIN})
    one = take(scene(folder, store, state), "one")
    two = take(scene(folder, store, state), "two")
    assert one.manifest.id == two.manifest.id
    assert compare(one, two) == ()


def test_another_gpu_type_points_at_the_line(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": TRAIN, "other.py": "x = '/data/cache'\n"})
    one = take(scene(folder, store, state, inventory=described("a100-sxm-80gb")), "on-a100")
    two = take(scene(folder, store, state, inventory=described("v100-sxm2-16gb")), "on-v100")
    found = compare(one, two)
    assert found[0].subject == "GPU type"
    assert found[0].before == "1 x a100-sxm-80gb"
    suspect = next(one for one in found if one.kind == "suspect")
    assert (suspect.path, suspect.line) == ("train.py", 9)
    assert "ampere" in suspect.cause
    assert suspect.hunks[0].where == "build"
    assert not same(found)
    text = difftext.render(found, "a", "b", paint=lambda text, _: text)
    assert "train.py:9" in text
    assert ">  9   " in text.replace("> 9", ">  9")


def test_the_same_gpu_type_points_at_nothing(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": TRAIN})
    one = take(scene(folder, store, state, inventory=described("a100-sxm-80gb")), "one")
    two = take(scene(folder, store, state, inventory=described("a100-sxm-80gb")), "two")
    assert compare(one, two) == ()


@pytest.mark.parametrize(
    ("line", "sure"),
    [
        ('os.environ["TRITON_CACHE_DIR"] = "/tmp/triton/sm_80"', True),
        ('cache_dir="/mnt/kernels/h100/cache"', True),
        ('os.environ["TRITON_CACHE_DIR"] = "/tmp/t"', True),
        ('cache = "~/.cache/models"', True),
        ('# os.environ["TRITON_CACHE_DIR"] = "/tmp/triton/sm_80"', False),
        ('os.environ["TRITON_CACHE_DIR"] = str(folder)', False),
        ('path = "/data/train/a100"', False),
        ("x = a / b / cache", False),
    ],
)
def test_lines_that_write_a_cache_out(line: str, sure: bool) -> None:
    assert bool(_judged(line)[0]) == sure


def test_a_hyper_parameter_and_a_package(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"train.py": TRAIN, "README.md": "x\n"})
    old = site(tmp_path / "old", {"torch": "2.4.0", "idna": "3.1"})
    new = site(tmp_path / "new", {"torch": "2.5.1", "idna": "3.1"})
    one = take(scene(folder, store, state, sites=[old]), "one")
    write(folder, {"train.py": TRAIN.replace("1e-3", "3e-4"), "README.md": "y\n"})
    two = take(scene(folder, store, state, sites=[new]), "two")
    found = compare(one, two)
    assert [one.subject for one in found if one.cause] == ["train.py", "torch"]
    code = found[0]
    assert code.line == 13
    assert "a seed" in code.cause or "lr" in code.cause
    torch = found[1]
    assert (torch.before, torch.after) == ("2.4.0", "2.5.1")
    assert [one.subject for one in only(found, "code") if not one.cause] == ["README.md"]


def test_the_same_version_with_other_files(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    old, new = site(tmp_path / "old", {"numpy": "2.0"}), site(tmp_path / "new", {"numpy": "2.0"}, record="x")
    found = compare(
        take(scene(folder, store, state, sites=[old]), "one"),
        take(scene(folder, store, state, sites=[new]), "two"),
    )
    assert [(one.subject, one.kind) for one in found] == [("numpy", "rebuilt")]
    assert found[0].before != found[0].after


def test_packages_that_come_and_go(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    old, new = site(tmp_path / "old", {"a": "1"}), site(tmp_path / "new", {"b": "2"})
    found = compare(
        take(scene(folder, store, state, sites=[old]), "one"),
        take(scene(folder, store, state, sites=[new]), "two"),
    )
    assert {(one.subject, one.kind) for one in found} == {("a", "removed"), ("b", "added")}


def test_variables_shown_and_hidden(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    base = {"PATH": "/bin", "OMP_NUM_THREADS": "1", "MINE": "abc", "SHLVL": "1"}
    one = take(scene(folder, store, state, environ=base), "one")
    two = take(
        scene(folder, store, state, environ={**base, "OMP_NUM_THREADS": "2", "MINE": "x", "SHLVL": "2"}),
        "two",
    )
    found = compare(one, two)
    assert [one.subject for one in found] == ["OMP_NUM_THREADS", "MINE"]
    assert "order" in found[0].cause
    assert "abc" not in str(found)
    assert found[1].before.startswith("hidden ")


def test_another_key_cannot_compare(tmp_path: Path, store: Store, state: Path) -> None:
    from dsec_cli.snapshot.redaction import Redactor

    folder = repository(tmp_path / "p", {"a.py": ""})
    environ = {"PATH": "/bin", "MINE": "abc"}
    one = take(scene(folder, store, state, environ=environ), "one")
    two = take(scene(folder, store, state, environ=environ, redactor=Redactor(b"o" * 32)), "two")
    found = compare(one, two)
    assert [one.kind for one in found] == ["unknown"]
    assert same(found)


def test_renamed_added_removed_and_mode(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "x = 1\n", "b.py": "y\n", "run.sh": "echo\n", "z.py": ""})
    one = take(scene(folder, store, state), "one")
    (folder / "a.py").rename(folder / "c.py")
    (folder / "b.py").unlink()
    (folder / "run.sh").chmod(0o755)
    write(folder, {"new.py": "n\n"})
    two = take(scene(folder, store, state), "two")
    kinds = {one.subject: one.kind for one in only(compare(one, two), "code")}
    assert kinds == {"c.py": "renamed", "b.py": "removed", "run.sh": "changed", "new.py": "added"}


def test_binary_and_odd_names(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    odd = str(folder).encode() + b"/\xff\x1b[2J.bin"
    with open(odd, "wb") as file:
        file.write(b"\0\1")
    one = take(scene(folder, store, state), "one")
    with open(odd, "wb") as file:
        file.write(b"\0\2\3")
    two = take(scene(folder, store, state), "two")
    found = only(compare(one, two), "code")
    assert [one.before for one in found] == ["2 bytes"]
    for text in (
        difftext.render(found, "a", "b", paint=lambda text, _: text),
        diffhtml.render(found, "a", "b"),
        diffjson.render(found, one.manifest, two.manifest, live=False),
    ):
        assert "\x1b" not in text


def test_html_has_no_markup_of_others(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.html": "<script>old()</script>\n", "<b>.py": "1\n"})
    one = take(scene(folder, store, state), "one")
    write(folder, {"a.html": "<script>new()</script>\n", "<b>.py": "2\n"})
    two = take(scene(folder, store, state), "two")
    page = diffhtml.render(compare(one, two), "<one>", "two")
    assert "<script" not in page
    assert "&lt;script&gt;new()" in page
    assert "<b>" not in page


def test_comments_and_layout_come_last() -> None:
    before, after = "x = 1\n", "# why\nx  =  1\n"
    assert judge("a.py", before, after, hunks(before, after)) == (3, "")
    assert judge("a.txt", before, after, hunks(before, after))[0] > 3


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("learning_rate: float = 5e-3", "learning_rate"),
        ("  batch_size: 32", "batch_size"),
        ("parser.add_argument('--lr', default=1)", ""),
        ("parser.add_argument('--lr', '-l', type=float)", ""),
        ("    run: python train.py --lr 0.1", "lr"),
        ("    run: python train.py --learning-rate=3e-4", "learning_rate"),
        ('    run: [python, train.py, "--batch-size", "8"]', "batch_size"),
        ("    run: python train.py --seed 7", "seed"),
        ("    run: python train.py --lr --verbose", ""),
        ("    run: python train.py --layers-of-ice 3", ""),
        ("    see --lr", ""),
        ("torch.manual_seed(3)", "seed"),
        ("seed = 3", "seed"),
        ("speed = 3", ""),
        ("if lr == 3:", ""),
    ],
)
def test_what_a_changed_line_sets(line: str, cause: str) -> None:
    _, told = judge("a.yaml", "x\n", f"{line}\n", hunks("x\n", f"{line}\n"))
    assert cause in told
    assert bool(told) == bool(cause)


def test_what_was_not_taken_is_not_compared(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "1\n"})
    one = take(scene(folder, store, state), "one")
    two = take(scene(folder, store, state, wanted=Wanted(code=False)), "two")
    found = compare(one, two)
    assert [(one.section, one.kind) for one in found] == [("code", "unknown")]
    assert "not asked for" in found[0].after
    assert same(found)


FIELDS = st.builds(
    Difference, st.sampled_from(["code", "run"]), st.sampled_from(["added", "changed", "suspect"]), st.text(),
    st.text(), st.text(), st.integers(0, 99), st.text(), st.text(), st.integers(0, 9), st.just(()),
)  # fmt: skip


@given(st.lists(FIELDS, max_size=4))
def test_any_difference_can_be_shown(found: list[Difference]) -> None:
    text = difftext.render(found, "a", "b", paint=lambda text, _: text)
    assert all(ch.isprintable() or ch == "\n" for line in text.split("\n") for ch in line)
    assert "</html>" in diffhtml.render(found, "a", "b")


def test_of_lists_only_what_differs_is_shown(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": ""})
    views = []
    for name, path in (("one", "/a:/b:/c"), ("two", "/a:/new:/c"), ("three", "/c:/b:/a"), ("four", "/a:/b")):
        views.append(take(scene(folder, store, state, environ={"PATH": path}), name))
    told = [compare(views[0], view)[0] for view in views[1:]]
    assert [(one.before, one.after) for one in told] == [
        ("/b", "/new"), ("the same entries", "in another order"), ("/c", "-"),
    ]  # fmt: skip
