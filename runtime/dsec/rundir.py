"""Where the state of runs lies: `.dsec/` beside the contract, or where DSEC_HOME says."""

from __future__ import annotations

import os
import time

from dsec.errors import RunProblem
from dsec.record import Record
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RECORD_BYTES = 1 << 20
"""A first record is far shorter."""
_SHOWN = 5
"""Runs that are named where one was named wrongly."""
_PLACEHOLDERS = ("{run}", "{iteration}", "{previous}")


class RunDir(Record):
    """The folder of one run."""

    job: str
    path: str
    """Absolute."""

    @property
    def plan(self) -> str:
        """The plan as it was when the run began."""
        return f"{self.path}/plan.json"

    @property
    def journal(self) -> str:
        """The run's journal."""
        return f"{self.path}/journal"

    @property
    def logs(self) -> str:
        """One file per attempt, one per worker."""
        return f"{self.path}/logs"

    @property
    def work(self) -> str:
        """Folder for the Steps' own files: `{run}` in paths, DSEC_RUN_DIR in the environment."""
        return f"{self.path}/work"


def fill(path: str, *, work: str, iteration: int) -> str:
    """A declared path with `{run}`, `{iteration}` and `{previous}` replaced."""
    for name, value in zip(_PLACEHOLDERS, (work, str(iteration), str(iteration - 1)), strict=True):
        path = path.replace(name, value)
    return path


def missing_output(outputs: Sequence[str], folder: str, *, work: str, iteration: int) -> str:
    """The first of these declared outputs that does not exist, or ""; `folder` is the contract's."""
    for output in outputs:
        path = fill(output, work=work, iteration=iteration)
        if not os.path.lexists(os.path.join(folder, path)):
            return path
    return ""


def home(folder: str, environ: Mapping[str, str]) -> str:
    """The state folder that belongs to the contract's folder, absolute."""
    return os.path.abspath(environ.get("DSEC_HOME") or os.path.join(folder, ".dsec"))


def keep_from_git(state: str) -> None:
    """Let git ignore a state folder of ours: what is in it changes all the time, and may be large."""
    if os.path.basename(state) != ".dsec" or os.path.islink(state):
        return  # where a link leads, other files may be that git is to see
    try:
        fd = os.open(f"{state}/.gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except OSError:
        return  # it is there, or the folder cannot be written
    with open(fd, "wb") as file:
        file.write(b"*\n")


def is_job(text: str) -> bool:
    """Whether `text` can be a job id."""
    return (
        0 < len(text) <= 128
        and text.isascii()
        and text[0].isalnum()
        and all(ch.isalnum() or ch in "_.-" for ch in text)
    )


def new_job(name: str, *, now_s: float, chance: bytes) -> str:
    """A fresh job id: `<name>-<UTC yyyymmdd-hhmmss>-<4 hex>`."""
    import re  # reading what is there does not pay for it

    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:64] or "run"
    return f"{plain}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now_s))}-{chance.hex()[:4]}"


def began(run: RunDir) -> bool:
    """Whether the run got as far as a first record; one killed earlier did nothing and is no run.

    One that has left something did begin, whatever became of its journal.
    """
    try:
        with open(run.journal, "rb") as file:
            if file.readline(_RECORD_BYTES).endswith(b"\n"):
                return True
    except FileNotFoundError:
        pass
    return _left_something(run)


def _left_something(run: RunDir) -> bool:
    """Whether a Step of it has started, or been done."""
    for folder in (run.logs, run.work):
        try:
            with os.scandir(folder) as entries:
                if next(entries, None) is not None:
                    return True
        except OSError:
            continue
    return False


def never_began(run: RunDir) -> RunProblem:
    """What to say of a run without a first record: it was cut off before that, or is just beginning."""
    if _left_something(run):
        return RunProblem(
            say("the journal of run {job} is damaged: its first record cannot be read", job=run.job),
            hint=say("what the run has made is in {work}", work=run.work),
        )
    if _held(run.journal):
        return RunProblem(say("run {job} is just beginning", job=run.job), hint="ask again in a moment")
    return RunProblem(
        say("run {job} never began: it was cut off before its first record", job=run.job),
        hint=say("start it with: dsec run --job-id {job}", job=run.job),
    )


def _asked_for(run: RunDir) -> RunDir:
    """The run, if it began or is just beginning (its journal is held)."""
    if began(run) or _held(run.journal) or began(run):
        return run
    raise never_began(run)


def _held(journal: str) -> bool:
    """Whether a process has locked the journal; trying to lock it would get in the way of one that begins."""
    try:
        node = f":{os.stat(journal).st_ino} "
        with open("/proc/locks") as file:
            return any(" FLOCK " in line and node in line for line in file)
    except OSError:
        return False


def find(folder: str, environ: Mapping[str, str], job: str | None) -> RunDir:
    """The run `job` (an id or a run's folder), or the latest one, in the nearest `.dsec` upwards."""
    if job and os.path.isfile(os.path.join(job, "journal")):
        path = os.path.abspath(job)
        return _asked_for(RunDir(os.path.basename(path), path))
    state = nearest(folder, environ)
    if job:
        path = os.path.join(state, "runs", job)
        if is_job(job) and os.path.isfile(os.path.join(path, "journal")):
            return _asked_for(RunDir(job, path))
        raise RunProblem(
            say("there is no run {job!r} in {state}", job=job, state=state), hint=_known(state, job)
        )
    found = latest(state)
    if found is None:
        raise RunProblem(
            say("there is no run in {state}", state=state),
            hint="start one with dsec run, or go to the contract's folder",
        )
    return _asked_for(found)


def latest(state: str) -> RunDir | None:
    """The run that began last; one that never began only where there is no other."""
    newest = _newest(state)
    return RunDir(newest[0], f"{state}/runs/{newest[0]}") if newest else None


def _newest(state: str) -> list[str]:
    """All runs, the one that began last first."""
    starts = [(_begun(f"{state}/runs/{job}/journal"), job) for job in _jobs(state)]
    return [job for _, job in sorted(starts, reverse=True)]


def _begun(journal: str) -> int:
    """Wall-clock start of a run, from its journal's first record; 0: unreadable."""
    with open(journal, "rb") as file:
        _, _, stated = file.readline(4096).partition(b'"wall_ms":')
    digits = stated[: len(stated) - len(stated.lstrip(b"0123456789"))]
    return int(digits) if digits else 0


def _jobs(state: str) -> list[str]:
    try:
        names = sorted(os.listdir(f"{state}/runs"))
    except FileNotFoundError:
        return []
    return [name for name in names if is_job(name) and os.path.isfile(f"{state}/runs/{name}/journal")]


def _known(state: str, meant: str) -> str:
    """The runs that began last, before them the one whose name is near `meant`."""
    from difflib import get_close_matches  # only a wrong name pays for it

    newest = _newest(state)
    if not newest:
        return say("there are none yet")
    shown = ", ".join(newest[:_SHOWN])
    more = len(newest) - _SHOWN
    here = (
        say("runs here: {jobs}", jobs=shown)
        if more < 1
        else say("runs here: {jobs}, and {more} more", jobs=shown, more=more)
    )
    near = get_close_matches(meant, newest, 1)
    return say("did you mean {word!r}? {here}", word=near[0], here=here) if near else here


def nearest(folder: str, environ: Mapping[str, str]) -> str:
    """The state folder that holds runs, upwards from `folder`; else the one that would hold them."""
    if environ.get("DSEC_HOME"):
        return home(folder, environ)
    at = os.path.abspath(folder)
    while not os.path.isdir(f"{at}/.dsec/runs"):
        above = os.path.dirname(at)
        if above == at:
            return home(folder, environ)
        at = above
    return f"{at}/.dsec"
