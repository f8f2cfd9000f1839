"""Findings, reports and pages in a language; codes, names, message ids and arguments are the same in all."""

from __future__ import annotations

from dsec.errors import DSecError
from dsec_cli.languages import ENGLISH, catalogue, pages
from dsec_cli.words import translated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Report, RuleInfo, Tell


def teller(language: str, *, of_pages: bool = False) -> Tell:
    """The function that says a text of ours in `language`; `of_pages`: those of rules' pages, too."""
    if language == ENGLISH:
        return str
    texts = pages(language) if of_pages else catalogue(language)
    return lambda text: translated(text, texts)


def listener(lang: str | None, form: str = "text") -> Tell:
    """How texts are said to this user, who may have written `--lang`; `form` is an output format."""
    from dsec_cli.commands.language import speech

    return teller(speech(lang).of(form))


def of_words(argv: Sequence[str]) -> Tell:
    """How texts are said to whoever wrote a command line that may be wrong; English if that is unclear."""
    from dsec_cli.commands.language import speech, wish_in

    try:
        return teller(speech(wish_in(argv)).of("text"))
    except DSecError:
        return str


def spoken(report: Report, language: str) -> Report:
    """The whole report in a language."""
    if language == ENGLISH:
        return report
    tell = teller(language)
    return report._replace(
        diagnostics=tuple(told(one, tell) for one in report.diagnostics),
        notes=tuple(map(tell, report.notes)),
        rules=lambda: _rules(report.rules(), language),
        tell=tell,
    )


def locally(report: Report, form: str = "text", lang: str | None = None) -> Report:
    """The report in the language that the user has chosen, here with `--lang` or for all commands."""
    from dsec_cli.commands.language import speech

    return spoken(report, speech(lang).of(form))


def told(one: Diagnostic, tell: Tell) -> Diagnostic:
    """One diagnostic with all its words told."""
    return one._replace(
        message=tell(one.message),
        reason=tell(one.reason),
        help=tell(one.help),
        related=tuple((place, tell(label)) for place, label in one.related),
        fixes=tuple(fix._replace(title=tell(fix.title)) for fix in one.fixes),
    )


def _rules(rules: tuple[RuleInfo, ...], language: str) -> tuple[RuleInfo, ...]:
    from dsec_cli.lint import page
    from dsec_cli.lint.rule import find_rules

    tell = teller(language, of_pages=True)
    known = {rule.code: rule for rule in find_rules()}
    return tuple(
        one._replace(
            summary=tell(one.summary), why=tell(one.why), page=page.markdown(known[one.code], tell=tell)
        )
        for one in rules
    )
