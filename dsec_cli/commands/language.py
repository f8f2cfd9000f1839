"""Which language a person reads: the option, the environment, the configuration, the settings, the locale.

What is asked for in so many words holds for every format. The locale holds for those that people
read; documents for programs stay English then, so that a machine's locale changes no artefact.
"""

from __future__ import annotations

import os
import sys

from dsec.record import Record
from dsec_cli.exit import UsageError
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AUTO, ENGLISH = "auto", "en"
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


def wish_in(argv: Sequence[str]) -> str | None:
    """The value of `--lang` on a command line that nobody could read, where it is one of ours."""
    from dsec_cli.languages import LANGUAGES

    for at, word in enumerate(argv):
        if word == "--":
            return None
        name, equals, value = word.partition("=")
        if name == "--lang":
            wish = value if equals else "".join(argv[at + 1 : at + 2])
            return wish if wish in (*LANGUAGES, AUTO) else None
    return None


def _variable(environ: Mapping[str, str]) -> str | None:
    wish = environ.get(VARIABLE) or None
    if wish is None:
        return None
    from dsec_cli.languages import LANGUAGES

    if wish not in (*LANGUAGES, AUTO):
        raise UsageError(
            say("{variable} is {wish!r}", variable=VARIABLE, wish=wish),
            hint=say("one of {names}", names=", ".join((*LANGUAGES, AUTO))),
        )
    return wish


def _setting() -> str | None:
    path = os.path.join(os.path.expanduser("~"), ".ds", "config.yaml")
    if not os.path.exists(path):
        return None
    from dsec_cli.settings import value_of

    return value_of("lang", path=path)


_ASCII = ("us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us", "646")


def _is_ascii(locale: str) -> bool:
    """Whether a locale's letters are those of ASCII; Python writes UTF-8 there all the same."""
    name, _, codes = locale.partition("@")[0].partition(".")
    return codes.lower() in _ASCII or (name in ("C", "POSIX") and not codes)


def _locale(environ: Mapping[str, str]) -> str:
    """The language of messages, unless standard output cannot hold its letters."""
    name = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    if not name or name.startswith((ENGLISH, "C", "POSIX")):
        return ENGLISH  # most machines: nothing is imported for them
    if _is_ascii(environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""):
        return ENGLISH
    from dsec_cli.languages import of_locale

    found = of_locale(name)
    try:
        "中文".encode((sys.stdout and sys.stdout.encoding) or "utf-8")
    except (LookupError, UnicodeEncodeError):
        return ENGLISH
    return found
