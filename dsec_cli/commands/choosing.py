"""Which rules run: what `--select` and `--ignore`, or the configuration, leave of all there are."""

from __future__ import annotations

from dsec_cli.exit import UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.commands.configuring import Configured
    from dsec_cli.lint.rule import Rule
    from dsec_cli.options import Args

ALWAYS = ("DS001", "DS002", "DS010")
"""A text that could not be read as a whole is never passed in silence, whatever is selected."""
NEVER_SILENT = (*ALWAYS, "DS998", "DS999")
"""Neither can a baseline or a configuration silence it, nor that a rule failed."""


def chosen(args: Args, configured: Configured, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that are wanted; raises UsageError for a code that no rule has."""
    wanted = _prefixes(args.select, "select", configured, rules)
    unwanted = _prefixes(args.ignore, "ignore", configured, rules)
    _check_ignores(configured, rules)
    if not wanted and not unwanted:
        return rules
    return tuple(
        rule
        for rule in rules
        if rule.code in ALWAYS
        or (
            (not wanted or rule.code.startswith(wanted)) and not (unwanted and rule.code.startswith(unwanted))
        )
    )


def _prefixes(
    given: tuple[str, ...], key: str, configured: Configured, rules: tuple[Rule, ...]
) -> tuple[str, ...]:
    """The command line's codes, else the configured ones."""
    lists, where = (given, "") if given else (configured.texts(key), "")
    if not lists:
        return ()
    if not given:
        where = configured.place(key)
    words = [part.strip() for text in lists for part in text.split(",") if part.strip()]
    codes = {rule.name: rule.code for rule in rules}
    prefixes = tuple(codes.get(word.lower(), word.upper()) for word in words)
    _check(prefixes, where, rules, words)
    return prefixes


def _check_ignores(configured: Configured, rules: tuple[Rule, ...]) -> None:
    """Refuse an entry of `per-file-ignores` that can silence nothing."""
    for entry in configured.values.get("per-file-ignores", ()):  # type: ignore[attr-defined]  # a tuple
        prefixes = tuple(code.upper() for code in entry.codes)
        _check(prefixes, f"{configured.file}:{entry.line}: ", rules, entry.codes)


def _check(prefixes: tuple[str, ...], where: str, rules: tuple[Rule, ...], words: Iterable[str]) -> None:
    """Refuse a word that names no rule, as it was written."""
    for prefix, word in zip(prefixes, words, strict=True):
        if not any(rule.code.startswith(prefix) for rule in rules):
            from dsec_cli.lint.nearest import did_you_mean

            called = [rule.code for rule in rules if rule.name == word.lower()]
            hint = ""
            if called:
                hint = say("did you mean {word!r}?", word=called[0])
            elif prefix.startswith("DS"):
                hint = did_you_mean(prefix, [rule.code for rule in rules])
            else:
                hint = did_you_mean(word.lower(), [rule.name for rule in rules])
            raise UsageError(
                say("{where}no rule's code begins with {prefix!r}", where=where, prefix=word),
                hint=hint or "dsec rules lists all codes",
            )
