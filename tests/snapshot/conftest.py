"""A store of its own for each test, and a home in which nothing is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsec.store import Store, open_store
from dsec_cli.snapshot.package.writing import write as export
from dsec_cli.snapshot.shelf import View

from .kit import FILES, described, repository, scene, site, take
from .shell import Shell


@pytest.fixture(autouse=True)
def _with_git() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def store(state: Path) -> Iterator[Store]:
    with open_store(str(state / "store")) as found:
        yield found


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A home in which keys are made."""
    return {"HOME": str(tmp_path / "home")}


@pytest.fixture
def view(tmp_path: Path, store: Store, state: Path) -> View:
    """A snapshot with a bit of everything."""
    folder = repository(tmp_path / "p", FILES)
    (folder / "weights.bin").write_bytes(bytes(range(256)) * 10_000)
    sites = [site(tmp_path / "site", {"torch": "2.4"})]
    found = scene(folder, store, state, sites=sites, inventory=described("h100-sxm-80gb", 2))
    return take(found, "v1")


@pytest.fixture
def package(view: View, tmp_path: Path, environ: dict[str, str]) -> Path:
    """The same as a file."""
    path = tmp_path / "v1.dsnap"
    export(view, str(path), environ=environ, recipients=[], signed=True)
    return path


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Store]:
    """Another store."""
    with open_store(str(tmp_path / "elsewhere")) as other:
        yield other
