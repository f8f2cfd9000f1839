"""Changed lines, their places, and the function they are in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.snapshot.hunks import context, first_change, hunks
from dsec_cli.snapshot.section import Hunk

SOURCE = """\
import os


class Policy:
    def step(self, x):
        y = x + 1
        for i in range(3):
            y += i
        return y


def train(lr=0.1):
    policy = Policy()
    return policy.step(lr)
"""


def applied(before: str, found: tuple[Hunk, ...]) -> list[str]:
    """The older text with the hunks put in."""
    old = before.splitlines()
    out: list[str] = []
    at = 0
    for hunk in found:
        out += old[at : hunk.before_at - 1]
        at = hunk.before_at - 1
        for sign, text in hunk.lines:
            if sign != "+":
                assert old[at] == text
                at += 1
            if sign != "-":
                out.append(text)
    return out + old[at:]


def test_the_function_and_the_line() -> None:
    (one,) = hunks(SOURCE, SOURCE.replace("y += i", "y -= i"), "a.py")
    assert one.where == "Policy.step"
    assert first_change(one) == 8
    assert [text.strip() for sign, text in one.lines if sign != " "] == ["y += i", "y -= i"]


def test_lines_far_apart_are_apart() -> None:
    found = hunks(SOURCE, SOURCE.replace("import os", "import sys").replace("lr=0.1", "lr=0.2"), "a.py")
    assert [one.where for one in found] == ["", ""]
    assert [first_change(one) for one in found] == [1, 12]


def test_the_head_of_other_languages() -> None:
    text = "int main(void)\n{\n    int x = 1;\n    return x;\n}\n"
    assert context(text.splitlines(), 2, "a.c") == "int main(void)"
    yaml = "steps:\n  - id: a\n    args: {lr: 1}\n"
    assert context(yaml.splitlines(), 2, "a.yaml") == "steps:"


@given(st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30))
def test_hunks_make_the_newer_of_the_older(one: list[str], two: list[str]) -> None:
    before, after = "\n".join(one), "\n".join(two)
    assert applied(before, hunks(before, after)) == after.splitlines()


@given(st.text(max_size=200))
def test_nothing_differs_from_itself(text: str) -> None:
    assert hunks(text, text, "a.py") == ()


def test_many_lines_that_have_nothing_in_common() -> None:
    before = "\n".join(f"a{n}" for n in range(15_000))
    after = "\n".join(f"b{n}" for n in range(15_000))
    (one,) = hunks(before, after)
    assert len(one.lines) == 30_000


def test_a_line_that_nothing_is_above_is_in_nothing() -> None:
    """In a list of data the line above says nothing of this one, and no line is in itself."""
    assert context(["task 1", "task 2", "extra"], 2, "tasks.txt") == ""
    assert context(["steps:", "  - id: a", "    run: x"], 2, "dsandbox.yaml") == "steps:"
    assert context(["steps:", "  - id: a"], 0, "dsandbox.yaml") == ""
    assert context(["steps:"], 1, "dsandbox.yaml") == "steps:"
