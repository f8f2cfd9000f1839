"""`dsec code` as a user calls it: any folder, one clear answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dsec_cli.commands import agentcode
from dsec_cli.contract.build import build_all
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = Path(__file__).parent / "projects"


def dsec(*words: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-c", "from dsec_cli.fast import dsec; raise SystemExit(dsec())", "code", *words],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_the_page_names_every_kind_of_need() -> None:
    done = dsec(PROJECTS / "trainer")
    assert (done.returncode, done.stderr) == (0, "")
    for title in ("environment", "network", "listens", "files", "programs", "runs as code", "not known"):
        assert f"\n{title}\n" in f"\n{done.stdout}"
    assert "huggingface.co:443 (https)" in done.stdout
    assert done.stdout.endswith("unknowns\n")


def test_json_is_one_document(tmp_path: Path) -> None:
    done = dsec(PROJECTS / "settings", "--json", "-o", tmp_path / "needs.json")
    assert (done.returncode, done.stdout) == (0, "")
    document = json.loads((tmp_path / "needs.json").read_text())
    assert document["format"] == "dsec-code-needs/1"
    assert {one["name"] for one in document["environment"]} >= {"APP_API_TOKEN", "PORT"}


def test_a_contract_is_held_against_the_code(tmp_path: Path) -> None:
    contract = tmp_path / "env.yaml"
    contract.write_text("base: image:v1\nsecurity_policy: {network: {egress: []}}\n")
    done = dsec(PROJECTS / "langchain-rag", "--contract", contract)
    assert done.returncode == 1
    assert "warning[DS801] the code calls api.websearch.com:443, which is not allowed" in done.stdout
    assert "rag/tools.py:28" in done.stdout
    as_json = dsec(PROJECTS / "langchain-rag", "--contract", contract, "--json")
    assert as_json.returncode == 1
    json.loads(as_json.stdout)


def test_nothing_missing_is_a_yes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print('x')\n")
    (tmp_path / "env.yaml").write_text("base: image:v1\n")
    done = dsec(tmp_path, "--contract", tmp_path / "env.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", ["missing", "file", "empty", "no-contract"])
def test_what_cannot_be_read_is_one_line(case: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    words: dict[str, list[str | Path]] = {
        "missing": [tmp_path / "gone"], "file": [tmp_path / "x.txt"], "empty": [tmp_path],
        "no-contract": [PROJECTS / "flow", "--contract", tmp_path / "gone.yaml"],
    }  # fmt: skip
    done = dsec(*words[case])
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("dsec: error: ")
    assert done.stderr.count("\n") == 1


def test_odd_files_are_named_and_the_others_read(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("open('good')\n")
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "zero.py").write_bytes(b"x = 1\0\n")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "huge.py").write_bytes(b"#" * (agentcode.MOST_FILE_BYTES + 1))
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    for folder in (".venv", "__pycache__", "tests", "env2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "left_out.py").write_text("open('left out')\n")
    (tmp_path / "env2" / "pyvenv.cfg").write_text("")
    needs = agentcode.needs_of(agentcode.read_project(str(tmp_path)), str(tmp_path))
    assert [one.path for one in needs.files] == ["good"]
    assert [one.file for one in needs.unread] == ["gone.py", "huge.py", "latin.py", "pipe.py", "zero.py"]


def test_the_walk_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentcode, "MOST_FILES", 3)
    monkeypatch.setattr(agentcode, "MOST_DEPTH", 1)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "deep.py").write_text("x = 1\n")
    (tmp_path / "a" / "seen.py").write_text("x = 1\n")
    assert sorted(agentcode.read_project(str(tmp_path)).files) == ["a/seen.py"]
    for at in range(5):
        (tmp_path / f"m{at}.py").write_text("x = 1\n")
    project = agentcode.read_project(str(tmp_path))
    assert len(project.files) == 3
    assert "3 files" in project.unread[0].reason


def test_the_contract_names_entries_excludes_and_gives_values(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("import os\ndef forward(): open(os.environ['OUT'] + '/x', 'w')\n")
    (tmp_path / "old.py").write_text("open('old')\n")
    text = (
        "include-code: {exclude_patterns: [old.py]}\nruntime_context: {env_vars: [{name: OUT, value: /w}]}\n"
        "steps:\n  - {id: S1, call: 'policy:forward', timeout: 1m}\nbase: image:v1\n"
    )
    built = build_all(parse(SourceText("env.yaml", text.encode())), "env.yaml")[0].contract
    needs = agentcode.needs_of(agentcode.read_project(str(tmp_path), built), str(tmp_path))
    assert [(one.path, one.reached) for one in needs.files] == [("/w/x", ("policy:forward",))]
    assert {one.code for one in agentcode.findings_for(built, str(tmp_path))} == {"DS803"}


def test_a_plain_lint_does_not_import_the_analyser() -> None:
    program = (
        "import sys; sys.argv = ['ds-contract-lint', 'examples/bad/dsandbox.yaml']\n"
        "from dsec_cli import fast\nfast.leave = lambda code: code\nfast.contract_lint()\n"
        "sys.exit(any(name.startswith('dsec_cli.code') or name == 'ast' for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("text", "code"), [("{name: x\n", "DS002"), ("services: {}\n", "DS114")])
def test_a_contract_that_cannot_be_read_is_no_clean_one(tmp_path: Path, text: str, code: str) -> None:
    contract = tmp_path / "env.yaml"
    contract.write_text(text)
    done = dsec(PROJECTS / "flow", "--contract", contract)
    assert done.returncode == 1
    assert f"error[{code}]" in done.stdout
