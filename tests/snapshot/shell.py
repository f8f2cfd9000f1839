"""A user in a project of its own, with a home of its own: commands are real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import ROOT, command

from .kit import PLAIN, repository, site

CONTRACT = """\
version: "1.0.0"
name: job
baseline: {cpu: 1, memory: 64MiB}
elasticity: {gpu: {min_count: 0, max_count: 0}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 10s}
dependencies: []
steps:
  - {id: train, run: "sh train.sh", timeout: 60s, outputs: ["{run}/policy"]}
"""
TRAIN = '#!/bin/sh\nlr=3\necho "policy $lr $OMP_NUM_THREADS" > "$DSEC_RUN_DIR/policy"\n'
Ran = subprocess.CompletedProcess[str]


class Shell:
    """A user in a project: `python` is made up, so that no test depends on what is installed here."""

    def __init__(self, root: Path) -> None:
        self.project = repository(
            root / "p", {"dsandbox.yaml": CONTRACT, "train.sh": TRAIN, ".gitignore": ".dsec/\n"}
        )
        self.site = site(root / "env" / "site-packages", {"torch": "2.4.0", "idna": "3.1"})
        self.python = sys.executable
        self.runtime = str(ROOT / "runtime")
        self.home = root / "home"
        self.home.mkdir()
        programs = root / "bin"
        programs.mkdir()
        told = {
            "version": "3.11.9", "implementation": "CPython", "abi": "x", "platform": "linux", "optimize": 0,
            "executable": "/e/bin/python", "prefix": str(root / "env"), "base": "/usr", "libc": "",
            "path": [str(self.site)], "libraries": [],
        }  # fmt: skip
        (programs / "python").write_text(f"#!/bin/sh\ncat <<'E'\n{json.dumps(told)}\nE\n")
        (programs / "python").chmod(0o755)
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("DSEC_", "GIT_"))}
        path = f"{programs}:{os.environ['PATH']}"
        self.environ = {
            **kept,
            **PLAIN,
            "HOME": str(self.home),
            "PATH": path,
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "80",
        }

    def __call__(self, line: str, **environ: str) -> Ran:
        return subprocess.run(
            command("dsec", *line.split()),
            cwd=self.project,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def start(self, line: str) -> subprocess.Popen[str]:
        """The command, going on while the test does; a group of its own."""
        return subprocess.Popen(
            command("dsec", *line.split()),
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ok(self, line: str, code: int = 0, **environ: str) -> str:
        ran = self(line, **environ)
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        return ran.stdout + ran.stderr
