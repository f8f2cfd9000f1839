"""What a Step instance is started with: program, environment, folder, log, paths filled in."""

from __future__ import annotations

import errno
import os
from os import fsencode

from dsec.outcomes import NO_INTERPRETER
from dsec.processes import Launch
from dsec.rundir import missing_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec.linkbook import LinkBook
    from dsec.plan import Plan, PlannedStep
    from dsec.portbook import PortBook
    from dsec.rundir import RunDir

_SHELL = ("/bin/sh", "-e", "-c")


def log_name(step: str, *, iteration: int, attempt: int) -> str:
    """An attempt's log, relative to the run's folder."""
    return f"logs/{step}@{iteration}.{attempt}.log"


class Launcher:
    """Turns instances of one plan into launches."""

    def __init__(
        self,
        plan: Plan,
        run: RunDir,
        *,
        folder: str,
        environ: Mapping[bytes, bytes],
        visible: Callable[[tuple[str, ...]], Mapping[str, str]],
        found: tuple[tuple[str, str], ...] = (),
        links: LinkBook | None = None,
    ) -> None:
        """`visible` gives the variables that let a process see the devices it was granted.

        `found`: further variables, which say where the plan's dependencies are. `links`: how Steps
        reach each other; None: no two are declared to.
        """
        self._links = links
        self.environ = environ
        self.run = run
        self.folder = folder
        self._visible = visible
        self._blind = _encoded(visible(()))
        self._base = {key: value for key, value in environ.items() if not key.startswith(b"DSEC_")}
        if b"DSEC_HOME" in environ:
            self._base[b"DSEC_HOME"] = environ[b"DSEC_HOME"]
        self._metrics = fsencode(f"{run.path}/metrics/")
        self._base |= {
            b"DSEC_RUN": fsencode(run.job),
            b"DSEC_RUN_DIR": fsencode(run.work),
            b"DSEC_METRICS": self._metrics,
            b"DSEC_CONTRACT_DIR": fsencode(folder),
            **_encoded(dict(found)),
        }
        self._base.setdefault(b"PYTHONUNBUFFERED", b"1")  # else `dsec logs -f` shows nothing for long
        self._plain = self._base | self._blind | {b"DSEC_GPU_COUNT": b"0"}
        readers = {step.id for step in plan.steps for edge in step.needs if edge.kind == "carried"}
        self._carried = {step.id: _carried(step) for step in plan.steps if step.id in readers}
        self._programs: dict[tuple[str, bytes], bytes] = {}
        self._path = run.path
        self._ports: PortBook | None = None
        self.remedies: dict[str, dict[str, str]] = {}
        """Further variables of Steps that stalled, by id."""

    def launch(
        self, step: PlannedStep, *, iteration: int, attempt: int, devices: tuple[str, ...], log: str
    ) -> Launch:
        """A process for the attempt; raises OSError when there is no such program.

        `log` is its log, relative to the run's folder.
        """
        command = step.command
        env = self.environment(step, devices) if devices or step.env else self._plain.copy()
        env[b"DSEC_STEP"] = step.id.encode()
        env[b"DSEC_ITERATION"] = b"%d" % iteration
        env[b"DSEC_ATTEMPT"] = b"%d" % attempt
        env[b"DSEC_METRICS"] = b"%s%s@%d.%d.jsonl" % (self._metrics, env[b"DSEC_STEP"], iteration, attempt)
        if self._links is not None and (told := self._links.text(step.id, devices)):
            env[b"DSEC_LINKS"] = told.encode()
        if step.id in self._carried:
            env[b"DSEC_CARRIED"] = ",".join(
                f"{need}={earlier}" for need, earlier in self.carried(step, iteration).items()
            ).encode()
        argv = (*_SHELL, command.shell) if command.shell else command.argv
        cwd = os.path.join(self.folder, step.cwd) if step.cwd not in ("", ".") else self.folder
        program = argv[0] if "/" in argv[0] else self._program(argv[0], env)
        return Launch._make((program, argv, env, cwd, f"{self._path}/{log}"))

    def environment(self, step: PlannedStep, devices: tuple[str, ...]) -> dict[bytes, bytes]:
        """The part of the environment that every attempt of the Step on these devices has."""
        env = self._base.copy()
        for key, value in step.env:
            env[fsencode(key)] = fsencode(value if "{port" not in value else self._ported(step, key, value))
        env.update(_encoded(self._visible(devices)) if devices else self._blind)
        env[b"DSEC_GPU_COUNT"] = b"%d" % len(devices)
        if self.remedies:
            env.update(_encoded(self.remedies.get(step.id, {})))
        if devices and b"MASTER_PORT" not in env:
            port = self._ported(step, "MASTER_PORT", "{port}").encode()
            env[b"MASTER_PORT"] = env[b"PET_MASTER_PORT"] = port
        return env

    def _ported(self, step: PlannedStep, variable: str, value: str) -> str:
        """The value with the ports that it asks for; raises OSError."""
        from dsec import portbook  # few Steps listen

        if self._ports is None:
            folder = portbook.runtime_folder(self._base)
            self._ports = portbook.PortBook(f"{folder}/ports")
        return portbook.filled(value, step=step.id, variable=variable, book=self._ports)

    def close(self) -> None:
        """Let go of the ports."""
        if self._ports is not None:
            self._ports.close()

    def carried(self, step: PlannedStep, iteration: int) -> dict[str, int]:
        """Per carried edge of the Step: the iteration it reads from; -1: there is none yet."""
        return {need: max(-1, iteration - lag) for need, lag in self._carried.get(step.id, ())}

    def missing_output(self, step: PlannedStep, iteration: int) -> str:
        """The first declared output that does not exist, or ""."""
        return missing_output(step.outputs, self.folder, work=self.run.work, iteration=iteration)

    def _program(self, name: str, env: dict[bytes, bytes]) -> bytes:
        """Where `name`, which has no slash, is by the Step's own PATH."""
        path = env.get(b"PATH", os.defpath.encode())
        found = self._programs.get((name, path))
        if found is None:
            found = self._programs[name, path] = _search(fsencode(name), path)
        return found


def _search(name: bytes, path: bytes) -> bytes:
    refused = b""
    for folder in path.split(b":"):
        candidate = os.path.join(folder or b".", name)
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return candidate
            refused = refused or candidate
    if refused:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fsdecode(refused))
    raise FileNotFoundError(errno.ENOENT, "not found on PATH", os.fsdecode(name))


def _carried(step: PlannedStep) -> tuple[tuple[str, int], ...]:
    return tuple((edge.step, 1 + edge.staleness) for edge in step.needs if edge.kind == "carried")


def _encoded(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    return {fsencode(key): fsencode(value) for key, value in variables.items()}


def why_none_starts(problem: OSError, run: RunDir) -> str:
    """Why no other attempt could be started either; "": another one may."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    if not os.path.isdir(run.path):
        return f"the run's folder was removed: {run.path}"
    return ""


def why_not_started(problem: OSError, launch: Launch | None) -> tuple[str, str]:
    """Cause and detail of a start that failed."""
    if problem.errno == errno.EADDRNOTAVAIL:
        return "cannot-start", "no free port"
    if launch is None:
        cause = "not-executable" if isinstance(problem, PermissionError) else "not-found"
        return cause, f"{problem.filename}: {problem.strerror}" if cause == "not-found" else str(
            problem.filename
        )
    program = os.path.join(launch.cwd, os.fsdecode(launch.program))
    if not os.path.isdir(launch.cwd):
        return "no-folder", launch.cwd
    if not os.path.exists(program):
        return "not-found", program
    if os.path.isdir(program):
        return "not-executable", f"{program}/"
    if not os.access(program, os.X_OK):
        return "not-executable", program
    if problem.errno == errno.ENOEXEC and _is_text(program):
        return "not-executable", f"{program}{NO_INTERPRETER}"
    if problem.errno == errno.ENOENT and not os.path.isdir(os.path.dirname(launch.log)):
        return "cannot-start", f"{os.path.dirname(launch.log)}: {problem.strerror}"
    if problem.errno == errno.ENOENT:
        return "not-found", f"the interpreter that {program} names in its first line"
    return "cannot-start", f"{program}: {problem.strerror}"


def why_no_worker(problem: OSError) -> tuple[str, str]:
    """The same of a call, whose worker could not be started or takes no such call."""
    if problem.errno == errno.ENOENT and problem.filename is not None:
        return "not-found", f"{os.fsdecode(problem.filename)}: the Python of the calls is gone"
    return "cannot-start", str(problem)


def _is_text(program: str) -> bool:
    """Whether a file that the kernel cannot run is a script without a first line that names who can."""
    try:
        with open(program, "rb") as file:
            return b"\0" not in file.read(256)
    except OSError:
        return False
