"""A suppression comment that names no code, or one that no rule has.

Why: It suppresses nothing, while its author believes that it does. A comment without a code would
suppress everything, also what nobody has seen yet, so a code must be named.

Bad (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a  # dsec: ignore[DS2O3] measured

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: linters' users (misspelt ignore comments fail in silence).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.rule import TEXT, Facts, Rule
from dsec_cli.words import arguments, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = say("write `# dsec: ignore[DS203] reason`")


def check(facts: Facts) -> Iterator[Finding]:
    """Every suppression whose code no rule has."""
    for suppression in facts.suppressions:
        if suppression.code in facts.codes:
            continue
        named = suppression.code
        found = Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=suppression.comment,
            message=say("no rule has the code {named!r}", "rule-code", named=named)
            if named
            else say("this suppression names no code", "suppression-names-code"),
            reason=say("it suppresses nothing, although its author believes that it does"),
            help=(_advice(named, facts.codes) if named else _bracketed(suppression.reason, facts.codes))
            or EXAMPLE,
        )
        from dsec_cli.lint.mend import with_code  # only a finding pays for it

        yield with_code(facts, found, suppression, str(arguments(found.help).get("word", "")))


def _bracketed(reason: str, codes: frozenset[str]) -> str:
    """The comment that is meant by one that lacks the brackets around its code, or around a rule's name."""
    word, _, rest = reason.lstrip(": ").partition(" ")
    code = _code_of(word.rstrip(",:"), codes)
    if not code:
        return ""
    return say("write `# dsec: ignore[{code}] {reason}`", code=code, reason=rest or say("reason"))


def _code_of(word: str, codes: frozenset[str]) -> str:
    """The code of a rule by its code or its name; "" where no rule has it."""
    if word.upper() in codes:
        return word.upper()
    from dsec_cli.lint.register import known_rules  # only a finding pays for it

    return next((rule.code for rule in known_rules() if rule.name == word.lower()), "")


def _advice(named: str, codes: frozenset[str]) -> str:
    """The code that is meant, also where a rule was called by its name."""
    from dsec_cli.lint.register import known_rules  # as above

    called = [rule.code for rule in known_rules() if rule.name == named.lower()]
    if called:
        return say("did you mean {word!r}?", word=called[0])
    begun = sorted(code for code in codes if code.startswith(named.upper()))
    if len(begun) > 1:
        return say("a comment names whole codes, such as {code}", code=begun[0])
    return did_you_mean(named, codes)


RULE = Rule("DS902", "suppression-of-unknown-code", Severity.WARNING, check, TEXT, when=("suppression",))
