"""Two packages that can never be installed together.

Why: One of them, or a package that it brings along, wants versions of the other that the contract
rules out. The environment cannot be built, or is built with one of the two broken, which shows when
a Step has been running for a while.

Bad (yaml):
    # agent-train-sandbox.yaml
    base: registry.example/dsec-python311-cu121:1.4.0
    dependencies:
      - package: trl
        version: "==0.9.6"
      - package: transformers
        version: "==4.20.1"

Good (yaml):
    # agent-train-sandbox.yaml
    base: registry.example/dsec-python311-cu121:1.4.0
    dependencies:
      - package: trl
        version: "==0.9.6"
      - package: transformers
        version: "==4.40.2"

Source: seed B section 2 (package versions); the table of what releases require is in
docs/reference/package-table.md.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Fix, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import joined, say

_MOST_NAMED = 8
INDEX = "index"
"""Where a range comes from that no contract states: what a package index offers."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.packages.alternatives import Alternative
    from dsec_cli.packages.conflicts import Conflict, Entry
    from dsec_cli.packages.held import Held
    from dsec_cli.source.tree import Path
    from dsec_cli.words import Said


def check(facts: Facts) -> Iterator[Finding]:
    """Every pair of packages, and every package with the Python, if that is known."""
    count = sum(one.package is not None for one in facts.contract.dependencies)
    if count == 0 or (count == 1 and facts.around.packages is None):
        return
    # Only contracts with packages pay for the table.
    from dsec_cli.packages.conflicts import entries_of
    from dsec_cli.packages.disputes import disputes
    from dsec_cli.packages.held import NOTHING, Held

    held = facts.around.packages if isinstance(facts.around.packages, Held) else NOTHING
    for conflict, alternative in disputes(entries_of(facts.contract), held):
        yield _finding(facts, held, conflict, alternative)


def _finding(facts: Facts, held: Held, conflict: Conflict, alternative: Alternative | None) -> Finding:
    one, other = conflict.one.entry, conflict.other.entry
    # The later of the two stands where both are known; the one that can change is the one to look at.
    named = alternative.entry if alternative is not None else other if other.path else one
    beside = one if named == other else other
    where = version_path(facts, named)
    related = (
        (Related(version_path(facts, beside), say("{entry} is wanted here", entry=beside.text)),)
        if beside.path
        else ()
    )
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=where,
        message=_message(named, beside, conflict),
        reason=reason(conflict),
        help=_help(alternative, asked=bool(held.disputes)),
        related=related,
        fixes=_fixes(facts, where, alternative),
    )


def _message(named: Entry, beside: Entry, conflict: Conflict) -> Said:
    if beside.origin == INDEX and not beside.wanted:
        return say("{entry} cannot be installed from the index", "not-there", entry=named.text)
    others = [beside, *conflict.more[:_MOST_NAMED]]
    texts = joined(" and ", [one.text for one in others])
    return say("{entry} cannot go with {other}", "packages", entry=named.text, other=texts)


def version_path(facts: Facts, entry: Entry) -> Path:
    """The entry's version, or its package where it states none."""
    version = (*entry.path, "version")
    return version if facts.node(version) is not None else (*entry.path, "package")


def reason(conflict: Conflict) -> str:
    """Both chains, what goes wrong, and where that is written."""
    chains = say("{one} versus {other}", one=conflict.one.words, other=conflict.other.words)
    sources = ", ".join(conflict.sources[:2])
    if conflict.why:
        return say("{chains}: {why} ({sources})", chains=chains, why=conflict.why, sources=sources)
    return say("{chains} ({sources})", chains=chains, sources=sources) if sources else chains


def _help(alternative: Alternative | None, *, asked: bool) -> str:
    """`asked`: a resolver has been."""
    if alternative is None and asked:
        return say("no version of one of the two was found that fits all else: change both ranges")
    if alternative is None:
        return say(
            "no version of one of the two was found that fits all else: dsec packages --resolve looks further"
        )
    wanted, package = alternative.wanted, alternative.entry.name
    if len(alternative.works) < 2:
        return say('write "{wanted}" for {package}', wanted=wanted, package=package)
    works = ", ".join(f"{name} {version}" for name, version in alternative.works)
    return say(
        'write "{wanted}" for {package}: {works} fit together', wanted=wanted, package=package, works=works
    )


def _fixes(facts: Facts, where: Path, alternative: Alternative | None) -> tuple[Fix, ...]:
    if alternative is None or where[-1] != "version":
        return ()
    from dsec_cli.lint.edits import replaced

    edits = replaced(facts, where, alternative.wanted)
    title = say("want {package} {wanted}", package=alternative.entry.name, wanted=alternative.wanted)
    return (Fix(title, edits, safe=False),) if edits else ()


RULE = Rule("DS110", "packages-conflict", Severity.ERROR, check, when=("packages",))
