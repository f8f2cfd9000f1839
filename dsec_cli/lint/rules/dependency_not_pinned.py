"""A dependency whose content may change under the same name: a git branch, or a URL without a hash.

Why: Hashes are checked before the first Step, so that yesterday's result can be had again today. A
branch is whatever was pushed last; a URL or an object without a hash is whatever lies there now. A
full commit, a version tag, a `hash`, and `ds://` (a registry keeps one content per version) are
fixed.

Bad (yaml):
    dependencies:
      - name: sim_env
        version: 4.2.0
        type: environment
        source: git+ssh://git@internal.git/sim-env@main#subdirectory=core

Good (yaml):
    dependencies:
      - name: sim_env
        version: 4.2.0
        type: environment
        source: git+ssh://git@internal.git/sim-env@v4.2.0#subdirectory=core

Source: seed A section 2.1 (hashes of dependencies are checked before the sandbox starts).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Dependency

REMOTE = frozenset(("http", "https", "s3", "gs", "gcs", "oss", "cos", "obs", "tos", "r2", "ftp", "sftp"))
HEX = frozenset("0123456789abcdef")
SHORTEST_COMMIT = 7


def check(facts: Facts) -> Iterator[Finding]:
    """Dependencies without a hash whose source does not fix the content either."""
    for dependency in facts.contract.dependencies:
        source = dependency.source
        if dependency.package is not None or source is None or dependency.hash is not None:
            continue
        remote = _by_commit(source) or ("://" in source and source.partition("://")[0].lower() in REMOTE)
        if not remote or not facts.lacks((*dependency.path, "hash")):
            continue
        if _by_commit(source):
            yield from _branch(dependency, _reference(source))
        else:
            yield _finding(
                dependency,
                say("{name} comes from a URL without a hash", "no-hash", name=dependency.name or "?"),
                say("add `hash: sha256:...`; `dsec hash FILE` prints it"),
            )


def _branch(dependency: Dependency, reference: str) -> Iterator[Finding]:
    if _commit(reference) or _version(reference):
        return
    said = say("branch {name}", name=reference) if reference else say("its newest commit")
    yield _finding(
        dependency,
        say("{name} comes from git at {what}, which moves", "branch", name=dependency.name or "?", what=said),
        say("name a full commit or a version tag after @, or add `hash: sha256:...`"),
    )


def _finding(dependency: Dependency, message: str, advice: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*dependency.path, "source"),
        message=message,
        reason=say("the same contract would load something else tomorrow, and nobody would notice"),
        help=advice,
    )


def _by_commit(source: str) -> bool:
    """Whether what the source names is fixed by a commit: git, and a model hub's revision that is stated."""
    return _git(source) or (source.startswith("hf://") and "@" in source)


def _git(source: str) -> bool:
    address = source.partition("#")[0].partition("?")[0]
    return source.startswith(("git+", "git://", "git@")) or address.endswith(".git") or ".git@" in address


def _reference(source: str) -> str:
    """What stands after the `@` of the path; the one before the host is a user's."""
    address = source.partition("#")[0]
    _, mark, rest = address.partition("://")
    path = rest.partition("/")[2] if mark else address.partition(":")[2]
    return path.rpartition("@")[2] if "@" in path else ""


def _commit(reference: str) -> bool:
    low = reference.lower()
    return SHORTEST_COMMIT <= len(low) <= 64 and HEX.issuperset(low) and any(char.isdigit() for char in low)


def _version(reference: str) -> bool:
    """`v4.2.0`, `release-1.3`, `2024.05`: a name with a dotted number is a tag."""
    number = reference.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_/")
    first, dot, rest = number.partition(".")
    return first.isdigit() and bool(dot) and rest[:1].isdigit()


RULE = Rule("DS402", "dependency-not-pinned", Severity.WARNING, check, when=("source",))
