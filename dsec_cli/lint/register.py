"""Every rule as the generated index knows it: one that is not asked is not even imported."""

from __future__ import annotations

from dsec_cli.diagnostics import SEVERITIES
from dsec_cli.lint.index import ROWS
from dsec_cli.lint.rule import Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec_cli.diagnostics import Finding
    from dsec_cli.lint.rule import Facts

PACKAGE = "dsec_cli.lint.rules"


class Unread:
    """The check of a rule that is imported when it is first asked."""

    __slots__ = ("_check", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._check: Callable[[Facts], Iterable[Finding]] | None = None

    def __call__(self, facts: Facts) -> Iterable[Finding]:
        """What the rule finds."""
        return self.read()(facts)

    def read(self) -> Callable[[Facts], Iterable[Finding]]:
        """The check itself."""
        if self._check is None:
            self._check = self.rule().check
        return self._check

    def rule(self) -> Rule:
        """The rule as its own file states it."""
        rule: Rule = __import__(f"{PACKAGE}.{self._name}", fromlist=["RULE"]).RULE
        return rule


def known_rules() -> tuple[Rule, ...]:
    """Every rule there is, by code, none imported."""
    severities = {severity.value: severity for severity in SEVERITIES}
    return tuple(
        Rule(code, name, severities[severity], Unread(name.replace("-", "_")), scope, when)
        for code, name, severity, scope, when in ROWS
    )


def imported(rule: Rule) -> Rule:
    """The rule as its own file states it, where it comes from the index."""
    return rule.check.rule() if isinstance(rule.check, Unread) else rule
