"""The product's modules as syntax trees: each is parsed once and walked once in a process."""

from __future__ import annotations

import ast
import functools
import gc
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Every module of `dsec_cli` and `runtime`, by its path from the checkout's root.

    The garbage collector is off meanwhile, and never looks at the trees: it would take longer than parsing.
    """
    paths = sorted(path for folder in ("dsec_cli", "runtime") for path in (ROOT / folder).rglob("*.py"))
    gc.disable()
    try:
        return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in paths}
    finally:
        gc.freeze()
        gc.enable()


@functools.cache
def nodes(tree: ast.Module) -> dict[type[ast.AST], list[ast.AST]]:
    """The nodes of a tree by their type, in the order of `ast.walk`; names and operators are left out."""
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name | ast.expr_context | ast.operator):
            found.setdefault(type(node), []).append(node)
    return found


def calls(tree: ast.Module) -> list[ast.Call]:
    """The calls of a tree."""
    return nodes(tree).get(ast.Call, [])  # type: ignore[return-value]
