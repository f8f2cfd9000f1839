"""A Step holds tokens that the contract does not declare, or more than there are.

Why: `tokens` counts what only so many Steps may hold at a time: licences, seats, calls of a service. A
Step that asks for a token nobody declared, or for more than the contract has, can never start.

Bad (yaml):
    # ds_config.yaml
    tokens: {judge-api: 2}
    steps:
      - {id: score, run: python score.py, timeout: 60s, resources: {tokens: {jugde-api: 1}}}

Good (yaml):
    # ds_config.yaml
    tokens: {judge-api: 2}
    steps:
      - {id: score, run: python score.py, timeout: 60s, resources: {tokens: {judge-api: 1}}}

Source: the scheduler starts a Step when all that it holds is free; what does not exist is never free.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import arguments, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsec_cli.contract.values import Step
    from dsec_cli.source.tree import Path

MOST_SUGGESTIONS = 50
"""Each compares a name with every token; a text with more unknown names is generated, not misspelt."""


def check(facts: Facts) -> Iterator[Finding]:
    """What Steps hold against what the contract has."""
    known = dict(facts.contract.tokens or ())
    stated = facts.states(("tokens",))
    if not known and (stated or not facts.lacks(("tokens",)) or facts.contract.kind != "contract"):
        return  # what is declared could not be read, or stands in the contract beside
    unknown = 0
    for step in facts.contract.steps:
        for name, count in step.demand.tokens or ():
            path = (*step.demand.path, "tokens", name)
            if name not in known:
                if stated and facts.states(("tokens", name)):
                    continue  # its number could not be read
                unknown += 1
                yield _undeclared(facts, step, path, known if unknown <= MOST_SUGGESTIONS else {})
            elif count > known[name]:
                yield _too_many(facts, step, path, count, known[name])


def _undeclared(facts: Facts, step: Step, path: Path, known: Mapping[str, int]) -> Finding:
    name = str(path[-1])
    declare = say("declare it at the top: tokens: {{{name}: NUMBER}}", name=name)
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=say(
            "Step {step} holds the token {name}, which the contract does not declare",
            "undeclared",
            step=step.id,
            name=name,
        ),
        reason=say("what does not exist is never free, so the Step can never start"),
        help=did_you_mean(name, known) or declare,
        part="key",
    )
    word = arguments(found.help).get("word")
    if word is None:
        return found
    from dsec_cli.lint.edits import renamed  # only a finding pays for it
    from dsec_cli.lint.mend import with_fix

    return with_fix(found, say("write {value}", value=str(word)), renamed(facts, path, str(word)), safe=False)


def _too_many(facts: Facts, step: Step, path: Path, wanted: int, most: int) -> Finding:
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=say(
            "Step {step} holds {wanted} tokens {name}, but the contract has {most}: {over} too many",
            "over",
            step=step.id,
            wanted=wanted,
            name=path[-1],
            most=most,
            over=wanted - most,
        ),
        reason=say("what does not exist is never free, so the Step can never start"),
        help=say(
            "raise tokens.{name} to {wanted}, or let the Step hold {most}",
            name=path[-1],
            wanted=wanted,
            most=most,
        ),
        related=(Related(("tokens", path[-1]), say("{most} declared here", most=most)),),
    )
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    return with_value(facts, found, path, most)


RULE = Rule("DS212", "token-not-declared", Severity.ERROR, check, when=("tokens-held",))
