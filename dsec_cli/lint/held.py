"""Holds a contract against its agent's code, for the rules that do; without code nothing is even imported."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Finding
    from dsec_cli.lint.rule import Facts


def held(facts: Facts, code: str) -> Iterator[Finding]:
    """The findings of `code`, with the fixes that add what is missing; none when no code was read."""
    if facts.around.needs is None:
        return
    from dsec_cli.code.compare import KINDS, QUESTIONS
    from dsec_cli.code.needs import Needs
    from dsec_cli.lint.additions import addition

    needs = facts.around.needs
    if not isinstance(needs, Needs) or facts.contract.kind not in KINDS:
        return
    for one in QUESTIONS[code](needs, facts.contract):
        fixes = addition(facts, one.path, one.item) if one.item else ()
        yield one.finding._replace(fixes=fixes)
