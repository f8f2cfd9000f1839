"""The wheel holds everything the programs need, and works from a folder that is not the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.battery
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; third-party packages come from the running one."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    wheel = next(folder.glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.startswith(("tests/", "runtime/"))]
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=60)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(venv)}))
    own = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    # The running environment's packages by path, after the wheel's own: its editable .pth is not read.
    (site / "running.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run([*own, "--no-deps", "--no-index", "--ignore-installed", wheel], check=True, timeout=120)
    return venv / "bin"


@pytest.mark.parametrize("program", ["dsec", "ds-contract-lint", "ds-dag-analyze", "ds-netcheck", "dsctl"])
def test_programs_start_anywhere(installed: Path, tmp_path: Path, program: str) -> None:
    environment = {**os.environ, "PATH": f"{installed}:{os.environ['PATH']}"}
    done = subprocess.run(
        [installed / program, "--help"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_installed_linter_finds_its_rules(installed: Path, tmp_path: Path) -> None:
    contract = tmp_path / "dsandbox.yaml"
    contract.write_text("baseline:\n  gpu:\n    cuont: 2\n")
    done = subprocess.run(
        [installed / "ds-contract-lint", contract], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1, done.stderr
    assert "DS101" in done.stdout
    assert "count" in done.stdout


def test_installed_knowledge_base_has_its_data(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [installed / "dsec", "knowledge", "openai.OpenAI"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "api.openai.com:443" in done.stdout
