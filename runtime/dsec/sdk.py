"""What a Step may use of DSec: its context, files that appear whole, states in shards. Standard library only.

A process asks `context()`; a function named by `call:` is handed the same value.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field

from dsec.granted import DEVICES, DeviceMismatchError, foreign, granted, mismatch, shown
from dsec.onsave import on_save
from dsec.onshrink import on_shrink
from dsec.pagecache import fast_chunks, fast_read
from dsec.parts import COUNT, INDEX, LAYERS, layers_of, part_path
from dsec.saving import NoSaveError, Saved, load_sharded, save_sharded, saves
from dsec.seeding import seeds
from dsec.signs import heartbeat, metric, metrics, show_stacks
from dsec.wholefile import create

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType
    from typing import Any, BinaryIO


__all__ = [
    "DeviceMismatchError",
    "NoSaveError",
    "Saved",
    "StepContext",
    "check_devices",
    "context",
    "fast_chunks",
    "fast_read",
    "heartbeat",
    "load_sharded",
    "metric",
    "metrics",
    "on_save",
    "on_shrink",
    "parse_carried",
    "publish",
    "publishing",
    "save_sharded",
    "saves",
    "seeds",
    "show_stacks",
    "split_of",
    "state",  # noqa: F822 - below, when it is asked for
]


def __getattr__(name: str) -> ModuleType:
    """`state`, which most Steps never use, when it is asked for."""
    if name != "state":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dsec import state

    return state


@dataclass(frozen=True, slots=True)
class StepContext:
    """Which attempt of which Step this is, and where its files belong."""

    run: str
    """Job id."""
    step: str
    iteration: int
    """From 0."""
    attempt: int
    """From 1."""
    run_dir: str
    """Folder for the run's own files; `{run}` in the contract's paths."""
    contract_dir: str
    carried: dict[str, int] = field(default_factory=dict)
    """Per carried edge: the iteration of that Step to read from; -1: none yet."""
    split_index: int = 0
    """Which part of a split Step this is, from 0."""
    split_count: int = 1
    """How many parts there are; 1: the Step is whole."""
    split_layers: tuple[int, int] | None = None
    """First and last layer of this part; None: the Step is whole."""
    gpu_count: int = 0
    """How many GPUs it has; of an elastic Step fewer or more than it states."""
    links: tuple[dict[str, str], ...] = ()
    """How it reaches the Steps that it communicates with: `from`, `to`, `protocol`, ...; none for calls."""
    max_steps_per_episode: int | None = None
    """As the contract states it; None: it does not."""
    checkpoint_interval_steps: int | None = None
    """Training steps between two checkpoints, as the contract states it; None: it does not."""

    def part(self, path: str) -> str:
        """Where to write an output that the contract calls `path`: a part of a Step has a file of its own."""
        return path if self.split_count == 1 else part_path(path, self.split_index)


def context(environ: Mapping[str, str] | None = None) -> StepContext:
    """The context of the Step that this process is; raises LookupError outside of a run.

    Raises DeviceMismatchError where the process would use a GPU that its Step was not granted.
    """
    env = os.environ if environ is None else environ
    missing = [name for name in ("DSEC_RUN", "DSEC_STEP", "DSEC_RUN_DIR") if name not in env]
    if missing:
        raise LookupError(f"this process is not a Step of a dsec run: {missing[0]} is not set")
    if DEVICES in env and (problem := foreign(env)):
        raise DeviceMismatchError(problem)
    return StepContext(
        run=env["DSEC_RUN"],
        step=env["DSEC_STEP"],
        iteration=int(env.get("DSEC_ITERATION", "0")),
        attempt=int(env.get("DSEC_ATTEMPT", "1")),
        run_dir=env["DSEC_RUN_DIR"],
        contract_dir=env.get("DSEC_CONTRACT_DIR", ""),
        carried=parse_carried(env.get("DSEC_CARRIED", "")),
        gpu_count=int(env.get("DSEC_GPU_COUNT", "0")),
        links=_links(env.get("DSEC_LINKS", "")),
        max_steps_per_episode=_count(env.get("DSEC_MAX_STEPS_PER_EPISODE", "")),
        checkpoint_interval_steps=_count(env.get("DSEC_CHECKPOINT_INTERVAL_STEPS", "")),
        **split_of(env),
    )


def _count(text: str) -> int | None:
    """A number from the environment; None where there is none."""
    return int(text) if text.isdecimal() else None


def check_devices(*, deep: bool = False) -> tuple[str, ...]:
    """UUIDs of the GPUs that this process sees, in its order; raises DeviceMismatchError.

    They must be exactly those that the Step was granted. `deep` asks CUDA, too, in a process of its
    own: asked in this one it could no longer be used in forked children.
    """
    problem = mismatch(os.environ)
    if not problem and deep and granted(os.environ):
        problem = _asked_apart()
    if problem:
        raise DeviceMismatchError(problem)
    return shown(os.environ)


def _asked_apart() -> str:
    import subprocess
    import sys

    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = (
        f"import sys; sys.path.insert(0, {root!r}); from dsec.granted import main; sys.exit(main(['--deep']))"
    )
    told = subprocess.run(
        [sys.executable, "-I", "-c", code], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False
    )
    text = told.stderr.decode("utf-8", "replace").strip()
    return (text or "CUDA could not be asked") if told.returncode else ""


def split_of(env: Mapping[str, str]) -> dict[str, Any]:
    """What the environment says of the part that this is, as fields of the context."""
    if COUNT not in env:
        return {}
    return {
        "split_index": int(env.get(INDEX, "0")),
        "split_count": int(env[COUNT]),
        "split_layers": layers_of(env.get(LAYERS, "")),
    }


def _links(text: str) -> tuple[dict[str, str], ...]:
    if not text:
        return ()
    import json  # few Steps communicate

    return tuple(json.loads(text))


def parse_carried(text: str) -> dict[str, int]:
    """`S5=3,S2=-1` as a dict."""
    pairs = (entry.partition("=") for entry in text.split(",") if entry)
    return {step: int(iteration) for step, _, iteration in pairs}


def publish(path: str, data: bytes) -> None:
    """Write a file whole or not at all: readers see the old content or the new, also after a crash."""
    with publishing(path) as file:
        file.write(data)


@contextlib.contextmanager
def publishing(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name once it is whole and on the disk."""
    folder = os.path.dirname(os.path.abspath(path))
    aside = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}.tmp")
    try:
        with open(create(aside), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
