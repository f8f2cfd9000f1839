"""What a plain lint may not import: the start-up budget, kept by counting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "examples" / "grpo-addition" / "dsandbox.yaml"
HEAVY = {
    "typer", "click", "rich", "pydantic", "jsonschema", "graphviz", "pynvml", "blake3",
    "dataclasses", "json", "logging", "importlib.metadata", "typing", "pathlib", "subprocess", "tempfile",
    "argparse", "inspect", "asyncio", "threading", "copy", "datetime",
    "ruamel.yaml.main", "ruamel.yaml.comments",
}  # fmt: skip
TABLES = {f"dsec_cli.options{part}" for part in ("", "_shared", "_contract", "_knowledge", "_run")}
LEAST = {"dsec_cli.fast", "dsec_cli.exit", *TABLES}

PROBE = """
import os, sys
sys.path[:0] = {paths!r}
sys.argv = {argv!r}
from dsec_cli import fast
fast.leave = lambda code: code  # the report below has to come after the command
code = getattr(fast, {entry!r})()
sys.stderr.write("\\n".join(sorted(sys.modules)))
sys.exit(code)
"""


def modules(entry: str, *words: str) -> set[str]:
    """Every module that is loaded once a command has run."""
    program = PROBE.format(paths=[str(ROOT), str(ROOT / "runtime")], argv=[entry, *words], entry=entry)
    # -I -S: what site and .pth files of this environment import is not ours to count.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    site = [path for path in sys.path if path.endswith("site-packages")]
    program = program.replace("sys.path[:0] = [", f"sys.path[:0] = [*{site!r}, ", 1)
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stderr.split("\n"))


@pytest.mark.parametrize("name", ["examples/grpo-addition/dsandbox.yaml", "examples/bad/dsandbox.yaml"])
def test_a_lint_imports_nothing_heavy(name: str) -> None:
    loaded = modules("contract_lint", name)
    assert "dsec_cli.lint.linter" in loaded
    assert sorted(loaded & HEAVY) == []


def test_a_lint_imports_only_its_own_format() -> None:
    loaded = modules("contract_lint", str(CONTRACT))
    assert "dsec_cli.report.formats.text" in loaded
    assert not loaded & {"dsec_cli.report.formats.json", "dsec_cli.report.formats.sarif"}


def test_a_clean_file_imports_no_excerpts() -> None:
    assert "dsec_cli.report.excerpt" not in modules("contract_lint", str(CONTRACT))


def test_version_imports_next_to_nothing() -> None:
    bare = set(
        subprocess.run(
            [sys.executable, "-S", "-c", "import os, sys; print(*sorted(sys.modules), sep='\\n')"],
            capture_output=True, text=True, check=True,
        ).stdout.split("\n")
    )  # fmt: skip
    loaded = modules("dsec", "--version") - bare
    assert loaded >= LEAST
    assert loaded <= LEAST | {"dsec", "dsec.errors", "dsec_cli", "__future__", "gc"}


@pytest.mark.parametrize("entry", ["dsec", "contract_lint", "dag_analyze", "dsctl"])
def test_entries_are_the_programs(entry: str) -> None:
    import tomllib

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert f"dsec_cli.fast:{entry}" in scripts.values()
