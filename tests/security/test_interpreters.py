"""Interpreters of ours, in a folder whose files are called like the standard library's."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsec import interpreter

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
SAFE = ("-I", "-P")
NO_PROGRAM = (
    "dsec_cli/snapshot/interpreter.py",  # the user's, asked from `/` what its Steps would import
    "dsec_cli/commands/indexing.py",  # a version
    "dsec_cli/packages/",
)
CONTRACT = """\
version: "1.0.0"
name: x
baseline: {cpu: 1, memory: 256MiB}
elasticity: {gpu: {min_count: 0, max_count: 0}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 1s}
dependencies: []
steps:
  - {id: a, call: "job:go", timeout: 20s}
  - {id: b, run: "true", timeout: 20s}
"""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for folder in ("dsec_cli", "runtime/dsec"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text()
            if "executable" in text or "python)" in text or "(python" in text or "[python" in text:
                yield str(path.relative_to(ROOT)), ast.parse(text)


def starts(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Command lines that begin with a Python, or have one in them: which, the word behind it, the line."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.List, ast.Tuple)):
            continue
        for at, one in enumerate(node.elts[:-1]):
            if ast.unparse(one) in ("sys.executable", "python", "os.fsencode(sys.executable)"):
                behind = node.elts[at + 1]
                yield ast.unparse(one), ast.unparse(behind).strip("*'\"b"), node.lineno


@pytest.mark.battery
def test_every_interpreter_is_isolated() -> None:
    found = [(name, *start) for name, tree in sources() for start in starts(tree)]
    safe = set(SAFE) | {"APART", "map(os.fsencode, WORKER)"}
    wrong = [one for one in found if one[2] not in safe and not one[0].startswith(NO_PROGRAM)]
    # `(sys.executable, code)` as arguments of posix_spawn is the program, not the command line.
    assert wrong == []
    assert len(found) > 9
    assert interpreter.APART[0] in SAFE
    assert interpreter.WORKER[0] in SAFE


@pytest.mark.battery
def test_nobody_starts_python_by_a_name_of_the_folder() -> None:
    """`-m` stands only where an isolating option stands before it."""
    for name, tree in sources():
        for node in ast.walk(tree):
            if not isinstance(node, (ast.List, ast.Tuple)):
                continue
            words = [ast.unparse(one).strip("'\"") for one in node.elts]
            if "-m" in words and any("python" in word or "executable" in word for word in words):
                assert set(words[: words.index("-m")]) & set(SAFE), (name, node.lineno)


def test_relative_entries_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "/usr/lib/x", ".", "sub"])
    assert interpreter.import_path() == ["/usr/lib/x"]


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A clone with a file for every module of the standard library, and for ours and what we use."""
    folder = tmp_path / "clone"
    folder.mkdir()
    names = {
        *sys.stdlib_module_names,
        "dsec",
        "dsec_cli",
        "pynvml",
        "numpy",
        "blake3",
        "rich",
        "typer",
        "mine",
        "pip",
    }
    for name in names - {"__main__"}:
        # Whoever imports it is told of by a file; a namespace of its own keeps the import from failing first.
        (folder / f"{name}.py").write_text(
            f"import posix\nposix.close(posix.open({str(tmp_path / 'RAN-')!r} + {name!r}, 0o102))\n"
        )
    return folder


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.glob("RAN-*"))


def started(program: str, folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The program as pip installs it, started in `folder`."""
    module, _, name = PROGRAMS[program].partition(":")
    script = folder.parent / program
    script.write_text(f"import sys\nfrom {module} import {name} as main\nsys.exit(main())\n")
    given = {"PYTHONPATH": f"{ROOT}:{ROOT}/runtime", "PYTHONDONTWRITEBYTECODE": "1", **environ}
    return subprocess.run(
        [sys.executable, str(script), *words],
        cwd=folder,
        env={**os.environ, **given},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_plants_are_found_where_nothing_guards(planted: Path) -> None:
    subprocess.run([sys.executable, "-c", "import ctypes"], cwd=planted, capture_output=True)
    assert ran(planted)


@pytest.mark.battery
def test_doctor_runs_none_of_them(planted: Path) -> None:
    done = started("dsec", planted, "doctor")
    assert (ran(planted), done.returncode in (0, 1)) == ([], True), done.stderr


def test_a_run_imports_only_what_the_contract_calls(planted: Path) -> None:
    (planted / "dsandbox.yaml").write_text(CONTRACT)
    (planted / "job.py").write_text("def go(context):\n    import mine\n")
    done = started("dsec", planted, "run", "--job-id", "j")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ran(planted) == ["RAN-mine"]


@pytest.mark.battery
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("ds-netcheck", ("run",)),
        ("ds-netcheck", ("history",)),
        ("dsec", ("inventory",)),
        ("dsec", ("lint", "--no-cache")),
        ("ds-contract-lint", ()),
        ("ds-dag-analyze", ()),
        ("dsec", ("plan",)),
        ("dsec", ("simulate",)),
        ("dsec", ("packages",)),
        ("dsec", ("snapshot", "create")),
        ("dsec", ("code", ".")),
        ("dsec", ("plugin", "list")),
        ("dsec", ("sim-gpu", "--profile", "1xh100", "--", "true")),
        ("dsctl", ("config", "list")),
        ("ds-plugin-scan", ("--help",)),
        ("dsec", ("lint", "--since", "HEAD")),
        ("dsec", ("--help",)),
    ],
)
def test_no_program_does(planted: Path, program: str, words: tuple[str, ...]) -> None:
    (planted / "dsandbox.yaml").write_text(CONTRACT)
    done = started(program, planted, *words)
    assert ran(planted) == []
    assert done.returncode in (0, 1, 2, 3), done.stderr


@pytest.mark.parametrize("name", ["action.yml", "ci/gitlab/ds-contract-lint.yml"])
def test_ci_imports_nothing_from_the_checkout(name: str) -> None:
    """What CI systems run of ours stands in the folder of whoever sent the change."""
    calls = re.findall(r"(?:python3?\\?\"?|DSEC_PYTHON\") (-\w+) ", (ROOT / name).read_text())
    assert calls
    assert set(calls) == {"-I"}
