"""Asks git about a work tree; nothing that the repository configures is executed, and nothing is written.

`.git` is never walked. Hooks, fsmonitor, external diffs, textconv, filters, lazy fetches and
transports are all switched off: a repository that somebody sent must be safe to look at.
"""

from __future__ import annotations

import os
import re
import subprocess

from dsec.errors import DSecError
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TIMEOUT_S = 120.0
_SAFE = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.askPass=",
    "core.pager=cat",
    "core.editor=false",
    "diff.external=",
    "protocol.allow=never",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "log.showSignature=false",
    "safe.bareRepository=explicit",
    "advice.detachedHead=false",
)
_KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES")
_PLAIN_NAME = re.compile(r"[\w.-]{1,100}\Z")
_BUSY = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


class GitProblem(DSecError):
    """Git could not tell; caught where files are listed, which then does without it."""


class Listed(Record):
    """A path that git knows in the work tree."""

    path: bytes
    """From the folder that was asked about."""
    mode: str
    """As in the index: 100644, 100755, 120000 a link, 160000 a submodule; "" for an untracked one."""
    blob: str
    """Git's id of the content in the index; "" for an untracked one."""


class Repository(Record):
    """What git says of the work tree around a folder."""

    top: str
    prefix: str
    """The folder's path from there, with a slash behind it; ""."""
    commit: str
    """"": there is none yet."""
    branch: str
    """"": detached."""
    upstream: str
    busy: str
    """`rebase`, `merge` ... that is under way; ""."""
    shallow: bool
    remotes: tuple[tuple[str, str], ...]
    """(name, address as it is configured: with credentials)."""
    tracked: tuple[Listed, ...]
    untracked: tuple[bytes, ...]
    ignored: tuple[bytes, ...]
    """Files and, with a slash behind them, whole folders."""
    states: tuple[tuple[bytes, str], ...]
    """(path, `XY` as porcelain v2 has it) of what is not as in HEAD."""


class Git:
    """Git in one folder."""

    def __init__(
        self, folder: str, environ: Mapping[str, str], *, extra: tuple[str, ...] = (), literal: bool = True
    ) -> None:
        """`literal`: paths are names and nothing else, also where they begin with a colon."""
        self.folder = folder
        self._paths = "--literal-pathspecs" if literal else "--no-literal-pathspecs"
        self._environ = surroundings(environ)
        self._options = [word for one in (*_SAFE, *extra) for word in ("-c", one)]
        self._place: tuple[str, ...] = ()

    def elsewhere(self, repository: str) -> Git:
        """The same, with a repository that is not in the folder."""
        other = Git(self.folder, self._environ)
        other._options = self._options
        other._place = (f"--git-dir={repository}", f"--work-tree={self.folder}")
        return other

    def ask(self, *words: str, ok: tuple[int, ...] = (0,)) -> bytes:
        """What `git words` prints; raises GitProblem."""
        argv = ["git", "--no-pager", self._paths, *self._options, *self._place, *words]
        try:
            done = subprocess.run(
                argv,
                cwd=self.folder,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except FileNotFoundError:
            raise GitProblem("git is not installed") from None
        except subprocess.TimeoutExpired:
            raise GitProblem(f"git {words[0]} did not end within {TIMEOUT_S:g} s") from None
        except OSError as problem:
            raise GitProblem(f"git could not be started: {problem.strerror}") from None
        if done.returncode not in ok:
            said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
            raise GitProblem(said.removeprefix("fatal: ") or f"git {words[0]} ended with {done.returncode}")
        return done.stdout


def surroundings(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would lead git elsewhere, and with what keeps it quiet."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_PAGER": "cat",
    }


def quiet_options() -> list[str]:
    """Options of git with which a repository's own configuration makes it run nothing."""
    return [word for one in _SAFE for word in ("-c", one)]


def look(folder: str, environ: Mapping[str, str]) -> Repository | None:
    """The repository that `folder` is in; None: there is none. Raises GitProblem where git refuses."""
    git = Git(folder, environ)
    try:
        told = git.ask(
            "rev-parse", "--show-toplevel", "--show-prefix", "--absolute-git-dir", "--is-shallow-repository"
        )
    except GitProblem as problem:
        if "not a git repository" in problem.what:
            return None
        raise
    top, prefix, place, shallow = (os.fsdecode(line) for line in told.split(b"\n")[:4])
    if os.path.realpath(os.path.join(top, prefix)) != os.path.realpath(folder):
        raise GitProblem("its repository says that the work tree is elsewhere (core.worktree)")
    settings = _settings(git)
    git = Git(folder, environ, extra=_without_filters(settings))
    return _described(git, _remotes(settings), where=(top, prefix, place, shallow == "true"))


def _described(
    git: Git, remotes: tuple[tuple[str, str], ...], *, where: tuple[str, str, str, bool]
) -> Repository:
    top, prefix, place, shallow = where
    head, states, untracked, ignored = _status(
        git.ask(
            *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignored=matching"),
            *("--ignore-submodules=all", "--no-renames", "--", "."),
        ),
        len(os.fsencode(prefix)),
    )
    commit = head.get("oid", "")
    branch = head.get("head", "")
    return Repository(
        top=top,
        prefix=prefix,
        commit="" if commit == "(initial)" else commit,
        branch="" if branch == "(detached)" else branch,
        upstream=head.get("upstream", ""),
        busy=next((word for name, word in _BUSY if os.path.lexists(os.path.join(place, name))), ""),
        shallow=shallow,
        remotes=remotes,
        tracked=_tracked(git.ask("ls-files", "-s", "-z")),
        untracked=untracked,
        ignored=ignored,
        states=states,
    )


def _settings(git: Git) -> list[tuple[str, str]]:
    out = git.ask("config", "-z", "--get-regexp", r"^(filter|remote)\.", ok=(0, 1))
    pairs = (entry.partition(b"\n") for entry in out.split(b"\0") if entry)
    return [(os.fsdecode(name), os.fsdecode(value)) for name, _, value in pairs]


def _without_filters(settings: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Settings that make every configured filter do nothing; raises GitProblem for one with an odd name."""
    names = {name[len("filter.") :].rpartition(".")[0] for name, _ in settings if name.startswith("filter.")}
    for name in names:
        if not _PLAIN_NAME.match(name):
            raise GitProblem("it configures a filter with an odd name, which cannot be switched off")
    return tuple(
        f"filter.{name}.{key}={value}"
        for name in sorted(names)
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    )


def _remotes(settings: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    found = {
        name[len("remote.") : -len(".url")]: value
        for name, value in settings
        if name.startswith("remote.") and name.endswith(".url")
    }
    return tuple(sorted(found.items()))


def _tracked(out: bytes) -> tuple[Listed, ...]:
    found: dict[bytes, Listed] = {}
    for entry in out.split(b"\0"):
        facts, tab, path = entry.partition(b"\t")
        if tab:
            mode, blob, _ = facts.decode("ascii").split(" ")
            found.setdefault(path, Listed(path, mode, blob))  # a conflict has up to three
    return tuple(found.values())


_Status = tuple[dict[str, str], tuple[tuple[bytes, str], ...], tuple[bytes, ...], tuple[bytes, ...]]


def _status(out: bytes, cut: int) -> _Status:
    """Branch, changed, untracked and ignored paths; the first `cut` bytes of each lead to the folder."""
    head: dict[str, str] = {}
    states: list[tuple[bytes, str]] = []
    others: dict[bytes, list[bytes]] = {b"?": [], b"!": []}
    for entry in out.split(b"\0"):
        kind, _, rest = entry.partition(b" ")
        if kind == b"#":
            name, _, value = rest.partition(b" ")
            head[name.decode("ascii").removeprefix("branch.")] = os.fsdecode(value)
        elif kind in others:
            others[kind].append(rest[cut:])
        elif kind in (b"1", b"u"):
            fields = rest.split(b" ", 7 if kind == b"1" else 9)
            states.append((fields[-1][cut:], fields[0].decode("ascii")))
    return head, tuple(states), tuple(others[b"?"]), tuple(others[b"!"])


def dirty_diff(
    folder: str,
    environ: Mapping[str, str],
    *,
    against_nothing: bool = False,
    without: Iterable[bytes] = (),
) -> bytes:
    """The difference between HEAD and the work tree below `folder`, less some paths; raises GitProblem."""
    git = Git(folder, environ)
    git = Git(folder, environ, extra=_without_filters(_settings(git)), literal=False)
    base = "4b825dc642cb6eb9a060e54bf8d69288fbee4904" if against_nothing else "HEAD"
    return git.ask(
        *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=all"),
        *("--submodule=short", "--relative", base, "--", "."),
        *(":(exclude,literal)" + os.fsdecode(path) for path in without),
    )


def files_by_rules(folder: str, environ: Mapping[str, str], room: str) -> tuple[bytes, ...]:
    """Files outside any repository, less those that `.gitignore` files name, as git itself reads them.

    `room` is an empty folder for the repository that git wants to have. Raises GitProblem.
    """
    git = Git(folder, {**environ, "GIT_CEILING_DIRECTORIES": folder})
    git.ask("init", "--quiet", "--bare", "--template=", room)
    out = git.elsewhere(room).ask("ls-files", "-z", "--others", "--exclude-standard")
    return tuple(path for path in out.split(b"\0") if path)
