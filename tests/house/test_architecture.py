"""House rules that the import linter cannot say: one door per library, sizes, no stray words."""

from __future__ import annotations

import ast
import functools
import subprocess
from pathlib import Path

import pytest

from tests import syntax
from tests.syntax import ROOT

DOORS = {
    "ahocorasick_rs": ("dsec_cli/snapshot/keywords.py",),
    "ruamel": ("dsec_cli/source/extension.py",),
    "_ruamel_yaml": ("dsec_cli/source/extension.py",),
    "pydantic": ("dsec_cli/contract/",),
    "pydantic_core": ("dsec_cli/contract/",),
    "typer": ("dsec_cli/cli.py", "dsec_cli/commands/"),
    "click": ("dsec_cli/cli.py",),
    "pynvml": ("runtime/dsec/devices/door.py",),
    "cryptography": ("runtime/dsec/ed25519.py", "dsec_cli/snapshot/package/crypto.py"),
    "zstandard": ("runtime/dsec/store/compression.py", "runtime/dsec/state/coding.py"),
    # States are written and read by trainings, where BLAKE3 and zstd may be missing.
    "blake3": ("runtime/dsec/hashing.py", "runtime/dsec/state/coding.py"),
    "rich": ("dsec_cli/report/", "dsec_cli/commands/"),
    "jsonschema": ("dsec_cli/contract/", "dsec_cli/plugins/binding.py"),
    "resolvelib": ("dsec_cli/packages/resolution.py",),
    "graphviz": ("dsec_cli/dag/views/", "dsec_cli/commands/"),
    "numpy": (
        "runtime/dsec/core/wide",
        "runtime/dsec/allreduce.py",
        "runtime/dsec/saving.py",
        "runtime/dsec/state/",
        "dsec_cli/plugins/bytesearch.py",
        "dsec_cli/plugins/sweeping.py",
    ),
}
LONGEST_MODULE = 600


@functools.cache
def imported(tree: ast.Module) -> set[str]:
    """First components of every module imported anywhere in `tree`."""
    names: set[str] = set()
    found = syntax.nodes(tree)
    for node in (*found.get(ast.Import, ()), *found.get(ast.ImportFrom, ())):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("library", sorted(DOORS))
def test_each_library_has_one_door(library: str) -> None:
    doors = DOORS[library]
    strays = [
        name
        for name, tree in syntax.trees().items()
        if library in imported(tree) and not name.startswith(doors)
    ]
    assert strays == []


def test_modules_stay_short() -> None:
    long = {
        name: lines
        for name in syntax.trees()
        if not name.endswith("/table.py")
        if (lines := (ROOT / name).read_text("utf-8").count("\n")) > LONGEST_MODULE
    }
    assert long == {}


def test_every_module_says_its_job() -> None:
    assert [name for name, tree in syntax.trees().items() if not ast.get_docstring(tree)] == []


def broad(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches everything and does not raise it again."""
    caught = handler.type
    everything = caught is None or (
        isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException")
    )
    last = handler.body[-1]
    return everything and not (isinstance(last, ast.Raise) and last.exc is None)


def test_no_broad_except_outside_the_error_boundary() -> None:
    allowed = {"dsec_cli/exit.py", "dsec_cli/lint/linter.py", "runtime/dsec/worker.py"}
    strays = [
        f"{name}:{node.lineno}"
        for name, tree in syntax.trees().items()
        if name not in allowed
        for node in syntax.nodes(tree).get(ast.ExceptHandler, ())
        if isinstance(node, ast.ExceptHandler) and broad(node)
    ]
    assert strays == []


@pytest.mark.battery  # `make static` runs it, too
def test_import_rules_hold() -> None:
    tool = ROOT / ".venv" / "bin" / "lint-imports"
    if not tool.exists():
        import shutil
        import sys

        found = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
        assert found, "lint-imports is installed by the dev group of pyproject.toml"
        tool = Path(found)
    done = subprocess.run([tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
