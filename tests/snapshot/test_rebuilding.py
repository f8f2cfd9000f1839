"""Packages that differ are installed anew beside the run, from a folder of wheels, and checked."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from .kit import git, repository, write
from .shell import CONTRACT, Shell


def wheel(folder: Path, version: str, text: str) -> Path:
    """A wheel of one module, as an index would give it."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"thing-{version}.dist-info"
    files = {
        "thing.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: thing\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{name},sha256={_digest(body)},{len(body)}" for name, body in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    path = folder / f"thing-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def wheels(tmp_path: Path, shell: Shell) -> Path:
    """The version that the snapshot knows is installed, and lies in the folder; then another one is."""
    pytest.importorskip("pip", reason="packages are installed with pip")
    for path in shell.site.iterdir():
        shutil.rmtree(path)
    first = wheel(tmp_path / "wheels", "1.0", "X = 1\n")
    with zipfile.ZipFile(first) as archive:
        archive.extractall(shell.site)
    (shell.project / "train.sh").write_text(
        'python -c "import thing; print(thing.X)" > "$DSEC_RUN_DIR/policy"\n'
    )
    (shell.project / "dsandbox.yaml").write_text(CONTRACT)
    shell.ok("snapshot create --name v1")
    (shell.site / "thing-1.0.dist-info").rename(shell.site / "thing-2.0.dist-info")
    return tmp_path / "wheels"


@pytest.mark.battery
def test_the_recorded_version_is_installed_and_used(wheels: Path, shell: Shell) -> None:
    environ = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    assert "thing  1.0 -> 2.0" in shell.ok("snapshot run v1", 1, **environ)
    text = shell.ok("snapshot run v1 --rebuild-env -q --job-id again", **environ)
    assert "environment: 1 packages in" in text
    assert (shell.project / ".dsec/runs/again/work/policy").read_text() == "1\n"
    for path in wheels.iterdir():
        path.unlink()
    shell.ok("snapshot run v1 --rebuild-env -q --job-id third", **environ)  # it is there already


@pytest.mark.battery
def test_another_build_is_not_taken_for_it(wheels: Path, shell: Shell) -> None:
    wheel(wheels, "1.0", "X = 3\n")
    text = shell.ok("snapshot run v1 --rebuild-env", 1, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels))
    assert "thing 1.0: other files than the recorded ones" in text
    assert not (shell.project / ".dsec" / "runs").exists()


@pytest.mark.battery
def test_what_cannot_be_had(wheels: Path, shell: Shell, tmp_path: Path) -> None:
    text = shell.ok(
        "snapshot run v1 --rebuild-env", 3, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path / "none")
    )
    assert "thing" in text
    assert "could not be built" in text


BACKEND = '''\
"""Builds the one wheel without anything that must be fetched."""
import zipfile, pathlib
def build_wheel(folder, settings=None, metadata=None):
    info = "mod-1.0.dist-info"
    with zipfile.ZipFile(f"{folder}/mod-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("mod.py", pathlib.Path("mod.py").read_text())
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: mod\\nVersion: 1.0\\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(f"{info}/RECORD", "mod.py,,\\n")
    return "mod-1.0-py3-none-any.whl"
'''
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


@pytest.mark.battery
def test_a_package_of_a_repository_and_one_of_a_folder_and_conda(shell: Shell, tmp_path: Path) -> None:
    pytest.importorskip("pip", reason="packages are installed with pip")
    source = repository(
        tmp_path / "mod", {"mod.py": "X = 1\n", "backend.py": BACKEND, "pyproject.toml": PROJECT}
    )
    commit = git(source, "rev-parse", "HEAD")
    write(source, {"mod.py": "X = 2\n"})
    git(source, "commit", "-qam", "second")
    for path in shell.site.iterdir():
        shutil.rmtree(path)
    vcs = {"url": source.as_uri(), "vcs_info": {"vcs": "git", "commit_id": commit}}
    local = {"url": "file:///s/local", "dir_info": {}}
    for name, direct in (("mod", vcs), ("local", local)):
        info = shell.site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "direct_url.json").write_text(json.dumps(direct))
    meta = shell.site.parent / "conda-meta"
    meta.mkdir()
    (meta / "cuda-12.1-0.json").write_text(
        json.dumps({"url": "https://h/cuda-12.1-0.conda", "md5": "0" * 32})
    )
    shell.ok("snapshot create --name v1")
    (shell.site / "mod-1.0.dist-info").rename(shell.site / "mod-2.0.dist-info")
    text = shell.ok("snapshot run v1 --rebuild-env", 1)
    assert "environment: 1 packages in" in text
    assert "local 1.0: it came from file:///s/local" in text
    assert "pip install --no-deps /s/local" in text
    assert "1 packages of conda are not rebuilt (cuda 12.1); by hand: conda create --prefix" in text
    (built,) = (shell.project / ".dsec" / "environments").glob("*/lib/*/site-packages/mod.py")
    assert built.read_text() == "X = 1\n"  # of the recorded commit, not of the newest
    (listed,) = (shell.project / ".dsec" / "environments").glob("*.conda.txt")
    assert listed.read_text() == "@EXPLICIT\nhttps://h/cuda-12.1-0.conda#" + "0" * 32 + "\n"
