"""A package or a version that the index does not offer, or that its publisher has taken back.

Why: The environment cannot be built from it, or only as long as somebody keeps an old copy. This is
looked at only where an index is asked: dsec packages --resolve.

Bad (yaml):
    # agent-train-sandbox.yaml
    # published: transformers 4.40.0, 4.40.2
    base: registry.example/dsec-python311-cu121:1.4.0
    dependencies:
      - package: transformers
        version: "==4.40.7"

Good (yaml):
    # agent-train-sandbox.yaml
    # published: transformers 4.40.0, 4.40.2
    base: registry.example/dsec-python311-cu121:1.4.0
    dependencies:
      - package: transformers
        version: "==4.40.2"

Source: seed B section 2 (package versions).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.rules.packages_conflict import version_path
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.packages.conflicts import Entry
    from dsec_cli.packages.held import Published


def check(facts: Facts) -> Iterator[Finding]:
    """Every package that the index was asked for."""
    if facts.around.packages is None:
        return
    from dsec_cli.packages.conflicts import entries_of
    from dsec_cli.packages.held import Held

    held = facts.around.packages
    if not isinstance(held, Held):
        return
    for entry in entries_of(facts.contract):
        offered = held.published.get(entry.name)
        if offered is not None:
            yield from _judged(facts, entry, offered)


def _judged(facts: Facts, entry: Entry, offered: Published) -> Iterator[Finding]:
    from dsec.core.pep440 import satisfies

    if not offered.versions:
        message = say("the index has no package {package}", "no-package", package=entry.name)
        yield _finding(
            facts, entry, message, say("check the name; an index of one's own is named by --index")
        )
        return
    meant = [one for one in offered.versions if satisfies(entry.wanted, one)]
    if not meant:
        message = say(
            "the index has no {package} in {wanted}", "no-version", package=entry.name, wanted=entry.wanted
        )
        newest = ", ".join(offered.versions[:-4:-1])
        yield _finding(facts, entry, message, say("the newest ones are {newest}", newest=newest))
    elif all(one in offered.yanked for one in meant):
        message = say(
            "{package} {version} was taken back by its publisher{why}",
            "yanked",
            package=entry.name,
            version=", ".join(meant),
            why=f": {offered.yanked[meant[-1]]}" if offered.yanked[meant[-1]] else "",
        )
        good = [one for one in offered.versions if one not in offered.yanked]
        advice = say("{version} was not", version=good[-1]) if good else say("so was every other one")
        yield _finding(facts, entry, message, advice)


def _finding(facts: Facts, entry: Entry, message: str, advice: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=version_path(facts, entry),
        message=message,
        reason=say("the environment is built from what the index offers"),
        help=advice,
    )


RULE = Rule("DS112", "version-not-published", Severity.ERROR, check, when=("given:packages",))
