"""Which language a person reads: the option, the environment, the configuration, the settings, the locale.

What is asked for in so many words holds for every format. The locale holds for those that people
read; documents for programs stay English then, so that a machine's locale changes no artefact.
"""

from __future__ import annotations

import os
import sys

from dsec.record import Record
from dsec_cli.exit import UsageError
from dsec_cli.languages import ENGLISH, LANGUAGES, of_locale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Report, RuleInfo, Tell

AUTO = "auto"
VARIABLE = "DSEC_LANG"
FOR_PEOPLE = ("concise", "markdown", "text")
"""Formats that follow the locale."""


class Speech(Record):
    """The languages of one run."""

    asked: str
    """What somebody asked for; "" when nobody did."""
    local: str
    """The locale's."""

    def of(self, form: str) -> str:
        """The language of an output format."""
        return self.asked or (self.local if form in FOR_PEOPLE else ENGLISH)


def speech(
    option: str | None, configured: str | None = None, *, environ: Mapping[str, str] = os.environ
) -> Speech:
    """The choice, from the option `--lang` and the project's configuration down to the locale.

    Raises UsageError for a variable that names no language, FileProblem for damaged settings.
    """
    for wish in (option, _variable(environ), configured, _setting()):
        if wish is not None and wish != AUTO:
            return Speech(wish, wish)
    return Speech("", _locale(environ))


def _variable(environ: Mapping[str, str]) -> str | None:
    wish = environ.get(VARIABLE) or None
    if wish is not None and wish not in (*LANGUAGES, AUTO):
        raise UsageError(f"{VARIABLE} is {wish!r}", hint=f"one of {', '.join((*LANGUAGES, AUTO))}")
    return wish


def _setting() -> str | None:
    path = os.path.join(os.path.expanduser("~"), ".ds", "config.yaml")
    if not os.path.exists(path):
        return None
    from dsec_cli.settings import value_of

    return value_of("lang", path=path)


def _locale(environ: Mapping[str, str]) -> str:
    """The language of messages, unless standard output cannot hold its letters."""
    found = of_locale(environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or "")
    try:
        "中文".encode((sys.stdout and sys.stdout.encoding) or "utf-8")
    except (LookupError, UnicodeEncodeError):
        return ENGLISH
    return found


def teller(language: str, *, of_pages: bool = False) -> Tell:
    """The function that says a text of ours in `language`; `of_pages`: those of rules' pages, too."""
    from dsec_cli.languages import catalogue, pages
    from dsec_cli.words import translated

    texts = pages(language) if of_pages else catalogue(language)
    return lambda text: translated(text, texts)


def spoken(report: Report, language: str) -> Report:
    """The report in a language; codes, names, message ids and arguments are the same in all."""
    if language == ENGLISH:
        return report
    tell = teller(language)
    return report._replace(
        diagnostics=tuple(told(one, tell) for one in report.diagnostics),
        notes=tuple(map(tell, report.notes)),
        rules=lambda: _rules(report.rules(), language),
        tell=tell,
    )


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
