"""A version that is not semantic (SemVer).

Why: Whether a loaded model or environment fits is decided by its version alone: 1.3.0 is not
satisfied by 1.2.9. A version that cannot be ordered cannot be checked, and an old model is loaded
without anybody noticing.

Bad (yaml):
    dependencies:
      - name: sim_env
        version: v4.2
        type: environment
        source: ds://environments/sim

Good (yaml):
    dependencies:
      - name: sim_env
        version: 4.2.0
        type: environment
        source: ds://environments/sim

Source: seed A section 2.2 (the version must be semantic; the seed's own `v4.2` is a near miss).
"""

from __future__ import annotations

from dsec.versions import coerced, is_semver, reads_as_float
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.tree import Scalar
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract
    from dsec_cli.source.tree import Path


def check(facts: Facts) -> Iterator[Finding]:
    """The contract's own version and those of the models, environments and data it names."""
    for path, version in _versions(facts.contract):
        if not is_semver(version) and not _number(facts, path):
            yield _finding(facts, path, version)


def _versions(contract: Contract) -> Iterator[tuple[Path, str]]:
    if contract.version is not None:
        yield ("version",), contract.version
    for dependency in contract.dependencies:
        if dependency.package is None and dependency.version is not None:
            yield (*dependency.path, "version"), dependency.version


def _number(facts: Facts, path: Path) -> bool:
    """An unquoted `1.2` is told by DS103 already."""
    node = facts.node(path)
    return isinstance(node, Scalar) and node.style == "plain" and reads_as_float(node.text)


def _finding(facts: Facts, path: Path, version: str) -> Finding:
    meant = coerced(version)
    found = Finding(
        code=RULE.code,
        severity=Severity.WARNING if meant else RULE.severity,
        where=path,
        message=say(
            "version {version!r} is not semantic (MAJOR.MINOR.PATCH)",
            "version-semantic-majorminorpatch",
            version=version,
        ),
        reason=say("a version that cannot be ordered cannot be checked, so an old one is loaded unnoticed"),
        help=say("write {meant}", meant=meant) if meant else say("write one exact version such as 1.3.0"),
    )
    if not meant:
        return found
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    return with_value(facts, found, path, str(meant))


RULE = Rule("DS107", "version-not-semver", Severity.ERROR, check, when=("odd-version",))
