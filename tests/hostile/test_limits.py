"""Hostile files, each through one process: two seconds of CPU time and 200 MB, whatever is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile.changes import CHANGES, changed
from hostile.driver import FORMATS, VIEWS, process
from hostile.files import FILES, HEAVY

pytestmark = pytest.mark.battery
CPU_S, MEGABYTES = 2, 200
CROWDED = 2
"""Work beside ours lengthens our CPU time, too: the same lint takes 1.2 to 1.9 s of it by turns."""
MANY = {"twenty-thousand-keys": 2}
"""Files with 20,000 findings take so many times as much: each finding costs a fifth of a millisecond."""
TEN_FORMATS = 2
"""One lint is bounded; that nine more documents are written of all findings is no part of that promise."""
ALL = tuple(word for form in FORMATS for word in ("--output", f"{form}:{form}.out"))
POOL = ("--inventory", "builtin:8xa100-sxm-80gb")
LINT = ("lint", "dsandbox.yaml", "--no-cache")
ONE_EACH = (
    *((*LINT, "-f", form) for form in FORMATS),
    (*LINT, "--lang", "zh", *POOL),
    (*LINT, "--fix", "--unsafe-fixes", "--diff"),
    (*LINT, "--fix", "--unsafe-fixes"),
    (*LINT, "--write-baseline", "known.json"),
    ("fmt", "dsandbox.yaml", "--diff"),
    ("fmt", "dsandbox.yaml"),
    *(("dag", "dsandbox.yaml", "--output", view) for view in VIEWS),
    ("plan", "dsandbox.yaml", "--json", *POOL),
    ("packages", "dsandbox.yaml"),
)


def bounded(
    name: str, words: tuple[str, ...], folder: Path, *, times: int = 1, data: bytes | None = None
) -> None:
    """`dsec WORDS` answers within the memory and the time that it may take, of a file or of other data."""
    (folder / "dsandbox.yaml").write_bytes(FILES[name] if data is None else data)
    said = process(folder, *words)
    assert not said.fault, str(said)
    assert said.cpu_s < CPU_S * CROWDED * MANY.get(name, 1) * times, str(said)
    assert said.megabytes < MEGABYTES, str(said)


@pytest.mark.parametrize(
    "name",
    [
        *("alias-bomb", "merge-bomb", "alias-chain", "deep-flow", "deep-block", "long-line"),
        *("million-entries", "million-block-entries", "hundred-thousand-comments", "megabytes-of-nul"),
        *("every-step-needs-every-step", "errors-behind-a-long-text"),
    ],
)
def test_a_lint_is_bounded(name: str, tmp_path: Path) -> None:
    bounded(name, LINT, tmp_path)


@pytest.mark.parametrize(("name", "change"), [("long-blanks", "byte"), ("megabytes-of-line-ends", "mark")])
def test_a_lint_of_a_changed_file_that_was_slow_or_large_is_bounded(
    name: str, change: str, tmp_path: Path
) -> None:
    bounded(name, LINT, tmp_path, data=changed(FILES[name], f"{name} 0", change))


def test_a_lint_of_a_changed_file_with_most_findings_is_bounded(tmp_path: Path) -> None:
    name = "twenty-thousand-keys"
    bounded(name, LINT, tmp_path, data=changed(FILES[name], f"{name} 0", "slices"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("twenty-thousand-keys", (*LINT, "-f", "sarif")),
        ("ten-thousand-anchors", (*LINT, "-f", "text")),
        ("ten-thousand-anchors", (*LINT, "--fix", "--unsafe-fixes", "--diff")),
        ("many-suppressions", (*LINT, "--fix", "--unsafe-fixes", "--diff")),
        ("long-flow-line", ("fmt", "dsandbox.yaml", "--diff")),
        ("unknown-needs", ("dag", "dsandbox.yaml")),
        ("many-packages", ("packages", "dsandbox.yaml")),
        ("many-versions-of-one-package", (*LINT, "-f", "text")),
        ("many-versions-of-one-package", ("packages", "dsandbox.yaml")),
        ("cycles-in-a-ladder", ("dag", "dsandbox.yaml", "--output", "html")),
        ("chain-of-steps", ("plan", "dsandbox.yaml", "--json", *POOL)),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_what_was_slow_is_bounded(name: str, words: tuple[str, ...], tmp_path: Path) -> None:
    bounded(name, words, tmp_path)


@pytest.mark.parametrize("words", ONE_EACH, ids=" ".join)
@pytest.mark.parametrize("name", sorted(HEAVY))
def test_a_heavy_file_is_bounded(name: str, words: tuple[str, ...], tmp_path: Path) -> None:
    bounded(name, words, tmp_path)


@pytest.mark.parametrize("name", sorted(set(FILES) - HEAVY))
def test_a_light_file_is_bounded(name: str, tmp_path: Path) -> None:
    """All formats at once; a process of each view and command."""
    bounded(name, (*LINT, *ALL), tmp_path, times=TEN_FORMATS)
    for words in ONE_EACH[len(FORMATS) :]:
        bounded(name, words, tmp_path)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", sorted(FILES))
def test_a_lint_of_a_changed_file_is_bounded(name: str, change: str, tmp_path: Path) -> None:
    bounded(name, LINT, tmp_path, data=changed(FILES[name], f"{name} 0", change))
