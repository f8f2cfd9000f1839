"""Hostile files through every command: an answer within bounds, never a traceback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.changes import CHANGES, DRAWN, changed
from hostile.driver import Answer, answer, everything
from hostile.files import FILES, GOOD, HEAVY

CPU_S = 10
"""Five times what a command may take: everything runs in this process, of which much else is measured too."""
HEAVY_CPU_S = 6 * CPU_S
"""All formats of thousands of findings, or thousands of fixes, are not done in an instant."""
AGENT = """\
import os, subprocess, requests
requests.get(os.environ["BASE"] + "/x"), requests.post("https://api.example.com/v1")
os.environ["TOOL_API_KEY"], open("/data/x", "w"), subprocess.run(["git", "log"])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to run commands in, with an agent's code."""
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "main.py").write_text(AGENT)
    return tmp_path


def check(answers: Iterator[Answer], *, most_s: float | None = CPU_S) -> None:
    """No answer is a fault, and none took too long; without `most_s` the time does not count."""
    for one in answers:
        assert not one.fault, str(one)
        assert most_s is None or one.cpu_s < most_s, str(one)


@pytest.mark.battery
def test_a_good_contract_is_fine_everywhere(folder: Path) -> None:
    answers = list(everything(folder, GOOD))
    assert [(one.words, one.code) for one in answers if one.code] == [
        (words.words, words.code) for words in answers if words.words[0] == "code" or "--code" in words.words
    ], "only the code needs what the contract does not give"
    assert (folder / "dsandbox.yaml").read_bytes() == GOOD


LIGHT = [name for name in FILES if name not in HEAVY]


@pytest.mark.parametrize("name", LIGHT[::9])
def test_a_hostile_file_is_answered(name: str, folder: Path) -> None:
    check(everything(folder, FILES[name]), most_s=None)


@pytest.mark.battery
@pytest.mark.parametrize("name", LIGHT)
def test_a_light_file_is_answered_in_time(name: str, folder: Path) -> None:
    check(everything(folder, FILES[name]))


@pytest.mark.battery
@pytest.mark.parametrize("name", sorted(HEAVY))
def test_a_heavy_file_is_answered(name: str, folder: Path) -> None:
    check(everything(folder, FILES[name]), most_s=HEAVY_CPU_S)


@pytest.mark.battery
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_hostile_file_is_answered(change: str, folder: Path) -> None:
    """Some of them by turns; `make battery` takes all."""
    for name in LIGHT[list(CHANGES).index(change) :: 3 * len(CHANGES)]:
        check(everything(folder, changed(FILES[name], name, change)))


@pytest.mark.battery
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", FILES)
def test_every_changed_hostile_file_is_answered(name: str, change: str, folder: Path) -> None:
    if name in HEAVY:
        check(everything(folder, changed(FILES[name], f"{name} 0", change)), most_s=HEAVY_CPU_S)
        return
    # What a change does not draw by lot is the same each time.
    for turn in range(5 if change in DRAWN else 1):
        check(everything(folder, changed(FILES[name], f"{name} {turn}", change)))


PARTS = 8


@pytest.mark.battery
def test_a_sample_of_the_yaml_test_suite_is_answered(yaml_inputs: dict[str, bytes], folder: Path) -> None:
    for name in sorted(yaml_inputs)[::40]:
        check(everything(folder, yaml_inputs[name]), most_s=None)


@pytest.mark.battery
@pytest.mark.parametrize("part", range(PARTS))
def test_the_yaml_test_suite_is_answered(part: int, yaml_inputs: dict[str, bytes], folder: Path) -> None:
    for name in sorted(yaml_inputs)[part::PARTS]:
        check(everything(folder, yaml_inputs[name]))


@pytest.mark.battery
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("change", CHANGES)
def test_the_changed_yaml_test_suite_is_answered(
    change: str, part: int, yaml_inputs: dict[str, bytes], folder: Path
) -> None:
    for name in sorted(yaml_inputs)[part::PARTS]:
        check(everything(folder, changed(yaml_inputs[name], name, change)))


BESIDE = {
    ".dsec.toml": (b"[lint]\nselect = [", b"\xff\xfe", b"lint = 1\n", b"[lint]\nselect = [[]]\n"),
    "pyproject.toml": (b"[tool.dsec.lint]\nx = 1\n", b"tool = 7\n", b"[tool.dsec.lint", b"\0"),
    ".dsec/conflicts.json": (b"{", b"[]", b"\xff", b'{"version": 1, "rows": [1]}', b"[" * 100_000),
    ".dsec/knowledge.json": (b"{", b"[]", b"\xff", b'{"version": 99}', b"[" * 100_000),
    "ds_config.yaml": (b"steps: 1\n", b"\xff", b"steps: [" + b"[" * 5000, b"\0"),
    "known.json": (b"{", b"[]", b"\xff", b'{"version": 1, "findings": 3}', b"[" * 100_000, b"9" * 9000),
}
"""What commands read beside a contract, broken."""


@pytest.mark.battery
@pytest.mark.parametrize("name", BESIDE)
def test_broken_files_beside_a_contract_are_told(name: str, folder: Path) -> None:
    place = folder / name
    place.parent.mkdir(exist_ok=True)
    (folder / "dsandbox.yaml").write_bytes(GOOD)
    for data in BESIDE[name]:
        place.write_bytes(data)
        for words in (
            ("lint", "dsandbox.yaml", "--no-cache"),
            ("lint", "dsandbox.yaml", "--baseline", "known.json"),
            ("lint", "dsandbox.yaml", "--code", "agent"),
            ("lint", "dsandbox.yaml", "--show-config"),
            ("packages", "dsandbox.yaml"),
            ("dag", "dsandbox.yaml"),
            ("plan", "dsandbox.yaml", "--json"),
            ("code", "agent", "--contract", "dsandbox.yaml"),
            ("knowledge", "openai"),
        ):
            said = answer(folder, *words)
            assert said.code in (0, 1, 2, 3), f"{data[:40]!r}\n{said}"
            assert said.code < 2 or said.err.startswith("dsec: error: "), f"{data[:40]!r}\n{said}"
            assert len(said.err) < 2000, f"{data[:40]!r}\n{said}"


@pytest.mark.parametrize(
    "name", ["utf-32-le", "alias-bomb", "recursive-step", "deep-flow", "binary", "long-line"]
)
def test_a_hostile_inventory_is_told(name: str, folder: Path) -> None:
    (folder / "dsandbox.yaml").write_bytes(GOOD)
    (folder / "pool.yaml").write_bytes(FILES[name])
    for words in (("lint",), ("plan",), ("inventory",)):
        said = answer(folder, *words, "--inventory", "pool.yaml")
        assert said.code in (1, 3), str(said)


@pytest.mark.parametrize("words", [("explain",), ("schema", "print"), ("knowledge",), ("lint", "--select")])
def test_hostile_words_are_told(words: tuple[str, ...], folder: Path) -> None:
    (folder / "dsandbox.yaml").write_bytes(GOOD)
    for word in (
        "",
        " ",
        "../../etc/passwd",
        "DS",
        "DS\n1",
        "中",
        "\udcff",
        "x" * 100_000,
        "{0}",
        "%s",
        "-1",
        "\x1b[2J",
    ):
        said = answer(folder, *words, word)
        assert said.code in (0, 1, 2, 3), f"{word[:40]!r}\n{said}"
        assert "\x1b[2J" not in said.out + said.err
        assert os.fspath(folder) not in said.out
