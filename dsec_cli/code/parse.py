"""The one door to Python's parser: any text gives a tree, or the reason why it gives none."""

from __future__ import annotations

import ast
import warnings

MOST_WEIGHT = 40_000
"""Of one file: some 10,000 lines. Heavier ones are generated, or made to be heavy."""
MOST_TOGETHER = 600_000
_MARKS = ",.=([+-*/:<>\n"
TOO_DEEP = "it is nested too deeply"


def parse(text: str) -> ast.Module | str:
    """The syntax tree of `text`, or why there is none."""
    try:
        with warnings.catch_warnings():
            # What Python thinks of escapes and of `is 1` is for the agent's own linter.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as problem:
        return f"line {problem.lineno or 1} is no Python: {_one_line(problem.msg)}"
    except (RecursionError, MemoryError):
        return TOO_DEEP
    except ValueError as problem:
        return f"it is no Python: {_one_line(str(problem))}"


def weight(text: str) -> int:
    """About how many nodes the tree of `text` has; each takes half a kilobyte."""
    return sum(map(text.count, _MARKS))


def _one_line(text: str) -> str:
    return " ".join(text.split())
