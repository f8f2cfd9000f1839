"""The process that takes the snapshots of a run by itself, and how a run starts and ends it.

It begins once the run has lasted a while, works at the lowest priority, and never makes a run fail:
what stands in its way is written to `snapshots.log` in the run's folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec.rundir import RunDir
    from dsec.store import Store

EVERY_S = 300.0
_END_S = 30.0
"""How long the mark of the finish is waited for; 3 s where the run was interrupted."""
_STARTS = 2


class Marking:
    """The process beside a run, as the executor keeps it."""

    what = "snapshots"
    AFTER_S = 20.0
    """Runs that last longer get snapshots by themselves; shorter ones are as quickly run again."""

    def __init__(
        self, folder: str, contract: str, argv: Sequence[str], *, after_s: float, every_s: float | None = None
    ) -> None:
        """`every_s`: seconds between two state snapshots; None: `EVERY_S`."""
        self._told: dict[str, object] = {"folder": folder, "contract": contract, "argv": list(argv)}
        if every_s is not None:
            self._told["every_s"] = every_s
        self.after_s = after_s
        """When it is started."""
        self._run: RunDir | None = None
        self._pipe = -1
        self._pid = 0
        self._starts = 0

    def begin(self, run: RunDir) -> None:
        """Note which run it is; the process comes later."""
        self._run = run

    def pid(self) -> int:
        """The process; 0: there is none."""
        return self._pid

    def again(self) -> int:
        """Start it; 0: it has died too often."""
        if self._run is None or self._starts >= _STARTS:
            return 0
        self._starts += 1
        self._close()
        from dsec.interpreter import APART, import_path

        code = (
            f"import sys; sys.path[:] = {import_path()!r}\n"
            "from dsec_cli.commands.marking import main\n"
            "sys.exit(main(sys.argv[1:]))"
        )
        argv = (sys.executable, *APART, code, self._run.job, self._run.path)
        read, self._pipe = os.pipe()
        try:
            self._pid = self._spawn(argv, read)
            os.write(self._pipe, json.dumps(self._told).encode("utf-8", "surrogatepass") + b"\n")
        except OSError:
            self._pid = 0
        finally:
            os.close(read)
        return self._pid

    def _spawn(self, argv: tuple[str, ...], read: int) -> int:
        assert self._run is not None, "asked for only when it is known"
        log = (1, f"{self._run.path}/snapshots.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        return os.posix_spawn(
            argv[0],
            argv,
            os.environb,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read, 0),
                (os.POSIX_SPAWN_OPEN, *log),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=sorted(signal.valid_signals()),
        )

    def _close(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def end(self, *, patience_s: float = _END_S) -> str:
        """The run is over: wait for the last snapshot; its name, "" where there is none."""
        if not self._starts and self.after_s < 1.0:  # snapshots were asked for, however short the run is
            self._told["late"] = True  # the run was over sooner, and is to have snapshots all the same
            self.again()
        self._close()
        if not self._pid or self._run is None:
            return ""
        until = time.monotonic() + patience_s
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > until:
                    os.kill(self._pid, signal.SIGKILL)
                time.sleep(0.01)
        return _last_name(self._run)


def _last_name(run: RunDir) -> str:
    """The last line of the log, if it says that the finish was taken."""
    try:
        with open(f"{run.path}/snapshots.log", encoding="utf-8", errors="replace") as file:
            last = (file.read().splitlines() or [""])[-1]
    except OSError:
        return ""
    return last.removeprefix("taken: ") if last.startswith("taken: ") and "-finish" in last else ""


def main(argv: list[str]) -> int:
    """The process: a mark now, a state at each interval, a mark when standard input ends."""
    from dsec.rundir import RunDir

    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the run's end is what ends it
    _step_back()
    run = RunDir(argv[0], argv[1])
    told = json.loads(sys.stdin.buffer.readline() or b"{}")
    if not told:
        return 0
    from dsec_cli.snapshot.manifest import FINISH, LIGHT, START

    begun = time.monotonic()
    stated = told.get("every_s")
    every_s = float(stated) if isinstance(stated, int | float) else EVERY_S
    seen: dict[str, object] = {}
    if "late" not in told:
        _take(run, told, START, "start", seen=seen)
    while not _over(every_s - (time.monotonic() - begun) % every_s):
        _take(run, told, LIGHT, _age(time.monotonic() - begun), seen=seen)
    _take(run, told, FINISH, "finish", seen=seen)
    return 0


def _age(seconds: float) -> str:
    """How far the run had come, as a part of a snapshot's name: `5m`, `90s`."""
    whole = round(seconds)
    return f"{whole // 60}m" if whole % 60 == 0 else f"{whole}s"


def _step_back() -> None:
    """The lowest priority for processor and disk: the Steps go first."""
    with contextlib.suppress(OSError):
        os.nice(19)
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        idle, of_process, number = 3 << 13, 1, {"x86_64": 251, "aarch64": 30}.get(os.uname().machine)
        if number is not None:
            ctypes.CDLL(None).syscall(number, of_process, 0, idle)


def _over(timeout_s: float) -> bool:
    """Whether the run has ended; waits for that at most so long."""
    from select import select

    ready, _, _ = select([sys.stdin], [], [], max(0.0, timeout_s))
    return bool(ready)


def _take(run: RunDir, told: dict[str, object], kind: str, suffix: str, *, seen: dict[str, object]) -> None:
    """One snapshot; why there is none is a line of the log."""
    from dsec.errors import DSecError

    try:
        name = _taken(run, told, kind, suffix, seen=seen)
    except (DSecError, OSError) as problem:
        line = problem.what if isinstance(problem, DSecError) else f"{problem.filename}: {problem.strerror}"
        _log(f"not taken ({suffix}): {line}")
    else:
        _log(f"taken: {name}")


def _taken(run: RunDir, told: dict[str, object], kind: str, suffix: str, *, seen: dict[str, object]) -> str:
    """Take it; `seen` is what earlier ones of this run found out."""
    from dsec.store import open_store
    from dsec_cli.commands.snapshotting import BUDGET, Project, exclusion, scene_of
    from dsec_cli.snapshot.capture import capture, keep, refuse_root
    from dsec_cli.snapshot.keeping import passing
    from dsec_cli.snapshot.manifest import START
    from dsec_cli.snapshot.section import Wanted
    from dsec_cli.snapshot.shelf import listed

    state = os.path.dirname(os.path.dirname(run.path))
    place = Project(str(told["folder"]), state, str(told["contract"]))
    refuse_root(place.folder, os.path.expanduser("~"))
    wanted = Wanted(kind=kind, budget=BUDGET, excluded=exclusion(place))
    with open_store(os.path.join(state, "store")) as store:
        scene = scene_of(place, store, wanted, run=run)
        words = told["argv"]
        scene.argv = tuple(map(str, words)) if isinstance(words, list) else None
        scene.pids = _processes(run)
        scene.memory.update(seen)
        manifest = capture(scene, _free(store, run.job, suffix))
        keep(scene, manifest)
        seen.update(
            (name, scene.memory[name]) for name in ("python", "mapped", "plan") if name in scene.memory
        )
        for name in passing(listed(store)):
            store.delete_record(name)
    if kind == START:
        _tidy(os.path.join(state, "store"))
    return manifest.name


def _tidy(path: str) -> None:
    """Free what no snapshot needs any more; somebody who puts in at this moment goes first."""
    from dsec.store import StoreProblem, open_store

    with contextlib.suppress(StoreProblem), open_store(path) as store:
        store.prune()


def _free(store: Store, job: str, suffix: str) -> str:
    """A name that no snapshot has: a run that is resumed has a second start."""
    from dsec.store import Missing

    name = f"{job[:60]}-{suffix}"
    for number in range(2, 1000):
        try:
            store.get_record(name)
        except Missing:
            return name
        name = f"{job[:60]}-{suffix}-{number}"
    return name


def _processes(run: RunDir) -> tuple[int, ...]:
    from dsec import sweep

    return tuple(
        one.pid for one in sweep.members(sweep.marker(run.job, run.path), sessions=(), spare=(os.getpid(),))
    )


def _log(line: str) -> None:
    sys.stdout.write(" ".join(line.split("\n")) + "\n")
    sys.stdout.flush()
