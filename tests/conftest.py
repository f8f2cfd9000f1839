"""What every test gets: a quiet environment of its own, and proof that nothing was left running."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
import stat
import tarfile
import time
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

# Shared machines stall; a slow example is no failure here. Speed is measured by benchmarks.
# `make test` takes the same examples each time, so that it is never red by chance. The battery draws new
# ones, and more (DSEC_TEST_EXAMPLES=new): a failure prints its seed, and is tried first in the next run.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, max_examples=25, **COMMON)
settings.register_profile(
    "new",
    print_blob=True,
    database=DirectoryBasedExampleDatabase(".hypothesis/examples"),
    max_examples=100,
    **COMMON,
)
settings.load_profile(os.environ.get("DSEC_TEST_EXAMPLES", "same"))

TOKEN = uuid.uuid4().hex

pytest_plugins = ["making", "rotation", "sharedbox", "simulated"]
"""Contracts made by hand, simulated GPUs, and parts of the battery."""

# A shell that runs the tests in the background, or nohup, has these ignored, and programs inherit that.
# With SIGCHLD ignored nobody learns how a child ended: subprocess takes it for 0.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGCHLD):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests with the garbage collector off, and spare it what they consist of.

    Eleven thousand tests are millions of objects that live to the end: walking them takes a tenth of the run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Look once for what nobody waited for or closed: pytest does so five times at its end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Libraries that count their objects at the exit of Python find all of them freed."""
    gc.unfreeze()


_FOLDERS = itertools.count()
"""Numbers of folders: pytest looks through all of them for the next, a tenth of the time of all tests."""


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, as pytest's own."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / f"{name}-{next(_FOLDERS)}"
    path.mkdir(0o700)
    return path


@pytest.fixture(scope="session")
def _clean_environment() -> Iterator[None]:
    """No colours, settings or state of the person who runs the tests leak in."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_COLOR", "FORCE_COLOR", "DSEC_HOME", "CUDA_VISIBLE_DEVICES", "COLUMNS", "LINES"):
            patch.delenv(name, raising=False)
        for name in ("DSEC_CACHE_DIR", "XDG_CACHE_HOME", "DSEC_LANG", "LC_MESSAGES"):
            patch.delenv(name, raising=False)
        patch.setenv("LC_ALL", "C.UTF-8")
        patch.setenv("DSEC_TEST_TOKEN", TOKEN)
        yield


_UNUSED_HOMES: list[Path] = []
"""Home folders in which no test has left anything."""


def _is_untouched(home: Path) -> bool:
    """Whether a home folder is as it was made: empty, and the user's alone."""
    try:
        return home.lstat().st_mode == stat.S_IFDIR | 0o700 and not os.listdir(home)
    except OSError:
        return False


@pytest.fixture(autouse=True)
def _own_environment(
    _clean_environment: None, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """An environment without the user's settings, and an empty home folder."""
    if not _UNUSED_HOMES:
        _UNUSED_HOMES.append(tmp_path_factory.getbasetemp() / f"home-{next(_FOLDERS)}")
        _UNUSED_HOMES[-1].mkdir(0o700)
    home = _UNUSED_HOMES.pop()
    monkeypatch.setenv("HOME", str(home))
    yield
    if _is_untouched(home):
        _UNUSED_HOMES.append(home)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of captures, seeds and suites beside the checkout; skips where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent: captures and suites are not part of the project")
    return folder


@pytest.fixture(scope="session")
def yaml_suite(shared: Path) -> dict[str, bytes]:
    """The files of the public yaml-test-suite by their path in it, such as `229Q/in.yaml`."""
    archive = shared / "yaml-test-suite.tar.gz"
    if not archive.is_file():
        pytest.skip(f"{archive} is absent: the suite is not part of the project")
    with tarfile.open(archive) as tar:
        members = [one for one in tar.getmembers() if one.isfile()]
        found = {
            one.name.removeprefix("./"): data.read()
            for one in members
            if (data := tar.extractfile(one)) is not None
        }
    assert sum(name.endswith("/in.yaml") for name in found) == 402
    return found


@pytest.fixture(scope="session")
def yaml_inputs(yaml_suite: dict[str, bytes]) -> dict[str, bytes]:
    """The 402 documents of the suite."""
    return {name: data for name, data in yaml_suite.items() if name.endswith("/in.yaml")}


def _alive() -> list[str]:
    """Command lines of live processes, other than this one, that carry this session's token."""
    mark = f"DSEC_TEST_TOKEN={TOKEN}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if mark in environment.split(b"\0") and state != "Z":
                found.append(
                    Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
        except OSError:
            continue
    return found


@pytest.fixture(scope="session", autouse=True)
def _nothing_left_running() -> Iterator[None]:
    yield
    deadline = time.monotonic() + 10
    while (left := _alive()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, f"processes left by the tests: {left}"
