"""Finds runs and their state for commands, and refuses what somebody else may have put there."""

from __future__ import annotations

import os

from dsec import ownership, rundir
from dsec.containment import open_beneath
from dsec.errors import RunProblem
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec.rundir import RunDir

SETTING = "safe-directory"
_DOCUMENTS = ("plan.json", "journal", "audit", "contention.json", "dependencies.json", "snapshots.log")
_FOLDERS = ("logs", "metrics", "probe", "seeds")


def find(folder: str, environ: Mapping[str, str], job: str | None, *, acts: bool = False) -> RunDir:
    """The run `job` (an id or a run's folder), or the latest one, in the nearest `.dsec` upwards.

    What is found by looking must be this user's. A folder that was named may be anybody's, as a run that
    somebody sent is looked at like this, unless the command `acts`: carries commands out, sends signals.
    """
    named = bool(job) and os.path.isfile(os.path.join(job or "", "journal"))
    if not named:
        refuse_foreign(rundir.nearest(folder, environ), environ)
    run = rundir.find(folder, environ, job)
    _refuse_strays(run)
    if acts or not named:
        refuse_foreign(run.path, environ)
        for path in (os.path.dirname(run.path), run.plan, run.journal):
            refuse_foreign(path, environ, above=False)
    return run


def _refuse_strays(run: RunDir) -> None:
    """Raise RunProblem where a document of the run is a link, a pipe or a file with another name.

    A clone or an archive may hold a run, and a link in it leads to a file of whoever looks at the run.
    """
    for name in _DOCUMENTS:
        try:
            os.close(open_beneath(run.path, name))
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise RunProblem(
                say("{path} is not read: {why}", path=f"{run.path}/{name}", why=system(problem)),
                hint="a run's files are within its folder; copy the run anew: cp -r",
            ) from None
    for name in _FOLDERS:
        if os.path.islink(f"{run.path}/{name}"):
            raise RunProblem(
                say("{path} is not read: {why}", path=f"{run.path}/{name}", why=say("it is a symbolic link")),
                hint="a run's files are within its folder; copy the run anew: cp -r",
            )


def home(folder: str, environ: Mapping[str, str]) -> str:
    """The state folder that belongs to the contract's folder; raises RunProblem for another's."""
    state = rundir.home(folder, environ)
    refuse_foreign(state, environ, above=False)
    return state


def refuse_foreign(path: str, environ: Mapping[str, str], *, above: bool = True) -> None:
    """Raise RunProblem where somebody else decides about `path`, and the user has not allowed it."""
    _refuse(path, ownership.foreign(path, environ, above=above), environ)


def refuse_strange(state: str, names: Iterable[str], environ: Mapping[str, str]) -> None:
    """Raise RunProblem where one of these parts of a state folder is a link, or is not ours alone.

    A clone may hold them, and a link in it leads to files of whoever works in the clone.
    """
    for name in names:
        path = os.path.join(state, name)
        is_link = os.path.islink(path)
        why = say("it is a symbolic link") if is_link else ownership.foreign(path, environ, above=False)
        _refuse(path, why, environ)


def _refuse(path: str, why: str, environ: Mapping[str, str]) -> None:
    if not why:
        return
    allowed = _allowed(environ)
    if ownership.is_allowed(path, allowed) or ownership.is_allowed(os.path.dirname(path), allowed):
        return
    import shlex  # only refusals quote

    folder = os.path.dirname(path) if os.path.basename(path) == ".dsec" else path
    raise RunProblem(
        say("{path} is not taken: {why}", path=path, why=why),
        hint=say(
            "if you trust it: dsctl config set {setting} {folder}, or {variable}={folder}",
            setting=SETTING,
            variable=ownership.ALLOWED,
            folder=shlex.quote(":".join(filter(None, (allowed, _upwards_of_state(folder))))),
        ),
    )


def _upwards_of_state(path: str) -> str:
    """The folder that holds the `.dsec` which `path` is in; `path` where it is in none."""
    before, mark, _ = path.partition("/.dsec/")
    return before if mark else path


def _allowed(environ: Mapping[str, str]) -> str:
    """The folders that the environment allows, else the settings; a project's configuration has no say."""
    if ownership.ALLOWED in environ:
        return environ[ownership.ALLOWED]
    from dsec_cli.settings import settings_path, value_of  # only where something would be refused

    return value_of(SETTING, path=settings_path())
