"""Libraries, verdicts and sockets that are kept for later: whoever else can write there is not believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dsec import compilers, probes
from dsec.broker import place
from dsec.errors import FileProblem
from dsec.ownership import foreign_file
from dsec.portbook import private_folder, runtime_folder
from dsec.simgpu import building
from dsec_cli.commands import sim_gpu
from dsec_cli.plugins import mapcache

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
NOBODY = 65534


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def planted_library(shared: Path) -> Path:
    """A library where the simulated one would be looked for."""
    sources = sorted(os.path.join(building.SOURCES, name) for name in os.listdir(building.SOURCES))
    sources = [name for name in sources if name.endswith((".c", ".h"))]
    mark = compilers.mark(sources, [*building._FLAGS])
    folder = shared / "sim-gpu" / mark
    folder.mkdir(parents=True)
    (folder / building.NAME).write_bytes(b"planted")
    return folder


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_no_library_is_taken_from_where_others_write(shared: Path, mode: int) -> None:
    folder = planted_library(shared)
    folder.chmod(mode)
    with pytest.raises(FileProblem, match="is not taken: everybody can write to"):
        building.library(str(shared / "sim-gpu"), os.environ)


@needs_root
@pytest.mark.parametrize("given", ["sim-gpu", "mark", "file"])
def test_nor_one_that_another_owns(shared: Path, given: str) -> None:
    folder = planted_library(shared)
    os.chown(
        {"sim-gpu": folder.parent, "mark": folder, "file": folder / building.NAME}[given], NOBODY, NOBODY
    )
    with pytest.raises(FileProblem, match="belongs to nobody"):
        building.library(str(shared / "sim-gpu"), os.environ)


@needs_root
def test_without_a_home_it_is_not_looked_for_in_a_shared_folder(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "DSEC_CACHE_DIR", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(shared))
    assert sim_gpu._cache() == f"/tmp/dsec-{os.getuid()}/sim-gpu"


def test_nor_the_probe(shared: Path) -> None:
    environ = {"DSEC_CACHE_DIR": str(shared / "cache"), "PATH": os.environ["PATH"]}
    built = probes.library(environ)
    if not built.path:
        pytest.skip(f"nothing to plant: {built.why}")
    os.chmod(os.path.dirname(built.path), 0o777)
    again = probes.library(environ)
    assert (again.path, "everybody can write to" in again.why) == ("", True)


def test_nor_a_verdict(shared: Path) -> None:
    (shared / "map.json").write_text("{}")
    (shared / "map.json").chmod(0o666)
    assert foreign_file(str(shared / "map.json"), os.environ)
    assert mapcache.load(str(shared / "map.json")) is None


def environment(**given: object) -> dict[bytes, bytes]:
    return {name.encode(): os.fsencode(str(value)) for name, value in given.items()}


def test_a_runtime_folder_that_others_write_to_is_none(shared: Path, tmp_path: Path) -> None:
    ours = f"/tmp/dsec-{os.getuid()}"
    assert runtime_folder(environment(XDG_RUNTIME_DIR=shared)) == ours
    (tmp_path / "private").mkdir(mode=0o700)
    assert runtime_folder(environment(XDG_RUNTIME_DIR=tmp_path / "private")) == f"{tmp_path}/private/dsec"
    if os.geteuid() == 0:
        os.chown(tmp_path / "private", NOBODY, NOBODY)
        assert runtime_folder(environment(XDG_RUNTIME_DIR=tmp_path / "private")) == ours


def test_who_takes_our_name_in_tmp_stops_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    number = 123_456_788
    os.mkdir(f"/tmp/dsec-{number}", 0o755)
    try:
        os.makedirs(tmp_path / ".cache/dsec/run", 0o700)
        true = os.lstat

        def lstat(path: str) -> os.stat_result:
            found = true(path)
            mine = str(path).startswith(str(tmp_path))
            return os.stat_result([*found[:4], number if mine else found.st_uid, *found[5:10]])

        monkeypatch.setattr("os.getuid", lambda: number)
        monkeypatch.setattr("os.lstat", lstat)
        assert runtime_folder(environment(HOME=tmp_path)) == f"{tmp_path}/.cache/dsec/run"
        with pytest.raises(PermissionError):
            runtime_folder({})
    finally:
        os.rmdir(f"/tmp/dsec-{number}")


def test_a_private_folder_is_private(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x").chmod(0o777)
    assert os.stat(private_folder(str(tmp_path / "x"))).st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to("x")
    with pytest.raises(NotADirectoryError):
        private_folder(str(tmp_path / "link"))
    folder = place.folder(environment(XDG_RUNTIME_DIR=tmp_path / "x"))
    assert os.stat(folder).st_mode & 0o777 == 0o700
