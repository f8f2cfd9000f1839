"""A character that looks like another one, or breaks lines only for some programs.

Why: U+2028, U+0085, zero-width, no-break and ideographic spaces come in by copy and paste and by
input methods. Some programs see a line break or a separator there, others do
not, so the same file has different lines in different tools. The quotes of word processors are
letters to YAML. Where such a character makes an error of a key or value, it is one itself, and the
only one that is told.

Bad (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a\u200b

Good (yaml):
    # ds_config.yaml
    data_source: ds://datasets/a

Source: Chinese-writing authors of the seeds; measured in five YAML readers.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import TEXT, Facts, Rule, problems
from dsec_cli.lint.suspects import has_odd_quotes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterator[Finding]:
    """What the reader of the text has noted under this code."""
    for finding in problems(facts, RULE.code, RULE.severity):
        # Only a text with such characters pays for the import.
        from dsec_cli.lint.characters import without_odd_characters

        yield without_odd_characters(facts, finding)
    if has_odd_quotes(facts.text.text):
        from dsec_cli.lint.quotes import odd_quotes  # as above

        yield from odd_quotes(facts, RULE.code)


RULE = Rule("DS005", "odd-character", Severity.WARNING, check, TEXT, when=("odd-character",))
