"""Every command in Chinese, with a good and a bad input: what is left in English is listed here."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from dsec_cli.cells import cells
from dsec_cli.options import COMMANDS
from tests.cli.conftest import command

GOOD = """\
version: "1.0.0"
name: job
baseline: {cpu: 1}
elasticity: {gpu: {min_count: 0, max_count: 0}}
fault_tolerance: {level: pauseable}
dependencies: [{package: numpy, version: ">=1.26"}]
steps:
  - {id: a, run: "true", timeout: 1m}
  - {id: b, run: "false", needs: [a], timeout: 1m}
"""
COMPOSE = "services:\n  a: {image: x, command: python a.py, ports: ['80:80'], depends_on: [b]}\n"
AGENT = "import os, requests\nKEY = os.environ['API_KEY']\nrequests.get('https://example.com/' + KEY)\n"
LINES = [
    "lint", "lint none.yaml", "lint bad.yaml", "lint --no-such", "lint --format nope", "lint --show-config",
    "rules", "rules x", "explain DS203", "explain DS999", "fmt --check", "fmt none.yaml", "fmt bad.yaml",
    "import compose compose.yaml", "import compose good.yaml", "import", "import slurm none.sh",
    "config list", "config set color pink", "config get nope", "config set telemetry true",
    "init --dir fresh", "init --name -x", "init", "inventory", "inventory --inventory none.yaml",
    "inventory --inventory builtin:nope", "plan good.yaml good.yaml", "plan none.yaml", "plan bad.yaml",
    "code agent", "code none", "code agent --contract good.yaml", "packages good.yaml", "packages --index x",
    "packages good.yaml --python x", "knowledge openai", "knowledge nothing-like-it", "hash good.yaml",
    "hash none", "schema list", "schema print nope", "status", "logs", "cancel nope", "report", "resume none",
    "version x", "dag none.yaml", "dag bad.yaml --output png -o g.png", "simulate none.yaml",
    "plan good.yaml", "dag good.yaml", "dag cycle.yaml", "plan good.yaml --diff",
    "lsp x", "run none.yaml", "run good.yaml --job-id /", "top --once", "top nope", "doctor", "daemon --show",
    "netcheck compare a", "netcheck history",
    "netcheck lab --streams 0", "netcheck run --peers q", "netcheck serve --max-rate 1kbps",
    "plugin scan none.so", "plugin scan good.yaml", "plugin keygen --password",
    "plugin sign none", "plugin verify none", "plugin trust none", "plugin install none",
    "plugin list --contract none",
    "plugin remove none", "plugin call none", "sim-gpu --list", "sim-gpu", "snapshot list",
    "snapshot inspect none", "snapshot diff none",
    "snapshot verify", "snapshot prune", "snapshot restore none", "snapshot run none", "sandbox run",
    "snapshot create none.yaml", "code bundle none", "snapshot create --name /",
    "snapshot export none", "snapshot export none --recipient x", "snapshot import none",
    "snapshot audit none", "snapshot keys",
]  # fmt: skip
"""`dsec` lines; those of runs are below."""
PHRASE = re.compile(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}")
LEFT = (
    r"dsec [a-z]+ \S+|ds-contract-lint \S+|sudo apt-get install \S+|--output html",  # lines to type
    r"linters' users .*|with the file, if you can.*|^ +a rule that raises$",  # where a rule comes from
    # Notes of an inventory are part of the document that a plan is.
    r"^注意：no NVIDIA library.*|^ +(started|without) .*gpus all.*",
    r"^ +修复：(sudo|echo|ulimit|unset|docker|nvidia-smi) .*",  # lines to type
    r"# dsec: ignore.*",
    r"^ *(#|name|kind|title|-) .*",
    r"Client of the OpenAI API|base_url and OPENAI_BASE_URL.*|account and the model.*",  # the knowledge
    r"^(contract|steps|tasks|health|deploy|environment|plugin|knowledge|lint-config) +\S+ +.*",  # schemas
    r"^ *\d+ \|.*",  # quoted lines of the user's file
)
"""What stays as it is, line by line."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("zh")
    (place / "good.yaml").write_text(GOOD)
    (place / "dsandbox.yaml").write_text(GOOD)
    (place / "bad.yaml").write_text("steps: [{id: a, needs: [zz]}, 7]\nelasticity: 3\n")
    (place / "cycle.yaml").write_text(GOOD.replace('"true"', '"true", needs: [b]'))
    (place / "compose.yaml").write_text(COMPOSE)
    (place / "agent").mkdir()
    (place / "agent" / "agent.py").write_text(AGENT)
    return place


def said(folder: Path, line: str) -> str:
    environ = {**os.environ, "HOME": str(folder), "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    environ = {name: text for name, text in environ.items() if not name.startswith(("DSEC_", "_DSEC"))}
    name, *words = line.split()
    ran = subprocess.run(
        command("dsec", name, *words, "--lang", "zh"),
        capture_output=True,
        timeout=60,
        cwd=folder,
        env=environ,
    )
    assert ran.returncode in (0, 1, 2, 3), ran.stderr.decode()
    return ran.stdout.decode() + ran.stderr.decode()


def english(text: str) -> list[str]:
    """Lines in which an English phrase is left."""
    found = []
    for line in text.split("\n"):
        rest = line
        for known in LEFT:
            rest = re.sub(known, "", rest)
        if PHRASE.search(rest):
            found.append(line)
    return found


SOME = [pytest.param(line, marks=pytest.mark.battery) if at % 4 else line for at, line in enumerate(LINES)]
"""Each is a process of its own: `make test` takes a quarter, the battery the others."""


@pytest.mark.parametrize("line", SOME)
def test_no_english_sentence_is_left(folder: Path, line: str) -> None:
    assert english(said(folder, line)) == []


@pytest.mark.battery
def test_a_run_is_told_in_chinese(folder: Path) -> None:
    for line in ("run good.yaml --job-id r", "status r", "report r", "logs r", "cancel r", "resume r"):
        text = said(folder, line)
        assert english(text) == []
    assert "失败" in said(folder, "status r")
    assert "failed" in (folder / ".dsec" / "runs" / "r" / "report.md").read_text()


def test_every_command_is_tried() -> None:
    tried = {" ".join(line.split()[:words]) for line in LINES for words in (1, 2)} | {
        "run",
        "status",
        "report",
        "logs",
        "cancel",
        "resume",
    }
    assert {row[0] for row in COMMANDS} <= tried
    assert {row[0] for row in COMMANDS if not any(option[0] == "lang" for option in row[4])} == {"lsp"}


@pytest.mark.parametrize("line", ["config list", "inventory", "knowledge", "explain DS203"])
def test_no_line_is_wider_than_eighty(folder: Path, line: str) -> None:
    assert not [text for text in said(folder, line).split("\n") if cells(text) > 80]
