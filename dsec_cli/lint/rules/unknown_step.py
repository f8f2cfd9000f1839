"""A Step that no one has defined is waited for, carried from, or sent to.

Why: A Step that waits for a name nobody has waits for ever. Usually the name is misspelt.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: S1
        run: python load.py
        timeout: 60s
      - id: S2
        run: python train.py
        timeout: 60s
        needs: [S1a]

Good (yaml):
    # ds_config.yaml
    steps:
      - id: S1
        run: python load.py
        timeout: 60s
      - id: S2
        run: python train.py
        timeout: 60s
        needs: [S1]

Source: seed A section 3 (the Step table's dependency column).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.locate import step_ids
from dsec_cli.source.tree import Sequence
from dsec_cli.words import arguments, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsec_cli.contract.values import Contract
    from dsec_cli.source.tree import Path

MOST_SUGGESTIONS = 50
"""Each compares a name with every Step; a text with more unknown names is generated, not misspelt."""


def check(facts: Facts) -> Iterator[Finding]:
    """Names in `needs`, `communication` and `iterations.carried` that are no Step's id."""
    # A Step that is left out of the contract because its id is malformed is told about there.
    ids = step_ids(facts.document)
    known = {step.id for step in facts.contract.steps}.union(ids.values())
    unknown = 0
    if _may_be_unread(facts, ids):
        return
    for path, name, said, others in _mentions(facts.contract):
        if name not in known:
            unknown += 1
            meant = _meant(name, known, known.difference(others)) if unknown <= MOST_SUGGESTIONS else ""
            found = Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=path,
                message=say("{said} {name!r}, but no Step has this id", "step-id", said=said, name=name),
                reason=say("what waits for a Step that does not exist waits for ever"),
                help=meant
                or (say("name a Step of this document") if known else say("this document defines no Steps")),
            )
            yield _mended(facts, found, path)


def _meant(name: str, known: set[str], free: set[str]) -> str:
    """The id that is meant; `fold-2` is none of `fold-0` and `fold-1`, but a Step that is missing."""
    from dsec_cli.contract.suggest import without_numbers  # only a wrong name pays for the import

    plain = without_numbers(name)
    alike = sorted(other for other in known if other != name and without_numbers(other) == plain)
    if plain == name or not alike:
        return did_you_mean(name, free)
    return say(
        "there are {alike}: add a Step {name}, or remove the name",
        alike=", ".join(alike[:3]) + (", ..." if len(alike) > 3 else ""),
        name=name,
    )


def _mended(facts: Facts, found: Finding, path: Path) -> Finding:
    """The finding with the fix that writes the id which its advice proposes."""
    word = arguments(found.help).get("word")
    if word is None:
        return found
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    return with_value(facts, found, path, str(word))


def _mentions(contract: Contract) -> Iterator[tuple[Path, str, str, tuple[str, ...]]]:
    """Where a Step is named, the name, what for, and which Steps cannot be meant there."""
    for step in contract.steps:
        others = (step.id, *(need.step for need in step.needs))
        for need in step.needs:
            yield need.path, need.step, say("Step {id} needs", id=step.id), others
    for link in contract.communication:
        yield (*link.path, "from"), link.source, say("communication runs from"), ()
        yield (*link.path, "to"), link.target, say("communication runs to"), ()
    if contract.iterations is not None:
        for link in contract.iterations.carried:
            yield (*link.path, "from"), link.source, say("an edge is carried from"), ()
            yield (*link.path, "to"), link.target, say("an edge is carried to"), ()


def _may_be_unread(facts: Facts, ids: Mapping[Path, str]) -> bool:
    """Whether a Step has no id, or stands where nothing could be read: any unknown name may be its."""
    for key in ("steps", "tasks"):
        items = facts.node((key,))
        if items is None:
            continue
        if facts.document.gaps and not facts.lacks((key, "")):
            return True
        names = sum(path[0] == key for path in ids)
        if isinstance(items, Sequence) and names < len(items.items) and _nameless(facts, key, items):
            return True
    return False


def _nameless(facts: Facts, key: str, items: Sequence) -> bool:
    """Whether an item has no id at all; one that another has too is told about elsewhere."""
    names = ("id",) if key == "steps" else ("id", "name")
    return any(not any(facts.states((key, at, name)) for name in names) for at in range(len(items.items)))


RULE = Rule("DS501", "unknown-step", Severity.ERROR, check, when=("named-step",))
