"""A text that is linted again after each change gives what a first lint of it gives."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dsec_cli.contract.build import build_all
from dsec_cli.contract.memory import Memory
from dsec_cli.lint.linter import Linter
from dsec_cli.lint.register import known_rules
from dsec_cli.lint.rule import NOTHING
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

RULES = known_rules()
TEXT = """\
version: "1.2.0"
baseline:
  gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}
elasticity:
  gpu: {min_count: 2, max_count: 4}
fault_tolerance: {level: critical, checkpoint_grace_period: 30s}
dependencies: []
steps:
  - id: S1
    run: python load.py
    timeout: 60s
  - id: S2
    call: train:step
    args: {rate: 0.1, deep: {a: [1, 2]}}
    needs: [S1]
    resources: {cpu: 2, gpu: {count: 1, memory: 12Gi}}
    retries: {max: 2, backoff: 1s}
  - {id: S3, run: [python, eval.py], timeout: 1m, needs: [{step: S2, carried: true}]}
  - id: S4
    run: |
      set -e
      python report.py

    outputs: ["{run}/a.npz"]
    expected_duration: 10s
iterations: {count: 3}
"""
PIECES = (
    *(
        "\n",
        " ",
        "  ",
        "    ",
        "#",
        "# k\n",
        ":",
        "-",
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a ",
        "*a",
        "!!str ",
    ),
    *(
        "\t",
        "\r\n",
        "\u3000",
        "30",
        "S1",
        "S2",
        "id: S5\n",
        "needs: [S1]\n",
        "runn: x\n",
        "  - id: S6\n    run: y\n",
    ),
    *(
        "---\n",
        "|",
        ">-",
        "<<: *a\n",
        "\0",
        "# dsec: ignore[DS505] why\n",
        "  - {id: S1, run: z}\n",
        "steps:\n",
    ),
)


@st.composite
def edits(draw: st.DrawFn) -> list[tuple[int, int, str]]:
    """Places (per mille of the text), how much goes there, and what comes."""
    one = st.tuples(st.integers(0, 1000), st.sampled_from([0, 0, 1, 3, 20, 80]), st.sampled_from(PIECES))
    return draw(st.lists(one, min_size=1, max_size=6))


@pytest.mark.battery
@settings(max_examples=50, deadline=None)
@given(edits())
@example([(500, 0, "# k\n"), (300, 0, "  - id: S6\n    run: y\n"), (300, 22, "")])
@example([(1000, 0, "    break_cycle: true\n")])
def test_lint_after_changes_is_a_first_lint(changes: list[tuple[int, int, str]]) -> None:
    memory = Memory()
    again, first = Linter(RULES, RULES, memory=memory), Linter(RULES, RULES)
    text = TEXT
    again.all(SourceText.from_bytes("dsandbox.yaml", text.encode()), NOTHING)
    for place, gone, come in changes:
        at = len(text) * place // 1000
        text = text[:at] + come + text[at + gone :]
        source = SourceText.from_bytes("dsandbox.yaml", text.encode())
        assert again.all(source, NOTHING) == first.all(source, NOTHING)


@pytest.mark.battery
@settings(max_examples=40, deadline=None)
@given(edits())
def test_contract_after_changes_is_a_first_contract(changes: list[tuple[int, int, str]]) -> None:
    memory, text = Memory(), TEXT
    for place, gone, come in [(0, 0, ""), *changes]:
        at = len(text) * place // 1000
        text = text[:at] + come + text[at + gone :]
        tree = parse(SourceText.from_bytes("dsandbox.yaml", text.encode()))
        if tree.problems:
            continue
        memory.turn_to(text)
        assert build_all(tree, "dsandbox.yaml", memory) == build_all(tree, "dsandbox.yaml")


def test_what_did_not_change_is_not_read_again() -> None:
    memory = Memory()
    first = _steps(TEXT, memory)
    moved = _steps("# above\n" + TEXT, memory)
    assert all(one is other for one, other in zip(first, moved, strict=True))
    changed = _steps("# above\n" + TEXT.replace("python load.py", "python store.py"), memory)
    assert [one is other for one, other in zip(first, changed, strict=True)] == [False, True, True, True]


def test_what_is_written_elsewhere_is_read_again() -> None:
    text = TEXT.replace("timeout: 60s", "timeout: &t 60s").replace("timeout: 1m", "timeout: *t")
    memory = Memory()
    _steps(text, memory)
    assert str(_steps(text.replace("&t 60s", "&t 90s"), memory)[2].timeout) == "90s"


def _steps(text: str, memory: Memory):
    memory.turn_to(text)
    tree = parse(SourceText.from_bytes("dsandbox.yaml", text.encode()))
    return build_all(tree, "dsandbox.yaml", memory)[0].contract.steps
