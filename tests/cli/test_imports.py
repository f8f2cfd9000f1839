"""What a plain lint may not import: the start-up budget, kept by counting."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "examples" / "grpo-addition" / "dsandbox.yaml"
HEAVY = {
    "typer", "click", "rich", "pydantic", "jsonschema", "graphviz", "pynvml",
    "dataclasses", "json", "logging", "importlib.metadata", "typing", "pathlib", "subprocess", "tempfile",
    "argparse", "inspect", "asyncio", "threading", "copy", "datetime",
    "ruamel.yaml.main", "ruamel.yaml.comments",
}  # fmt: skip
LEAST = {"dsec_cli.fast", "dsec_cli.exit"}
CACHED = {
    "dsec_cli",
    "dsec_cli.fast",
    "dsec_cli.commands",
    "dsec_cli.commands.cached",
    "dsec",
    "dsec.hashing",
}
"""Of ours, all that an answer from the cache imports."""

FOREIGN = {"__future__", "bisect", "blake3"}
"""What a plain lint may import that is not ours, beside what is built into the interpreter."""
FOREIGN_OF_FINDINGS = {"collections", "functools", "heapq", "keyword", "math", "operator", "reprlib", "types"}
"""What findings may cost besides: counting, ordering a graph, cached words."""
WHOLE = ("dsec_cli.contract", "dsec_cli.lint", "dsec_cli.source")
"""Packages that a lint is made of: each of their modules is there for it."""
OWN = CACHED | {
    *(f"dsec.{name}" for name in ("cards", "choice", "errors", "record", "special", "units", "versions")),
    *(
        "dsec.core",
        "dsec.core.paths",
        "dsec.words",
        "dsec_cli.dag",
        "dsec_cli.dag.paths",
        "dsec_cli.diagnostics",
        "dsec_cli.discovery",
    ),
    *(f"dsec_cli.{name}" for name in ("exit", "grammar", "options_args", "options_lint", "options_shared")),
    *("dsec_cli.report", "dsec_cli.report.format", "dsec_cli.report.formats", "dsec_cli.report.formats.text"),
    *("dsec_cli.report.output", "dsec_cli.report.terminal", "dsec_cli.words"),
    *(
        f"dsec_cli.commands.{name}"
        for name in (
            *("budget", "caching", "checking", "choosing", "configuring", "language", "lint", "outputs"),
            *("sources", "tabled", "terminal"),
        )
    ),
}
"""Of the other packages of ours, all that a plain lint imports."""
OWN_OF_FINDINGS = {
    *("dsec.core.order", "dsec.core.packed", "dsec.spelling", "dsec_cli.cells"),
    *("dsec_cli.dag.cycles", "dsec_cli.dag.findings", "dsec_cli.dag.graph"),
    *("dsec_cli.report.block", "dsec_cli.report.excerpt"),
}

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


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """A contract without findings, in a folder of its own."""
    path = tmp_path / "dsandbox.yaml"
    path.write_text((ROOT / "benchmarks" / "small.yaml").read_text())
    return path


def modules(entry: str, *words: str, folder: Path = ROOT) -> set[str]:
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
        cwd=folder,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stderr.split("\n"))


@pytest.mark.parametrize("name", ["examples/grpo-addition/dsandbox.yaml", "examples/bad/dsandbox.yaml"])
def test_a_lint_imports_nothing_heavy(name: str, tmp_path: Path) -> None:
    # A configuration would cost the TOML library; a folder without one must not.
    shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    loaded = modules("contract_lint", "dsandbox.yaml", folder=tmp_path)
    assert "dsec_cli.lint.linter" in loaded
    assert sorted(loaded & HEAVY) == []
    assert not loaded & {"dsec_cli.options", "dsec_cli.options_run"}


def outside(loaded: set[str], *, foreign: set[str], own: set[str]) -> list[str]:
    """The modules of a lint that are neither of an interpreter's own start nor in the allowed set."""
    start = [sys.executable, "-S", "-c", "import os, sys; print(*sys.modules, sep='\\n')"]
    bare = subprocess.run(start, capture_output=True, text=True, check=True).stdout.split()
    here = loaded - {*bare, *sys.builtin_module_names}
    return sorted(
        name
        for name in here
        if name not in own
        and not name.startswith(tuple(f"{package}." for package in WHOLE))
        and name not in WHOLE
        and foreign.isdisjoint({name.split(".")[0], name.split(".")[0].removeprefix("_")})
    )


def test_a_plain_lint_imports_what_it_may_and_nothing_else(clean: Path) -> None:
    loaded = modules("contract_lint", "dsandbox.yaml", folder=clean.parent)
    assert outside(loaded, foreign=FOREIGN, own=OWN) == []
    assert "dsec_cli.lint.linter" in loaded
    assert outside({*loaded, "json"}, foreign=FOREIGN, own=OWN) == ["json"]


def test_findings_bring_what_they_may_and_nothing_else(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "bad" / "dsandbox.yaml", tmp_path)
    loaded = modules("contract_lint", "dsandbox.yaml", folder=tmp_path)
    assert outside(loaded, foreign=FOREIGN | FOREIGN_OF_FINDINGS, own=OWN | OWN_OF_FINDINGS) == []


def test_a_lint_imports_only_its_own_format() -> None:
    loaded = modules("contract_lint", str(CONTRACT))
    assert "dsec_cli.report.formats.text" in loaded
    assert not loaded & {"dsec_cli.report.formats.json", "dsec_cli.report.formats.sarif"}


def test_a_clean_file_imports_no_excerpts(clean: Path) -> None:
    loaded = modules("contract_lint", str(clean), folder=clean.parent)
    assert not loaded & {"dsec_cli.report.excerpt", "collections", "enum", "functools", "re"}
    # An ordinary file is read without the C parser and all that stands around it.
    assert not loaded & {"_ruamel_yaml", "ruamel", "dsec_cli.source.events", "dsec_cli.source.builder"}


def test_an_answer_from_the_cache_imports_next_to_nothing(clean: Path) -> None:
    time.sleep(0.1)  # a file that has only just changed is not remembered
    first = modules("contract_lint", str(clean), folder=clean.parent)
    again = modules("contract_lint", str(clean), folder=clean.parent)
    assert "dsec_cli.lint.linter" in first
    assert {name for name in again if name.split(".")[0] in ("dsec", "dsec_cli")} == CACHED
    assert not again & (HEAVY | {"re", "enum", "collections", "ruamel"})


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


def test_drawing_a_graph_imports_nothing_heavy(tmp_path: Path) -> None:
    lines = "".join(
        f"  - {{id: S{at}, run: a, timeout: 9s, needs: [{f'S{at - 1}' if at else ''}]}}\n" for at in range(20)
    )
    (tmp_path / "dsandbox.yaml").write_text(f"steps:\n{lines}")
    for words in (["dag_analyze", "dsandbox.yaml"], ["dsec", "dag", "dsandbox.yaml"]):
        loaded = modules(*words, folder=tmp_path)
        assert "dsec_cli.dag.views.text" in loaded
        assert sorted(loaded & (HEAVY | {"numpy", "re", "dsec.codec", "dsec_cli.dag.compile"})) == []
        assert not loaded & {"dsec_cli.options", "dsec_cli.options_run", "dsec_cli.dag.views.html"}
