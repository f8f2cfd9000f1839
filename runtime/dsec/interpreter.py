"""Python processes of ours: they import from where this one does, never from the folder they run in.

`python -m` and `python -c` put the present folder in front of the standard library, and a clone may hold a
`ctypes.py`. So every interpreter of ours is isolated (-I), and told where to look. A worker imports what the
user wrote from the contract's folder: it is the only one that gets a folder of the user's (`WORKER`).
"""

from __future__ import annotations

import os
import sys

from dsec.errors import RunProblem
from dsec.record import Record
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WORKER = ("-P", "-m", "dsec.worker")
"""What starts a worker: packages of the user's environment count, and the present folder does not yet."""
APART = ("-I", "-S", "-c")
"""What starts a process of ours, before its code."""


def import_path() -> list[str]:
    """Where this process imports from, without what means another folder wherever one is."""
    return [name for name in sys.path if name.startswith("/")]


def apart(module: str, *argv: str) -> tuple[str, ...]:
    """The command line of a process that calls `main` of a module of ours; `sys.argv[1:]` is `argv`."""
    code = f"import sys; sys.path[:] = {import_path()!r}\nfrom {module} import main\nsys.exit(main())"
    return (sys.executable, *APART, code, *argv)


ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
"""Variables that name the active environment, the first that is set."""
_OLDEST = (3, 11)
_ASKS_S = 20
_QUESTION = "import sys; print(*sys.version_info[:2]); print(*filter(None, sys.path), sep=chr(10))"


class Interpreter(Record):
    """The Python that calls run in and whose packages count."""

    path: str
    source: str
    """What named it: a variable, or `dsec`: no environment is active, so it is the one that runs dsec."""

    @property
    def is_ours(self) -> bool:
        """Whether it is the one that runs dsec."""
        return self.path == sys.executable


class Facts(Record):
    """What an interpreter says of itself."""

    version: tuple[int, int]
    import_path: tuple[str, ...]


def default(environ: Mapping[bytes, bytes]) -> Interpreter:
    """The active environment's interpreter, else ours; raises RunProblem where the active one has none.

    dsec may be installed as a tool, apart from what a training needs.
    """
    for name in ACTIVE:
        prefix = os.fsdecode(environ.get(name.encode(), b""))
        if not prefix:
            continue
        if _is_same(prefix, sys.prefix):
            return Interpreter(sys.executable, name)
        path = os.path.join(os.path.abspath(prefix), "bin", "python")
        if not os.access(path, os.X_OK):
            raise RunProblem(
                say("{name} names {prefix}, which has no bin/python", name=name, prefix=prefix),
                hint=say("activate an environment that is there, or unset {name}", name=name),
            )
        return Interpreter(path, name)
    return Interpreter(sys.executable, "dsec")


def _is_same(one: str, two: str) -> bool:
    try:
        return os.path.samefile(one, two)
    except OSError:
        return False


def facts(python: Interpreter) -> Facts:
    """Ask it; raises RunProblem where it does not answer, or is too old for a worker."""
    if python.is_ours:
        return Facts(sys.version_info[:2], tuple(import_path()))
    import subprocess

    argv = [python.path, "-c", _QUESTION]
    try:
        done = subprocess.run(argv, cwd="/", capture_output=True, timeout=_ASKS_S, check=False)
        first, *path = os.fsdecode(done.stdout).splitlines() or [""]
        major, minor = map(int, first.split())
    except OSError as problem:
        raise _silent(python, str(system(problem))) from None
    except (ValueError, subprocess.TimeoutExpired):
        raise _silent(python, say("it does not answer")) from None
    if (major, minor) < _OLDEST:
        raise RunProblem(
            say(
                "{path} ({source}) is Python {major}.{minor}; calls need {oldest} or newer",
                path=python.path,
                source=python.source,
                major=major,
                minor=minor,
                oldest=".".join(map(str, _OLDEST)),
            ),
            hint="activate an environment with a newer Python",
        )
    return Facts((major, minor), tuple(path))


def _silent(python: Interpreter, why: str) -> RunProblem:
    return RunProblem(
        say("{path} ({source}) cannot be used: {why}", path=python.path, source=python.source, why=why),
        hint=say("activate another environment, or unset {name}", name=python.source),
    )


def worker(python: Interpreter) -> tuple[str, ...]:
    """The command line of a worker.

    In another environment than ours only the package `dsec` is ours; what lies beside it there stays unseen.
    """
    if python.is_ours:
        return (python.path, *WORKER)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "import dsec.caches, dsec.worker\n"
        f"sys.path.remove({root!r})\n"
        "dsec.worker.serve()"
    )
    return (python.path, "-P", "-c", code)
