"""Keeps the findings that are new since a commit, by linting each file as it was then.

Comparing lines alone would call everything new that was moved, and miss what a change elsewhere
brought about. So a finding is older when the old text had one with the same fingerprint, and the
lines it speaks of say the same. Git is asked; nothing of its folder is read.
"""

from __future__ import annotations

import os
import subprocess

from dsec.errors import FileProblem
from dsec_cli.exit import UsageError
from dsec_cli.report.fingerprint import fingerprints
from dsec_cli.snapshot.git import quiet_options, surroundings
from dsec_cli.source.text import SourceText
from dsec_cli.words import say

_CONFIGURED = ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec_cli.diagnostics import Diagnostic

    Lint = Callable[[SourceText], tuple[Diagnostic, ...]]

DEADLINE_S = 60
_SUBMODULE = b"160000"
"""The mode of an entry that is a commit of another repository."""


class Commit:
    """One commit of the repository that the current folder is in."""

    def __init__(self, ref: str) -> None:
        self.top = os.fsdecode(_git(["rev-parse", "--show-toplevel"], os.curdir).rstrip(b"\n"))
        self._ref = ref
        self._id = self._resolved(ref)
        self._renamed: dict[str, str] | None = None

    def _resolved(self, ref: str) -> str:
        asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"]
        done = _run(asked, self.top)
        if done.returncode != 0 or not ref:
            raise UsageError(
                say("git knows no commit {ref!r}", ref=ref),
                hint="fetch it first; CI often has the last commit only",
            )
        return done.stdout.decode().strip()

    def content(self, file: str) -> bytes | None:
        """What `file` held in the commit, under its name then; None when it was not there."""
        path = os.path.relpath(os.path.realpath(file), os.path.realpath(self.top))
        if path.split(os.sep)[0] == os.pardir:
            raise FileProblem(
                say("{file} is not in the repository {top}", file=file, top=self.top),
                hint="run it in the file's own",
            )
        found = _blob(self.top, self._id, path)
        if found is None and (before := self._renames().get(path)) is not None:
            found = _blob(self.top, self._id, before)
        return _in_submodule(self.top, self._id, path) if found is None else found

    def _renames(self) -> dict[str, str]:
        """New name to old one, for what git takes for renamed since."""
        if self._renamed is None:
            asked = ["diff", "--no-ext-diff", "--name-status", "-z", "-M", "--diff-filter=R", self._id, "--"]
            words = os.fsdecode(_git(asked, self.top)).split("\0")
            self._renamed = {words[at + 2]: words[at + 1] for at in range(0, len(words) - 2, 3)}
        return self._renamed


def _blob(top: str, commit: str, path: str) -> bytes | None:
    done = _run(["cat-file", "blob", f"{commit}:{path}"], top)
    return done.stdout if done.returncode == 0 else None


def _in_submodule(top: str, commit: str, path: str) -> bytes | None:
    """What the file held in the commit of a submodule (or of one in it) that `commit` names."""
    folder, _, rest = path.partition("/")
    while rest:
        row = _git(["ls-tree", commit, "--", f":(top,literal){folder}"], top).split()
        if row[:1] == [_SUBMODULE]:
            inner, named = os.path.join(top, folder), row[2].decode()
            if _run(["cat-file", "-e", named], inner).returncode != 0:
                raise FileProblem(
                    say(
                        "the submodule {folder} has not the commit of then, {commit}",
                        folder=folder,
                        commit=named,
                    ),
                    hint=say("fetch it: git -C {inner} fetch", inner=inner),
                )
            found = _blob(inner, named, rest)
            return _in_submodule(inner, named, rest) if found is None else found
        step, _, rest = rest.partition("/")
        folder = f"{folder}/{step}"
    return None


class Since:
    """Lints texts as they are and as they were; `older` counts what was there before."""

    def __init__(self, ref: str, lint: Lint) -> None:
        self.older = 0
        self._ref = ref
        self._commit = Commit(ref)
        self._lint = lint

    def __call__(self, text: SourceText) -> tuple[Diagnostic, ...]:
        """What is found in `text` and is newer than the commit."""
        found = self._lint(text)
        content = self._commit.content(text.name)
        if content is None or not found:
            return found
        kept: tuple[Diagnostic, ...] = ()
        if content != text.data:
            old_text = SourceText.from_bytes(text.name, content)
            kept = _newer((found, text), (self._lint(old_text), old_text))
        self.older += _counting(found) - _counting(kept)
        return kept

    def notes(self) -> tuple[str, ...]:
        """What to say about the findings that are left out."""
        if not self.older:
            return ()
        return (say("{count} findings are older than {ref} and not shown", count=self.older, ref=self._ref),)


def _counting(diagnostics: tuple[Diagnostic, ...]) -> int:
    return sum(one.silenced is None for one in diagnostics)


def _newer(
    now: tuple[tuple[Diagnostic, ...], SourceText], then: tuple[tuple[Diagnostic, ...], SourceText]
) -> tuple[Diagnostic, ...]:
    """The diagnostics of now that then had not, or whose lines have changed."""
    (found, text), (old, old_text) = now, then
    before = {
        key: one
        for one, key in zip(old, fingerprints(old, {old_text.name: old_text}), strict=True)
        if one.silenced is None
    }
    prints = fingerprints(found, {text.name: text})
    return tuple(
        one
        for one, key in zip(found, prints, strict=True)
        if key not in before or _changed((one, text), (before[key], old_text))
    )


def _changed(new: tuple[Diagnostic, SourceText], old: tuple[Diagnostic, SourceText]) -> bool:
    """Whether the lines of a finding say something else; one about the whole document has none."""
    return new[0].path != "" and _lines(*new) != _lines(*old)


def _lines(one: Diagnostic, text: SourceText) -> list[list[str]]:
    """The words of the lines that a finding stands on, however they are indented."""
    return [text.line_text(line).split() for line in range(one.place.start.line, one.place.end.line + 1)]


def _git(words: list[str], folder: str) -> bytes:
    done = _run(words, folder)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("fatal: ")
        raise FileProblem(
            say("git could not say what has changed: {said}", said=said),
            hint="--since needs a git repository",
        )
    return done.stdout


def _configured(environ: Mapping[str, str]) -> dict[str, str]:
    """What the user configures by the environment: some systems allow a checkout's owner in this way."""
    return {name: value for name, value in environ.items() if name.startswith(_CONFIGURED)}


def _run(words: list[str], folder: str) -> subprocess.CompletedProcess[bytes]:
    # Of a repository that somebody sent, git runs what .git/config names: a monitor, a filter, a transport.
    try:
        return subprocess.run(
            ["git", "--no-pager", *quiet_options(), *words],
            cwd=folder,
            env={**surroundings(os.environ), **_configured(os.environ)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE_S,
        )
    except FileNotFoundError as problem:
        raise FileProblem("git is not installed", hint="--since asks git what has changed") from problem
    except subprocess.TimeoutExpired as problem:
        raise FileProblem(
            say("git has not answered for {deadline_s} s", deadline_s=DEADLINE_S), hint="try: git status"
        ) from problem
